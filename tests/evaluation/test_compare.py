"""What differs between two runs, worked by hand, and which tickets can't be compared."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from engine.contract import load_contract
from engine.evaluation.compare import Comparison, Flip, Side, Unpaired, compare, unlike
from engine.evaluation.compare_told import as_json, told_comparison
from engine.evaluation.intervals import Rate, bootstrap, rates_apart
from engine.evaluation.numbers import Planned
from engine.evaluation.plan import Seeds
from engine.evaluation.record import Key, Record
from engine.load import check_draft
from engine.proof.certificate import certificate
from engine.proof.prove import BUDGET, prove
from tests.evaluation.made import KNOWN, REWARDS, failed, record
from tests.proof.diffs import BASE

Ways = tuple[Sequence[Record], Sequence[Record]]


def compared(first: Sequence[Record], second: Sequence[Record], seeds: int = 1, trials: int = 1) -> Comparison:
    """The comparison of all tickets of two runs of so many seeds and trials."""
    rows = sorted({(one.pack, one.ticket, one.task) for one in (*first, *second)})
    sides = [Side(Seeds([(0, seeds - 1)]), trials, lambda *case: KNOWN, records) for records in (first, second)]
    return compare(sides[0], sides[1], [Planned(*row, REWARDS) for row in rows])


def difference(found: Comparison, name: str) -> float:
    return found.overall.numbers[name].difference.value


# -- Pairs


def test_the_same_episodes_are_compared() -> None:
    """`a` goes from 0 and 1 to 1 and 2, `b` from 2 to 1: the tickets' differences are 1 and -1. Seed 2 of `a` is in
    one run alone, and seed 1 of `b` failed in one: they change nothing."""
    first = [record("a", 0, total=0), record("a", 1, total=10_000), record("b", 0, total=20_000), failed("b", 1)]
    second = [record("a", 0, total=10_000), record("a", 1, total=20_000), record("b", 0, total=10_000)]
    second += [record("a", 2, total=-10_000), record("b", 1, total=20_000)]
    found = compared(first, second, seeds=3)
    one = found.overall.numbers["return"]
    assert (one.first, one.second, one.difference.value) == ((0.5 + 2) / 2, (1.5 + 1) / 2, 0.0)
    assert (found.overall.pairs, found.overall.tickets) == (3, 2)
    assert found.unpaired == Unpaired(0, only_second=1, done_first=0, done_second=1, not_done=0, errors_first=1)


def test_what_one_run_has_no_value_of_counts_in_neither() -> None:
    """Excess steps of the pair that reached the goal in both: 5 - 2, then 3 - 2. Seed 1 isn't among the first's."""
    first = [record("a", 0, resolved=True, steps=5), record("a", 1, resolved=True, steps=9)]
    second = [record("a", 0, resolved=True, steps=3), record("a", 1, steps=9)]
    one = compared(first, second, seeds=2).overall.numbers["excess_steps"]
    assert (one.first, one.second, one.difference.value) == (3.0, 1.0, -2.0)


def test_flips() -> None:
    first = [record("a", 0, resolved=True), record("a", 1), record("b", 0, resolved=True), record("b", 1)]
    second = [record("a", 0), record("a", 1, resolved=True), record("b", 0, resolved=True), record("b", 1)]
    found = compared(first, second, seeds=2)
    assert found.flips == (Flip(Key("p", "a", 0, 1), won=False), Flip(Key("p", "a", 1, 1), won=True))
    assert difference(found, "success") == 0.0


def test_only_what_is_done_in_both_is_compared() -> None:
    first = [record("a", 0), failed("a", 1), failed("a", 2), record("a", 3), failed("a", 4)]
    first += [record("a", 7), record("a", 8)]
    second = [failed("a", 0), record("a", 1), failed("a", 2), record("a", 5), failed("a", 6)]
    second += [failed("a", 7), failed("a", 8, status="limit")]
    found = compared(first, second, seeds=9)
    assert (found.overall.pairs, found.overall.numbers) == (0, {})
    assert found.unpaired == Unpaired(2, 2, done_first=3, done_second=1, not_done=1, errors_first=1, errors_second=2)
    console = Console(file=io.StringIO(), width=200)
    told_comparison(found, console)
    assert isinstance(console.file, io.StringIO)
    assert (
        "3 done in the first run only (in the second run 2 ended in an error and 1 met a limit), "
        "1 done in the second run only (in the first run 1 ended in an error), 1 done in neither"
    ) in console.file.getvalue()


def test_by_pack_and_task() -> None:
    first = [record("a", pack="p", task="easy"), record("b", pack="p", task="hard"), record("a", pack="q", task="hard")]
    second = [
        record("a", pack="p", task="easy", total=10_000),
        record("b", pack="p", task="hard", total=20_000),
        record("a", pack="q", task="hard", total=-10_000),
    ]
    found = compared(first, second)
    returns = {
        name: group.numbers["return"].difference.value for name, group in (*found.packs.items(), *found.tasks.items())
    }
    assert returns == {"p": 1.5, "q": -1.0, "easy": 1.0, "hard": 0.5}


def test_pass_k_of_pairs() -> None:
    """Of `a` three of four succeed, then all: pass^2 is 3/6, then 1. Of `b` nothing changes."""
    first = [record("a", seed, resolved=seed > 0) for seed in range(4)] + [record("b", seed) for seed in range(4)]
    second = [record("a", seed, resolved=True) for seed in range(4)] + [record("b", seed) for seed in range(4)]
    found = compared(first, second, seeds=4)
    one = found.overall.numbers["pass^2"]
    assert (one.first, one.second, one.difference.value) == (0.25, 0.5, 0.25)
    assert difference(found, "pass@2") == 0.0


# -- Intervals


def test_differences_of_means_are_resampled_by_ticket() -> None:
    """What a ticket is worth by itself is in both runs: only the differences are drawn."""
    apart = [0.5, 0.25, 0.0, -0.25, 0.5, 1.0, 0.5]
    level = [2.0, -1.0, 0.0, 1.0, 0.5, -0.5, 1.0]
    first = [record(f"t{number}", total=round(10_000 * own)) for number, own in enumerate(level)]
    second = [
        record(f"t{number}", total=round(10_000 * (own + more)))
        for number, (own, more) in enumerate(zip(level, apart, strict=True))
    ]
    interval = compared(first, second).overall.numbers["return"].difference.interval
    assert interval is not None
    assert all(map(math.isclose, interval, bootstrap([apart])[0]))


def test_one_ticket_is_compared_by_its_seeds() -> None:
    """Differences of 0, 1/2 and 1: 1/2 -+ 4.303 / 2 / √3. Returns from -1 to 2 can't differ by more than 3, though."""
    first = [record("a", seed) for seed in range(3)]
    for most, high in ((10_000, 1.742), (20_000, 3.0)):
        second = [record("a", seed, total=most * seed // 2) for seed in range(3)]
        interval = compared(first, second, seeds=3).overall.numbers["return"].difference.interval
        assert interval is not None and math.isclose(interval.high, high, abs_tol=1e-3)


def test_differences_of_rates_are_those_of_pairs() -> None:
    """Of 161 tickets 59 succeed in both runs, 16 in the second only, 6 in the first only: Newcombe's interval for such
    pairs, in Fagerland, Lydersen and Laake 2017, chapter 8, is 0.0046 to 0.1186 about 10/161."""
    kinds = [(True, True)] * 59 + [(True, False)] * 6 + [(False, True)] * 16 + [(False, False)] * 80
    first = [record(f"t{number}", resolved=one) for number, (one, _) in enumerate(kinds)]
    second = [record(f"t{number}", resolved=other) for number, (_, other) in enumerate(kinds)]
    found = compared(first, second)
    one = found.overall.numbers["success"].difference
    assert one.interval is not None and math.isclose(one.value, 10 / 161)
    assert abs(one.interval.low - 0.0046) < 5e-5 and abs(one.interval.high - 0.1186) < 5e-5
    assert (len(found.flips), sum(flip.won for flip in found.flips)) == (22, 16)


def test_the_seeds_of_one_ticket_are_pairs_as_well() -> None:
    first = [record("a", seed, resolved=seed < 60) for seed in range(161)]
    second = [record("a", seed, resolved=6 <= seed < 60 or seed >= 140) for seed in range(161)]
    one = compared(first, second, seeds=161).overall.numbers["success"].difference.interval
    by_ticket = compared(
        [record(f"t{number}", resolved=seen.resolved) for number, seen in enumerate(first)],
        [record(f"t{number}", resolved=seen.resolved) for number, seen in enumerate(second)],
    )
    other = by_ticket.overall.numbers["success"].difference.interval
    assert one is not None and other is not None
    assert all(map(math.isclose, one, other))


def test_two_runs_without_a_failure() -> None:
    """No return differs in ten tickets, and none can by more than 3: what that says is worked in test_intervals. Of
    success no more is known than that ten of ten succeeded."""
    records = [record(f"t{number}", total=20_000, resolved=True) for number in range(10)]
    numbers = compared(records, records).overall.numbers
    low, high = numbers["return"].difference.interval or (0.0, 0.0)
    assert math.isclose(low, -0.5511, abs_tol=1e-4) and math.isclose(high, 0.5511, abs_tol=1e-4)  # as in test_intervals
    assert numbers["normalised_return"].difference.interval is None  # it may be any loss
    assert numbers["success"].difference.interval == rates_apart(Rate(1.0, 10), Rate(1.0, 10), 0.0)


# -- Whatever is played


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int, list[Record], list[Record]]:
    seeds, trials, tickets = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 7))
    chance = Random(draw(st.integers(0, 2**32)))

    def some() -> list[Record]:
        likely = chance.random()
        return [
            failed(ticket, seed, trial)
            if chance.random() < 0.1
            else record(ticket, seed, trial, total=chance.randint(-10_000, 20_000), resolved=chance.random() < likely)
            for ticket in "abcdefg"[:tickets]
            for seed in range(seeds)
            for trial in range(1, trials + 1)
            if chance.random() < 0.9
        ]

    return seeds, trials, some(), some()


@settings(deadline=None)
@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_records_makes_no_difference(
    run: tuple[int, int, list[Record], list[Record]], random: Random
) -> None:
    seeds, trials, first, second = run
    mixed = random.sample(first, len(first)), random.sample(second, len(second))
    assert as_json(compared(*mixed, seeds, trials)) == as_json(compared(first, second, seeds, trials))


@settings(deadline=None)
@given(pairs())
def test_turned_round(run: tuple[int, int, list[Record], list[Record]]) -> None:
    """The second against the first is the first against the second, with the other sign; intervals hold the value."""
    seeds, trials, first, second = run
    here, there = compared(first, second, seeds, trials), compared(second, first, seeds, trials)
    assert [Flip(flip.key, not flip.won) for flip in here.flips] == [*there.flips]
    for name, one in here.overall.numbers.items():
        other = there.overall.numbers[name]
        assert (one.first, one.second) == (other.second, other.first)
        assert math.isclose(one.difference.value, -other.difference.value, abs_tol=1e-12)
        interval, turned = one.difference.interval, other.difference.interval
        if interval is not None and turned is not None:
            assert interval.low <= one.difference.value <= interval.high
            assert math.isclose(interval.low, -turned.high, abs_tol=1e-9)


# -- What can't be compared


@pytest.fixture
def lamps(tmp_path: Path) -> Any:
    """The certificate of the base, or of a change of it."""

    def proved(old: str = "", new: str = "", budget: int = BUDGET) -> Any:
        contract = load_contract()
        path = tmp_path / "lamps.yaml"
        assert old in BASE
        path.write_text(BASE.replace(old, new) if old else BASE, "utf-8")
        pack, _ = check_draft(path, contract)
        assert pack is not None
        return certificate([(pack, prove(pack, contract.observation_space, budget=budget))], "1.0.0")

    return proved


TICKETS = ("dark", "hum")


def test_the_same_pack(lamps: Any) -> None:
    assert unlike(lamps(), lamps(), "lamps", TICKETS) == {}


def test_the_same_pack_is_the_same_where_it_is_not_proved(lamps: Any) -> None:
    unproved = lamps(budget=1)
    assert unlike(unproved, unproved, "lamps", TICKETS) == {}
    assert unlike(lamps(), unproved, "lamps", TICKETS) == {}


def test_other_words_are_no_other_ticket(lamps: Any) -> None:
    assert unlike(lamps(), lamps("It hums.", "It is humming."), "lamps", TICKETS) == {}


def test_a_ticket_that_takes_longer(lamps: Any) -> None:
    """Its best return is 2 as before, its optimal steps are 3 instead of 2. Only who plays it has to know."""
    stalling = lamps("{socket: E27}", '{socket: [{say: "Let me look."}, E27]}')
    found = unlike(lamps(), stalling, "lamps", TICKETS)
    assert [*found] == [("lamps", "hum")]
    changes = {change.what: (change.old, change.new) for change in found["lamps", "hum"].changes}
    assert changes["optimal_steps"] == (2, 3)
    assert unlike(lamps(), stalling, "lamps", ("dark",)) == {}


def test_what_decides_all_tickets(lamps: Any) -> None:
    changed = lamps("max_steps: 4", "max_steps: 5")
    assert [*unlike(lamps(), changed, "lamps", TICKETS)] == [("lamps", "dark"), ("lamps", "hum")]


def test_two_versions_that_are_not_proved(lamps: Any) -> None:
    found = unlike(lamps(budget=1), lamps("It hums.", "It is humming.", budget=1), "lamps", TICKETS)
    assert {row: (why.changes, why.contradictory) for row, why in found.items()} == {
        ("lamps", "dark"): ((), False),
        ("lamps", "hum"): ((), False),
    }


def test_certificates_that_contradict_each_other(lamps: Any) -> None:
    changed = lamps()
    changed["packs"][0]["tickets"][0]["variants"][0]["numbers"]["optimum"] = 1.5
    found = unlike(lamps(), changed, "lamps", TICKETS)
    assert all(why.contradictory for why in found.values()) and len(found) == 2
