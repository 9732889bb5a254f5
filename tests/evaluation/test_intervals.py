"""Intervals, against published examples, hand calculations, all resamples of a few values, and what they promise."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.draw import choose
from engine.evaluation import intervals
from engine.evaluation.intervals import (
    FEW,
    GROUPS,
    RESAMPLES,
    Interval,
    Rate,
    Spread,
    bootstrap,
    correlation,
    mean_within,
    means,
    means_within,
    quantile,
    rate_of,
    rates_apart,
    spread,
    student,
    wilson,
)

finite = st.floats(-100, 100).map(lambda value: round(value, 3))
rates = st.fractions(0, 1, max_denominator=40).map(float)


def near(found: Interval | None, low: float, high: float, within: float = 5e-5) -> bool:
    assert found is not None
    return abs(found.low - low) <= within and abs(found.high - high) <= within


# -- Wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe 1998 (Statistics in Medicine 17:857-872), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # By hand. Of 10 trials none: 0 and z² / (10 + z²) = 3.8415 / 13.8415; all: the rest of 1.
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        # Half of them: 0.5 -+ z √(0.25 / 10 + 3.8415 / 400) / 1.38415 = 0.5 -+ 1.96 * 0.18602 / 1.38415.
        (5, 10, 0.2366, 0.7634),
        # One trial: 0.5 (1 + z²) / (1 + z²) -+ ..., that is 1 / (1 + z²) = 1 / 4.8415 up to 1.
        (1, 1, 0.2065, 1.0),
        (0, 1, 0.0, 0.7935),
    ],
)
def test_wilson(successes: int, trials: int, low: float, high: float) -> None:
    assert near(wilson(Rate(successes / trials, trials)), low, high)


def test_nothing_tried_is_nothing_known() -> None:
    assert wilson(Rate(0.0, 0)) == (0.0, 1.0)


@given(rates, st.floats(0.5, 1e6))
def test_wilson_holds_its_rate_and_mirrors(rate: float, number: float) -> None:
    low, high = wilson(Rate(rate, number))
    assert 0 <= low <= rate <= high <= 1
    assert near(wilson(Rate(1 - rate, number)), 1 - high, 1 - low, 1e-9)


# -- Differences of rates


def pairs(both: int, one: int, other: int, neither: int) -> tuple[Spread, Spread, Spread]:
    """The spreads of two rates and of their differences, of so many pairs."""
    first = [1.0] * (both + one) + [0.0] * (other + neither)
    second = [1.0] * both + [0.0] * one + [1.0] * other + [0.0] * neither
    return spread(first), spread(second), spread([after - before for before, after in zip(first, second, strict=True)])


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # Newcombe's method 10 for pairs, in Fagerland, Lydersen and Laake 2017, chapter 8: complete response before and
        # after consolidation therapy; airway hyper-responsiveness before and after transplantation.
        ((59, 6, 16, 80), -0.1186, -0.0046),
        ((1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_pairs(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    """Theirs is the first rate less the second."""
    first, second, apart = pairs(*counts)
    number = sum(counts)
    found = rates_apart(Rate(second.mean, number), Rate(first.mean, number), correlation(first, second, apart))
    assert near(found, low, high, 5e-4 if low == -0.507 else 5e-5)


def test_rates_that_have_nothing_in_common() -> None:
    """56 of 70 against 48 of 80 (Newcombe 1998, Statistics in Medicine 17:873-890, table II, method 10)."""
    assert near(rates_apart(Rate(48 / 80, 80), Rate(56 / 70, 70), 0.0), 0.0524, 0.3339)


def test_two_runs_without_a_failure_may_differ_all_the_same() -> None:
    """Ten of ten in both: one may be as low as 0.7225 where the other isn't."""
    sure = Rate(1.0, 10)
    assert near(rates_apart(sure, sure, 0.0), -0.2775, 0.2775)


def test_correlation() -> None:
    """Phi of the table 3, 1, 1, 3: (3 * 3 - 1 * 1) / (4 * 4) = 0.5. Of a rate that doesn't vary it is 0."""
    assert math.isclose(correlation(*pairs(3, 1, 1, 3)), 0.5)
    assert math.isclose(correlation(*pairs(0, 4, 4, 0)), -1.0)
    assert correlation(*pairs(3, 1, 0, 0)) == 0.0


@given(rates, rates, st.integers(1, 300), st.floats(-1, 1))
def test_a_difference_is_inside_and_turns_round(one: float, other: float, number: int, together: float) -> None:
    low, high = rates_apart(Rate(one, number), Rate(other, number), together)
    assert -1 <= low <= other - one + 1e-9 and other - one - 1e-9 <= high <= 1
    assert near(rates_apart(Rate(other, number), Rate(one, number), together), -high, -low, 1e-9)


# -- How many trials a rate is worth


def test_a_ticket_a_trial_is_worth_a_trial_each() -> None:
    assert rate_of(spread([1.0, 0.0, 1.0, 1.0, 0.0]), 5) == Rate(0.6, 5.0)


def test_tickets_that_go_all_one_way_are_worth_one_trial_each() -> None:
    """With the two that are imagined the rates are 1, 0, 1, 0: the mean's variance is 4 * 0.25 / (4 * 3) = 1/12. Were
    all of 40 trials alike it would be 0.25 / 39, so the effect is 13, and 20 / 13 < 2 tickets."""
    assert rate_of(spread([1.0, 0.0]), 20) == Rate(0.5, 2.0)


def test_tickets_that_go_alike() -> None:
    """Eight tickets of ten trials, half of each: with the imagined ones 2 * 0.25 / (10 * 9) = 1/180, against 0.25 / 99
    of a hundred trials: the effect is 2.2, and the 80 trials are worth 80 / 2.2."""
    found = rate_of(spread([0.5] * 8), 80)
    assert found.value == 0.5 and math.isclose(found.number, 80 / 2.2)


def test_tickets_that_all_succeed_always_are_no_proof_for_others() -> None:
    """Ten of ten tickets, whatever the number of seeds; one failure more or less doesn't change that much."""
    assert near(wilson(rate_of(spread([1.0] * 10), 10_000)), 0.7225, 1.0)
    nearly = wilson(rate_of(spread([1.0] * 9 + [0.999]), 10_000))
    assert near(nearly, 0.722, 1.0, 2e-3)


@given(st.lists(rates, min_size=1, max_size=30), st.integers(1, 50))
def test_it_is_worth_a_trial_a_ticket_and_no_more_than_were_made(values: list[float], each: int) -> None:
    found = rate_of(spread(values), len(values) * each)
    assert len(values) <= found.number <= len(values) * each


# -- Means


@pytest.mark.parametrize(
    ("degrees", "value"),
    # Student's table, as in any textbook.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)],
)
def test_quantiles(degrees: int, value: float) -> None:
    assert abs(quantile(degrees) - value) < 6e-4


def test_student() -> None:
    """1, 2, 3, 4: the mean 2.5, the variance 5/3, its root over 2 is 0.6455, times 3.1824 is 2.0543."""
    assert near(student(spread([1.0, 2.0, 3.0, 4.0])), 0.4457, 4.5543, 1e-4)


def test_one_ticket_says_nothing_of_another() -> None:
    assert student(spread([1.5])) is None
    assert means([[1.5], [0.0]]) == [None, None]


def test_few_tickets_are_not_resampled() -> None:
    column = [0.0, 1.0, 0.5, 2.0, 2.0]
    assert len(column) == FEW - 1
    assert means([column]) == [student(spread(column))]


def test_tickets_that_are_all_equal() -> None:
    """How much others differ, nothing says."""
    assert means([[0.1] * 7, [2.0] * 7]) == [None, None]
    assert means([[0.1] * 3, [2.0] * 3]) == [None, None]
    assert student(Spread(20, 1.0, 0.0)) is None


def test_against_all_resamples() -> None:
    """Of six values all 6 ** 6 resamples are known. The limits are the share Φ(-√(6 / 5) 2.571) = Φ(-2.816) = 0.0024
    from either end; what is drawn comes as near as so many draws can, four standard errors at the most."""
    values = [0, 1, 2, 3, 5, 9]
    level = math.erfc(2.816 / math.sqrt(2)) / 2
    ways: Counter[int] = Counter()
    for drawn in combinations_with_replacement(values, 6):
        number = math.factorial(6)
        for times in Counter(drawn).values():
            number //= math.factorial(times)
        ways[sum(drawn)] += number
    assert sum(ways.values()) == 6**6
    (low, high) = bootstrap([[float(value) for value in values]])[0]
    error = 4 * math.sqrt(level * (1 - level) / RESAMPLES)
    for limit, side in ((low * 6, 1), (high * 6, -1)):
        beyond = sum(number for total, number in ways.items() if side * total < side * round(limit)) / 6**6
        reached = sum(number for total, number in ways.items() if side * total <= side * round(limit)) / 6**6
        assert beyond <= level + error and reached >= level - error


def test_columns_are_drawn_together_and_alone_alike() -> None:
    columns = [[float(choose(100, "together", name, unit)) for unit in range(20)] for name in range(3)]
    assert bootstrap(columns) == [bootstrap([column])[0] for column in columns]
    columns[1] = [3.0] * 20
    assert bootstrap(columns)[2] == bootstrap([columns[2]])[0]


def test_many_tickets_are_drawn_in_groups() -> None:
    """For so many the interval is Student's: the bootstrap's comes near it, as near as so many draws can (each limit is
    within 6% of a standard error, four of these), though tickets that stand side by side are alike."""
    column = [float(unit // 100 + choose(100, "groups", unit)) for unit in range(25 * GROUPS + 7)]
    (found,) = bootstrap([column])
    known = student(spread(column))
    assert known is not None
    one = math.sqrt(spread(column).variance / len(column))
    assert near(found, known.low, known.high, 0.3 * one)


@settings(deadline=None)
@given(st.lists(finite, min_size=FEW, max_size=12), st.integers(1, 9), finite)
def test_the_mean_is_inside_and_scales(values: list[float], times: int, more: float) -> None:
    (found,) = bootstrap([values])
    mean = spread(values).mean
    assert min(values) - 1e-9 <= found.low <= mean + 1e-9 and mean - 1e-9 <= found.high <= max(values) + 1e-9
    (scaled,) = bootstrap([[times * value + more for value in values]])
    assert near(scaled, times * found.low + more, times * found.high + more, 1e-6)


def test_the_same_everywhere() -> None:
    """What is drawn follows from keys, so these limits are the same in any process, on any machine. That they are what
    they ought to be, other tests say."""
    (found,) = bootstrap([[0.0, 0.25, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0]])
    assert found == (0.375, 1.625)


# -- Means between two ends


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Jeffreys' intervals of rates: Brown, Cai and DasGupta 2001, table 5; of none, Beta's quantiles with 0.5 and 10.5.
    [(0, 10, 0.000, 0.217), (1, 10, 0.011, 0.381), (2, 10, 0.044, 0.503), (5, 10, 0.224, 0.776)],
)
def test_of_units_that_are_at_an_end_it_is_the_interval_of_a_rate(
    successes: int, trials: int, low: float, high: float
) -> None:
    """So many draws come within 0.02 of it: that is four standard errors, where the limit is least sure."""
    column = [1.0] * successes + [0.0] * (trials - successes)
    (found,) = means_within([column], [(0.0, 1.0)])
    assert near(found, low, high, 0.02)


def test_how_two_halves_share() -> None:
    """Beta with 1/2 and 1/2 is below x in a share of 2 / π arcsin √x: 1/3 at 1/4, 1/2 at 1/2. The mean of two units in
    the middle moves by how the ends share their third of all weight."""
    (found,) = means_within([[0.5, 0.5]], [(0.0, 1.0)])
    assert 0.0 < found.low < 0.5 < found.high < 1.0
    assert near(found, 1 - found.high, 1 - found.low, 0.03)
    shares = sorted(intervals._halves())
    assert len(shares) == RESAMPLES and shares[0] >= 0 and shares[-1] <= 1
    for x, level in ((0.25, 1 / 3), (0.5, 1 / 2), (0.75, 2 / 3)):
        below = sum(share < x for share in shares) / RESAMPLES
        assert abs(below - level) < 4 * math.sqrt(level * (1 - level) / RESAMPLES)


@pytest.mark.parametrize(
    ("units", "ends", "low", "high"),
    [
        # At an end it is Wilson's interval of as many trials: of 20 from 0.8389 on, and 3 * 0.8389 - 1 = 1.5167.
        (Spread(20, 2.0, 0.0), (-1.0, 2.0), 1.5167, 2.0),
        # All in the middle: q = 1/2, v = 0.25 / 11, n = 110;
        # 6 * 1.96 √(0.25 / 110 + 3.8415 / 48400) / 1.03492 = 0.5511.
        (Spread(10, 0.0, 0.0), (-3.0, 3.0), -0.5511, 0.5511),
        # 0, 1 and 2: p = 2/3, q = 5/8, squares 0.49306, n = 3 * 0.23438 * 4 / 0.49306 = 5.7042; Wilson has 0.2931 to
        # 0.9061.
        (spread([0.0, 1.0, 2.0]), (-1.0, 2.0), -0.1206, 1.7182),
        # Beyond an end: as at it.
        (Spread(20, -0.5, 0.0), (0.0, 1.0), 0.0, 0.1611),
    ],
)
def test_by_the_spread_alone(units: Spread, ends: tuple[float, float], low: float, high: float) -> None:
    assert near(mean_within(units, ends), low, high, 1e-4)


@given(st.integers(2, 30), st.data())
def test_of_units_at_the_ends_it_is_wilsons(count: int, data: st.DataObject) -> None:
    """Then the variance is a rate's, so there are as many trials as units."""
    successes = data.draw(st.integers(0, count))
    found = mean_within(spread([1.0] * successes + [0.0] * (count - successes)), (0.0, 1.0))
    assert near(found, *wilson(Rate(successes / count, count)), 1e-9)


def test_many_units_that_are_all_alike() -> None:
    """500 trials of which all succeed: 500 / (500 + z²) = 0.99238."""
    assert near(means_within([[1.0] * 500], [(0.0, 1.0)])[0], 0.99238, 1.0)


def test_many_units_need_no_ends() -> None:
    column = [float(unit % 3) for unit in range(GROUPS + 1)]
    assert means_within([column], [(0.0, 2.0)]) == bootstrap([column])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(0.5, 9), st.floats(-5, 5))
def test_it_stays_between_the_ends_and_scales(values: list[float], times: float, more: float) -> None:
    (found,) = means_within([values], [(0.0, 1.0)])
    assert 0 < found.low < found.high < 1
    (scaled,) = means_within([[times * value + more for value in values]], [(more, times + more)])
    assert near(scaled, times * found.low + more, times * found.high + more, 1e-6)


# -- What 95% means, on samples that are drawn with keys: always the same ones


def test_intervals_of_means_hold_the_truth() -> None:
    """Eight tickets worth anything from -1 to 2, 200 times. The truth is 0.5. Of 200 samples 95% are 190, give or take
    3.1. The percentiles that aren't expanded hold it in 89%: that is what few tickets do to them."""
    held = 0
    for sample in range(200):
        (found,) = bootstrap([[choose(30_001, "returns", sample, ticket) / 10_000 - 1 for ticket in range(8)]])
        held += found.low <= 0.5 <= found.high
    assert 180 <= held <= 199


@pytest.mark.parametrize("tickets", [3, 8])
def test_a_few_tickets_that_are_mostly_solved(tickets: int) -> None:
    """Tickets that return 2 in two of three cases, else anything from -1 to 2: 1.5 is the truth. Of 200 samples 95% are
    190, give or take 3.1. What is drawn from the tickets alone holds it in 88% of the samples of eight, and in 65% of
    those of three."""
    held = 0
    for sample in range(200):
        column = []
        for ticket in range(tickets):
            solved = choose(3, "solved", sample, ticket) < 2
            column.append(2.0 if solved else choose(30_001, "returns", sample, ticket) / 10_000 - 1)
        (found,) = means_within([column], [(-1.0, 2.0)])
        held += found.low <= 1.5 <= found.high
    assert held >= 184


@pytest.mark.parametrize("kinds", [(0, 10), (5, 10), (0, 5, 9, 10, 10)])
def test_intervals_of_rates_hold_the_truth(kinds: tuple[int, ...]) -> None:
    """Twelve tickets of ten trials each; a ticket is of one of several kinds, which succeed so often in ten."""
    truth = sum(kinds) / len(kinds) / 10
    held = plain = 0
    for sample in range(500):
        values = []
        for ticket in range(12):
            kind = kinds[choose(len(kinds), "kinds", sample, ticket)]
            values.append(sum(choose(10, "trial", sample, ticket, trial) < kind for trial in range(10)) / 10)
        found = rate_of(spread(values), 120)
        low, high = wilson(found)
        held += low <= truth <= high
        low, high = wilson(Rate(found.value, 120))
        plain += low <= truth <= high
    assert held >= 465
    assert plain < 400  # where trials of a ticket are taken for independent ones
