"""Packs by digest: those that are served, and those that older episodes began with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from engine.case import make_case
from engine.diagnostics import PackError
from engine.episode import Episode, EpisodeOver
from engine.episode import replay as fold
from engine.load import rebuild
from engine.pack import Pack
from server.store import EpisodeStore, Record

OTHERS = 16  # packs at hand that are no longer served


class Unserved(LookupError):
    """An episode can't be played any more; the text says why."""


class Shelf:
    """`packs` are served, and at hand. Any other is made again from what the store keeps; a few stay at hand."""

    def __init__(self, packs: Iterable[Pack], store: EpisodeStore) -> None:
        self._served = {pack.digest: pack for pack in packs}
        self._others: OrderedDict[str, Pack] = OrderedDict()  # the one that was asked for first goes first
        self._store = store

    def keep(self, packs: Iterable[Pack]) -> None:
        """Serve these packs, and put them into the store: their episodes outlive the process. Raises Unavailable."""
        served = {pack.digest: pack for pack in packs}
        for pack in served.values():
            self._store.keep_pack(pack.digest, pack.source)
        for digest, pack in self._served.items():
            if digest not in served:
                self._keep_other(pack)
        self._served = served

    def pack(self, digest: str) -> Pack:
        """Raises Unserved, Unavailable."""
        pack = self._served.get(digest) or self._others.get(digest)
        return pack if pack is not None else self._keep_other(self._made_again(digest))

    def _keep_other(self, pack: Pack) -> Pack:
        self._others[pack.digest] = pack
        if len(self._others) > OTHERS:
            self._others.popitem(last=False)
        return pack

    def episode(self, record: Record) -> Episode:
        """The episode that a record holds. Raises Unserved, Unavailable."""
        pack = self.pack(record.start.pack_digest)
        try:
            case = make_case(pack, record.start.ticket_id, record.start.seed)
            return fold(case, (step.action for step in record.steps))
        except (KeyError, EpisodeOver):
            raise Unserved("what is stored of it doesn't fit its pack") from None

    def _made_again(self, digest: str) -> Pack:
        source = self._store.pack(digest)
        try:
            pack = rebuild(source) if source is not None else None
        except PackError:
            pack = None
        if pack is None or pack.digest != digest:
            raise Unserved(f"the pack version {digest[:12]}... is neither served nor kept")
        return pack
