"""A scale: where a number stands in a picture, and at which round numbers its ticks are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high`, which stand at `start` and `end` in pixels; what is beyond stands at an end."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return round(self.start + (self.end - self.start) * share, 1)

    def ticks(self, most: int, whole: bool = False) -> tuple[tuple[float, str], ...]:
        """The multiples of a round number that are on the scale, at most so many: where they stand, and what they are.

        `whole`: whole numbers only. Raises ValueError where `most` is less than 2.
        """
        if most < 2:
            raise ValueError("a scale has two ticks at least")
        step = _step((self.high - self.low) / (most - 1), whole)
        first, last = ceil(Fraction(self.low) / step), floor(Fraction(self.high) / step)
        return tuple((self.at(float(number * step)), _label(float(number * step))) for number in range(first, last + 1))


def _label(value: float) -> str:
    return f"{value:g}" if abs(value) < 10_000 else f"{value / 1_000:,g}k"


def _step(least: float, whole: bool) -> Fraction:
    """The least of 1, 2 and 5 times a power of ten that isn't less than `least`."""
    if least <= 0:
        return Fraction(1)
    power = floor(log10(least))
    found = next(
        step
        for exponent in (power - 1, power, power + 1)
        for step in (Fraction(10) ** exponent * digit for digit in _STEPS)
        if float(step) >= least * (1 - 1e-9)  # what was divided is rounded
    )
    return max(found, Fraction(1)) if whole else found
