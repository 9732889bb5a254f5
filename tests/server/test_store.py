"""What every store promises, shown on each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from server.store import Conflict, EpisodeStore, Key, Record, Repeated, Start, Step
from server.store.memory import MemoryStore


@pytest.fixture(params=[MemoryStore])
def any_store(request: pytest.FixtureRequest) -> EpisodeStore:
    made: EpisodeStore = request.param()
    return made


def start(at: float = 1.0, request_id: str | None = None) -> Start:
    return Start("digest", "t-1", 7, {"seed": 7}, request_id, at)


def step(number: int, request_id: str | None = None) -> Step:
    return Step({"type": "x", "number": number}, request_id, 10.0 + number)


def test_a_record_grows(any_store: EpisodeStore) -> None:
    begun = start()
    created = any_store.create("e", begun)
    assert created == Record(Key("e", 1), begun, (), None, 1.0)
    assert any_store.get("e") == created
    any_store.append(Key("e", 1), 0, step(1), None)
    any_store.append(Key("e", 1), 1, step(2), "resolved")
    assert any_store.get("e") == Record(Key("e", 1), begun, (step(1), step(2)), "resolved", 12.0)
    assert any_store.get("another") is None


def test_an_append_names_the_step_it_expects(any_store: EpisodeStore) -> None:
    any_store.create("e", start())
    any_store.append(Key("e", 1), 0, step(1), None)
    for index in (0, 2):
        with pytest.raises(Conflict) as caught:
            any_store.append(Key("e", 1), index, step(9), None)
        assert caught.value.current == any_store.get("e")
    with pytest.raises(Conflict) as gone:
        any_store.append(Key("another", 1), 0, step(1), None)
    assert gone.value.current is None


def test_nothing_is_appended_after_the_end(any_store: EpisodeStore) -> None:
    any_store.create("e", start())
    any_store.append(Key("e", 1), 0, step(1), None)
    any_store.end(Key("e", 1), "superseded", 20.0)
    ended = any_store.get("e")
    assert ended == Record(Key("e", 1), start(), (step(1),), "superseded", 20.0)
    with pytest.raises(Conflict):
        any_store.append(Key("e", 1), 1, step(2), None)
    any_store.end(Key("e", 1), "another", 30.0)
    assert any_store.get("e") == ended
    any_store.end(Key("nobody", 1), "superseded", 20.0)


def test_attempts(any_store: EpisodeStore) -> None:
    any_store.create("e", start(1.0))
    any_store.append(Key("e", 1), 0, step(1), None)
    assert any_store.create("e", start(2.0)).key == Key("e", 2)
    with pytest.raises(Conflict) as caught:
        any_store.append(Key("e", 1), 1, step(2), None)
    assert caught.value.current == Record(Key("e", 2), start(2.0), (), None, 2.0)


def test_a_request_is_found_as_it_was_answered(any_store: EpisodeStore) -> None:
    begun = start(1.0, "r0")
    any_store.create("e", begun)
    any_store.append(Key("e", 1), 0, step(1, "r1"), None)
    any_store.append(Key("e", 1), 1, step(2), "resolved")
    any_store.create("e", start(3.0, "r3"))
    kept: dict[str, Any] = {"r0": (), "r1": (step(1, "r1"),)}
    for request_id, steps in kept.items():
        found = any_store.find("e", request_id)
        assert found is not None
        assert (found.key, found.start, found.steps, found.end_reason) == (Key("e", 1), begun, steps, None)
    assert any_store.find("e", "r2") is None
    assert any_store.find("another", "r1") is None


def test_a_repeated_request_changes_nothing(any_store: EpisodeStore) -> None:
    any_store.create("e", start(1.0, "r0"))
    any_store.append(Key("e", 1), 0, step(1, "r1"), None)
    before = any_store.get("e")
    # Also at the wrong index, and also as a reset: the id decides.
    for index in (0, 1, 5):
        with pytest.raises(Repeated) as caught:
            any_store.append(Key("e", 1), index, step(2, "r1"), None)
        assert caught.value.record == any_store.find("e", "r1")
    for request_id in ("r0", "r1"):
        with pytest.raises(Repeated) as again:
            any_store.create("e", start(2.0, request_id))
        assert again.value.record == any_store.find("e", request_id)
    assert any_store.get("e") == before
    # Another episode may use the same request id.
    assert any_store.create("f", start(2.0, "r1")).key == Key("f", 1)


def test_addresses(any_store: EpisodeStore) -> None:
    assert any_store.bound("10.0.0.1") is None
    assert any_store.bind("10.0.0.1", Key("e", 1)) is None
    assert any_store.bind("10.0.0.2", Key("f", 1)) is None
    assert any_store.bind("10.0.0.1", Key("g", 1)) == Key("e", 1)
    assert any_store.bound("10.0.0.1") == "g"
    assert any_store.bound("10.0.0.2") == "f"


def test_of_many_writers_one_wins(any_store: EpisodeStore) -> None:
    any_store.create("e", start())

    def write(number: int) -> bool:
        try:
            any_store.append(Key("e", 1), 0, step(number), None)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(write, range(64))) == 1
    record = any_store.get("e")
    assert record is not None
    assert len(record.steps) == 1


def test_of_many_resets_each_is_an_attempt(any_store: EpisodeStore) -> None:
    with ThreadPoolExecutor(16) as pool:
        attempts = list(pool.map(lambda number: any_store.create("e", start(number)).key.attempt, range(64)))
    assert sorted(attempts) == list(range(1, 65))


def test_memory_drops_what_is_over_first() -> None:
    store = MemoryStore(capacity=3)
    for at, name in enumerate("abc"):
        store.create(name, start(at, f"r-{name}"))
    store.append(Key("c", 1), 0, step(1, "r-c1"), "resolved")
    store.append(Key("a", 1), 0, step(1), None)
    store.create("d", start(4.0))
    assert (store.get("c"), store.find("c", "r-c1"), store.find("c", "r-c")) == (None, None, None)
    # Nothing is over now: b was left alone for longest.
    store.create("e", start(5.0))
    assert store.get("b") is None
    assert [name for name in "abcde" if store.get(name)] == ["a", "d", "e"]


def test_memory_drops_older_attempts_before_newer_ones() -> None:
    store = MemoryStore(capacity=2)
    for at in range(5):
        store.create("e", start(at, f"r{at}"))
    assert [store.find("e", f"r{at}") is not None for at in range(5)] == [False, False, False, True, True]
    newest = store.get("e")
    assert newest is not None
    assert newest.key.attempt == 5
    store.end(Key("e", 4), "superseded", 9.0)
    store.create("f", start(6.0))
    assert (store.find("e", "r3"), store.get("e")) == (None, newest)


def test_memory_is_bounded() -> None:
    store = MemoryStore(capacity=10)
    for number in range(1_000):
        key = store.create(f"e{number}", start(number, "r")).key
        store.append(key, 0, step(1, "s"), "resolved" if number % 2 else None)
        store.bind(f"10.0.0.{number}", key)
    assert sum(store.get(f"e{number}") is not None for number in range(1_000)) == 10
    assert sum(store.bound(f"10.0.0.{number}") is not None for number in range(1_000)) == 10
    with pytest.raises(ValueError, match="capacity"):
        MemoryStore(capacity=0)


def test_a_sign_of_life_changes_nothing_else(any_store: EpisodeStore) -> None:
    created = any_store.create("e", start())
    any_store.touch(Key("e", 1), 30.0)
    assert any_store.get("e") == created._replace(touched=30.0)
    any_store.append(Key("e", 1), 0, step(1), "resolved")
    any_store.touch(Key("e", 1), 40.0)
    ended = any_store.get("e")
    assert ended is not None
    assert (ended.end_reason, ended.changed, ended.touched) == ("resolved", 11.0, 40.0)
    any_store.touch(Key("e", 2), 50.0)
    any_store.touch(Key("another", 1), 50.0)
    assert any_store.get("e") == ended and any_store.get("another") is None
