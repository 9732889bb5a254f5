"""The memory store's bound; what it promises with all stores is in test_store."""

from __future__ import annotations

import pytest

from server.store import Key
from server.store.memory import MemoryStore
from server.store.opening import open_store
from tests.server.store_calls import start, step


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


def test_memory_outlives_nothing() -> None:
    store = open_store("memory:")
    store.create("e", start())
    store.close()
    assert not store.durable
    assert open_store("memory:").get("e") is None
