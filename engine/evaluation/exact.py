"""What is proved of the cases that a run plays: the best return, and what the uniformly random policy may expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from engine.case import drawn
from engine.pack import Grader, Pack
from engine.turns import Manner, manner

# A variant of a ticket: what is known from the start, and what its people do before they answer.
_Variant = tuple[frozenset[str], Manner]


@dataclass(frozen=True, slots=True)
class Exact:
    """Of a case, in reward units: V*, and what chance may expect, as return and as its task's score.

    `random_score` is None where the task's grader is none of the three that the proof knows.
    """

    best_return: Fraction
    random_return: Fraction
    random_score: Fraction | None

    def normalised(self, earned: Fraction) -> Fraction | None:
        """A return, 0 being what chance may expect and 1 V*: less than 0 where chance does better.

        None where there is nothing to earn beyond that.
        """
        room = self.best_return - self.random_return
        return (earned - self.random_return) / room if room > 0 else None


class Proved:
    """What a pack's certificate says of its cases."""

    def __init__(self, pack: Pack, certificate: Mapping[str, Any]) -> None:
        """`certificate` is one that `engine.proof.certificate` makes. Raises ValueError where it is of another pack."""
        own = next((one for one in certificate["packs"] if one["digest"] == pack.digest), None)
        if own is None:
            raise ValueError(f"this certificate isn't about {pack.name} {pack.version}, digest {pack.digest[:12]}")
        self._pack = pack
        self._variants = {one["ticket"]: _exact_of(pack, one) for one in own["tickets"]}

    def of(self, ticket: str, seed: int) -> Exact | None:
        """What is proved of the case that a seed makes of a ticket; None where nothing is."""
        variants = self._variants[ticket]
        if len(variants) == 1:
            return next(iter(variants.values()))
        about = self._pack.tickets[ticket]
        message, person = drawn(self._pack, about, seed)
        return variants[_variant((*about.known, *message.known), manner(about, person))]


def _exact_of(pack: Pack, ticket: Mapping[str, Any]) -> dict[_Variant, Exact | None]:
    formula = _formula(pack.tasks[ticket["task"]].grader)
    found: dict[_Variant, Exact | None] = {}
    for variant in ticket["variants"]:
        numbers = variant["numbers"]
        fields = variant.get("fields")
        how = Manner(variant.get("refuses", 0), variant["stalls"], tuple(fields) if fields is not None else None)
        found[_variant(variant["known"], how)] = _read(numbers, formula) if numbers is not None else None
    return found


def _read(numbers: Mapping[str, Any], formula: str | None) -> Exact:
    grades = numbers["random_grades"]
    return Exact(
        best_return=Fraction(str(numbers["optimum"])),  # as it is written: in ten-thousandths
        random_return=_fraction(numbers["random_return"]),
        random_score=_fraction(grades[formula]) if formula in grades else None,
    )


def _fraction(written: Mapping[str, Any]) -> Fraction:
    """Through Decimal: of an int Python reads some thousands of digits only."""
    above, below = (int(Decimal(digits)) for digits in written["exact"].split("/"))
    return Fraction(above, below)


def _formula(grader: Grader) -> str | None:
    """Which of the contract's formulas a grader is; None where it is another one."""
    named = getattr(grader, "__name__", "").partition("grade_")[2]
    return named if getattr(grader, "__module__", None) == "graders" else None


def _variant(known: Iterable[str], how: Manner) -> _Variant:
    """The order of the fields makes no difference."""
    fields = tuple(sorted(how.fields)) if how.fields is not None else None
    return frozenset(known), Manner(how.refuses, how.stalls, fields)
