"""pass^k and pass@k: of k trials of one thing, whether all succeed, and whether any does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import comb
from typing import NamedTuple

# The numbers of trials that are asked about, as far as there are so many. Of one trial both are the success rate.
KS = (2, 4, 8)


def all_succeed(trials: int, succeeded: int, k: int) -> Fraction:
    """pass^k, without bias, from at least k trials: C(c, k) / C(n, k) (Yao et al. 2024, τ-bench)."""
    return Fraction(comb(succeeded, k), comb(trials, k))


def any_succeeds(trials: int, succeeded: int, k: int) -> Fraction:
    """pass@k, without bias, from at least k trials: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021)."""
    return 1 - Fraction(comb(trials - succeeded, k), comb(trials, k))


class Way(NamedTuple):
    """A way to ask about k trials: how it is estimated, and what it is where the chance of each trial is known."""

    estimate: Callable[[int, int, int], Fraction]
    known: Callable[[float, int], float]


# By what stands before the k in their names.
WAYS: Mapping[str, Way] = {
    "pass^": Way(all_succeed, lambda chance, k: chance**k),
    "pass@": Way(any_succeeds, lambda chance, k: 1 - (1 - chance) ** k),
}
