"""Two runs, pair by pair: records of one pack, ticket, seed and trial, how they differ, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.evaluation.estimates import (
    Estimate,
    Sample,
    bounds,
    columns_of,
    longest,
    mean,
    mean_intervals,
    possibly,
    samples,
    together,
)
from engine.evaluation.intervals import Spread, correlation, rates_apart, spread
from engine.evaluation.measures import COLUMNS, MEANS, SUCCESS, Measuring, Values
from engine.evaluation.numbers import Known, Planned, Row, rows_by
from engine.evaluation.passes import KS
from engine.evaluation.plan import Seeds
from engine.evaluation.record import Key, Record, Status
from engine.evaluation.tally import TicketTally
from engine.proof.compare import Change, Difference
from engine.proof.compare import compare as compare_certificates

_SUCCESS = COLUMNS.index(SUCCESS)


# -- What can be compared


@dataclass(frozen=True, slots=True)
class Unlike:
    """Why episodes of one ticket in two runs can't be compared.

    `changes` are those between its two certificates. Where there are none the certificates contradict each other, if
    `contradictory`, else the ticket isn't proved in both of two versions of its pack.
    """

    changes: tuple[Change, ...] = ()
    contradictory: bool = False


def unlike(first: Mapping[str, Any], second: Mapping[str, Any], pack: str, tickets: Iterable[str]) -> dict[Row, Unlike]:
    """Those of some tickets of a pack whose episodes can't be compared, by its two certificates.

    Of one and the same pack every ticket can be, proved or not. Other texts make other conversations, but no other
    ticket.
    """
    (found,) = (one for one in compare_certificates(first, second) if one.pack == pack)
    whys = ((ticket, _unlike(found, ticket)) for ticket in tickets)
    return {(pack, ticket): why for ticket, why in whys if why is not None}


def _unlike(found: Difference, ticket: str) -> Unlike | None:
    if found.contradictory:
        return Unlike(contradictory=True)
    if ticket in found.changed:
        return Unlike(found.changed[ticket])
    return Unlike() if ticket in found.unproved and not found.identical else None


# -- What differs


@dataclass(frozen=True, slots=True)
class Apart:
    """A number of the same episodes in both runs, and the second run's less the first's."""

    first: float
    second: float
    difference: Estimate


@dataclass(frozen=True, slots=True)
class PairedGroup:
    """The numbers of some tickets, over so many pairs: episodes that are done in both runs."""

    pairs: int
    tickets: int
    numbers: Mapping[str, Apart]


class Flip(NamedTuple):
    """An episode that succeeded in one run only: in the second where it is `won`, else in the first."""

    key: Key
    won: bool


@dataclass(frozen=True, slots=True)
class Unpaired:
    """How many episodes aren't compared: recorded in one run only, or in both but done in one only, or in neither.

    Of `done_first` so many are an error in the second run, `errors_second`; the others are at a limit there. The same
    of `done_second` is `errors_first`.
    """

    only_first: int
    only_second: int
    done_first: int
    done_second: int
    not_done: int
    errors_first: int = 0
    errors_second: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second run against the first. `flips` are in the order of their keys."""

    overall: PairedGroup
    packs: Mapping[str, PairedGroup]
    tasks: Mapping[str, PairedGroup]
    flips: tuple[Flip, ...]
    unpaired: Unpaired


class Side(NamedTuple):
    """A run: its seeds, how often each is played, what is proved of its cases, and its records, each once."""

    seeds: Seeds
    trials: int
    known: Known
    records: Iterable[Record]


def compare(first: Side, second: Side, tickets: Sequence[Planned], ks: Sequence[int] = KS) -> Comparison:
    """Compares the episodes of some tickets that both runs play. What the first run's come to is kept in memory."""
    seeds, trials = _common(first.seeds, second.seeds), min(first.trials, second.trials)
    pairs = {(one.pack, one.ticket): _Pairs(seeds, trials, one) for one in tickets}
    flips: list[Flip] = []
    count: Counter[tuple[Status, Status]] = Counter()
    only_second = 0
    there = dict(_measured(first, pairs))
    for key, status, values in ((key, *found) for key, found in _measured(second, pairs)):
        if key not in there:
            only_second += 1
            continue
        before, own = there.pop(key)
        count[before, status] += 1
        pairs[key.pack, key.ticket].add(key.seed, own, values)
        if own is not None and values is not None and own[_SUCCESS] != values[_SUCCESS]:
            flips.append(Flip(key, bool(values[_SUCCESS])))
    for one in pairs.values():
        one.finish()

    def group(rows: Iterable[Row]) -> PairedGroup:
        return _group([pairs[row] for row in rows], ks)

    return Comparison(
        overall=group(pairs),
        packs={name: group(rows) for name, rows in rows_by("pack", tickets).items()},
        tasks={name: group(rows) for name, rows in rows_by("task", tickets).items()},
        flips=tuple(sorted(flips)),
        unpaired=Unpaired(
            only_first=len(there),
            only_second=only_second,
            done_first=count["done", "error"] + count["done", "limit"],
            done_second=count["error", "done"] + count["limit", "done"],
            not_done=sum(number for pair, number in count.items() if "done" not in pair),
            errors_first=count["error", "done"],
            errors_second=count["done", "error"],
        ),
    )


def _measured(side: Side, wanted: Mapping[Row, Any]) -> Iterator[tuple[Key, tuple[Status, Values | None]]]:
    """What is measured of each record of some tickets, None where it isn't done."""
    measuring = Measuring()
    for record in side.records:
        if (record.pack, record.ticket) in wanted:
            done = record.status == "done"
            exact = side.known(record.pack, record.ticket, record.seed) if done else None
            yield record.key, (record.status, measuring.values(record, exact) if done else None)


def _common(one: Seeds, other: Seeds) -> int:
    """How many seeds are in both."""
    overlaps = (min(last, end) - max(first, start) + 1 for first, last in one.spans for start, end in other.spans)
    return sum(overlap for overlap in overlaps if overlap > 0)


class _Pairs:
    """A ticket in both runs: each run's sums over the pairs, and those of the differences."""

    __slots__ = ("about", "apart", "first", "second")

    def __init__(self, seeds: int, trials: int, about: Planned) -> None:
        self.about = about
        self.first, self.second, self.apart = (TicketTally(seeds, trials) for _ in range(3))

    def add(self, seed: int, one: Values | None, other: Values | None) -> None:
        """Adds a pair, None where it isn't done. What has no value in one of the runs counts in neither."""
        if one is None or other is None:
            own = theirs = apart = None
        else:
            both = [(a, b) if a is not None and b is not None else None for a, b in zip(one, other, strict=True)]
            own = tuple(pair[0] if pair is not None else None for pair in both)
            theirs = tuple(pair[1] if pair is not None else None for pair in both)
            apart = tuple(pair[1] - pair[0] if pair is not None else None for pair in both)
        self.first.add(seed, own)
        self.second.add(seed, theirs)
        self.apart.add(seed, apart)

    def finish(self) -> None:
        for tally in (self.first, self.second, self.apart):
            tally.finish()


def _group(pairs: Sequence[_Pairs], ks: Sequence[int]) -> PairedGroup:
    played = [one for one in pairs if one.first.done]
    numbers = {**_means(played), **_rates(played, ks)} if played else {}
    return PairedGroup(sum(one.first.done for one in played), len(played), numbers)


def _means(pairs: Sequence[_Pairs]) -> dict[str, Apart]:
    """The paired bootstrap: what is drawn are the differences within tickets."""
    first, second, apart = ([getattr(one, side) for one in pairs] for side in ("first", "second", "apart"))
    columns = {name: own for name in MEANS if (own := columns_of(apart, name))}
    intervals, rewards = mean_intervals(columns), together([one.about.rewards for one in pairs])
    steps = longest([one.about.steps for one in pairs])
    found = {}
    for name, own in columns.items():
        value, (least, most) = mean(own), bounds(name, rewards, steps)
        farthest = most - least if least is not None and most is not None else None
        interval = possibly(intervals[name], own, -farthest if farthest is not None else None, farthest)
        estimate = Estimate(value, interval.holding(value) if interval is not None else None, len(own))
        found[name] = Apart(mean(columns_of(first, name)), mean(columns_of(second, name)), estimate)
    return found


def _rates(pairs: Sequence[_Pairs], ks: Sequence[int]) -> dict[str, Apart]:
    own, theirs = samples([one.first for one in pairs], ks), samples([one.second for one in pairs], ks)
    found = {}
    for name, one in own.items():
        other = theirs[name]
        apart = _apart(name, one, other, pairs)
        interval = None
        if apart is not None:
            interval = rates_apart(one.rate, other.rate, correlation(one.units, other.units, apart))
            interval = interval.holding(other.mean - one.mean)
        found[name] = Apart(one.mean, other.mean, Estimate(other.mean - one.mean, interval, len(one.values)))
    return found


def _apart(name: str, one: Sample, other: Sample, pairs: Sequence[_Pairs]) -> Spread | None:
    """The spread of a rate's differences, over what its own is over; None where they weren't kept."""
    if len(one.values) > 1:
        return spread([float(after - before) for before, after in zip(one.values, other.values, strict=True)])
    return pairs[0].apart.columns[SUCCESS].spread if name == SUCCESS else None
