"""pass^k and pass@k, by hand and against every way to choose k trials."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from engine.evaluation.passes import WAYS, all_succeed, any_succeeds


def test_by_hand() -> None:
    """Three of four succeeded. Of the 6 pairs 3 are without the one that failed, and none is without a success."""
    assert all_succeed(4, 3, 2) == Fraction(3, 6)
    assert any_succeeds(4, 3, 2) == 1
    # Two of five: no three of them all succeeded, and one of the 10 threes has no success.
    assert all_succeed(5, 2, 3) == 0
    assert any_succeeds(5, 2, 3) == Fraction(9, 10)


@given(
    st.lists(st.booleans(), min_size=1, max_size=10).flatmap(
        lambda one: st.tuples(st.just(one), st.integers(1, len(one)))
    )
)
def test_every_choice(tried: tuple[list[bool], int]) -> None:
    outcomes, k = tried
    chosen = [*combinations(outcomes, k)]
    assert all_succeed(len(outcomes), sum(outcomes), k) == Fraction(sum(map(all, chosen)), len(chosen))
    assert any_succeeds(len(outcomes), sum(outcomes), k) == Fraction(sum(map(any, chosen)), len(chosen))


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_as_the_authors_of_pass_at_k_work_it_out(tried: tuple[int, int, int]) -> None:
    """1 where n - c < k, else 1 - the product of 1 - k / i over i from n - c + 1 to n (Chen et al. 2021, figure 3); and
    all of k succeed where none fails."""
    trials, succeeded, k = tried

    def any_of(one: int) -> Fraction:
        if trials - one < k:
            return Fraction(1)
        return 1 - prod((1 - Fraction(k, i) for i in range(trials - one + 1, trials + 1)), start=Fraction(1))

    assert any_succeeds(trials, succeeded, k) == any_of(succeeded)
    assert all_succeed(trials, succeeded, k) == 1 - any_of(trials - succeeded)


@given(st.integers(1, 30).flatmap(lambda trials: st.tuples(st.just(trials), st.integers(0, trials))))
def test_of_one_trial_both_are_the_success_rate(tried: tuple[int, int]) -> None:
    trials, succeeded = tried
    assert all_succeed(trials, succeeded, 1) == any_succeeds(trials, succeeded, 1) == Fraction(succeeded, trials)


def test_without_bias() -> None:
    """Five trials that each succeed with a chance of 3/10: the mean of the estimates, over all 32 outcomes, is what
    they estimate."""
    chance, trials = Fraction(3, 10), 5
    for k in (1, 2, 3, 5):
        for way in WAYS.values():
            mean = Fraction(0)
            for outcome in range(2**trials):
                succeeded = outcome.bit_count()
                likely = chance**succeeded * (1 - chance) ** (trials - succeeded)
                mean += likely * way.estimate(trials, succeeded, k)
            assert abs(float(mean) - way.known(0.3, k)) < 1e-12
