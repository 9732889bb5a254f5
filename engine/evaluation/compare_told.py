"""A comparison as it is told to people, and to programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.evaluation.compare import Apart, Comparison, Flip, PairedGroup, Unlike
from engine.evaluation.measures import MEANS
from engine.evaluation.numbers import Row, estimate_json
from engine.evaluation.numbers_told import MAIN, between, cell, of_one_ticket, shown, word
from engine.proof.diff_command import change_json, changes_told
from engine.proof.report import plain_table, show
from engine.proof.told import count
from engine.terminal import printable

# How many tickets are shown of a kind, and how many seeds of one: all of them stand in the JSON.
SHOWN, SEEDS = 20, 6
_STYLES = {"better": "green", "worse": "red", "": ""}


def told_comparison(found: Comparison, console: Console) -> None:
    """Prints every number of all tickets, the main ones by pack and task, and what flipped."""
    overall = found.overall
    console.print(f"all tickets: {count(overall.pairs, 'pair')} of {count(overall.tickets, 'ticket')}", soft_wrap=True)
    if overall.numbers:
        show(_whole(overall), console)
    for kind, groups in (("pack", found.packs), ("task", found.tasks)):
        if len(groups) > 1 and overall.numbers:
            console.print()
            show(_each(kind, groups), console)
            of_one_ticket([group.tickets for group in groups.values()], console)
    console.print()
    for line in (*_flips(found.flips), *_unpaired(found)):
        console.print(line, markup=False, soft_wrap=True)


def _whole(group: PairedGroup) -> Table:
    grid = plain_table("", "first", "second", "difference", "95% interval", "second is", gap=2)
    for name, apart in group.numbers.items():
        numbers = (shown(apart.first), shown(apart.second), shown(apart.difference.value))
        said = verdict(name, apart)
        grid.add_row(word(name), *numbers, between(apart.difference.interval), Text(said, _STYLES[said]))
    return grid


def _each(kind: str, groups: Mapping[str, PairedGroup]) -> Table:
    """The differences of the main numbers."""
    grid = plain_table(f"difference by {kind}", "pairs", *map(word, MAIN))
    for name, group in groups.items():
        cells = []
        for one in MAIN:
            apart = group.numbers.get(one)
            style = _STYLES[verdict(one, apart)] if apart is not None else ""
            cells.append(cell(apart.difference, style) if apart is not None else "-")
        grid.add_row(printable(name), f"{group.pairs:,}", *cells)
    return grid


def verdict(name: str, apart: Apart) -> str:
    """Whether the second run is better or worse: nothing where the interval holds 0, or there is none."""
    interval = apart.difference.interval
    if interval is None or interval.low <= 0 <= interval.high:
        return ""
    cost = name in MEANS and MEANS[name].cost
    return "better" if (interval.low > 0) is not cost else "worse"


# -- Flips


def _flips(flips: Sequence[Flip]) -> Iterator[str]:
    if not flips:
        yield "No episode succeeds in one run only."
        return
    won = sum(flip.won for flip in flips)
    by_ticket = [(row, [*own]) for row, own in groupby(flips, lambda flip: (flip.key.pack, flip.key.ticket))]
    yield (
        f"{count(len(flips), 'episode')} of {count(len(by_ticket), 'ticket')} flipped: "
        f"{won:,} succeeded in the second run only, {len(flips) - won:,} in the first only"
    )
    by_ticket.sort(key=lambda item: -len(item[1]))
    for (pack, ticket), own in by_ticket[:SHOWN]:
        parts = [*_counted("won", own, True), *_counted("lost", own, False)]
        yield f"  {printable(pack)} {printable(ticket)}: {'; '.join(parts)}"
    if len(by_ticket) > SHOWN:
        yield f"  and {count(len(by_ticket) - SHOWN, 'more ticket')}; --json has every episode"


def _counted(word: str, flips: Sequence[Flip], won: bool) -> Iterator[str]:
    """`won 3 at seeds 4 and 9`: two of them are trials of one seed."""
    own = [flip.key.seed for flip in flips if flip.won is won]
    if own:
        seeds = [*dict.fromkeys(own)]
        listed = ", ".join(map(str, seeds[:SEEDS])) + (f" and {len(seeds) - SEEDS} more" if len(seeds) > SEEDS else "")
        yield f"{word} {len(own)} at seed{'s' if len(seeds) > 1 else ''} {listed}"


def _unpaired(found: Comparison) -> Iterator[str]:
    left = found.unpaired
    parts = (
        (left.only_first, "recorded in the first run only"),
        (left.only_second, "recorded in the second run only"),
        (left.done_first, f"done in the first run only{_cut_off('second', left.done_first, left.errors_second)}"),
        (left.done_second, f"done in the second run only{_cut_off('first', left.done_second, left.errors_first)}"),
        (left.not_done, "done in neither"),
    )
    listed = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    if listed:
        yield f"Episodes that aren't compared: {listed}"


def _cut_off(run: str, number: int, errors: int) -> str:
    """What became of episodes in the run that they aren't done in."""
    parts = (errors, "ended in an error"), (number - errors, "met a limit")
    return f" (in the {run} run {' and '.join(f'{many:,} {what}' for many, what in parts if many)})"


# -- What can't be compared


def told_unlike(unlike: Mapping[Row, Unlike]) -> Iterator[str]:
    """A line for each ticket that isn't the same in both runs."""
    for (pack, ticket), why in [*unlike.items()][:SHOWN]:
        yield f"  {printable(pack)} {printable(ticket)}: {_reason(why)}"
    if len(unlike) > SHOWN:
        yield f"  and {count(len(unlike) - SHOWN, 'more ticket')}; --json has every one"


def _reason(why: Unlike) -> str:
    if why.contradictory:
        return "the certificates say different things of one digest: one was changed by hand, or made by other code"
    if not why.changes:
        return "the pack has another digest, and the ticket isn't proved in both"
    if why.changes[0].what == "pack":
        return "the pack's names, actions, rules, facts, rewards or tasks decide otherwise"
    return changes_told(why.changes)


# -- For programs


def as_json(found: Comparison) -> dict[str, Any]:
    """The comparison, the same bytes for the same records."""
    return {
        "overall": _group_json(found.overall),
        "packs": [{"pack": name, **_group_json(group)} for name, group in found.packs.items()],
        "tasks": [{"task": name, **_group_json(group)} for name, group in found.tasks.items()],
        "flips": [{**flip.key._asdict(), "succeeded": "second" if flip.won else "first"} for flip in found.flips],
        "unpaired": asdict(found.unpaired),
    }


def unlike_json(unlike: Mapping[Row, Unlike]) -> list[dict[str, Any]]:
    return [
        {"pack": pack, "ticket": ticket, "why": _reason(why), "changes": [change_json(one) for one in why.changes]}
        for (pack, ticket), why in unlike.items()
    ]


def _group_json(group: PairedGroup) -> dict[str, Any]:
    return {
        "pairs": group.pairs,
        "tickets": group.tickets,
        "numbers": {
            name: {"first": one.first, "second": one.second, "difference": estimate_json(one.difference)}
            for name, one in group.numbers.items()
        },
    }
