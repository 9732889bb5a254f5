"""What is measured of an episode, as whole numbers of one small unit: sums of them are exact, in whatever order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.evaluation.exact import Exact
from engine.evaluation.record import Record
from engine.pack import REWARD_UNIT

# How many of the unit are 1. A reward is a whole number of it, and so is any float from 1/4 up, and any short one.
ONE = REWARD_UNIT * 2**50


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of an episode that is averaged. `least` and `most` are what it can be, None where nothing says so.

    Most are the better the greater they are; a `cost` is the worse.
    """

    name: str
    words: str
    least: float | None = None
    most: float | None = None
    cost: bool = False


# What a return and a regret can be, the packs' reward range says; what excess steps can be, how many steps there are.
RETURN, REGRET, NORMALISED, EXCESS = "return", "regret", "normalised_return", "excess_steps"
MEANS: Mapping[str, Measure] = {
    one.name: one
    for one in (
        Measure("score", "score", 0.0, 1.0),
        Measure(RETURN, "return"),
        Measure(NORMALISED, "normalised return", None, 1.0),
        Measure(REGRET, "regret", 0.0, cost=True),
        Measure(EXCESS, "excess steps", cost=True),
    )
}
SUCCESS = "success"
# What is exactly known of the same cases, for comparison.
BEST_RETURN, RANDOM_RETURN = "best_return", "random_return"
EXACT: Mapping[str, str] = {
    BEST_RETURN: "best return",
    RANDOM_RETURN: "random return",
    "random_score": "random score",
}

WORDS: Mapping[str, str] = {**{name: one.words for name, one in MEANS.items()}, SUCCESS: "success rate", **EXACT}

# A value for each of these, None where there is none.
COLUMNS = (*MEANS, SUCCESS, *EXACT)
Values = tuple[int | None, ...]


class Measuring:
    """Measures records. What is exactly known of a kind of case is worked out once, and each return in it."""

    def __init__(self) -> None:
        self._kinds: dict[int, _Kind] = {}

    def values(self, record: Record, exact: Exact | None) -> Values:
        """What is measured of a record that is done.

        Regret is what all steps cost together. Excess steps are those beyond the fewest of a best episode: only an
        episode that reached the goal has them.
        """
        normalised, known = None, _UNKNOWN
        if exact is not None:
            kind = self._kinds.get(id(exact))
            if kind is None:
                kind = self._kinds[id(exact)] = _Kind(exact)
            normalised, known = kind.normalised(record.total), kind.values
        over = record.steps - record.optimal_steps if record.resolved and record.optimal_steps is not None else None
        return (
            _of_float(record.score),
            _of_reward(record.total),
            normalised,
            _of_reward(sum(record.regrets)) if record.regrets is not None else None,
            over * ONE if over is not None else None,
            ONE if record.resolved else 0,
            *known,
        )


class _Kind:
    """The cases of which one thing is proved; it keeps that, so that its id stays its own."""

    def __init__(self, exact: Exact) -> None:
        self._exact = exact
        self._normalised: dict[int, int | None] = {}
        self.values: Values = (_units(exact.best_return), _units(exact.random_return), _units(exact.random_score))

    def normalised(self, total: int) -> int | None:
        if total not in self._normalised:
            self._normalised[total] = _units(self._exact.normalised(Fraction(total, REWARD_UNIT)))
        return self._normalised[total]


_UNKNOWN: Values = (None,) * len(EXACT)


def middle(values: Sequence[int]) -> int:
    """The mean of some values in the unit, rounded to one."""
    return _nearest(sum(values), len(values))


def _of_reward(reward: int) -> int:
    return reward * (ONE // REWARD_UNIT)


def _of_float(value: float) -> int:
    above, below = value.as_integer_ratio()
    return _nearest(above * ONE, below)


def _units(value: Fraction | None) -> int | None:
    return _nearest(value.numerator * ONE, value.denominator) if value is not None else None


def _nearest(above: int, below: int) -> int:
    return (2 * above + below) // (2 * below)
