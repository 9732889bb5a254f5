"""Every store beside a model of what it promises: whatever is called in whatever order, both say the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from server.store import Append, Conflict, EpisodeStore, Key, Record, Repeated, Start, Step
from server.store.opening import open_store
from tests.server.redis_server import redis_server

NAMES = st.sampled_from(["e", "f", "1:e", "\ud83d"])
REQUESTS = st.sampled_from([None, None, "r", "s", "t", "\ude00"])
TIMES = st.integers(0, 12) | st.floats(0, 12)
KEYS = st.builds(Key, NAMES, st.integers(1, 4))
REASONS = st.sampled_from(["resolved", "", "\ud83d"])
NOTES = st.sampled_from(["a", "ab", "b", "", "\ud83d"])
WORDS = st.sampled_from([None, None, "x", "", "x y"])
ACTIONS = st.dictionaries(st.text(max_size=2), st.integers() | st.text(st.characters(), max_size=3), max_size=2)


class Model:
    """What a store promises, in the plainest way: a list of attempts in the order of their creation."""

    durable = False

    def __init__(self) -> None:
        self.attempts: list[Record] = []
        self.addresses: dict[str, Key] = {}
        self.packs: dict[str, str] = {}
        self.notes: dict[str, tuple[str, float]] = {}

    def of(self, episode_id: str) -> list[Record]:
        return [attempt for attempt in self.attempts if attempt.key.episode_id == episode_id]

    def put(self, key: Key, **changes: Any) -> None:
        self.attempts = [a._replace(**changes) if a.key == key else a for a in self.attempts]

    def is_open(self, attempt: Record) -> bool:
        return attempt.end_reason is None and attempt == self.of(attempt.key.episode_id)[-1]

    def create(self, episode_id: str, start: Start) -> Record:
        self.refuse_repeat(episode_id, start.request_id)
        older = self.of(episode_id)
        number = older[-1].key.attempt + 1 if older else 1
        self.attempts.append(Record(Key(episode_id, number), start, (), None, start.at))
        return self.attempts[-1]

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        self.refuse_repeat(key.episode_id, step.request_id)
        newest = self.get(key.episode_id)
        if newest is None or newest.key != key or newest.end_reason is not None or len(newest.steps) != index:
            raise Conflict(newest)
        self.put(key, steps=(*newest.steps, step), end_reason=end_reason, changed=step.at)

    def append_all(self, appends: Sequence[Append]) -> bool:
        before = self.attempts
        try:
            for append in appends:
                self.append(*append)
        except (Conflict, Repeated):
            self.attempts = before
            return False
        return True

    def refuse_repeat(self, episode_id: str, request_id: str | None) -> None:
        earlier = self.find(episode_id, request_id) if request_id is not None else None
        if earlier is not None:
            raise Repeated(earlier)

    def get(self, episode_id: str) -> Record | None:
        return next(reversed(self.of(episode_id)), None)

    def find(self, episode_id: str, request_id: str) -> Record | None:
        for attempt in self.of(episode_id):
            asked = [attempt.start.request_id, *(step.request_id for step in attempt.steps)]
            for number, earlier in enumerate(asked):
                if earlier == request_id:
                    return attempt._replace(steps=attempt.steps[:number], end_reason=None)
        return None

    def end(self, key: Key, reason: str, at: float) -> bool:
        ends = any(attempt.key == key and attempt.end_reason is None for attempt in self.attempts)
        if ends:
            self.put(key, end_reason=reason, changed=at)
        return ends

    def touch(self, key: Key, at: float) -> None:
        self.put(key, touched=at)

    def expire(self, before: float, at: float) -> int:
        alone = [
            attempt.key
            for attempt in self.attempts
            if self.is_open(attempt) and attempt.changed < before and (attempt.touched or 0) < before
        ]
        for key in alone:
            self.put(key, end_reason="expired", changed=at)
        return len(alone)

    def prune(self, before: float) -> int:
        kept: list[Record] = []
        for attempt in self.attempts:
            older = any(other.key.episode_id == attempt.key.episode_id for other in kept)
            if older or self.is_open(attempt) or attempt.changed >= before:
                kept.append(attempt)
        gone = {attempt.key.episode_id for attempt in self.attempts} - {attempt.key.episode_id for attempt in kept}
        pruned, self.attempts = len(self.attempts) - len(kept), kept
        self.addresses = {name: key for name, key in self.addresses.items() if key.episode_id not in gone}
        return pruned

    def open_count(self) -> int:
        return sum(map(self.is_open, self.attempts))

    def records(self) -> Iterator[Record]:
        return iter(self.attempts)

    def bind(self, address: str, key: Key) -> Key | None:
        before = self.addresses.get(address)
        self.addresses[address] = key
        return before

    def bound(self, address: str) -> str | None:
        return self.addresses[address].episode_id if address in self.addresses else None

    def keep_pack(self, digest: str, source: str) -> None:
        self.packs[digest] = source

    def pack(self, digest: str) -> str | None:
        return self.packs.get(digest)

    def recall(self, name: str) -> str | None:
        return self.notes[name][0] if name in self.notes else None

    def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
        if self.recall(name) != old:
            return False
        self.notes.pop(name, None)
        if new is not None:
            self.notes[name] = new, at
        return True

    def forget(self, prefix: str, before: float) -> int:
        kept = {n: note for n, note in self.notes.items() if not n.startswith(prefix) or note[1] >= before}
        dropped, self.notes = len(self.notes) - len(kept), kept
        return dropped

    def count(self, prefix: str) -> int:
        return sum(name.startswith(prefix) for name in self.notes)

    def check(self) -> None:
        """It always works."""

    def close(self) -> None:
        """It holds nothing."""


def said(call: Callable[..., Any], *given: Any) -> Any:
    """What a call returns, or raises."""
    try:
        return call(*given)
    except Conflict as conflict:
        return "conflict", conflict.current
    except Repeated as repeated:
        return "repeated", repeated.record


class Beside(RuleBasedStateMachine):
    """A store, and its model; `opened` gives a fresh store."""

    opened: Callable[[], EpisodeStore]

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).opened()
        self.model: EpisodeStore = Model()

    def teardown(self) -> None:
        self.look()
        self.store.close()

    def both(self, name: str, *given: Any) -> None:
        assert said(getattr(self.store, name), *given) == said(getattr(self.model, name), *given)

    @rule(name=NAMES, request_id=REQUESTS, options=ACTIONS, at=TIMES)
    def create(self, name: str, request_id: str | None, options: dict[str, Any], at: float) -> None:
        self.both("create", name, Start("d", "t", 7, options, request_id, at))

    @rule(key=KEYS, index=st.integers(0, 2), action=ACTIONS, request_id=REQUESTS, reason=st.none() | REASONS, at=TIMES)
    def append(
        self, key: Key, index: int, action: dict[str, Any], request_id: str | None, reason: str | None, at: float
    ) -> None:
        self.both("append", key, index, Step(action, request_id, at), reason)

    @rule(name=NAMES, action=ACTIONS, request_id=REQUESTS, reason=st.none() | REASONS, at=TIMES)
    def step(self, name: str, action: dict[str, Any], request_id: str | None, reason: str | None, at: float) -> None:
        newest = self.model.get(name)
        if newest is not None:
            self.both("append", newest.key, len(newest.steps), Step(action, request_id, at), reason)

    @rule(keys=st.lists(KEYS, unique_by=lambda key: key.episode_id), action=ACTIONS, request_id=REQUESTS, at=TIMES)
    def step_all(self, keys: list[Key], action: dict[str, Any], request_id: str | None, at: float) -> None:
        newest = [self.model.get(key.episode_id) for key in keys]
        appends = [
            (record.key, len(record.steps), Step(action, request_id, at), None)
            if record
            else (key, 0, Step({}, None, at), None)
            for key, record in zip(keys, newest, strict=True)
        ]
        self.both("append_all", appends)

    @rule(key=KEYS, reason=REASONS, at=TIMES)
    def end(self, key: Key, reason: str, at: float) -> None:
        self.both("end", key, reason, at)

    @rule(key=KEYS, at=TIMES)
    def touch(self, key: Key, at: float) -> None:
        self.both("touch", key, at)

    @rule(before=TIMES, at=TIMES)
    def expire(self, before: float, at: float) -> None:
        self.both("expire", before, at)

    @rule(before=TIMES)
    def prune(self, before: float) -> None:
        self.both("prune", before)

    @rule(address=NOTES, key=KEYS)
    def bind(self, address: str, key: Key) -> None:
        self.both("bind", address, key)

    @rule(digest=NOTES)
    def keep_pack(self, digest: str) -> None:
        self.both("keep_pack", digest, digest + "!")
        self.both("pack", digest)

    @rule(name=NOTES, old=WORDS, new=WORDS, at=TIMES)
    def swap(self, name: str, old: str | None, new: str | None, at: float) -> None:
        self.both("swap", name, old, new, at)

    @rule(prefix=NOTES, before=TIMES)
    def forget(self, prefix: str, before: float) -> None:
        self.both("forget", prefix, before)

    @rule()
    def look(self) -> None:
        for name in ("e", "f", "1:e", "\ud83d"):
            self.both("get", name)
            for request_id in ("r", "s", "t", "\ude00"):
                self.both("find", name, request_id)
        for name in ("a", "ab", "b", "", "\ud83d"):
            self.both("bound", name)
            self.both("recall", name)
            self.both("count", name)

    @invariant()
    def both_keep_the_same(self) -> None:
        self.both("open_count")
        assert list(self.store.records()) == list(self.model.records())


def stay_together(opened: Callable[[], EpisodeStore]) -> None:
    machine = type("Machine", (Beside,), {"opened": staticmethod(opened)})
    half = settings(
        max_examples=settings().max_examples // 2, stateful_step_count=25, deadline=None
    )  # each costs a lot
    run_state_machine_as_test(machine, settings=half)


@pytest.mark.hypothesis
def test_memory() -> None:
    stay_together(lambda: open_store("memory:"))


@pytest.mark.hypothesis
def test_sqlite() -> None:
    with TemporaryDirectory() as folder:
        numbers = itertools.count()
        stay_together(lambda: open_store(f"sqlite:{Path(folder)}/{next(numbers)}.db"))


@pytest.mark.hypothesis
def test_redis() -> None:
    with redis_server() as server:
        numbers = itertools.count()
        stay_together(lambda: open_store(f"{server.url}?prefix={next(numbers)}"))
