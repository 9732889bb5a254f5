"""A run's episodes as CSV (RFC 4180, but for lines that end as Unix has it), a row each: harmless in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from io import StringIO
from typing import Any

from engine.evaluation.exact import Exact
from engine.evaluation.numbers import known_of
from engine.evaluation.played import Played
from engine.evaluation.record import Record
from engine.proof.told import acted, in_a_line, units
from engine.terminal import printable

# What a spreadsheet takes for the beginning of a formula, and what makes it text there.
_FORMULA, _TEXT = ("=", "+", "-", "@", "＝", "＋", "－", "＠"), "'"


def _text(value: str | None) -> str:
    """On one line, and nothing but text wherever it is opened; empty where there is none."""
    told = printable(value or "")
    return _TEXT + told if told.lstrip().startswith(_FORMULA) else told


def _number(value: Fraction | None) -> str:
    return f"{float(value):.6g}" if value is not None else ""


def _dearest(record: Record) -> int | None:
    """Which step cost most, from 1; the first of several. None where none cost anything, or it isn't proved."""
    costs = record.regrets or ()
    return costs.index(max(costs)) + 1 if any(cost > 0 for cost in costs) else None


def _done(record: Record, cell: str) -> str:
    """What came of an episode; nothing of one that isn't done, which nobody is to take for a 0."""
    return cell if record.status == "done" else ""


# Each column's cells: of a record, and what is proved of its case.
COLUMNS: Mapping[str, Callable[[Record, Exact | None], Any]] = {
    "pack": lambda record, exact: _text(record.pack),
    "task": lambda record, exact: _text(record.task),
    "ticket": lambda record, exact: _text(record.ticket),
    "seed": lambda record, exact: record.seed,
    "trial": lambda record, exact: record.trial,
    "status": lambda record, exact: record.status,
    "error": lambda record, exact: _text(record.error),
    "end_reason": lambda record, exact: _text(record.end_reason),
    "resolved": lambda record, exact: _done(record, str(record.resolved).lower()),
    "score": lambda record, exact: _done(record, f"{record.score:.6g}"),
    "return": lambda record, exact: _done(record, units(record.total)),
    "regret": lambda record, exact: _done(record, units(sum(record.regrets)) if record.regrets is not None else ""),
    "steps": lambda record, exact: record.steps,
    "optimal_steps": lambda record, exact: record.optimal_steps if record.optimal_steps is not None else "",
    "best_return": lambda record, exact: _number(exact.best_return) if exact is not None else "",
    "random_return": lambda record, exact: _number(exact.random_return) if exact is not None else "",
    "random_score": lambda record, exact: _number(exact.random_score) if exact is not None else "",
    "dearest_step": lambda record, exact: _dearest(record) or "",
    "dearest_outcome": lambda record, exact: _text(record.outcomes[step - 1] if (step := _dearest(record)) else None),
    "actions": lambda record, exact: _text(in_a_line(map(acted, record.actions, record.outcomes))),
    "pack_digest": lambda record, exact: record.pack_digest,
}


def csv_file(played: Played) -> Iterator[str]:
    """The lines, the names of the columns first."""
    known = known_of(played.run.plan.packs, played.certificates)
    yield _line([*COLUMNS])
    for record in played.records():
        exact = known(record.pack, record.ticket, record.seed)
        yield _line([cell(record, exact) for cell in COLUMNS.values()])


def _line(cells: list[Any]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
