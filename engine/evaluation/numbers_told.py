"""The numbers of a run as they are told to people: all of them for all tickets, the main ones by pack and task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from engine.evaluation.estimates import Estimate
from engine.evaluation.intervals import Interval
from engine.evaluation.measures import EXACT, SUCCESS, WORDS
from engine.evaluation.numbers import Group, Table
from engine.proof.report import plain_table, show
from engine.proof.told import count, decimal, lines
from engine.transcript import printable

# How many causes of errors and limits are shown.
CAUSES = 10
ONE_TICKET = "Where there is one ticket, the interval is about its other seeds, not about other tickets."
# The numbers that are shown of each pack and task, and what each is compared with.
MAIN = ("score", "return", SUCCESS)
_CHANCE = {"score": "random_score", "return": "random_return"}


def told_numbers(told: Table, console: Console) -> None:
    """Prints the numbers of a run."""
    console.print(f"all tickets: {_done(told.overall)}", markup=False, soft_wrap=True)
    if told.overall.numbers:
        show(_whole(told.overall), console)
    for kind, groups in (("pack", told.packs), ("task", told.tasks)):
        if len(groups) > 1 and told.overall.numbers:
            console.print()
            show(_each(kind, groups), console)
            of_one_ticket([group.tickets for group in groups.values()], console)
    for line in _causes(told.overall):
        console.print(line, markup=False, soft_wrap=True)


def of_one_ticket(tickets: Iterable[int], console: Console) -> None:
    """Says what the intervals of a pack or task are about of which there is one ticket only."""
    if 1 in tickets:
        console.print(f"  {ONE_TICKET}", style="dim", soft_wrap=True)


def _done(group: Group) -> str:
    share = f" ({decimal(Fraction(100 * group.done, group.planned), 1)}%)" if group.done < group.planned else ""
    return f"{group.done:,} of {count(group.planned, 'episode')} done{share}, {count(group.tickets, 'ticket')}"


def _whole(group: Group) -> Grid:
    """Every number of a group; beside returns and scores what chance may expect of the same tickets, exactly."""
    grid = plain_table("", "mean", "95% interval", "chance", "best", "tickets", gap=2)
    for name, found in group.numbers.items():
        if name not in EXACT:
            chance = _exactly(group, _CHANCE.get(name), found)
            best = _exactly(group, "best_return" if name == "return" else None, found)
            grid.add_row(word(name), shown(found.value), between(found.interval), chance, best, f"{found.tickets:,}")
    return grid


def _exactly(group: Group, name: str | None, beside: Estimate) -> str:
    """What is exactly known; nothing where it is known of some of the tickets only."""
    found = group.numbers.get(name) if name is not None else None
    return shown(found.value) if found is not None and found.tickets == beside.tickets else ""


def _each(kind: str, groups: Mapping[str, Group]) -> Grid:
    grid = plain_table(kind, "done", *map(word, MAIN))
    for name, group in groups.items():
        numbers = [group.numbers.get(one) for one in MAIN]
        cells = [cell(one) if one is not None else "-" for one in numbers]
        done = f"{group.done:,}" if group.done == group.planned else f"{group.done:,} of {group.planned:,}"
        grid.add_row(printable(name), done, *cells)
    return grid


def _causes(group: Group) -> Iterator[str]:
    """Why episodes aren't done, the most frequent first."""
    causes = [*group.causes.items()]
    for cause, number in causes[:CAUSES]:
        kind = count(number, "error") if cause.status == "error" else f"{number:,} at a limit"
        yield f"{kind}: {lines(cause.text)}"
    if len(causes) > CAUSES:
        yield f"and {sum(number for _, number in causes[CAUSES:]):,} for {len(causes) - CAUSES:,} other reasons"


# -- Words and grids


def word(name: str) -> str:
    """A number's name in words."""
    return WORDS.get(name, name)


def shown(number: float) -> str:
    return decimal(Fraction(number), 3)


def between(interval: Interval | None) -> str:
    return f"{shown(interval.low)} to {shown(interval.high)}" if interval is not None else "-"


def cell(found: Estimate, style: str = "") -> Text:
    """A number, its interval beneath."""
    return Text.assemble((shown(found.value), style), "\n", (between(found.interval), "dim"))
