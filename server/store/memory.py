"""Episodes in the memory of one process: nothing survives a restart, and no other worker sees them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from server.store import Conflict, Key, Record, Repeated, Start, Step


@dataclass(slots=True)
class _Episode:
    """All that is kept of one id. `requests` maps a request id to the attempt and the number of steps after it."""

    newest: int = 0
    attempts: dict[int, Record] = field(default_factory=dict)
    requests: dict[str, tuple[int, int]] = field(default_factory=dict)


class MemoryStore:
    """Keeps up to `capacity` attempts, and as many addresses.

    Beyond that the attempts that are over go first (those that ended longest ago), then those that were left alone
    for longest. A step on one that went is answered like one on an unknown episode.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._capacity = capacity
        self._episodes: dict[str, _Episode] = {}
        self._addresses: OrderedDict[str, Key] = OrderedDict()
        # Both in the order of their last change, the oldest first.
        self._open: OrderedDict[Key, None] = OrderedDict()
        self._over: OrderedDict[Key, None] = OrderedDict()
        self._lock = threading.Lock()

    def create(self, episode_id: str, start: Start) -> Record:
        with self._lock:
            self._refuse_repeat(episode_id, start.request_id)
            episode = self._episodes.setdefault(episode_id, _Episode())
            self._close(Key(episode_id, episode.newest))
            episode.newest += 1
            key = Key(episode_id, episode.newest)
            record = Record(key, start, (), None, start.at)
            self._keep(record, start.request_id)
            while len(self._open) + len(self._over) > self._capacity:
                self._drop_oldest()
            return record

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        with self._lock:
            if step.request_id is not None:
                self._refuse_repeat(key.episode_id, step.request_id)
            episode = self._episodes.get(key.episode_id)
            current = episode.attempts.get(episode.newest) if episode else None
            if (
                episode is None
                or current is None
                or current.key != key
                or current.end_reason is not None
                or len(current.steps) != index
            ):
                raise Conflict(current)
            grown = Record(key, current.start, (*current.steps, step), end_reason, step.at, current.touched)
            if end_reason is not None or step.request_id is not None:
                self._keep(grown, step.request_id)
            else:
                episode.attempts[key.attempt] = grown
                self._open.move_to_end(key)

    def get(self, episode_id: str) -> Record | None:
        with self._lock:
            return self._newest(episode_id)

    def find(self, episode_id: str, request_id: str) -> Record | None:
        with self._lock:
            return self._find(episode_id, request_id)

    def end(self, key: Key, reason: str, at: float) -> None:
        with self._lock:
            record = self._attempt(key)
            if record is not None and record.end_reason is None:
                self._keep(record._replace(end_reason=reason, changed=at), None)

    def touch(self, key: Key, at: float) -> None:
        with self._lock:
            record = self._attempt(key)
            if record is not None:
                self._keep(record._replace(touched=at), None)

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

    # All below is called with the lock held.

    def _newest(self, episode_id: str) -> Record | None:
        episode = self._episodes.get(episode_id)
        return episode.attempts.get(episode.newest) if episode else None

    def _attempt(self, key: Key) -> Record | None:
        episode = self._episodes.get(key.episode_id)
        return episode.attempts.get(key.attempt) if episode else None

    def _find(self, episode_id: str, request_id: str) -> Record | None:
        episode = self._episodes.get(episode_id)
        place = episode.requests.get(request_id) if episode else None
        if episode is None or place is None:
            return None
        attempt, steps = place
        record = episode.attempts[attempt]
        return record._replace(steps=record.steps[:steps], end_reason=None)

    def _refuse_repeat(self, episode_id: str, request_id: str | None) -> None:
        earlier = self._find(episode_id, request_id) if request_id is not None else None
        if earlier is not None:
            raise Repeated(earlier)

    def _keep(self, record: Record, request_id: str | None) -> None:
        """Put the record in its place, and last in the order of changes."""
        key = record.key
        episode = self._episodes[key.episode_id]
        episode.attempts[key.attempt] = record
        if request_id is not None:
            episode.requests[request_id] = (key.attempt, len(record.steps))
        self._open[key] = None
        self._open.move_to_end(key)
        if record.end_reason is not None or key.attempt != episode.newest:
            self._close(key)

    def _close(self, key: Key) -> None:
        """An attempt that can't be stepped any more counts as over."""
        if key in self._open:
            del self._open[key]
            self._over[key] = None

    def _drop_oldest(self) -> None:
        key, _ = (self._over or self._open).popitem(last=False)
        episode = self._episodes[key.episode_id]
        record = episode.attempts.pop(key.attempt)
        for request_id in (record.start.request_id, *(step.request_id for step in record.steps)):
            if request_id is not None:
                del episode.requests[request_id]
        if not episode.attempts:
            del self._episodes[key.episode_id]
