"""The chart of a pack's difficulty: what chance, a policy that doesn't read and the best one return, by ticket."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.pack import REWARD_UNIT, Pack
from engine.proof import told
from engine.proof.result import Numbers, PackProof
from engine.terminal import printable

# How many rows there are. Where there are more tickets, those with the same numbers share one.
ROWS = 100
# In pixels: of the labels, of the scale, of a row, and above the rows; and how many letters a label has.
LEFT, SCALE, HIGH, TOP = 190, 560, 16, 26
LETTERS = 24
# How many ticks the scale has at the most.
TICKS = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: bars from nothing to the best return, to the blind bound and to what chance expects; each is where it
    begins, and how long it is."""

    label: str
    title: str
    y: int
    best: tuple[float, float]
    blind: tuple[float, float] | None
    random: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Chart:
    """`shared` says that tickets with the same numbers share a row; `left` counts the rows that are left out."""

    height: int
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    shared: bool
    left: int
    blind: bool


def chart(pack: Pack, proof: PackProof) -> Chart:
    """A row for each ticket, those first with which chance does best; of several variants, the one that is hardest."""
    hardest: dict[str, Numbers] = {}
    for ticket in proof.tickets:
        known = [variant.numbers for variant in ticket.variants if variant.numbers is not None]
        if known:
            hardest[ticket.ticket] = min(known, key=lambda numbers: numbers.random_return)
    shared = len(hardest) > ROWS
    groups: dict[Hashable, list[str]] = {}
    for name, numbers in hardest.items():
        key = (numbers.random_return, numbers.optimum, pack.tickets[name].task) if shared else name
        groups.setdefault(key, []).append(name)
    rows = sorted(groups.values(), key=lambda names: hardest[names[0]].random_return, reverse=True)
    scale = _Scale(pack.rewards.minimum, pack.rewards.maximum)
    bars = tuple(
        _bar(names, hardest[names[0]], proof.blind.get(pack.tickets[names[0]].task), row, scale)
        for row, names in enumerate(rows[:ROWS])
    )
    blind = any(bar.blind is not None for bar in bars)
    return Chart(TOP + HIGH * len(bars) + 6, bars, scale.ticks(), shared, len(rows) - len(bars), blind)


def _bar(names: Sequence[str], numbers: Numbers, blind: Fraction | None, row: int, scale: _Scale) -> Bar:
    more = f" +{len(names) - 1:,}" if len(names) > 1 else ""
    name, room = printable(names[0]), LETTERS - len(more)
    label = (name if len(name) <= room else name[: room - 1] + "…") + more
    parts = [f"random {told.decimal(numbers.random_return, 4)}", f"best {told.units(numbers.optimum)}"]
    if blind is not None:
        parts.insert(1, f"blind at the most {told.decimal(blind, 4)}")
    return Bar(
        label=label,
        title=f"{told.named(names)}: {', '.join(parts)}",
        y=TOP + HIGH * row,
        best=scale.bar(Fraction(numbers.optimum)),
        blind=scale.bar(blind * REWARD_UNIT) if blind is not None else None,
        random=scale.bar(numbers.random_return * REWARD_UNIT),
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a return stands, in ten-thousandths; what is out of the reward range stands at its end."""

    low: int
    high: int

    def at(self, value: Fraction) -> float:
        inside = min(max(value, Fraction(self.low)), Fraction(self.high))
        return round(float(LEFT + SCALE * (inside - self.low) / (self.high - self.low)), 1)

    def bar(self, value: Fraction) -> tuple[float, float]:
        start, end = sorted((self.at(Fraction(0)), self.at(value)))
        return start, round(max(end - start, 1.0), 1)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """At whole numbers where there are few of them, and at the ends."""
        whole = range(-(-self.low // REWARD_UNIT), self.high // REWARD_UNIT + 1)
        values = {self.low, self.high, *((one * REWARD_UNIT for one in whole) if len(whole) <= TICKS else (0,))}
        return tuple((self.at(Fraction(value)), told.units(value)) for value in sorted(values))
