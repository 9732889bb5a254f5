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
from engine.terminal import printable

# How many causes of errors and limits are shown.
CAUSES = 10
ONE_TICKET = "Where there is one ticket, the interval is about its other seeds, not about other tickets."
# The numbers that are shown of each pack and task, and what each is compared with.
MAIN = ("score", "return", SUCCESS)
# What stands over the numbers in `rows`, after their names.
HEADS = ("mean", "95% interval", "chance", "best", "tickets")
# What stands beside the success rate where some episodes aren't done.
AT_LEAST, IF_FAILED = "success, at least", "what the success rate would be if all that isn't done had failed"
# How wide text is where nothing says how wide the paper is.
WIDTH = 100
_CHANCE = {"score": "random_score", "return": "random_return"}


def standard_output() -> Console:
    """Standard output, in colours if it is a terminal."""
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    return console


def told_numbers(told: Table, console: Console) -> None:
    """Prints the numbers of a run."""
    console.print(f"all tickets: {done(told.overall)}", markup=False, soft_wrap=True)
    if told.overall.numbers:
        show(_whole(told.overall), console)
    for kind, groups in (("pack", told.packs), ("task", told.tasks)):
        if len(groups) > 1 and told.overall.numbers:
            console.print()
            show(_each(kind, groups), console)
            of_one_ticket([group.tickets for group in groups.values()], console)
    if told.overall.numbers and told.overall.done < told.overall.planned:
        console.print(f"at least: {IF_FAILED}", markup=False, soft_wrap=True)
    for line in _causes(told.overall):
        console.print(line, markup=False, soft_wrap=True)


def of_one_ticket(tickets: Iterable[int], console: Console) -> None:
    """Says what the intervals of a pack or task are about of which there is one ticket only."""
    if 1 in tickets:
        console.print(f"  {ONE_TICKET}", style="dim", soft_wrap=True)


def done(group: Group) -> str:
    """The coverage of a group in words."""
    share = f" ({decimal(Fraction(100 * group.done, group.planned), 1)}%)" if group.done < group.planned else ""
    return f"{group.done:,} of {count(group.planned, 'episode')} done{share}, {count(group.tickets, 'ticket')}"


def rows(group: Group) -> Iterator[tuple[str, ...]]:
    """Every number of a group, in words, and under HEADS; beside returns and scores what chance may expect of the same
    tickets, exactly."""
    for name, found in group.numbers.items():
        if name not in EXACT:
            chance = _exactly(group, _CHANCE.get(name), found)
            best = _exactly(group, "best_return" if name == "return" else None, found)
            yield word(name), shown(found.value), between(found.interval), chance, best, f"{found.tickets:,}"
            if name == SUCCESS and group.done < group.planned:
                yield AT_LEAST, shown(group.success_at_least), "", "", "", ""


def _whole(group: Group) -> Grid:
    grid = plain_table("", *HEADS, gap=2)
    for row in rows(group):
        grid.add_row(*row)
    return grid


def _exactly(group: Group, name: str | None, beside: Estimate) -> str:
    """What is exactly known; nothing where it is known of some of the tickets only."""
    found = group.numbers.get(name) if name is not None else None
    return shown(found.value) if found is not None and found.tickets == beside.tickets else ""


def _each(kind: str, groups: Mapping[str, Group]) -> Grid:
    grid = plain_table(kind, "done", *map(word, MAIN))
    for name, group in groups.items():
        numbers = [group.numbers.get(one) for one in MAIN]
        cells = [cell(one) if one is not None else Text("-") for one in numbers]
        if least := at_least(group):
            cells[MAIN.index(SUCCESS)].append(f"\n{least}", "dim")
        grid.add_row(printable(name), coverage(group), *cells)
    return grid


def coverage(group: Group) -> str:
    """How many episodes are done, and of how many where some aren't."""
    return f"{group.done:,}" if group.done == group.planned else f"{group.done:,} of {group.planned:,}"


def at_least(group: Group) -> str:
    """The success rate if all that isn't done had failed, in words; empty where all is done."""
    return f"at least {shown(group.success_at_least)}" if group.done < group.planned else ""


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


def shown(number: float | Fraction) -> str:
    return decimal(Fraction(number), 3)


def between(interval: Interval | None) -> str:
    return f"{shown(interval.low)} to {shown(interval.high)}" if interval is not None else "-"


def cell(found: Estimate, style: str = "") -> Text:
    """A number, its interval beneath."""
    return Text.assemble((shown(found.value), style), "\n", (between(found.interval), "dim"))
