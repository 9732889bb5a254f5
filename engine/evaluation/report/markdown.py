"""A run in Markdown, short enough for a comment or the summary of a job. Texts of packs and agents stand as code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.evaluation.measures import SUCCESS
from engine.evaluation.numbers import Group
from engine.evaluation.numbers_told import (
    HEADS,
    IF_FAILED,
    MAIN,
    ONE_TICKET,
    at_least,
    between,
    coverage,
    done,
    rows,
    shown,
    word,
)
from engine.evaluation.played import Played
from engine.evaluation.report import about
from engine.evaluation.report.survey import Survey, worst_first
from engine.evaluation.spent_told import told_spent
from engine.terminal import printable

# How many causes, outcomes that cost something, and tickets have a row; how many packs or tasks.
FEW, GROUPS = 10, 50
_TICKS = re.compile("`+")
_PLAIN = re.compile("[A-Za-z' ]+")


def markdown(played: Played, survey: Survey) -> Iterator[str]:
    """The lines."""
    parts = (_head(played, survey), _numbers(survey), _causes(survey), _outcomes(survey), _tickets(survey))
    for part in parts:
        for line in part:
            yield line + "\n"


def as_code(text: str) -> str:
    """A text as it is, on one line, whatever stands in it: a code span."""
    told = printable(text)
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(told)), default=0))
    room = " " if not told.strip() or told.startswith("`") or told.endswith("`") else ""
    return f"{fence}{room}{told}{room}{fence}"


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, and an empty one before them. Its first column is words, the others are numbers."""
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for line in lines:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def _head(played: Played, survey: Survey) -> Iterator[str]:
    packs = [f"{as_code(name)} {as_code(version)}" for name, version, *_ in about.packs(played.run)]
    yield f"## {as_code(about.agent(played.run))}"
    yield ""
    yield f"**{done(survey.table.overall)}** of {', '.join(packs)}"
    spent = told_spent(played.run.path)
    if spent is not None:
        yield ""
        yield spent
    for caution in about.cautions(played):
        yield ""
        yield f"**Note:** {caution}"
    told = [(name, as_code(value)) for name, value in about.options(played.run)]
    yield ""
    yield "; ".join(f"{name if _PLAIN.fullmatch(name) else as_code(name)} {value}" for name, value in told)
    whole = survey.table.overall.planned
    yield from table(
        ("ended", "episodes", "share"),
        [(words, f"{number:,}", f"{100 * number / whole:.1f}%") for words, number in about.endings(survey)],
    )


def _numbers(survey: Survey) -> Iterator[str]:
    found = survey.table
    if not found.overall.numbers:
        return
    yield from table(("number", *HEADS), rows(found.overall))
    if at_least(found.overall):
        yield ""
        yield f"at least: {IF_FAILED}"
    kinds: Mapping[str, Mapping[str, Group]] = {"pack": found.packs, "task": found.tasks}
    for kind, groups in kinds.items():
        if len(groups) > 1:
            shown_groups = [*groups.items()][:GROUPS]
            lines = [(as_code(name), coverage(group), *_cells(group)) for name, group in shown_groups]
            yield from table((kind, "done", *map(word, MAIN)), lines)
            yield from _left(len(groups) - len(shown_groups))
            if any(group.tickets == 1 for group in groups.values()):
                yield ""
                yield ONE_TICKET


def _cells(group: Group) -> Iterator[str]:
    for name in MAIN:
        found = group.numbers.get(name)
        told = f"{shown(found.value)} ({between(found.interval)})" if found is not None else "-"
        least = at_least(group) if name == SUCCESS else ""
        yield f"{told}, {least}" if least else told


def _causes(survey: Survey) -> Iterator[str]:
    causes = [*survey.table.overall.causes.items()]
    if causes:
        lines = [(as_code(cause.text), cause.status, f"{number:,}") for cause, number in causes[:FEW]]
        yield from table(("why episodes aren't done", "kind", "episodes"), lines)
        yield from _left(sum(number for _, number in causes[FEW:]))


def _outcomes(survey: Survey) -> Iterator[str]:
    costs = [(outcome, cost) for outcome, cost in survey.outcomes.items() if cost.total]
    if costs:
        lines = [
            (as_code(outcome), f"{cost.costly:,}", about.lost(cost.total), f"{100 * cost.total / survey.lost:.1f}%")
            for outcome, cost in costs[:FEW]
        ]
        yield from table(("what cost return", "steps", "return lost", "share"), lines)
        yield from _left(len(costs[FEW:]))


def _tickets(survey: Survey) -> Iterator[str]:
    tickets = survey.table.tickets
    failing = [row for row in worst_first(survey.table) if tickets[row].numbers[SUCCESS].value < 1]
    if failing:
        lines = [
            (f"{as_code(pack)} {as_code(ticket)}", coverage(tickets[pack, ticket]), *_means(tickets[pack, ticket]))
            for pack, ticket in failing[:FEW]
        ]
        yield from table(("tickets that fared worst", "done", *map(word, MAIN)), lines)
        yield from _left(len(failing[FEW:]))


def _means(group: Group) -> Iterator[str]:
    for name in MAIN:
        least = at_least(group) if name == SUCCESS else ""
        yield shown(group.numbers[name].value) + (f", {least}" if least else "")


def _left(number: int) -> Iterator[str]:
    if number:
        yield ""
        yield f"And {number:,} more."
