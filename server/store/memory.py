"""Episodes in the memory of one process: nothing survives a restart, and no other worker sees them."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.store import Append, Conflict, Key, Record, Repeated, Start, Step


@dataclass(slots=True)
class _Attempt:
    """An attempt as it grows; its record is made when somebody asks for it."""

    key: Key
    start: Start
    changed: float
    steps: list[Step] = field(default_factory=list)
    end_reason: str | None = None
    touched: float | None = None
    turn: int = 0  # of its last sign of life, in the order of all
    number: int = field(default_factory=itertools.count().__next__)  # in the order of their creation

    def record(self) -> Record:
        return Record(self.key, self.start, tuple(self.steps), self.end_reason, self.changed, self.touched)


@dataclass(slots=True)
class _Episode:
    """All that is kept of one id. `requests` maps a request id to the attempt and the number of steps after it."""

    newest: int = 0
    attempts: dict[int, _Attempt] = field(default_factory=dict)
    requests: dict[str, tuple[int, int]] = field(default_factory=dict)


class MemoryStore:
    """Keeps up to `capacity` attempts, and as many addresses.

    Beyond that the attempts that are over go first (those that ended longest ago), then those that were left alone
    for longest. A step on one that went is answered like one on an unknown episode.
    """

    durable = False

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._capacity = capacity
        self._episodes: dict[str, _Episode] = {}
        self._addresses: OrderedDict[str, Key] = OrderedDict()
        # The attempts that can be stepped, one an episode; and the others, in the order of their ends.
        self._open: dict[str, _Attempt] = {}
        self._over: OrderedDict[Key, None] = OrderedDict()
        self._turn = 0
        self._idle: list[tuple[int, str]] = []  # open ones by the turn that they had, those left alone longest last
        self._packs: dict[str, str] = {}
        self._notes: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def create(self, episode_id: str, start: Start) -> Record:
        with self._lock:
            self._refuse_repeat(episode_id, start.request_id)
            episode = self._episodes.setdefault(episode_id, _Episode())
            self._close(episode_id)
            episode.newest += 1
            self._turn += 1
            attempt = _Attempt(Key(episode_id, episode.newest), start, start.at, turn=self._turn)
            episode.attempts[episode.newest] = self._open[episode_id] = attempt
            if start.request_id is not None:
                episode.requests[start.request_id] = (episode.newest, 0)
            while len(self._open) + len(self._over) > self._capacity:
                self._drop_oldest()
            return attempt.record()

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        with self._lock:
            self._refuse_repeat(key.episode_id, step.request_id)
            if not self._extend([(key, index, step, end_reason)]):
                raise Conflict(self._newest(key.episode_id))

    def append_all(self, appends: Sequence[Append]) -> bool:
        with self._lock:
            return self._extend(appends)

    def get(self, episode_id: str) -> Record | None:
        with self._lock:
            return self._newest(episode_id)

    def find(self, episode_id: str, request_id: str) -> Record | None:
        with self._lock:
            return self._find(episode_id, request_id)

    def end(self, key: Key, reason: str, at: float) -> bool:
        with self._lock:
            attempt = self._attempt(key)
            if attempt is None or attempt.end_reason is not None:
                return False
            attempt.end_reason, attempt.changed = reason, at
            if attempt is self._open.get(key.episode_id):
                self._close(key.episode_id)
            return True

    def touch(self, key: Key, at: float) -> None:
        with self._lock:
            attempt = self._attempt(key)
            if attempt is not None:
                attempt.touched = at
                self._turn = attempt.turn = self._turn + 1

    def expire(self, before: float, at: float) -> int:
        with self._lock:
            stale = [
                attempt
                for attempt in self._open.values()
                if attempt.changed < before and (attempt.touched is None or attempt.touched < before)
            ]
            for attempt in sorted(stale, key=lambda attempt: attempt.turn):
                attempt.end_reason, attempt.changed = "expired", at
                self._close(attempt.key.episode_id)
            return len(stale)

    def prune(self, before: float) -> int:
        with self._lock:
            pruned = []
            for key in list(self._over):  # the older attempts at an episode stand before the newer ones
                attempts = self._episodes[key.episode_id].attempts
                if attempts[key.attempt].changed < before and key.attempt == next(iter(attempts)):
                    del self._over[key]
                    self._drop(key)
                    pruned.append(key)
            gone = {key.episode_id for key in pruned} - self._episodes.keys()
            for address in [address for address, key in self._addresses.items() if key.episode_id in gone]:
                del self._addresses[address]
            return len(pruned)

    def open_count(self) -> int:
        return len(self._open)

    def records(self) -> Iterator[Record]:
        with self._lock:
            attempts = [attempt for episode in self._episodes.values() for attempt in episode.attempts.values()]
        for attempt in sorted(attempts, key=lambda attempt: attempt.number):
            with self._lock:
                record = attempt.record()
            yield record

    def bind(self, address: str, key: Key) -> Key | None:
        with self._lock:
            before = self._addresses.pop(address, None)
            self._addresses[address] = key
            if len(self._addresses) > self._capacity:
                self._addresses.popitem(last=False)
            return before

    def bound(self, address: str) -> str | None:
        with self._lock:
            key = self._addresses.get(address)
            return key.episode_id if key else None

    def keep_pack(self, digest: str, source: str) -> None:
        self._packs.setdefault(digest, source)

    def pack(self, digest: str) -> str | None:
        return self._packs.get(digest)

    def recall(self, name: str) -> str | None:
        return self._notes.get(name, (None,))[0]

    def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
        with self._lock:
            if self.recall(name) != old:
                return False
            if new is None:
                self._notes.pop(name, None)
            else:
                self._notes[name] = (new, at)
            return True

    def forget(self, prefix: str, before: float) -> int:
        with self._lock:
            old = [name for name, (_, at) in self._notes.items() if name.startswith(prefix) and at < before]
            for name in old:
                del self._notes[name]
            return len(old)

    def count(self, prefix: str) -> int:
        with self._lock:
            return sum(name.startswith(prefix) for name in self._notes)

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass

    # All below is called with the lock held.

    def _newest(self, episode_id: str) -> Record | None:
        episode = self._episodes.get(episode_id)
        attempt = episode.attempts.get(episode.newest) if episode else None
        return attempt.record() if attempt else None

    def _attempt(self, key: Key) -> _Attempt | None:
        episode = self._episodes.get(key.episode_id)
        return episode.attempts.get(key.attempt) if episode else None

    def _find(self, episode_id: str, request_id: str) -> Record | None:
        episode = self._episodes.get(episode_id)
        place = episode.requests.get(request_id) if episode else None
        if episode is None or place is None:
            return None
        number, steps = place
        record = episode.attempts[number].record()
        return record._replace(steps=record.steps[:steps], end_reason=None)

    def _extend(self, appends: Sequence[Append]) -> bool:
        found = []
        for key, index, step, _ in appends:
            attempt = self._open.get(key[0])
            if attempt is None or (attempt.key is not key and attempt.key != key) or len(attempt.steps) != index:
                return False
            if step.request_id is not None and self._find(key.episode_id, step.request_id) is not None:
                return False
            found.append(attempt)
        self._turn = turn = self._turn + 1  # of all of them: they came at the same time
        for attempt, (key, _, step, end_reason) in zip(found, appends, strict=True):
            attempt.steps.append(step)
            attempt.changed = step.at
            attempt.turn = turn
            if step.request_id is not None:
                self._episodes[key.episode_id].requests[step.request_id] = (key.attempt, len(attempt.steps))
            if end_reason is not None:
                attempt.end_reason = end_reason
                self._close(key.episode_id)
        return True

    def _refuse_repeat(self, episode_id: str, request_id: str | None) -> None:
        earlier = self._find(episode_id, request_id) if request_id is not None else None
        if earlier is not None:
            raise Repeated(earlier)

    def _close(self, episode_id: str) -> None:
        """An attempt that can't be stepped any more counts as over."""
        attempt = self._open.pop(episode_id, None)
        if attempt is not None:
            self._over[attempt.key] = None

    def _drop_oldest(self) -> None:
        self._drop(self._over.popitem(last=False)[0] if self._over else self._open.pop(self._left_alone()).key)

    def _left_alone(self) -> str:
        """The open episode that was left alone for longest. One that was stepped since they were sorted comes later."""
        while True:
            if not self._idle:
                self._idle = sorted(((attempt.turn, name) for name, attempt in self._open.items()), reverse=True)
            turn, name = self._idle.pop()
            attempt = self._open.get(name)
            if attempt is not None and attempt.turn == turn:
                return name

    def _drop(self, key: Key) -> None:
        episode = self._episodes[key.episode_id]
        attempt = episode.attempts.pop(key.attempt)
        for request_id in (attempt.start.request_id, *(step.request_id for step in attempt.steps)):
            if request_id is not None:
                del episode.requests[request_id]
        if not episode.attempts:
            del self._episodes[key.episode_id]
