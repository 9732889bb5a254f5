"""A run as one HTML page that needs nothing from anywhere else, nor any script. Episodes come as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from engine.evaluation.estimates import Range, together
from engine.evaluation.measures import RETURN, SUCCESS
from engine.evaluation.numbers import Group, Row, planned
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
from engine.evaluation.report import about, plots
from engine.evaluation.report.shown import TITLES, episodes, lots
from engine.evaluation.report.survey import Cost, Survey, worst_first
from engine.evaluation.spent_told import told_spent
from engine.pack import REWARD_UNIT
from engine.proof.sheet import sheet
from engine.proof.told import decimal, lines, units
from engine.terminal import printable

# How many causes of errors, outcomes that cost something, packs or tasks, and tickets have a row.
CAUSES, OUTCOMES, GROUPS, TICKETS = 20, 20, 100, 100
# How many episodes are shown unless something else is asked for.
EPISODES = 500
# How many pieces of the page are written at once.
_BUFFER = 200
_MAIN = [word(name) for name in MAIN]


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a whole in a table: in words, how many, and its share of the whole in [0, 1]."""

    words: str
    number: str
    share: float
    more: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A number that stands out: its name, mean and interval, and what it is compared with."""

    name: str
    mean: str
    interval: str
    beside: str


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of a kind, the first of them, and how many more there are."""

    kind: str
    groups: tuple[tuple[str, Group], ...]
    left: int


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket's row."""

    pack: str
    ticket: str
    task: str
    group: Group
    optimal: str


def page(played: Played, survey: Survey, most: int | None = EPISODES) -> Iterator[str]:
    """The page in pieces; `most` is how many episodes it shows, None for all of them."""
    chosen = lots(played.run.plan, survey.kinds, most)
    stream = sheet("engine.evaluation.report", "page").stream(
        **_head(played, survey),
        **_numbers(played, survey),
        **_losses(survey),
        **_tickets(played, survey),
        lots=chosen,
        titles=TITLES,
        several=len(played.run.plan.packs) > 1,
        trials=played.run.plan.trials > 1,
        shown_episodes=sum(len(lot.places) for lot in chosen),
        recorded=sum(lot.number for lot in chosen),
        episodes=lambda lot: episodes(played, lot),
        ending=about.reason,
        reward=_reward,
        shown=shown,
        between=between,
        units=units,
    )
    stream.enable_buffering(_BUFFER)
    yield from stream


def _reward(reward: int, signed: bool = False) -> str:
    """Ten-thousandths as reward units, all to four places."""
    told = decimal(Fraction(reward, REWARD_UNIT), 4)
    return f"+{told}" if signed and reward >= 0 else told


def _head(played: Played, survey: Survey) -> dict[str, Any]:
    run, overall = played.run, survey.table.overall
    return {
        "agent": about.agent(run),
        "packs": [*about.packs(run)],
        "options": [*about.options(run)],
        "overall": overall,
        "done": done(overall),
        "spent": told_spent(run.path),
        "endings": [_part(words, number, overall.planned) for words, number in about.endings(survey)],
        "cautions": [*about.cautions(played)],
        "causes": [
            _part(lines(cause.text), number, overall.planned, cause.status)
            for cause, number in [*overall.causes.items()][:CAUSES]
        ],
        "causes_left": sum([*overall.causes.values()][CAUSES:]),
    }


def _part(words: str, number: int, whole: int, more: str = "") -> Part:
    return Part(words, f"{number:,}", number / whole, more)


# -- Numbers


def _numbers(played: Played, survey: Survey) -> dict[str, Any]:
    table = survey.table
    rewards = together([one.rewards for one in planned(played.run.plan)])
    kinds: dict[str, Mapping[str, Group]] = {"pack": table.packs, "task": table.tasks}
    several = {kind: groups for kind, groups in kinds.items() if len(groups) > 1}
    named = [(name, group) for groups in several.values() for name, group in groups.items()]
    return {
        "headline": [_tile(table.overall, *row) for row in rows(table.overall) if row[0] in _MAIN],
        "at_least": at_least,
        "if_failed": IF_FAILED if at_least(table.overall) else "",
        "success": SUCCESS,
        "heads": HEADS,
        "numbers": [*rows(table.overall)],
        "main": MAIN,
        "main_words": _MAIN,
        "grouped": [_grouped(kind, groups) for kind, groups in several.items()],
        "one_ticket": ONE_TICKET if any(group.tickets == 1 for _, group in named) else "",
        "coverage": coverage,
        "intervals": _intervals([("all tickets", table.overall), *named], rewards),
        "field": plots.returns(survey, rewards) if table.overall.done else None,
    }


def _tile(group: Group, name: str, mean: str, interval: str, chance: str, best: str, tickets: str) -> Tile:
    beside = [f"{what} {number}" for what, number in (("chance", chance), ("best", best)) if number]
    if group.done < group.planned:
        beside += ["95% interval", at_least(group)] if name == word(SUCCESS) else [f"{coverage(group)} done"]
    return Tile(name, mean, interval, ", ".join(beside))


def _grouped(kind: str, groups: Mapping[str, Group]) -> Grouped:
    told = [(printable(name), group) for name, group in groups.items()]
    return Grouped(kind, tuple(told[:GROUPS]), len(told[GROUPS:]))


def _intervals(groups: Sequence[tuple[str, Group]], rewards: Range) -> list[plots.Intervals]:
    share = Range(0.0, 1.0)
    found = [
        plots.intervals("score", groups, share, chance="random_score"),
        plots.intervals(RETURN, groups, rewards, chance="random_return", best="best_return"),
        plots.intervals(SUCCESS, groups, share),
    ]
    return [one for one in found if one.lines]


# -- What was lost


def _losses(survey: Survey) -> dict[str, Any]:
    costs = [(outcome, cost) for outcome, cost in survey.outcomes.items() if cost.total]
    left = [cost for _, cost in costs[OUTCOMES:]]
    return {
        "lost": about.lost(survey.lost),
        "outcomes": [_cost(printable(outcome), cost, survey.lost) for outcome, cost in costs[:OUTCOMES]],
        "outcomes_left": (len(left), about.lost(sum(cost.total for cost in left))),
        "unblamed": survey.unblamed,
        "bars": plots.costs(survey),
    }


def _cost(outcome: str, cost: Cost, lost: int) -> Part:
    return Part(outcome, f"{cost.costly:,} of {cost.steps:,}", cost.total / lost, about.lost(cost.total))


# -- Tickets


def _tickets(played: Played, survey: Survey) -> dict[str, Any]:
    table, worst = survey.table, worst_first(survey.table)
    packs = played.run.plan.packs

    def chance(row: Row) -> float | None:
        found = table.tickets[row].numbers.get("random_return")
        return found.value if found is not None else None

    def optimal(row: Row) -> float | None:
        return float(survey.optimal[row]) if row in survey.optimal else None

    fields = [plots.difficulty(table, optimal, "optimal steps"), plots.difficulty(table, chance, "what chance returns")]
    return {
        "difficulties": [field for field in fields if field is not None],
        "tickets": [
            Ticket(
                printable(pack),
                printable(ticket),
                printable(packs[pack].tickets[ticket].task),
                table.tickets[pack, ticket],
                decimal(survey.optimal[pack, ticket], 1) if (pack, ticket) in survey.optimal else "-",
            )
            for pack, ticket in worst[:TICKETS]
        ],
        "tickets_left": len(worst[TICKETS:]),
    }
