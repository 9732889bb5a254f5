"""95% intervals: of rates, of means, and of the differences of two runs. What is drawn is the same on any machine.

What is drawn are tickets, or where there is only one its seeds: here they are units. Each unit weighs the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from itertools import islice
from math import erfc, fsum, sqrt
from operator import itemgetter, mul, sub
from struct import iter_unpack
from typing import NamedTuple

from engine.draw import digest

# The normal distribution's quantile at 0.975.
Z = 1.959963984540054
# Student's quantiles at 0.975 of one degree of freedom up to five; more of them are worked out.
_STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706)

# With this many resamples the limits at 2.5% are resamples themselves (Davison and Hinkley 1997).
RESAMPLES = 1_999
# Fewer units than that aren't resampled: the truth lies between the least and the greatest of five in 94% of all cases
# at the most (1 - 2 ** -4), and no resample leaves that range.
FEW = 6
# More units than that are resampled in so many groups.
GROUPS = 400
# What is drawn are numbers below that.
_WHOLE = 2**32


class Interval(NamedTuple):
    low: float
    high: float

    def holding(self, value: float) -> Interval:
        """The same, widened to what it is about where that was rounded otherwise."""
        return Interval(min(self.low, value), max(self.high, value))

    def within(self, least: float | None, most: float | None) -> Interval:
        """The part of it that is possible."""
        low = self.low if least is None else max(self.low, least)
        return Interval(low, self.high if most is None else min(self.high, most))


@dataclass(frozen=True, slots=True)
class Spread:
    """How many units there are, their mean, and the variance of one: with n - 1 below, 0 of one unit alone."""

    count: int
    mean: float
    variance: float


class Rate(NamedTuple):
    """A rate, and how many independent trials it is worth."""

    value: float
    number: float


def spread(values: Sequence[float], times: Sequence[int] | None = None) -> Spread:
    """The spread of at least one value; `times` says how often each is there, once where it isn't given."""
    each = times if times is not None else [1] * len(values)
    count = sum(each)
    mean = fsum(map(mul, values, each)) / count
    squares = fsum(number * (value - mean) ** 2 for value, number in zip(values, each, strict=True))
    return Spread(count, mean, squares / (count - 1) if count > 1 else 0.0)


# -- Rates


def wilson(rate: Rate) -> Interval:
    """Wilson's score interval (Wilson 1927; recommended by Brown, Cai and DasGupta 2001).

    With p the rate, n the number of trials and z = 1.96: (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n). Of no
    trials at all it is from 0 to 1.
    """
    p, n = rate
    if n <= 0:
        return Interval(0.0, 1.0)
    square = Z * Z
    middle = p + square / (2 * n)
    half = Z * sqrt(max(0.0, p * (1 - p) / n + square / (4 * n * n)))
    whole = 1 + square / n
    low = (middle - half) / whole if p > 0 else 0.0
    high = (middle + half) / whole if p < 1 else 1.0
    return Interval(max(0.0, low), min(1.0, high)).holding(p)


def rate_of(units: Spread, trials: int) -> Rate:
    """The mean of rates, and how many independent trials it is worth: those that were made, less as units differ.

    That is trials / the design effect (Kish 1965): the variance of the mean, as units differ, over what it were if
    trials were all that is drawn. Two more units are imagined for that, one whose trials all succeed and one whose
    trials all fail: that a few units went alike doesn't mean that all do. It is never less than the number of units.
    """
    count, mean, variance = units.count, units.mean, units.variance
    more = count + 2
    centre = (count * mean + 1) / more
    squares = (count - 1) * variance + count * (mean - centre) ** 2 + centre**2 + (1 - centre) ** 2
    effect = squares / (more * (more - 1)) * (trials * more / count - 1) / (centre * (1 - centre))
    return Rate(mean, max(float(count), min(float(trials), trials / effect)))


def rates_apart(first: Rate, second: Rate, together: float) -> Interval:
    """The interval of `second` - `first`, two rates of the same units (Newcombe 1998, method 10 for paired data).

    The squares of how far the two Wilson intervals reach are added up, less what the rates have in common: `together`
    is their correlation, which is corrected for continuity as there, by half a trial, where it is positive.
    """
    one, other = wilson(first), wilson(second)
    down, up = first.value - one.low, one.high - first.value
    below, above = second.value - other.low, other.high - second.value
    if together > 0:
        size = sqrt(first.value * (1 - first.value) * second.value * (1 - second.value))
        together = max(0.0, together - 1 / (2 * min(first.number, second.number) * size)) if size > 0 else 0.0
    apart = second.value - first.value
    found = Interval(apart - _combined(below, up, together), apart + _combined(above, down, together))
    return found.within(-1.0, 1.0)


def correlation(first: Spread, second: Spread, difference: Spread) -> float:
    """Pearson's, of the same units, by the spread of their differences; 0 where one of the two doesn't vary."""
    if first.variance <= 0 or second.variance <= 0:
        return 0.0
    common = (first.variance + second.variance - difference.variance) / 2
    return max(-1.0, min(1.0, common / sqrt(first.variance * second.variance)))


def _combined(one: float, other: float, together: float) -> float:
    return sqrt(max(0.0, one * one + other * other - 2 * together * one * other))


# -- Means


def student(units: Spread) -> Interval | None:
    """Student's t interval of a mean: m ± t s / √n. None of one unit, or of units that are all alike: nothing says how
    much another would differ."""
    if units.count < 2 or not units.variance:
        return None
    half = quantile(units.count - 1) * sqrt(units.variance / units.count)
    return Interval(units.mean - half, units.mean + half)


def quantile(degrees: int) -> float:
    """Student's quantile at 0.975, to three places (Abramowitz and Stegun 1964, 26.7.5)."""
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    terms = (
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
        (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92160,
    )
    return Z + fsum(term / degrees**power for power, term in enumerate(terms, 1))


def means(columns: Sequence[Sequence[float]]) -> list[Interval | None]:
    """The interval of the mean of each column: columns of the same number of units, at least one.

    Student's where there are few units, else the bootstrap's; None of units that are all alike.
    """
    found = bootstrap(columns) if len(columns[0]) >= FEW else [student(spread(column)) for column in columns]
    return [None if _alike(column) else interval for column, interval in zip(columns, found, strict=True)]


def mean_within(units: Spread, ends: tuple[float, float]) -> Interval:
    """The interval of a mean whose units lie between two ends, by their spread alone; of at least two.

    It is Wilson's, of the mean p as a share of the way from one end to the other, with so many trials n as make the
    variance of a rate what that of the units is: n = count · q (1 - q) / v. Half a unit is imagined at either end for
    that, and q and v are the mean and the variance (sum of squares / number) with these. Of units that are all at an
    end n is their count. What is beyond an end counts as at it.
    """
    least, most = ends
    whole, count = most - least, units.count
    p = min(1.0, max(0.0, (units.mean - least) / whole))
    q = (count * p + 0.5) / (count + 1)
    squares = (count - 1) * units.variance / whole**2 + count * (p - q) ** 2 + (q**2 + (1 - q) ** 2) / 2
    low, high = wilson(Rate(p, count * q * (1 - q) * (count + 1) / squares))
    return Interval(least + whole * low, least + whole * high)


def means_within(columns: Sequence[Sequence[float]], ends: Sequence[tuple[float, float]]) -> list[Interval]:
    """The interval of the mean of each column whose values lie between two ends; of equally many units, at least two.

    That of the Bayesian bootstrap (Rubin 1981) with half a unit more at either end, RESAMPLES times: the means of the
    units, weighted by what is drawn from Dirichlet's distribution with 1 for each unit and 1/2 for each end, between
    their 2.5% and 97.5%. Of units that are all at an end it is Jeffreys' interval of a rate. More than GROUPS units are
    resampled without any others, which would make no difference; where all of them are alike it is `mean_within`'s.
    """
    count = len(columns[0])
    if count > GROUPS:
        many = zip(columns, ends, bootstrap(columns), strict=True)
        return [mean_within(spread(column), own) if _alike(column) else found for column, own, found in many]
    found: list[list[float]] = [[] for _ in columns]
    for words, share in zip(_words(count, RESAMPLES, "weights"), _halves(), strict=True):
        cuts = sorted(words)
        weights = [*map(sub, cuts, (0, *cuts))]
        more = _WHOLE - cuts[-1]  # the weight of both ends together
        for means, column, (least, most) in zip(found, columns, ends, strict=True):
            beyond = more * (least + (most - least) * share)
            means.append((fsum(map(mul, column, weights)) + beyond) / _WHOLE)
    cut = (RESAMPLES + 1) // 40
    for means in found:
        means.sort()
    return [Interval(means[cut - 1], means[-cut]) for means in found]


@cache
def _halves() -> tuple[float, ...]:
    """How what two halves of a unit weigh together is shared, RESAMPLES times: Beta's distribution with 1/2 and 1/2.

    Of a point that is drawn in a disc it is x² / (x² + y²), which takes no function that differs between machines.
    """
    points = ((2 * x + 1 - _WHOLE, 2 * y + 1 - _WHOLE) for x, y in _words(2, 2 * RESAMPLES, "halves"))
    inside = ((x * x, x * x + y * y) for x, y in points if x * x + y * y < _WHOLE * _WHOLE)
    return tuple(square / whole for square, whole in islice(inside, RESAMPLES))


def bootstrap(columns: Sequence[Sequence[float]]) -> list[Interval]:
    """The expanded percentile interval of the mean of each column (Efron 1979; Hesterberg 2015).

    Units are drawn with replacement, as many as there are, RESAMPLES times, the same ones for all columns of so many
    units. Of the means in their order those are the limits that have a share of Φ(-√(n / (n - 1)) t) below or above
    them: for many units 2.5%, for few less, as percentiles alone give intervals that are too narrow then.
    """
    count = len(columns[0])
    varying = [column for column in columns if not _alike(column)]
    resampled = iter(_limits(varying, count) if varying else ())
    return [Interval(column[0], column[0]) if _alike(column) else next(resampled) for column in columns]


def _alike(column: Sequence[float]) -> bool:
    return min(column) == max(column)


def _limits(columns: Sequence[Sequence[float]], count: int) -> Iterator[Interval]:
    sums, sizes = (columns, [1] * count) if count <= GROUPS else _grouped(columns, count)
    found: list[list[float]] = [[] for _ in columns]
    for drawn in _resamples(len(sizes)):
        picked = itemgetter(*drawn)
        size = sum(picked(sizes))
        for means, column in zip(found, sums, strict=True):
            means.append(fsum(picked(column)) / size)
    cut = _cut(len(sizes))
    for means in found:
        means.sort()
        yield Interval(means[cut - 1], means[-cut])


def _cut(count: int) -> int:
    """Which resample is the limit, from either end."""
    level = erfc(sqrt(count / (count - 1)) * quantile(count - 1) / sqrt(2)) / 2
    return max(1, int((RESAMPLES + 1) * level + 1e-9))


def _grouped(columns: Sequence[Sequence[float]], count: int) -> tuple[list[list[float]], list[int]]:
    """The sums of groups that units are put in by chance, and how many there are in each: as large as can be alike."""
    (words,) = _words(count, 1, "groups")
    order = sorted(range(count), key=words.__getitem__)
    groups = [order[first::GROUPS] for first in range(GROUPS)]
    return [[fsum(column[unit] for unit in group) for group in groups] for column in columns], [*map(len, groups)]


def _resamples(count: int) -> Iterator[list[int]]:
    """The units drawn, again and again: always the same ones for so many units."""
    for words in _words(count, RESAMPLES, "resamples"):
        yield [word * count >> 32 for word in words]


def _words(count: int, times: int, purpose: str) -> Iterator[tuple[int, ...]]:
    """So many times as many 32-bit numbers, drawn with the key (evaluation, count, purpose)."""
    drawn = shake_256(digest("evaluation", count, purpose)).digest(4 * count * times)
    return iter_unpack(f"<{count}I", drawn)
