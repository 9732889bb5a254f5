"""What has to be done now and then, whoever asks: old episodes end and go, and counts are shared."""

from __future__ import annotations

import logging
from collections.abc import Callable

from server.store import EpisodeStore, Unavailable
from server.tally import COUNTED, EPISODES_ENDED

EVERY = 10.0  # seconds between two looks at the store

logger = logging.getLogger("server")


class Upkeep:
    """`idle` and `keep` are in seconds: when an open episode expires, and when one that is over is forgotten; 0: never.

    `clock` gives seconds since the epoch, `flush` shares this process's counts with the others.
    """

    def __init__(
        self, store: EpisodeStore, clock: Callable[[], float], idle: float, keep: float, flush: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._idle = idle
        self._keep = keep
        self._flush = flush
        self._looked = clock()

    def turn(self) -> None:
        """Called once a second or so; never raises Unavailable."""
        self._flush()
        now = self._clock()
        if 0 <= now - self._looked < EVERY:
            return
        self._looked = now
        try:
            expired = self._store.expire(now - self._idle, now) if self._idle else 0
            forgotten = self._store.prune(now - self._keep) if self._keep else 0
        except Unavailable as error:
            logger.warning("old episodes could not be looked at: %s", error)
            return
        if expired:
            COUNTED.add(EPISODES_ENDED, ("", "expired"), expired)
        if expired or forgotten:
            logger.info("old episodes", extra={"expired": expired, "forgotten": forgotten})
