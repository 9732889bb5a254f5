"""What a run comes to, ticket by ticket: sums that episodes are added to as they come, in any order.

What weighs the same within a ticket is a unit: a seed, whose trials make one mean; where only one seed is played, each
trial. How many episodes there are makes no difference to the memory that is needed, but for seeds of which some trials
are still to come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, NamedTuple

from engine.evaluation.intervals import Spread
from engine.evaluation.measures import COLUMNS, ONE, SUCCESS, Values, middle

_SUCCESS = COLUMNS.index(SUCCESS)


class Cause(NamedTuple):
    """Why an episode isn't done; `text` is the first line of what its record says: those alike in it are one cause."""

    status: Literal["error", "limit"]
    text: str


class Trials(NamedTuple):
    """How many trials of one thing are done, and how many of these succeeded."""

    done: int
    succeeded: int


class Column:
    """The units that have a value: how many, and the sums of the values and of their squares; exact."""

    __slots__ = ("count", "squares", "total")

    def __init__(self) -> None:
        self.count = self.total = self.squares = 0

    def add(self, value: int) -> None:
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self) -> Fraction:
        """Raises ZeroDivisionError of no unit."""
        return Fraction(self.total, self.count * ONE)

    @property
    def spread(self) -> Spread:
        """Raises ZeroDivisionError of no unit."""
        variance = Fraction(0)
        if self.count > 1:
            variance = (self.squares - Fraction(self.total**2, self.count)) / ((self.count - 1) * ONE**2)
        return Spread(self.count, float(self.mean), float(variance))


class TicketTally:
    """One ticket's sums, of so many `seeds` that are played so many `trials` each.

    What is repeated is a case where there are several trials, else the ticket: its trials are those of one seed, or
    else its seeds.
    """

    __slots__ = ("_cases", "_folds", "_open", "_trials", "causes", "columns", "done", "succeeded")

    def __init__(self, seeds: int, trials: int) -> None:
        self.done = self.succeeded = 0
        self.causes: Counter[Cause] = Counter()
        self.columns: Mapping[str, Column] = {name: Column() for name in COLUMNS}
        self._trials, self._folds = trials, seeds > 1 and trials > 1
        self._open: dict[int, list[Values | None]] = {}
        self._cases: Counter[Trials] = Counter()

    def add(self, seed: int, row: Values | None) -> None:
        """Adds an episode that is done; None: one that isn't."""
        if row is not None:
            self.done += 1
            self.succeeded += row[_SUCCESS] == ONE
        if self._folds:
            rows = self._open.setdefault(seed, [])
            rows.append(row)
            if len(rows) == self._trials:
                self._fold(self._open.pop(seed))
        elif row is not None:
            self._count(row)

    def finish(self) -> None:
        """Counts in the seeds of which trials are missing: nothing more comes."""
        for rows in self._open.values():
            self._fold(rows)
        self._open.clear()

    @property
    def repeated(self) -> Mapping[Trials, int]:
        """How many things there are whose trials went like this."""
        return self._cases if self._folds else {Trials(self.done, self.succeeded): 1}

    def _fold(self, rows: list[Values | None]) -> None:
        done = [row for row in rows if row is not None]
        self._cases[Trials(len(done), sum(row[_SUCCESS] == ONE for row in done))] += 1
        if done:
            self._count(tuple(map(_middle, zip(*done, strict=True))))

    def _count(self, row: Values) -> None:
        for column, value in zip(self.columns.values(), row, strict=True):
            if value is not None:
                column.add(value)


def _middle(values: tuple[int | None, ...]) -> int | None:
    """The mean of those that there are."""
    known = [value for value in values if value is not None]
    return middle(known) if known else None
