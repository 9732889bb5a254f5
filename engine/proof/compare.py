"""What changed between two certificates, and so whose scores stop being comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# The numbers of a variant that decide what a score is worth, in words. `states` isn't among them.
NUMBERS: Mapping[str, str] = {
    "optimum": "best return",
    "worst": "worst return",
    "short": "best return without the goal",
    "fewest_steps": "fewest steps",
    "optimal_steps": "optimal steps",
    "optimal_episodes": "optimal episodes",
    "random_return": "random return",
    "easy": "random grade under easy",
    "medium": "random grade under medium",
    "hard": "random grade under hard",
    "share": "share of the cases",
}

Presence = Literal["not there", "not proved", "proved"]


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of a ticket that differ by texts alone, by what is known from the start, and by stalls."""

    known: tuple[str, ...]
    stalls: int


@dataclass(frozen=True, slots=True)
class Change:
    """Something that isn't what it was; `old` and `new` are as certificates have them.

    `what` is one of NUMBERS, or `task`, or `blind`; or `cases`, where some came or went or aren't proved: then `old`
    and `new` are a Presence. `cases` are those whose number it is, None where it isn't about some cases only.
    """

    what: str
    old: Any
    new: Any
    cases: Cases | None = None


@dataclass(frozen=True, slots=True)
class Edition:
    """A pack as a certificate has it; `deskproof` is the version that proved it."""

    version: str
    digest: str
    deskproof: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a pack. `old` is None where it came, `new` where it went.

    `came`, `went` and `same` are ids of tickets, `changed` has the changes of the others; `blind` are changes of P07's
    bound by task: `old` or `new` is None where there is none.
    """

    pack: str
    old: Edition | None
    new: Edition | None
    came: tuple[str, ...]
    went: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]
    same: tuple[str, ...]
    blind: Mapping[str, Change]

    @property
    def comparable(self) -> bool:
        """Whether scores from before still mean the same, each ticket's and the means over all."""
        there = self.old is not None and self.new is not None
        return there and not (self.came or self.went or self.changed or self.blind)

    @property
    def identical(self) -> bool:
        """Whether it is the same pack to the last character that counts."""
        return self.old is not None and self.new is not None and self.old.digest == self.new.digest


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Difference, ...]:
    """The difference of each pack of two certificates: first those of the old one, in its order."""
    before = {pack["pack"]: pack for pack in old["packs"]}
    after = {pack["pack"]: pack for pack in new["packs"]}
    return tuple(
        _difference(name, before.get(name), after.get(name), old["deskproof"], new["deskproof"])
        for name in {**before, **after}
    )


def _difference(
    name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, proved_by: str, now_by: str
) -> Difference:
    before = {ticket["ticket"]: ticket for ticket in old["tickets"]} if old is not None else {}
    after = {ticket["ticket"]: ticket for ticket in new["tickets"]} if new is not None else {}
    identical = old is not None and new is not None and old["digest"] == new["digest"]
    changes = {
        ticket: tuple(_changes(before[ticket], after[ticket], identical)) for ticket in before if ticket in after
    }
    bounds = _bounds(old, new) if old is not None and new is not None else {}
    return Difference(
        pack=name,
        old=Edition(old["version"], old["digest"], proved_by) if old is not None else None,
        new=Edition(new["version"], new["digest"], now_by) if new is not None else None,
        came=tuple(ticket for ticket in after if ticket not in before),
        went=tuple(ticket for ticket in before if ticket not in after),
        changed={ticket: found for ticket, found in changes.items() if found},
        same=tuple(ticket for ticket, found in changes.items() if not found),
        blind=bounds,
    )


def _bounds(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Change]:
    before, after = old["blind"], new["blind"]
    pairs = {task: (before.get(task), after.get(task)) for task in {**before, **after}}
    return {task: Change("blind", was, now) for task, (was, now) in pairs.items() if _exact(was) != _exact(now)}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], identical: bool) -> Iterator[Change]:
    """`identical`: it is the same pack, so that what isn't proved in one certificate is as it is in the other."""
    if old["task"] != new["task"]:
        yield Change("task", old["task"], new["task"])
    before, after = _by_cases(old), _by_cases(new)
    pairs = {cases: (before.get(cases, {}), after.get(cases, {})) for cases in {**before, **after}}
    for cases, (was, now) in pairs.items():
        if not (was and now) and not identical:
            yield Change("cases", _presence(was), _presence(now), cases)
    for cases, (was, now) in pairs.items():
        if was and now:
            for what in NUMBERS:
                if _exact(was[what]) != _exact(now[what]):
                    yield Change(what, was[what], now[what], cases)


def _by_cases(ticket: Mapping[str, Any]) -> dict[Cases, Mapping[str, Any] | None]:
    """The numbers of a ticket's variants, share and grades among them; None where a variant isn't proved."""
    found: dict[Cases, Mapping[str, Any] | None] = {}
    for variant in ticket["variants"]:
        numbers = variant["numbers"]
        cases = Cases(tuple(sorted(variant["known"])), variant["stalls"])
        grades = numbers["random_grades"] if numbers is not None else {}
        found[cases] = {**numbers, **grades, "share": variant["share"]} if numbers is not None else None
    return found


def _presence(numbers: Mapping[str, Any] | None) -> Presence:
    if numbers is None:
        return "not proved"
    return "proved" if numbers else "not there"


def _exact(number: Any) -> Any:
    """What a number is compared by: a fraction by its text."""
    return number["exact"] if isinstance(number, Mapping) else number
