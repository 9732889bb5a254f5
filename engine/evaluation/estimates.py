"""What some tickets' sums come to: means over tickets, each of which weighs the same, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from engine.evaluation.intervals import Interval, Rate, Spread, means, rate_of, spread, student, wilson
from engine.evaluation.measures import EXACT, MEANS, RETURN, SUCCESS
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


def estimates(tickets: Sequence[TicketTally], rewards: Range, ks: Sequence[int]) -> dict[str, Estimate]:
    """Every number of some tickets, by its name. What no ticket has a value of is left out."""
    return {**_means(tickets, rewards), **_rates(tickets, ks), **_exact(tickets)}


# -- Means


def _means(tickets: Sequence[TicketTally], rewards: Range) -> dict[str, Estimate]:
    columns = _columns(tickets, MEANS)
    intervals = mean_intervals(columns)
    found: dict[str, Estimate] = {}
    for name, own in columns.items():
        value, interval = mean(own), intervals[name]
        possible = interval.within(*bounds(name, rewards)).holding(value) if interval is not None else None
        found[name] = Estimate(value, possible, len(own))
    return found


def bounds(name: str, rewards: Range) -> tuple[float | None, float | None]:
    """What a mean can be; None where nothing says so."""
    return rewards if name == RETURN else (MEANS[name].least, MEANS[name].most)


def together(ranges: Sequence[Range]) -> Range:
    """What the rewards of any of some packs can be."""
    return Range(min(one.least for one in ranges), max(one.most for one in ranges))


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


def mean_intervals(columns: Mapping[str, Sequence[Column]]) -> dict[str, Interval | None]:
    """The interval of each of some means, by its name; those of equally many tickets are drawn together."""
    found: dict[str, Interval | None] = dict.fromkeys(columns)
    alike: dict[int, list[str]] = {}
    for name, own in columns.items():
        alike.setdefault(len(own), []).append(name)
    for count, names in alike.items():
        if count == 1:
            found |= {name: student(columns[name][0].spread) for name in names}
        elif count:
            found |= zip(names, means([[float(one.mean) for one in columns[name]] for name in names]), strict=True)
    return found


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
