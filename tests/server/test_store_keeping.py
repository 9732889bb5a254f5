"""What every store promises about what goes, what else it keeps, and who comes at once; shown on each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.store import Conflict, EpisodeStore, Key, Record, Repeated, Step
from tests.server.store_calls import start, step

# -- What goes


def test_what_was_left_alone_expires(any_store: EpisodeStore) -> None:
    for name, at in (("left", 1.0), ("touched", 1.0), ("stepped", 1.0), ("new", 15.0), ("over", 1.0), ("again", 1.0)):
        any_store.create(name, start(at))
    any_store.create("again", start(15.0))
    any_store.touch(Key("touched", 1), 15.0)
    any_store.append(Key("stepped", 1), 0, step(5), None)
    any_store.end(Key("over", 1), "superseded", 2.0)
    assert any_store.open_count() == 5
    assert any_store.expire(15.0, 16.0) == 1
    assert any_store.get("left") == Record(Key("left", 1), start(), (), "expired", 16.0)
    assert any_store.open_count() == 4
    with pytest.raises(Conflict):
        any_store.append(Key("left", 1), 0, step(1), None)
    ends = [record.end_reason for record in any_store.records()]
    assert ends == ["expired", None, None, None, "superseded", None, None]
    # A sign of life from before its last change doesn't shorten it.
    any_store.touch(Key("stepped", 1), 3.0)
    assert any_store.expire(15.0, 17.0) == 0
    assert any_store.expire(15.5, 18.0) == 4
    assert any_store.open_count() == 0


def test_many_expire(any_store: EpisodeStore) -> None:
    for number in range(1_250):
        any_store.create(f"e-{number}", start(number))
    assert any_store.open_count() == 1_250
    assert any_store.expire(1_111.0, 2_000.0) == 1_111
    assert any_store.open_count() == 139
    assert any_store.prune(2_000.0) == 0
    assert any_store.prune(2_000.5) == 1_111
    assert [record.key.episode_id for record in any_store.records()] == [
        f"e-{number}" for number in range(1_111, 1_250)
    ]


def test_what_is_over_is_pruned(any_store: EpisodeStore) -> None:
    any_store.create("open", start(1.0))
    any_store.create("e", start(1.0, "r0"))
    any_store.append(Key("e", 1), 0, step(1, "r1"), None)
    any_store.create("e", start(2.0, "r2"))
    any_store.create("over", start(1.0, "r0"))
    any_store.append(Key("over", 1), 0, step(1, "r1"), "resolved")
    any_store.bind("10.0.0.1", Key("over", 1))
    any_store.bind("10.0.0.2", Key("e", 1))
    any_store.bind("10.0.0.3", Key("over", 1))
    any_store.bind("10.0.0.3", Key("open", 1))
    assert any_store.prune(11.0) == 0
    assert any_store.prune(11.5) == 2
    assert [record.key for record in any_store.records()] == [("open", 1), ("e", 2)]
    assert any_store.get("over") is None
    assert [any_store.find("e", name) is None for name in ("r0", "r1", "r2")] == [True, True, False]
    assert any_store.find("over", "r0") is None and any_store.find("over", "r1") is None
    assert [any_store.bound(f"10.0.0.{number}") for number in (1, 2, 3)] == [None, "e", "open"]
    # The request ids may be used again; an episode that is gone begins anew.
    assert any_store.create("e", start(3.0, "r1")).key == Key("e", 3)
    assert any_store.create("over", start(3.0, "r0")).key == Key("over", 1)
    assert any_store.open_count() == 3


def test_attempts_are_pruned_in_their_order(any_store: EpisodeStore) -> None:
    for at in (1.0, 2.0, 3.0):
        any_store.create("e", start(at))
    any_store.end(Key("e", 3), "resolved", 4.0)
    any_store.end(Key("e", 2), "superseded", 20.0)
    # The third is kept for the second's sake: an attempt's number is never given twice.
    assert any_store.prune(10.0) == 1
    assert [record.key for record in any_store.records()] == [("e", 2), ("e", 3)]
    assert any_store.prune(10.0) == 0
    assert any_store.prune(21.0) == 2
    assert any_store.get("e") is None


# -- Addresses, packs, notes


def test_addresses(any_store: EpisodeStore) -> None:
    assert any_store.bound("10.0.0.1") is None
    assert any_store.bind("10.0.0.1", Key("e", 1)) is None
    assert any_store.bind("10.0.0.2", Key("f", 1)) is None
    assert any_store.bind("10.0.0.1", Key("g", 1)) == Key("e", 1)
    assert any_store.bound("10.0.0.1") == "g"
    assert any_store.bound("10.0.0.2") == "f"
    # No episode comes of it.
    assert any_store.get("g") is None and list(any_store.records()) == []
    assert any_store.create("g", start()).key == Key("g", 1)


def test_packs(any_store: EpisodeStore) -> None:
    source = "pack: x\n" + "# 版本 \ud83d\n" * 20_000
    assert any_store.pack("d1") is None
    any_store.keep_pack("d1", source)
    any_store.keep_pack("d1", source)
    any_store.keep_pack("d2", "")
    assert any_store.pack("d1") == source
    assert any_store.pack("d2") == ""


def test_notes_are_compared_and_set(any_store: EpisodeStore) -> None:
    assert any_store.recall("mcp:1") is None
    assert any_store.swap("mcp:1", None, None, 1.0)
    assert not any_store.swap("mcp:1", "a", "b", 1.0)
    assert any_store.recall("mcp:1") is None and any_store.count("") == 0
    assert any_store.swap("mcp:1", None, "a", 1.0)
    assert not any_store.swap("mcp:1", None, "b", 2.0)
    assert not any_store.swap("mcp:1", None, None, 2.0)
    assert not any_store.swap("mcp:1", "", "b", 2.0)
    assert not any_store.swap("mcp:1", "b", None, 2.0)
    assert any_store.recall("mcp:1") == "a"
    assert any_store.swap("mcp:1", "a", "", 3.0)
    assert any_store.recall("mcp:1") == ""
    assert any_store.swap("mcp:1", "", None, 4.0)
    assert any_store.recall("mcp:1") is None and any_store.count("") == 0


def test_notes_are_forgotten(any_store: EpisodeStore) -> None:
    for number in range(1_200):
        assert any_store.swap(f"mcp:{number}", None, "x", number)
    assert any_store.swap("ors:1", None, "x", 1.0)
    assert (any_store.count("mcp:"), any_store.count("ors:"), any_store.count("mcp:1"), any_store.count("m:")) == (
        1_200,
        1,
        # 1, 10 to 19, 100 to 199, 1000 to 1199
        311,
        0,
    )
    # Swapping a note for itself counts as swapping.
    assert any_store.swap("mcp:0", "x", "x", 2_000.0)
    assert any_store.forget("mcp:", 1_000.0) == 999
    assert any_store.recall("mcp:0") == "x" and any_store.recall("mcp:999") is None
    assert (any_store.count("mcp:"), any_store.count("")) == (201, 202)
    assert any_store.forget("", 5_000.0) == 202
    assert any_store.count("") == 0


def test_a_store_that_works_says_so(any_store: EpisodeStore) -> None:
    any_store.check()
    assert list(any_store.records()) == [] and any_store.count("") == 0 and any_store.open_count() == 0


# -- Many threads


def test_of_many_writers_one_wins_each_step(any_store: EpisodeStore) -> None:
    any_store.create("e", start())
    together = threading.Barrier(32)

    def write(number: int) -> list[int]:
        """The steps that this writer won. Where it lost, it is told of an episode that has the step already."""
        won = []
        for index in range(10):
            together.wait()
            try:
                any_store.append(Key("e", 1), index, Step({"writer": number}, None, float(index)), None)
            except Conflict as conflict:
                if conflict.current is None or len(conflict.current.steps) <= index:
                    raise
            else:
                won.append(index)
        return won

    with ThreadPoolExecutor(32) as pool:
        wins = list(pool.map(write, range(32)))
    assert sorted(index for won in wins for index in won) == list(range(10))
    record = any_store.get("e")
    assert record is not None
    winners = {index: number for number, won in enumerate(wins) for index in won}
    assert [taken.action["writer"] for taken in record.steps] == [winners[index] for index in range(10)]


def test_of_many_repeats_one_counts(any_store: EpisodeStore) -> None:
    together = threading.Barrier(32)

    def once(call: Callable[[], object]) -> tuple[Step, ...] | None:
        """None where the call was the first, else the steps until it was answered."""
        together.wait()
        try:
            call()
        except Repeated as repeated:
            return repeated.record.steps
        return None

    def play(_: int) -> tuple[object, object]:
        reset = once(lambda: any_store.create("e", start(request_id="r")))
        return reset, once(lambda: any_store.append(Key("e", 1), 0, step(1, "s"), None))

    with ThreadPoolExecutor(32) as pool:
        resets, steps = zip(*pool.map(play, range(32)), strict=True)
    assert sorted(resets, key=repr) == [()] * 31 + [None]
    assert sorted(steps, key=repr) == [(step(1, "s"),)] * 31 + [None]
    assert list(any_store.records()) == [Record(Key("e", 1), start(request_id="r"), (step(1, "s"),), None, 11.0)]


def test_of_many_resets_each_is_an_attempt(any_store: EpisodeStore) -> None:
    with ThreadPoolExecutor(16) as pool:
        attempts = list(pool.map(lambda number: any_store.create("e", start(number)).key.attempt, range(64)))
    assert sorted(attempts) == list(range(1, 65))
    assert any_store.open_count() == 1


def test_of_many_swaps_one_wins(any_store: EpisodeStore) -> None:
    any_store.swap("n", None, "0", 1.0)

    def add(_: int) -> None:
        while True:
            before = any_store.recall("n")
            assert before is not None
            if any_store.swap("n", before, str(int(before) + 1), 2.0):
                return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(80)))
    assert any_store.recall("n") == "80"
