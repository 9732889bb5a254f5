"""The pictures of a report: how far episodes came, how sure the numbers are, what steps cost, and what difficulty does.

They are drawn 400 pixels wide, which is what a telephone has: larger paper shows them a little larger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Literal

from engine.evaluation.estimates import Range
from engine.evaluation.measures import SUCCESS
from engine.evaluation.numbers import Group, Row, Table
from engine.evaluation.numbers_told import between, shown, word
from engine.evaluation.report.about import lost
from engine.evaluation.report.scale import Scale
from engine.evaluation.report.survey import Survey
from engine.pack import REWARD_UNIT
from engine.proof.told import count, named, span, units
from engine.terminal import blanks, printable

# In pixels: a picture's width; where its area begins and ends; and how high a field of marks is.
WIDTH, LEFT, RIGHT, TOP, HIGH = 400, 40, 388, 24, 236
# Marks that are less than that apart are one; their radii.
CELL, SMALL, LARGE = 10, 3.0, 7.0
# A row of intervals: its height, how many rows there are, and how many letters a name has.
ROW, ROWS, LETTERS = 42, 40, 26
# How many ticks there are at the most, across and up.
ACROSS, UP = 9, 7


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands at one place. `kind`: an episode that resolved its ticket or didn't, the end of a best line, or any
    other thing."""

    x: float
    y: float
    radius: float
    kind: Literal["resolved", "unresolved", "best", "plain"]
    title: str


@dataclass(frozen=True, slots=True)
class Level:
    """A line across, and what it is."""

    y: float
    kind: Literal["best", "chance"]
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """Marks over two scales."""

    across: str
    up: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]
    levels: tuple[Level, ...] = ()


# -- How far episodes came


def returns(survey: Survey, rewards: Range) -> Field:
    """The returns of all episodes that are done, against their steps; larger marks are more of them."""
    most = max((steps for steps, *_ in (*survey.ends, *survey.best)), default=0)
    x = Scale(0.0, float(max(most, 1)), LEFT + LARGE, RIGHT - LARGE)
    y = Scale(rewards.least, rewards.most, HIGH, TOP)
    cells: dict[tuple[int, int, str], list[tuple[int, int, int]]] = {}
    for (steps, total, resolved), number in survey.ends.items():
        kind = "resolved" if resolved else "unresolved"
        cell = (*_cell(x.at(steps), y.at(total / REWARD_UNIT)), kind)
        cells.setdefault(cell, []).append((steps, total, number))
    largest = max((sum(number for *_, number in found) for found in cells.values()), default=1)
    marks = [_episodes(kind, found, x, y, largest) for (*_, kind), found in cells.items()]
    numbers = survey.table.overall.numbers
    levels = []
    if "best_return" in numbers:
        levels.append(_level("best", numbers["best_return"].value, y))
        levels.append(_level("chance", numbers["random_return"].value, y))
    return Field(
        across="steps",
        up="return",
        x_ticks=x.ticks(ACROSS, whole=True),
        y_ticks=y.ticks(UP),
        marks=(*sorted(marks, key=lambda mark: -mark.radius), *_best(survey.best, x, y)),
        levels=tuple(levels),
    )


def _episodes(kind: str, found: Sequence[tuple[int, int, int]], x: Scale, y: Scale, largest: int) -> Mark:
    number = sum(number for *_, number in found)
    steps, total = (Fraction(sum(each[part] * each[2] for each in found), number) for part in (0, 1))
    told = f"{span(each[0] for each in found)} steps, return {span((each[1] for each in found), units)}"
    resolved = kind == "resolved"
    return Mark(
        x.at(float(steps)),
        y.at(float(total) / REWARD_UNIT),
        _radius(number, largest),
        "resolved" if resolved else "unresolved",
        f"{count(number, 'episode')}, {'resolved' if resolved else 'not resolved'}: {told}",
    )


def _best(best: Mapping[tuple[int, int], int], x: Scale, y: Scale) -> Iterable[Mark]:
    """Where best lines of play of the same cases end."""
    cells: Counter[tuple[float, float, str]] = Counter()
    for (steps, total), number in best.items():
        cells[x.at(steps), y.at(total / REWARD_UNIT), f"{steps} steps, return {units(total)}"] += number
    for (at, up, told), number in cells.items():
        yield Mark(at, up, SMALL, "best", f"the best line of {count(number, 'episode')}: {told}")


def _level(kind: Literal["best", "chance"], value: float, y: Scale) -> Level:
    return Level(y.at(value), kind, f"{kind} {shown(value)}")


# -- What difficulty does


def difficulty(table: Table, known: Callable[[Row], float | None], across: str) -> Field | None:
    """Each ticket's success rate against a number of it; None where it is known of no ticket."""
    tickets = {row: value for row, group in table.tickets.items() if group.done and (value := known(row)) is not None}
    if not tickets:
        return None
    low, high = min(tickets.values()), max(tickets.values())
    room = (high - low or 1.0) * 0.04
    x = Scale(low - room, high + room, LEFT + SMALL, RIGHT - SMALL)
    y = Scale(0.0, 1.0, HIGH, TOP + LARGE)
    cells: dict[tuple[int, int], list[Row]] = {}
    for row, value in tickets.items():
        cells.setdefault(_cell(x.at(value), y.at(table.tickets[row].numbers[SUCCESS].value)), []).append(row)
    largest = max(map(len, cells.values()))
    marks = [_tickets(table, found, tickets, x, y, largest) for found in cells.values()]
    marks.sort(key=lambda mark: -mark.radius)
    return Field(across, word(SUCCESS), x.ticks(ACROSS), y.ticks(UP), tuple(marks))


def _tickets(table: Table, rows: Sequence[Row], known: Mapping[Row, float], x: Scale, y: Scale, largest: int) -> Mark:
    rates = [table.tickets[row].numbers[SUCCESS].value for row in rows]
    at, rate = sum(known[row] for row in rows) / len(rows), sum(rates) / len(rows)
    title = f"{named([ticket for _, ticket in rows])}: success rate {shown(rate)}, at {at:.3g}"
    return Mark(x.at(at), y.at(rate), _radius(len(rows), largest), "plain", title)


def _cell(x: float, y: float) -> tuple[int, int]:
    return round(x / CELL), round(y / CELL)


def _radius(number: int, largest: int) -> float:
    """Areas go by numbers, from that of a small mark on."""
    return round(sqrt(SMALL**2 + (LARGE**2 - SMALL**2) * (number - 1) / max(largest - 1, 1)), 1)


# -- How sure the numbers are


@dataclass(frozen=True, slots=True)
class Line:
    """A mean and its interval; `chance` and `best` are where those stand. `y` is the top of the row."""

    label: str
    told: str
    title: str
    y: int
    at: float
    interval: tuple[float, float] | None
    chance: float | None
    best: float | None


@dataclass(frozen=True, slots=True)
class Intervals:
    """A number of all tickets, of each pack and of each task. `left` rows are left out."""

    name: str
    height: int
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    left: int


def intervals(
    name: str, groups: Sequence[tuple[str, Group]], possible: Range, chance: str = "", best: str = ""
) -> Intervals:
    """The intervals of a number; `chance` and `best` name what is exactly known beside it."""
    scale = Scale(possible.least, possible.most, 6, WIDTH - 6)
    known = [(label, group) for label, group in groups if name in group.numbers]
    lines = []
    for number, (label, group) in enumerate(known[:ROWS]):
        found = group.numbers[name]
        told = shown(found.value)
        beside = (group.numbers.get(one) for one in (chance, best))
        at = [scale.at(one.value) if one is not None and one.tickets == found.tickets else None for one in beside]
        lines.append(
            Line(
                label=_cut(printable(label)),
                told=told if found.interval is None else f"{told}  ({between(found.interval)})",
                title=f"{printable(label)}: {told}, {between(found.interval)}",
                y=ROW * number,
                at=scale.at(found.value),
                interval=(scale.at(found.interval.low), scale.at(found.interval.high)) if found.interval else None,
                chance=at[0],
                best=at[1],
            )
        )
    return Intervals(word(name), ROW * len(lines) + 22, tuple(lines), scale.ticks(ACROSS), len(known) - len(lines))


def _cut(text: str) -> str:
    """As much of a name as there is room for; some letters are as wide as two."""
    if len(blanks(text)) <= LETTERS:
        return text
    return next(text[:end] for end in range(len(text), -1, -1) if len(blanks(text[:end])) < LETTERS) + "…"


# -- What steps cost


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Bars:
    bars: tuple[Bar, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def costs(survey: Survey) -> Bars | None:
    """What the first steps of all episodes cost together, the second ones, and so on; None where nothing did."""
    if not survey.lost:
        return None
    last = max(survey.steps)
    x = Scale(0.5, last + 0.5, LEFT, RIGHT)
    y = Scale(0.0, max(cost.total for cost in survey.steps.values()) / REWARD_UNIT, HIGH, TOP)
    wide = (RIGHT - LEFT) / last
    bars = [
        Bar(
            round(x.at(number) - wide * 0.4, 1),
            y.at(cost.total / REWARD_UNIT),
            round(max(wide * 0.8, 0.5), 1),
            round(HIGH - y.at(cost.total / REWARD_UNIT), 1),
            f"step {number}: {cost.costly:,} of {count(cost.steps, 'step')} cost {lost(cost.total)} together",
        )
        for number, cost in survey.steps.items()
        if cost.total
    ]
    return Bars(tuple(bars), x.ticks(ACROSS + 2, whole=True), y.ticks(UP))
