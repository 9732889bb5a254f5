"""How often somebody may come: a bucket of requests for each name, filled at a steady rate."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable

CAPACITY = 65_536  # names; 13 MB


class Limiter:
    """Admits `burst` requests at once to each name, and `rate` a second from then on. Callable from any thread.

    `clock` is in seconds, from any beginning. Names whose bucket is full again are forgotten; beyond `capacity` names
    the one that was admitted longest ago is forgotten too, and has a full bucket then. Raises ValueError where nobody
    could ever be admitted.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float], capacity: int = CAPACITY) -> None:
        if not (rate > 0 and burst >= 1 and capacity >= 1):
            raise ValueError(f"rate must be more than 0, burst and capacity at least 1: {rate}, {burst}, {capacity}")
        self.burst = burst
        self._rate = rate
        self._clock = clock
        self._capacity = capacity
        # What each name's bucket held, and when; those that were admitted longest ago come first.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many names are remembered."""
        return len(self._buckets)

    def wait(self, name: str, count: int = 1) -> float:
        """Take `count` requests out of a name's bucket: 0.0 where they are admitted.

        Else nothing is taken, and it is the seconds, at most count / rate, after which they would be; infinity where
        `count` is more than a bucket holds.
        """
        if count > self.burst:
            return math.inf
        with self._lock:
            now = self._clock()
            self._forget(now)
            level = self._level(self._buckets.get(name), now)
            if level < count:
                return (count - level) / self._rate
            self._buckets[name] = (level - count, now)
            self._buckets.move_to_end(name)
            if len(self._buckets) > self._capacity:
                self._buckets.popitem(last=False)
            return 0.0

    def _level(self, bucket: tuple[float, float] | None, now: float) -> float:
        """How many requests a bucket holds by now."""
        if bucket is None:
            return self.burst
        level, at = bucket
        return min(self.burst, level + (now - at) * self._rate)

    def _forget(self, now: float) -> None:
        # The first may hide others that are full already, but no longer than a bucket takes to fill.
        while self._buckets and self._level(next(iter(self._buckets.values())), now) >= self.burst:
            self._buckets.popitem(last=False)
