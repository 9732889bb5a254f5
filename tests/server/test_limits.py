"""Rate limits: what a bucket admits, how long it says to wait, and what it remembers."""

from __future__ import annotations

import math
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.limits import Limiter
from tests.server.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_then_a_steady_rate(clock: Clock) -> None:
    limiter = Limiter(2.0, 3, clock)
    assert [limiter.wait("kim") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    clock.now += 0.25
    assert limiter.wait("kim") == 0.25
    clock.now += 0.25
    assert [limiter.wait("kim"), limiter.wait("kim")] == [0.0, 0.5]
    clock.now += 100  # a bucket holds no more than the burst
    assert [limiter.wait("kim") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_each_name_has_a_bucket_of_its_own(clock: Clock) -> None:
    limiter = Limiter(1.0, 1, clock)
    assert [limiter.wait(name) for name in ("a", "b", "a", "b")] == [0.0, 0.0, 1.0, 1.0]


def test_many_at_once(clock: Clock) -> None:
    limiter = Limiter(4.0, 8, clock)
    assert limiter.wait("kim", 6) == 0.0
    assert limiter.wait("kim", 4) == 0.5  # 2 are there
    assert limiter.wait("kim", 2) == 0.0  # what was refused took nothing
    assert limiter.wait("kim", 0) == 0.0
    assert limiter.wait("kim", 8) == 2.0
    assert limiter.wait("kim", 9) == math.inf  # a bucket never holds so many


@pytest.mark.parametrize(("rate", "burst", "capacity"), [(0, 1, 1), (-1, 1, 1), (math.nan, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_limiter_that_admits_nobody_is_none(rate: float, burst: int, capacity: int, clock: Clock) -> None:
    with pytest.raises(ValueError, match="rate must be more than 0"):
        Limiter(rate, burst, clock, capacity)


def test_full_buckets_are_forgotten(clock: Clock) -> None:
    limiter = Limiter(1.0, 10, clock)
    for number in range(1_000):
        limiter.wait(f"name {number}")
    assert len(limiter) == 1_000
    clock.now += 1.0
    limiter.wait("another")
    assert len(limiter) == 1


def test_a_slow_bucket_hides_the_full_ones_behind_it_no_longer_than_it_takes_to_fill(clock: Clock) -> None:
    limiter = Limiter(1.0, 10, clock)
    limiter.wait("slow", 10)
    for number in range(100):
        limiter.wait(f"name {number}")
    clock.now += 10.0
    limiter.wait("another")
    assert len(limiter) == 1


def test_a_bucket_that_is_remembered_though_it_is_full_holds_no_more_than_the_burst(clock: Clock) -> None:
    limiter = Limiter(1.0, 10, clock)
    limiter.wait("slow", 10)
    limiter.wait("kim", 1)
    clock.now += 5.0
    assert limiter.wait("kim", 10) == 0.0
    assert limiter.wait("kim") == 1.0


def test_who_comes_often_is_remembered(clock: Clock) -> None:
    limiter = Limiter(1.0, 2, clock, capacity=2)
    for name in ("often", "once", "often", "new"):
        limiter.wait(name)
    assert limiter.wait("often") == 1.0
    assert limiter.wait("once", 2) == 0.0  # it was forgotten


def test_of_too_many_names_the_one_admitted_longest_ago_goes(clock: Clock) -> None:
    limiter = Limiter(1.0, 1, clock, capacity=3)
    for name in ("a", "b", "c"):
        limiter.wait(name)
        clock.now += 0.0625
    limiter.wait("d")
    assert len(limiter) == 3
    assert limiter.wait("b") > 0
    assert limiter.wait("a") == 0.0  # it was forgotten


class Slow(str):
    """A name that lets the other threads go first whenever it is looked up or put in its place."""

    def __hash__(self) -> int:
        time.sleep(1e-4)
        return super().__hash__()


def test_many_threads_get_no_more_than_the_burst(clock: Clock) -> None:
    limiter = Limiter(1.0, 50, clock)
    admitted: list[int] = []

    def ask() -> None:
        admitted.extend(1 for _ in range(20) if limiter.wait(Slow("kim")) == 0.0)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 50


# Numbers whose sums and products a float holds exactly, so that the bounds are exact as well.
RATES = st.sampled_from([2.0**power for power in range(-4, 11)])
PAUSES = st.one_of(st.just(0.0), st.integers(0, 4_096).map(lambda ticks: ticks / 1_024))
COMES = st.tuples(st.sampled_from("abc"), st.integers(0, 12), PAUSES)


@given(RATES, st.integers(1, 10), st.lists(COMES, max_size=60))
def test_no_window_admits_more_than_the_burst_and_the_rate(
    rate: float, burst: int, comes: list[tuple[str, int, float]]
) -> None:
    clock = Clock()
    limiter = Limiter(rate, burst, clock)
    admitted: dict[str, list[tuple[float, int]]] = {}
    for name, count, pause in comes:
        clock.now += pause
        if limiter.wait(name, count) == 0.0:
            admitted.setdefault(name, []).append((clock.now, count))
    for events in admitted.values():
        for first, (start, _) in enumerate(events):
            total = 0
            for end, count in events[first:]:
                total += count
                assert total <= burst + rate * (end - start)


@given(RATES, st.integers(1, 10), st.lists(COMES, max_size=40), st.integers(1, 10))
def test_the_wait_is_short_and_it_is_what_is_needed(
    rate: float, burst: int, comes: list[tuple[str, int, float]], count: int
) -> None:
    clock = Clock()
    limiter = Limiter(rate, burst, clock)
    for name, earlier, pause in comes:
        clock.now += pause
        limiter.wait(name, earlier)
    wait = limiter.wait("a", count)
    if count > burst:
        assert wait == math.inf
        return
    assert 0.0 <= wait <= count / rate
    if wait:
        tick = 2.0**-20
        clock.now += wait - tick
        assert limiter.wait("a", count) == tick
        clock.now += tick
        assert limiter.wait("a", count) == 0.0


@given(
    st.floats(1e-3, 1e6),
    st.integers(1, 1_000),
    st.floats(0, 1e9),
    st.lists(st.tuples(st.integers(0, 1_000), st.floats(0, 1e3)), max_size=40),
)
def test_any_numbers_at_all(rate: float, burst: int, start: float, comes: list[tuple[int, float]]) -> None:
    """The same bounds, as far as floats go; and a full bucket is full: its whole burst is admitted."""
    clock = Clock()
    clock.now = start
    limiter = Limiter(rate, burst, clock)
    assert limiter.wait("a", burst) == 0.0
    total = burst
    for count, pause in comes:
        clock.now += pause
        wait = limiter.wait("a", count)
        if wait == 0.0:
            total += count
        assert wait <= count / rate or count > burst
    since = clock.now - start
    assert total <= burst + rate * since + 1e-6 * (burst + rate * (since + 1))


@given(st.lists(st.tuples(st.integers(0, 30), PAUSES), max_size=100), st.integers(1, 8))
def test_the_memory_is_bounded(comes: list[tuple[int, float]], capacity: int) -> None:
    clock = Clock()
    limiter = Limiter(0.5, 4, clock, capacity)
    for name, pause in comes:
        clock.now += pause
        limiter.wait(str(name))
        assert len(limiter) <= capacity
