"""Which episodes a run plays, and in which order: pure, and never a list of them all.

A place is a planned episode's number in the order of the records: by pack, ticket, seed and trial. They are played in
another order, each ticket once before any of them again: a run that is cut short has seen all tickets alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from engine.evaluation.record import Key
from engine.nearest import nearest
from engine.pack import Pack, Split
from engine.split import splits
from engine.terminal import printable

MAX_SEED = 2**63 - 1
# The most episodes of a run: some bytes of each are kept in memory.
MOST = 10_000_000

_SPAN = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")


class NothingPlanned(LookupError):
    """A wish for episodes that there aren't; the text is a sentence."""


class Seeds:
    """Different seeds in ascending order, kept as spans: pairs of the first and the last."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self.spans: tuple[tuple[int, int], ...] = tuple(_merged(sorted(spans)))
        self._ends = [*accumulate(last - first + 1 for first, last in self.spans)]

    @property
    def count(self) -> int:
        return self._ends[-1] if self._ends else 0

    def seed(self, number: int) -> int:
        """The one of a number, from 0."""
        span = bisect_right(self._ends, number)
        return self.spans[span][1] + 1 - (self._ends[span] - number)

    def number(self, seed: int) -> int:
        """Which one a seed is, from 0. Raises KeyError where it isn't among them."""
        span = bisect_right(self.spans, (seed, MAX_SEED + 1)) - 1
        if span < 0 or seed > self.spans[span][1]:
            raise KeyError(seed)
        return self._ends[span] - (self.spans[span][1] + 1 - seed)

    def __str__(self) -> str:
        """As `seeds` reads it."""
        return ",".join(f"{first}-{last}" for first, last in self.spans)


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    current: tuple[int, int] | None = None
    for first, last in spans:
        if current is not None and first <= current[1] + 1:
            current = (current[0], max(current[1], last))
            continue
        if current is not None:
            yield current
        current = (first, last)
    if current is not None:
        yield current


def seeds(text: str) -> Seeds:
    """The seeds that a text means: how many, from 0 on (`20`), or which ones (`5-9`, `3,7,100-199`).

    Raises:
        ValueError: it means none; the text says what does.
    """
    parts = [_SPAN.fullmatch(part.strip()) for part in text.split(",")]
    spans = []
    for part in parts:
        first = int(part[1]) if part else MAX_SEED + 1
        last = int(part[2]) if part and part[2] else first
        if not first <= last <= MAX_SEED:
            ways = "how many, from 0 on, such as 20; or which ones, such as 5-9 or 3,7,100-199"
            raise ValueError(f"'{printable(text)}' is no seeds: {ways}")
        spans.append((first, last))
    (only, *more) = parts
    if not more and only and not only[2]:
        if spans[0][0] == 0:
            raise ValueError("no seeds at all are asked for: 1 is the fewest; the seed 0 alone is 0-0")
        return Seeds([(0, spans[0][0] - 1)])
    return Seeds(spans)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be played of some packs. No tasks, no tickets, no split: all of them."""

    tasks: tuple[str, ...] = ()
    tickets: tuple[str, ...] = ()
    split: Split | None = None
    seeds: str = "1"
    trials: int = 1

    def as_json(self) -> dict[str, Any]:
        """Two wishes for the same episodes of the same packs are written in one way."""
        return {
            **asdict(self),
            "tasks": sorted(set(self.tasks)),
            "tickets": sorted(set(self.tickets)),
            "seeds": str(seeds(self.seeds)),
        }


class Plan:
    """The planned episodes of a run: every row (a pack and one of its tickets) at every seed, so many times."""

    def __init__(self, packs: Sequence[Pack], wish: Wish) -> None:
        """Raises NothingPlanned where a wish names what there isn't, or more than a run can have."""
        self.packs: Mapping[str, Pack] = {pack.name: pack for pack in packs}
        self.rows: tuple[tuple[str, str], ...] = tuple(sorted(_rows(packs, wish)))
        self.seeds = seeds(wish.seeds)
        self.trials = wish.trials
        self._numbers = {row: number for number, row in enumerate(self.rows)}
        if self.count > MOST:
            raise NothingPlanned(f"These are {self.count:,} episodes; a run has {MOST:,} at the most.")

    @property
    def count(self) -> int:
        """How many episodes are planned."""
        return len(self.rows) * self.seeds.count * self.trials

    def key(self, place: int) -> Key:
        """The key of the episode at a place."""
        rest, trial = divmod(place, self.trials)
        row, seed = divmod(rest, self.seeds.count)
        return Key(*self.rows[row], self.seeds.seed(seed), trial + 1)

    def place(self, key: Key) -> int:
        """The place of a key. Raises KeyError where no such episode is planned."""
        if not 1 <= key.trial <= self.trials:
            raise KeyError(key)
        row, seed = self._numbers[key.pack, key.ticket], self.seeds.number(key.seed)
        return (row * self.seeds.count + seed) * self.trials + key.trial - 1

    def order(self) -> Iterator[int]:
        """All places, in the order in which they are played."""
        across = self.seeds.count * self.trials
        for trial in range(self.trials):
            for seed in range(self.seeds.count):
                first = seed * self.trials + trial
                yield from range(first, first + len(self.rows) * across, across)


def _rows(packs: Sequence[Pack], wish: Wish) -> Iterator[tuple[str, str]]:
    _known("task", wish.tasks, [name for pack in packs for name in pack.tasks], _with_tickets(packs))
    tickets = [name for pack in packs for name in pack.tickets]
    _known("ticket", wish.tickets, tickets, tickets)
    rows = [(pack, ticket) for pack in packs for ticket in _of_split(pack, wish.split)]
    if wish.tasks:
        rows = [(pack, ticket) for pack, ticket in rows if pack.tickets[ticket].task in wish.tasks]
    if wish.tickets:
        rows = [(pack, ticket) for pack, ticket in rows if ticket in wish.tickets]
    left = set(wish.tickets) - {ticket for _, ticket in rows}
    if left or not rows:
        of_task = f"of the task {_either(wish.tasks)}" if wish.tasks else ""
        of_split = f"in the split '{wish.split}'" if wish.split is not None else ""
        what = f"The ticket '{printable(min(left))}' isn't" if left else "No ticket is"
        raise NothingPlanned(f"{what} {' and '.join(filter(None, (of_task, of_split)))}.")
    for pack, ticket in rows:
        yield pack.name, ticket


def _with_tickets(packs: Sequence[Pack]) -> list[str]:
    """The tasks that have a ticket."""
    having = [{ticket.task for ticket in pack.tickets.values()} for pack in packs]
    return [name for pack, own in zip(packs, having, strict=True) for name in pack.tasks if name in own]


def _of_split(pack: Pack, split: Split | None) -> Iterable[str]:
    return splits(pack)[split] if split is not None else pack.tickets


def _either(names: Iterable[str]) -> str:
    return " or ".join(f"'{printable(name)}'" for name in names)


def _known(kind: str, wanted: Iterable[str], known: Sequence[str], advised: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            near = nearest(name, advised)
            shown = ", ".join(dict.fromkeys(map(printable, advised[:20])))
            hint = f"Did you mean '{printable(near)}'?" if near is not None else f"There are: {shown}."
            raise NothingPlanned(f"There is no {kind} '{printable(name)}' in these packs. {hint}")
