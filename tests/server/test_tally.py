"""Counting: nothing is lost, whoever counts and whoever reads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from threading import Barrier
from typing import ClassVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tally import BUCKETS, EPISODES_ENDED, REQUEST_SECONDS, STEPS, Tally, merged

STEP = ("http", "/step")


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_counts() -> None:
    tally = Tally()
    tally.add(EPISODES_ENDED, (*STEP, "200"))
    tally.add(EPISODES_ENDED, (*STEP, "200"))
    tally.add(EPISODES_ENDED, (*STEP, "409"))
    tally.add(STEPS, ("lamps",), 64)
    tally.add(STEPS)
    assert tally.totals() == {
        (EPISODES_ENDED, (*STEP, "200")): [2],
        (EPISODES_ENDED, (*STEP, "409")): [1],
        (STEPS, ("lamps",)): [64],
        (STEPS, ()): [1],
    }


def test_durations_are_counted_up_to_and_with_a_bound() -> None:
    tally = Tally()
    for seconds in (0.0, 0.0001, 0.00011, 0.25, 10.0, 10.5, 3600.0):
        tally.observe(REQUEST_SECONDS, STEP, seconds)
    (row,) = tally.totals().values()
    expected = dict.fromkeys(BUCKETS, 0) | {0.0001: 2, 0.00025: 1, 0.25: 1, 10.0: 1}
    assert row[:-2] == list(expected.values())
    assert row[-2] == 2
    assert row[-1] == pytest.approx(0.0001 + 0.00011 + 0.25 + 10.0 + 10.5 + 3600.0)


def test_bounds_rise() -> None:
    assert list(BUCKETS) == sorted(set(BUCKETS))


def test_totals_are_a_copy() -> None:
    tally = Tally()
    tally.add(STEPS)
    tally.observe(REQUEST_SECONDS, STEP, 0.5)
    before = tally.totals()
    tally.add(STEPS)
    tally.observe(REQUEST_SECONDS, STEP, 0.5)
    assert before[STEPS, ()] == [1]
    assert before[REQUEST_SECONDS, STEP][-1] == 0.5
    assert tally.totals()[STEPS, ()] == [2]


class Meeting(float):
    """A number that, being added, waits until another thread is adding one too: both have read what they add to."""

    place: ClassVar = Barrier(2, timeout=30)

    def __radd__(self, other: float) -> float:
        self.place.wait()
        return other + float(self)


def test_two_threads_at_the_same_count() -> None:
    tally = Tally()

    def count(_: int) -> None:
        for n in (1, Meeting(1)):
            tally.add(STEPS, (), cast(int, n))
        for seconds in (1.0, Meeting(1.0)):
            tally.observe(REQUEST_SECONDS, STEP, seconds)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(count, range(2)))
    totals = tally.totals()
    assert totals[STEPS, ()] == [4]
    assert (sum(totals[REQUEST_SECONDS, STEP][:-1]), totals[REQUEST_SECONDS, STEP][-1]) == (4, 4.0)


@pytest.mark.usefixtures("hasty")
def test_many_threads_and_a_reader() -> None:
    tally = Tally()

    def count(number: int) -> None:
        for turn in range(5_000):
            tally.add(STEPS, ("lamps",))
            tally.observe(REQUEST_SECONDS, STEP, 0.5)
            if turn % 50 == 0:
                tally.add(EPISODES_ENDED, (str(number), str(turn), "200"))  # a new row, while others read

    seen = [0.0]
    with ThreadPoolExecutor(8) as pool:
        counting = [pool.submit(count, number) for number in range(8)]
        while not all(one.done() for one in counting):
            seen.append(tally.totals().get((STEPS, ("lamps",)), [0.0])[0])
        for one in counting:
            one.result()
    totals = tally.totals()
    assert totals[STEPS, ("lamps",)] == [40_000]
    row = totals[REQUEST_SECONDS, STEP]
    assert (sum(row[:-1]), row[-1]) == (40_000, 20_000.0)
    assert len([key for key in totals if key[0] == EPISODES_ENDED]) == 8 * 100
    assert seen == sorted(seen)


DID = st.lists(
    st.one_of(
        st.tuples(st.just(STEPS), st.sampled_from([(), ("lamps",)]), st.integers(1, 9)),
        st.tuples(st.just(REQUEST_SECONDS), st.sampled_from([STEP, ("ws", "/ws")]), st.integers(0, 20)),
    )
)


@given(st.lists(DID, max_size=4))
def test_several_tallies_come_to_as_much_as_one(by_worker: list[list[tuple[str, tuple[str, ...], int]]]) -> None:
    def count(tally: Tally, did: list[tuple[str, tuple[str, ...], int]]) -> Tally:
        for metric, labels, n in did:
            if metric == STEPS:
                tally.add(metric, labels, n)
            else:
                tally.observe(metric, labels, n)  # whole seconds, so that sums are exact
        return tally

    together = reduce(count, by_worker, Tally())
    assert merged(count(Tally(), did).totals() for did in by_worker) == together.totals()
