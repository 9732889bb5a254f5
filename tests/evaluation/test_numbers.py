"""The numbers of a run, worked by hand."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evaluation.estimates import Estimate
from engine.evaluation.intervals import Interval, Rate, bootstrap, mean_within, means_within, rate_of, spread, wilson
from engine.evaluation.numbers import Group, Planned, Table, Tally, as_json
from engine.evaluation.record import Record
from engine.evaluation.tally import Cause
from tests.evaluation.made import REWARDS, failed, record, taken, tally


def value(group: Group, name: str) -> float:
    return group.numbers[name].value


# -- Means over tickets, of means over seeds, of means over trials


def test_each_ticket_weighs_the_same() -> None:
    """`a` returns 2 and 1, on average 1.5, and `b`, of which one seed is done, -1: together 0.25. Over episodes it were
    2/3."""
    records = [
        record("a", 0, total=20_000, score=1.0, resolved=True),
        record("a", 1, total=10_000, score=0.5),
        record("b", 0, total=-10_000, score=0.0),
        failed("b", 1),
    ]
    found = taken(tally(["a", "b"], seeds=2), records).table()
    assert value(found.overall, "return") == 0.25
    assert value(found.overall, "score") == (0.75 + 0.0) / 2
    assert value(found.overall, "success") == (0.5 + 0.0) / 2
    assert value(found.tickets["p", "a"], "return") == 1.5
    assert found.unit == "seed"


def test_each_seed_weighs_the_same() -> None:
    """Seed 0 has trials of 2 and 0, and seed 1 one of -1 and one that failed: (1 - 1) / 2 = 0, not (2 + 0 - 1) / 3."""
    records = [record("a", 0, 1, total=20_000), record("a", 0, 2, total=0), record("a", 1, 1, total=-10_000)]
    found = taken(tally(["a"], seeds=2, trials=2), [*records, failed("a", 1, 2)]).table()
    assert value(found.overall, "return") == 0.0


def test_a_seed_whose_trials_are_not_all_there_counts_with_those_that_are() -> None:
    records = [record("a", 0, 1, total=20_000), record("a", 1, 1, total=10_000), record("a", 1, 2, total=0)]
    found = taken(tally(["a"], seeds=2, trials=2), records).table()
    assert value(found.overall, "return") == (2 + 0.5) / 2


def test_regret_and_excess_steps() -> None:
    """Excess steps are those of episodes that reached the goal: 5 - 3 and 2 - 3 steps. Regret is known of three."""
    records = [
        record("a", 0, regret=5_000, resolved=True, steps=5, optimal_steps=3),
        record("a", 1, regret=0, resolved=True, steps=2, optimal_steps=3),
        record("a", 2, regret=10_000, steps=9, optimal_steps=3),
        record("a", 3, regret=None, resolved=True, steps=7, optimal_steps=None),
    ]
    found = taken(tally(["a"], seeds=4), records).table().overall
    assert value(found, "regret") == 0.5
    assert value(found, "excess_steps") == 0.5


def test_normalised_between_chance_and_the_best() -> None:
    """0 is -0.5 and 1 is 2 here: a return of 0.75 is a half, and -1 is -0.2, which isn't cut off at 0."""
    found = taken(tally(["a"], seeds=2), [record("a", 0, total=7_500), record("a", 1, total=-10_000)]).table().overall
    assert math.isclose(value(found, "normalised_return"), (0.5 - 0.2) / 2)
    exact = {name: value(found, name) for name in ("best_return", "random_return", "random_score")}
    assert exact == {"best_return": 2.0, "random_return": -0.5, "random_score": 0.25}
    assert all(found.numbers[name].interval is None for name in exact)


def test_what_is_not_proved_has_no_normalised_value() -> None:
    found = taken(tally(["a"], known=None), [record("a", total=7_500)]).table().overall
    assert not found.numbers.keys() & {"normalised_return", "best_return", "random_return", "random_score"}
    assert value(found, "return") == 0.75


# -- What isn't done


def test_errors_are_in_no_mean_and_are_not_lost() -> None:
    """Of six planned episodes three are done: the errors' returns of 0 are in no mean."""
    records = [
        record("a", 0, total=20_000),
        record("b", 0, total=20_000),
        record("c", 0, total=20_000),
        failed("a", 1, cause="It broke."),
        failed("b", 1, cause="It broke."),
        failed("c", 1, cause="It was slow.", status="limit"),
    ]
    found = taken(tally(["a", "b", "c", "d"], seeds=2), records).table()
    group = found.overall
    assert (group.planned, group.done, group.errors, group.limits, group.tickets) == (8, 3, 2, 1, 3)
    assert group.coverage == 3 / 8
    assert [*group.causes.items()] == [(Cause("error", "It broke."), 2), (Cause("limit", "It was slow."), 1)]
    assert value(group, "return") == 2.0
    assert found.tickets["p", "d"].numbers == {} and found.tickets["p", "d"].coverage == 0.0


def test_nothing_at_all() -> None:
    group = tally(["a", "b"]).table().overall
    assert (group.planned, group.done, group.numbers) == (2, 0, {})


def test_a_ticket_that_is_not_planned() -> None:
    with pytest.raises(KeyError):
        tally(["a"]).take(record("b"))


# -- pass^k and pass@k


def test_the_seeds_of_a_ticket_are_its_trials_where_each_is_played_once() -> None:
    """`a` succeeds at 3 of 4 seeds, `b` at all. Of two: (3/6 + 1) / 2 and (1 + 1) / 2; of four: (0 + 1) / 2 and 1."""
    records = [record("a", seed, resolved=seed < 3) for seed in range(4)]
    records += [record("b", seed, resolved=True) for seed in range(4)]
    found = taken(tally(["a", "b"], seeds=4), records).table()
    assert found.repeated == "seeds"
    passes = {name: each.value for name, each in found.overall.numbers.items() if name.startswith("pass")}
    assert passes == {"pass^2": 0.75, "pass@2": 1.0, "pass^4": 0.5, "pass@4": 1.0}


def test_a_case_is_repeated_where_it_is_played_several_times() -> None:
    """Seed 0 succeeds in both trials, seed 1 in neither: of two trials of one case all succeed in half of the cases, as
    does any. Over seeds it were 1/6 and 5/6."""
    records = [record("a", seed, trial, resolved=seed == 0) for seed in (0, 1) for trial in (1, 2)]
    found = taken(tally(["a"], seeds=2, trials=2), records).table()
    assert found.repeated == "trials"
    assert value(found.overall, "pass^2") == value(found.overall, "pass@2") == 0.5
    assert "pass^4" not in found.overall.numbers


def test_one_seed_is_repeated_by_its_trials() -> None:
    records = [record("a", 7, trial, resolved=trial > 1) for trial in (1, 2, 3, 4)]
    found = taken(tally(["a"], seeds=1, trials=4), records).table()
    assert (found.unit, found.repeated) == ("trial", "trials")
    assert value(found.overall, "pass^2") == 0.5 and value(found.overall, "success") == 0.75


def test_what_was_not_tried_often_enough_is_left_out() -> None:
    """Of `b` one trial is done: pass^2 is of `a` alone."""
    records = [record("a", 0, resolved=True), record("a", 1, resolved=True), record("b", 0), failed("b", 1)]
    found = taken(tally(["a", "b"], seeds=2), records).table().overall
    assert found.numbers["pass^2"].value == 1.0 and found.numbers["pass^2"].tickets == 1
    assert found.numbers["success"].value == 0.5 and found.numbers["success"].tickets == 2


# -- Intervals


def test_means_are_resampled_by_ticket() -> None:
    """Whatever the seeds: the interval is that of the tickets' means."""
    means = [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, -1.0]
    tickets = [f"t{number}" for number in range(7)]
    records = [
        record(ticket, seed, total=round((mean + (seed - 1) / 4) * 10_000))
        for ticket, mean in zip(tickets, means, strict=True)
        for seed in range(3)
    ]
    found = taken(tally(tickets, seeds=3), records).table().overall.numbers["return"]
    assert found.interval is not None
    assert all(map(math.isclose, found.interval, means_within([means], [(-1.0, 2.0)])[0]))


def test_one_ticket_is_judged_by_its_seeds() -> None:
    """Returns of 0, 1 and 2, of which none is less than -1 or more than 2."""
    records = [record("a", seed, total=10_000 * seed, resolved=seed == 2) for seed in range(3)]
    numbers = taken(tally(["a"], seeds=3), records).table().overall.numbers
    assert numbers["return"] == Estimate(1.0, mean_within(spread([0.0, 1.0, 2.0]), (-1.0, 2.0)), 1)
    assert numbers["success"].interval == wilson(Rate(1 / 3, 3))


def test_one_ticket_of_many_seeds() -> None:
    """A thousand returns of 0 and 1: 0.5 -+ 1.962 √(0.25025 / 1000) by Student, to which half a unit at either end adds
    half a percent."""
    records = [record("a", seed, total=10_000 * (seed % 2)) for seed in range(1000)]
    interval = taken(tally(["a"], seeds=1000), records).table().overall.numbers["return"].interval
    assert interval is not None
    assert abs(interval.low - 0.46896) < 2e-4 and abs(interval.high - 0.53104) < 2e-4


def test_one_episode() -> None:
    numbers = taken(tally(["a"]), [record("a", total=20_000, score=1.0, resolved=True)]).table().overall.numbers
    assert numbers["return"] == Estimate(2.0, None, 1) and numbers["score"] == Estimate(1.0, None, 1)
    assert numbers["success"].interval == wilson(Rate(1.0, 1))


def test_success_is_worth_as_many_trials_as_tickets_allow() -> None:
    records = [record(ticket, seed, resolved=ticket < "d") for ticket in "abcde" for seed in range(20)]
    found = taken(tally([*"abcde"], seeds=20), records).table().overall.numbers["success"]
    assert found.interval == wilson(rate_of(spread([1.0, 1.0, 1.0, 0.0, 0.0]), 100))
    assert found.interval == wilson(Rate(0.6, 5))  # a ticket always goes one way


def test_of_one_thing_only_the_interval_of_pass_k_is_that_of_its_chance() -> None:
    """Six of eight succeed: Wilson's interval has 0.409 to 0.929, and pass^2 is the square of a chance."""
    records = [record("a", seed, resolved=seed < 6) for seed in range(8)]
    numbers = taken(tally(["a"], seeds=8), records).table().overall.numbers
    low, high = numbers["success"].interval or (0, 0)
    assert (round(low, 3), round(high, 3)) == (0.409, 0.929)
    assert numbers["pass^2"].interval == (low**2, high**2)
    assert numbers["pass@2"].interval == (1 - (1 - low) ** 2, 1 - (1 - high) ** 2)


def test_what_a_number_can_be_decides_how_sure_it_is() -> None:
    """Seven tickets that all score 1 don't prove that the eighth does. A score is in [0, 1], a return in [-1, 2], a
    regret in [0, 3]; a normalised return of -1 is (-1 + 0.5) / 2.5. How many steps there are isn't known here."""
    tickets = [f"t{number}" for number in range(7)]
    records = [record(ticket, score=1.0, total=20_000, resolved=True, steps=2) for ticket in tickets]
    numbers = taken(tally(tickets), records).table().overall.numbers
    values = {"score": 1.0, "return": 2.0, "regret": 0.0, "normalised_return": 1.0}
    ends = [(0.0, 1.0), (-1.0, 2.0), (0.0, 3.0), (-0.2, 1.0)]
    wanted = means_within([[value] * 7 for value in values.values()], ends)
    for (name, value), interval in zip(values.items(), wanted, strict=True):
        found = numbers[name].interval
        assert found is not None and all(map(math.isclose, found, interval.holding(value)))
    assert numbers["excess_steps"].interval is None


@pytest.mark.parametrize("seeds", [1, 4])
def test_of_steps_that_are_all_alike_and_of_few_that_are_not(seeds: int) -> None:
    """Of ten steps no more than nine are too many, nor more than nine too few. Four times 0, as far as known, is
    Wilson's interval of 20 trials (4 q (1 - q) 5 / 0.25 with q = 1/2), 0.5 -+ 0.20073, of a way of 18: -+ 3.6131."""
    ten = [Planned("p", ticket, "easy", REWARDS, 10) for ticket in ("abcd" if seeds == 1 else "a")]

    def interval(*steps: int) -> Interval | None:
        plays = [
            record(ten[at % len(ten)].ticket, at // len(ten), resolved=True, steps=2 + more)
            for at, more in enumerate(steps)
        ]
        found = Tally(ten, seeds, 1, lambda pack, ticket, seed: None)
        for one in plays:
            found.take(one)
        return found.table().overall.numbers["excess_steps"].interval

    low, high = interval(0, 0, 0, 0) or (0.0, 0.0)
    assert math.isclose(low, -3.6131, abs_tol=1e-3) and math.isclose(high, 3.6131, abs_tol=1e-3)
    low, high = interval(0, 0, 0, 9) or (0.0, 0.0)  # 2.25 -+ 3.1824 * 4.5 / 2
    assert math.isclose(low, -4.9104, abs_tol=1e-3) and high == 9.0


def test_one_ticket_that_was_always_won_is_not_known_for_ever() -> None:
    """20 seeds: success from 20 / (20 + z²) = 0.83887 on, and returns from 3 * 0.83887 - 1 on."""
    records = [record("a", seed, total=20_000, score=1.0, resolved=True) for seed in range(20)]
    numbers = taken(tally(["a"], seeds=20), records).table().overall.numbers
    for name, low, high in (("success", 0.83887, 1.0), ("score", 0.83887, 1.0), ("return", 1.51662, 2.0)):
        found = numbers[name].interval
        assert found is not None and math.isclose(found.low, low, abs_tol=1e-5) and found.high == high


def test_excess_steps_are_resampled_as_they_are() -> None:
    steps = [0, 1, 0, 3, 2, 0, 1]
    records = [record(f"t{number}", resolved=True, steps=2 + more) for number, more in enumerate(steps)]
    found = taken(tally([one.ticket for one in records]), records).table().overall.numbers["excess_steps"]
    assert found.interval == bootstrap([[*map(float, steps)]])[0]


# -- Groups


def test_by_pack_and_task() -> None:
    rows = [("p", "a", "easy"), ("p", "b", "hard"), ("q", "a", "hard")]
    records = [
        record("a", pack="p", task="easy", total=10_000),
        record("b", pack="p", task="hard", total=0),
        record("a", pack="q", task="hard", total=-10_000),
    ]
    found = taken(tally(rows), records).table()
    assert {name: value(group, "return") for name, group in found.packs.items()} == {"p": 0.5, "q": -1.0}
    assert {name: value(group, "return") for name, group in found.tasks.items()} == {"easy": 1.0, "hard": -0.5}
    assert {row: value(group, "return") for row, group in found.tickets.items()} == {
        ("p", "a"): 1.0,
        ("p", "b"): 0.0,
        ("q", "a"): -1.0,
    }
    assert value(found.overall, "return") == 0.0


# -- Whatever is played


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, int, list[Record]]:
    """Some of the planned episodes of up to eight tickets, a few seeds and trials; a number decides what is in them."""
    seeds, trials, tickets = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 8))
    chance = Random(draw(st.integers(0, 2**32)))
    return seeds, trials, [*_some(chance, "abcdefgh"[:tickets], seeds, trials)]


def _some(chance: Random, tickets: str, seeds: int, trials: int) -> Iterator[Record]:
    likely = chance.random()
    for ticket, seed, trial in product(tickets, range(seeds), range(1, trials + 1)):
        kind = chance.choice(["done", "done", "done", "error", "missing"])
        if kind == "error":
            yield failed(ticket, seed, trial, chance.choice(["One.", "Other."]))
        elif kind == "done":
            yield record(
                ticket,
                seed,
                trial,
                total=chance.randint(-10_000, 20_000),
                score=chance.randint(0, 7) / 7,
                resolved=chance.random() < likely,
                steps=chance.randint(0, 10),
                regret=chance.choice([None, chance.randint(0, 30_000)]),
            )


def told(seeds: int, trials: int, records: list[Record]) -> Table:
    return taken(tally([*"abcdefgh"], seeds=seeds, trials=trials, ks=(1, 2, 3)), records).table()


@settings(deadline=None)
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_records_makes_no_difference(run: tuple[int, int, list[Record]], random: Random) -> None:
    seeds, trials, records = run
    mixed = random.sample(records, len(records))
    assert as_json(told(seeds, trials, mixed)) == as_json(told(seeds, trials, records))


@settings(deadline=None)
@given(runs())
def test_every_interval_holds_its_value(run: tuple[int, int, list[Record]]) -> None:
    table = told(*run)
    for group in (table.overall, *table.tasks.values(), *table.tickets.values()):
        for name, found in group.numbers.items():
            if found.interval is not None:
                assert found.interval.low <= found.value <= found.interval.high, name


@settings(deadline=None)
@given(runs())
def test_against_fractions(run: tuple[int, int, list[Record]]) -> None:
    """Means of means of means, as they are written down, from the records themselves."""
    seeds, trials, records = run
    group = told(seeds, trials, records).overall
    tickets = []
    for ticket in "abcdefgh":
        by_seed = [
            [
                Fraction(one.total, 10_000)
                for one in records
                if (one.ticket, one.seed, one.status) == (ticket, seed, "done")
            ]
            for seed in range(seeds)
        ]
        means = [sum(own, Fraction(0)) / len(own) for own in by_seed if own]
        if means:
            tickets.append(sum(means, Fraction(0)) / len(means))
    assert (group.tickets, "return" in group.numbers) == (len(tickets), bool(tickets))
    if tickets:
        assert math.isclose(value(group, "return"), float(sum(tickets, Fraction(0)) / len(tickets)), abs_tol=1e-12)
        assert value(group, "pass^1") == value(group, "pass@1")
        assert math.isclose(value(group, "pass^1"), value(group, "success"), abs_tol=1e-12)
    assert group.done + group.errors + group.limits == len(records)


def test_memory_goes_by_tickets() -> None:
    """18,000 episodes more take no more of it; Python itself may keep 2,000 empty tuples, of 112 bytes."""

    def peak(seeds: int) -> int:
        def records() -> Iterator[Record]:
            for seed in range(seeds):
                for trial in (1, 2):
                    yield record("a", seed, trial, total=seed % 7 * 1_000, resolved=seed % 3 == 0)

        into = tally(["a"], seeds=seeds, trials=2)
        tracemalloc.start()
        taken(into, records()).table()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(12_000) < peak(3_000) + 300_000
