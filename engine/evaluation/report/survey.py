"""What a report says besides a run's numbers: how episodes ended, what steps cost, how long they were.

All of it comes from one reading of the records, and its memory goes by tickets, outcomes and steps; but for a byte of
each planned episode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

from engine.evaluation.measures import RETURN, SUCCESS
from engine.evaluation.numbers import Row, Table, tally_of
from engine.evaluation.played import Played
from engine.evaluation.record import STOPPED, Record


class Kind(IntEnum):
    """What came of a planned episode, as far as it is worth a look: the first are worth most."""

    FAILED = 0  # done, and not resolved
    ERROR = 1
    LIMIT = 2
    COSTLY = 3  # resolved, with steps that cost something
    FINE = 4
    NOTHING = 5  # it has no record

    @classmethod
    def of(cls, record: Record) -> Kind:
        if record.status != "done":
            return cls.ERROR if record.status == "error" else cls.LIMIT
        if not record.resolved:
            return cls.FAILED
        return cls.COSTLY if any(record.regrets or ()) else cls.FINE


class End(NamedTuple):
    """Where an episode that is done stood in the end: `total`, its return, is in ten-thousandths."""

    steps: int
    total: int
    resolved: bool


@dataclass(slots=True)
class Cost:
    """What steps of one kind cost together, in ten-thousandths; `costly` of them cost anything."""

    steps: int = 0
    costly: int = 0
    total: int = 0

    def add(self, cost: int) -> None:
        self.steps += 1
        self.costly += cost > 0
        self.total += cost


@dataclass(frozen=True, slots=True)
class Survey:
    """`kinds` has one for each place. Of the episodes that are done: `reasons` says why they ended, `ends` where.

    `outcomes` and `steps` (by their numbers, from 1) say what steps cost, as far as that is proved: `unblamed` episodes
    aren't. `best` are the places where best lines of play of the same cases end: optimal steps, and V* in
    ten-thousandths. `optimal` has the mean optimal steps of each ticket that has any.
    """

    table: Table
    kinds: bytes
    reasons: Mapping[str, int]
    ends: Mapping[End, int]
    best: Mapping[tuple[int, int], int]
    outcomes: Mapping[str, Cost]
    steps: Mapping[int, Cost]
    unblamed: int
    optimal: Mapping[Row, Fraction]

    def count(self, *kinds: Kind) -> int:
        """How many planned episodes are of these kinds."""
        return sum(self.kinds.count(kind) for kind in kinds)

    @property
    def lost(self) -> int:
        """What all steps cost together, in ten-thousandths."""
        return sum(cost.total for cost in self.steps.values())


def survey(played: Played) -> Survey:
    """Reads a run's records, once."""
    plan = played.run.plan
    tally = tally_of(plan, played.certificates)
    kinds = bytearray([Kind.NOTHING]) * plan.count
    done = _Done()
    for record in played.records():
        tally.take(record)
        kinds[plan.place(record.key)] = Kind.of(record)
        if record.status == "done":
            done.take(record)
    return Survey(
        table=tally.table(),
        kinds=bytes(kinds),
        reasons=done.reasons,
        ends=done.ends,
        best=done.best,
        outcomes=_dearest(done.outcomes),
        steps=dict(sorted(done.steps.items())),
        unblamed=done.unblamed,
        optimal={row: Fraction(sum(found.elements()), found.total()) for row, found in done.optimal.items()},
    )


class _Done:
    """What is added up of episodes that are done."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.ends: Counter[End] = Counter()
        self.best: Counter[tuple[int, int]] = Counter()
        self.outcomes: dict[str, Cost] = {}
        self.steps: dict[int, Cost] = {}
        self.unblamed = 0
        self.optimal: dict[Row, Counter[int]] = {}

    def take(self, record: Record) -> None:
        self.reasons[record.end_reason or STOPPED] += 1
        self.ends[End(record.steps, record.total, record.resolved)] += 1
        if record.optimal_steps is not None:
            self.optimal.setdefault((record.pack, record.ticket), Counter())[record.optimal_steps] += 1
        if record.regrets is None:
            self.unblamed += 1
            return
        for number, (outcome, cost) in enumerate(zip(record.outcomes, record.regrets, strict=True), 1):
            self.outcomes.setdefault(outcome, Cost()).add(cost)
            self.steps.setdefault(number, Cost()).add(cost)
        if record.optimal_steps is not None and record.end_reason != STOPPED:
            self.best[record.optimal_steps, record.total + sum(record.regrets)] += 1  # V*, as `regrets` says


def _dearest(costs: Mapping[str, Cost]) -> dict[str, Cost]:
    """Those first that cost most."""
    return dict(sorted(costs.items(), key=lambda item: (-item[1].total, item[0])))


def worst_first(table: Table) -> list[Row]:
    """The tickets of which any episode is done, by their success, then by their return."""

    def fared(row: Row) -> tuple[float, float, Row]:
        numbers = table.tickets[row].numbers
        return numbers[SUCCESS].value, numbers[RETURN].value, row

    return sorted((row for row, group in table.tickets.items() if group.done), key=fared)
