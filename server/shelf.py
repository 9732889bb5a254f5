"""Packs by digest: those that are served, and those that older episodes began with."""

from __future__ import annotations

from collections.abc import Iterable

from engine.case import make_case
from engine.diagnostics import PackError
from engine.episode import Episode, EpisodeOver
from engine.episode import replay as fold
from engine.load import rebuild
from engine.pack import Pack
from server.store import EpisodeStore, Record


class Unserved(LookupError):
    """An episode can't be played any more; the text says why."""


class Shelf:
    """`packs` are at hand; any other is made again from what the store keeps, once."""

    def __init__(self, packs: Iterable[Pack], store: EpisodeStore) -> None:
        self._packs = {pack.digest: pack for pack in packs}
        self._store = store

    def keep(self, packs: Iterable[Pack]) -> None:
        """Put packs on the shelf, and into the store: their episodes outlive the process. Raises Unavailable."""
        for pack in packs:
            self._store.keep_pack(pack.digest, pack.source)
            self._packs[pack.digest] = pack

    def pack(self, digest: str) -> Pack:
        """Raises Unserved, Unavailable."""
        if digest not in self._packs:
            self._packs[digest] = self._made_again(digest)
        return self._packs[digest]

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
