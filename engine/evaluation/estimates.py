"""What some tickets' sums come to: means over tickets, each of which weighs the same, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from engine.evaluation.intervals import (
    Interval,
    Rate,
    Spread,
    mean_within,
    means,
    means_within,
    rate_of,
    spread,
    student,
    wilson,
)
from engine.evaluation.measures import (
    BEST_RETURN,
    EXACT,
    EXCESS,
    MEANS,
    NORMALISED,
    RANDOM_RETURN,
    REGRET,
    RETURN,
    SUCCESS,
)
from engine.evaluation.passes import WAYS, Way
from engine.evaluation.tally import Column, TicketTally, Trials


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over so many tickets, and its 95% interval; None where nothing says how sure it is."""

    value: float
    interval: Interval | None
    tickets: int


class Range(NamedTuple):
    """The rewards' range, in reward units."""

    least: float
    most: float


class Sample(NamedTuple):
    """A rate of each of some tickets. `units` are these tickets, or where there is one only what it is made of."""

    values: tuple[Fraction, ...]
    units: Spread
    trials: int

    @property
    def mean(self) -> float:
        return _mean(self.values)

    @property
    def rate(self) -> Rate:
        return rate_of(self.units, self.trials)


def estimates(
    tickets: Sequence[TicketTally], rewards: Range, ks: Sequence[int], steps: int | None = None
) -> dict[str, Estimate]:
    """Every number of some tickets, by its name. What no ticket has a value of is left out."""
    return {**_means(tickets, rewards, steps), **_rates(tickets, ks), **_exact(tickets)}


# -- Means


def _means(tickets: Sequence[TicketTally], rewards: Range, steps: int | None) -> dict[str, Estimate]:
    columns = _columns(tickets, MEANS)
    ends = {name: own for name in columns if (own := _ends(name, tickets, rewards)) is not None}
    intervals = mean_intervals(columns, ends)
    found: dict[str, Estimate] = {}
    for name, column in columns.items():
        value, possible = mean(column), possibly(intervals[name], column, *bounds(name, rewards, steps))
        found[name] = Estimate(value, possible.holding(value) if possible is not None else None, len(column))
    return found


def bounds(name: str, rewards: Range, steps: int | None) -> tuple[float | None, float | None]:
    """What a mean can be; None where nothing says so."""
    if name == RETURN:
        return rewards
    if name == EXCESS and steps is not None:  # an episode has a step at least, and so has a best one
        return 1.0 - steps, steps - 1.0
    if name == REGRET:
        return 0.0, rewards.most - rewards.least
    return MEANS[name].least, MEANS[name].most


def possibly(
    interval: Interval | None, columns: Sequence[Column], least: float | None, most: float | None
) -> Interval | None:
    """An interval of a mean, as far as that can be. Where all units are alike, and none was found for that, it is what
    `mean_within` says; None where the two ends aren't known."""
    if interval is not None:
        return interval.within(least, most)
    units = columns[0].spread if len(columns) == 1 else spread([float(one.mean) for one in columns])
    if units.count < 2 or least is None or most is None:
        return None
    return mean_within(units, (least, most))


def _ends(name: str, tickets: Sequence[TicketTally], rewards: Range) -> Range | None:
    """Between which numbers those of tickets lie; None where nothing says so, or nothing that is of use, as of steps.

    A normalised return has no least one: in its place is that of the least return on a ticket like the average.
    """
    least, most = bounds(name, rewards, None)
    if name == NORMALISED:
        chance, best = (mean(columns_of(tickets, known)) for known in (RANDOM_RETURN, BEST_RETURN))
        least = (rewards.least - chance) / (best - chance)
    return Range(least, most) if least is not None and most is not None else None


def together(ranges: Sequence[Range]) -> Range:
    """What the rewards of any of some packs can be."""
    return Range(min(one.least for one in ranges), max(one.most for one in ranges))


def longest(steps: Sequence[int | None]) -> int | None:
    """The most steps of an episode of any of some packs; None where it isn't known of all."""
    known = [number for number in steps if number is not None]
    return max(known) if len(known) == len(steps) else None


def _exact(tickets: Sequence[TicketTally]) -> dict[str, Estimate]:
    """What is exactly known has no interval."""
    columns = _columns(tickets, EXACT)
    return {name: Estimate(mean(own), None, len(own)) for name, own in columns.items()}


def _columns(tickets: Sequence[TicketTally], names: Iterable[str]) -> dict[str, list[Column]]:
    return {name: found for name in names if (found := columns_of(tickets, name))}


def columns_of(tickets: Iterable[TicketTally], name: str) -> list[Column]:
    """A column of those tickets that have a value there."""
    return [ticket.columns[name] for ticket in tickets if ticket.columns[name].count]


def mean(columns: Sequence[Column]) -> float:
    """The mean over tickets, of each ticket's over its units."""
    return _mean([column.mean for column in columns])


def mean_intervals(
    columns: Mapping[str, Sequence[Column]], ends: Mapping[str, Range] = MappingProxyType({})
) -> dict[str, Interval | None]:
    """The interval of each of some means, by its name; those of equally many tickets are drawn together.

    `ends` are between which numbers each ticket's lie, by the same names, of those of which it is known. Without them
    there is none of units that are all alike.
    """
    found: dict[str, Interval | None] = dict.fromkeys(columns)
    alike: dict[tuple[int, bool], list[str]] = {}
    for name, own in columns.items():
        alike.setdefault((len(own), name in ends), []).append(name)
    for (count, known), names in alike.items():
        values = [[float(one.mean) for one in columns[name]] for name in names]
        if count == 1:
            alone = {name: columns[name][0].spread for name in names}
            found |= {name: _of_one(units, ends.get(name)) for name, units in alone.items()}
        elif count and known:
            found |= zip(names, means_within(values, [ends[name] for name in names]), strict=True)
        elif count:
            found |= zip(names, means(values), strict=True)
    return found


def _of_one(units: Spread, ends: Range | None) -> Interval | None:
    """That of one ticket, over what it is made of."""
    return mean_within(units, ends) if ends is not None and units.count > 1 else student(units)


# -- Rates


def samples(tickets: Iterable[TicketTally], ks: Iterable[int]) -> dict[str, Sample]:
    """The rates of some tickets, by their names: of success, and of k trials of which all succeed, or any does."""
    tried = [ticket for ticket in tickets if ticket.done]
    found: dict[str, Sample] = {}
    if tried:
        columns = columns_of(tried, SUCCESS)
        units = columns[0].spread if len(columns) == 1 else None
        found[SUCCESS] = _sample([column.mean for column in columns], units, sum(ticket.done for ticket in tried))
    for k in ks:
        enough = [each for each in (_repeated(ticket, k) for ticket in tried) if each]
        for before, way in WAYS.items() if enough else ():
            found[f"{before}{k}"] = _passing(enough, k, way)
    return found


def _repeated(ticket: TicketTally, k: int) -> Mapping[Trials, int]:
    """What was tried k times at least."""
    return {trials: number for trials, number in ticket.repeated.items() if trials.done >= k}


def _passing(tickets: Sequence[Mapping[Trials, int]], k: int, way: Way) -> Sample:
    each = [[(way.estimate(*trials, k), number) for trials, number in ticket.items()] for ticket in tickets]
    values = [
        sum((value * number for value, number in own), Fraction(0)) / sum(number for _, number in own) for own in each
    ]
    units = None
    if len(each) == 1:
        units = spread([float(value) for value, _ in each[0]], [number for _, number in each[0]])
    return _sample(values, units, sum(trials.done // k * number for one in tickets for trials, number in one.items()))


def _sample(values: Sequence[Fraction], units: Spread | None, trials: int) -> Sample:
    return Sample(tuple(values), units or spread([float(value) for value in values]), trials)


def _rates(tickets: Sequence[TicketTally], ks: Sequence[int]) -> dict[str, Estimate]:
    found = samples(tickets, ks)
    intervals = {name: wilson(sample.rate) for name, sample in found.items()}
    for k in ks:
        for before, way in WAYS.items():
            name = f"{before}{k}"
            if name in found and found[name].units.count == 1:  # one thing's trials are all that there is
                low, high = intervals[SUCCESS]
                intervals[name] = Interval(way.known(low, k), way.known(high, k))
    return {
        name: Estimate(sample.mean, intervals[name].holding(sample.mean), len(sample.values))
        for name, sample in found.items()
    }


def _mean(values: Sequence[Fraction]) -> float:
    return float(sum(values, Fraction(0)) / len(values))
