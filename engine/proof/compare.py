"""What changed between two certificates, and so whose scores stop being comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.turns import Manner

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
    """The cases of a ticket that differ by texts alone, by what is known from the start, and by who the customer is."""

    known: tuple[str, ...]
    manner: Manner


@dataclass(frozen=True, slots=True)
class Change:
    """Something that isn't what it was; `old` and `new` are as certificates have them.

    `what` is one of NUMBERS, or `task`, or `blind`; or `cases`, where some came or went: then `old` and `new` are a
    Presence. Where it is nothing of that, it is `decides`, of a ticket's digest, or `pack`, of that for all tickets.
    `cases` are those whose number it is, None where it isn't about some cases only.
    """

    what: str
    old: Any
    new: Any
    cases: Cases | None = None


@dataclass(frozen=True, slots=True)
class Failing:
    """A check that began to fail, or stopped: for which tickets, None where it is about the whole pack.

    `now` is what comes of the check now, of all tickets together.
    """

    began: tuple[str | None, ...]
    stopped: tuple[str | None, ...]
    now: str


@dataclass(frozen=True, slots=True)
class Edition:
    """A pack as a certificate has it; `deskproof` is the version that proved it."""

    version: str
    digest: str
    deskproof: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a pack. `old` is None where it came, `new` where it went.

    `came`, `went` and `same` are ids of tickets, `changed` has changes, and `unproved` says of tickets that can't be
    compared whether they were proved before, and are now. `decides` is set where something else decides all tickets.
    `blind` are changes of P07's bound by task: `old` or `new` is None where there is none. `failing` goes by check.
    `contradictory`: the same pack and the same Deskproof can't have given both.
    """

    pack: str
    old: Edition | None
    new: Edition | None
    came: tuple[str, ...]
    went: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]
    unproved: Mapping[str, tuple[bool, bool]]
    same: tuple[str, ...]
    decides: Change | None
    blind: Mapping[str, Change]
    failing: Mapping[str, Failing]
    contradictory: bool

    @property
    def comparable(self) -> bool:
        """Whether scores from before still mean the same, each ticket's and the means over all."""
        there = self.old is not None and self.new is not None
        differs = self.came or self.went or self.changed or self.unproved or self.decides or self.blind
        return there and not (differs or self.contradictory)

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
    before = Edition(old["version"], old["digest"], proved_by) if old is not None else None
    after = Edition(new["version"], new["digest"], now_by) if new is not None else None
    if old is None or new is None:
        came, went = (tuple(each["ticket"] for each in pack["tickets"]) if pack else () for pack in (new, old))
        return Difference(name, before, after, came, went, {}, {}, (), None, {}, {}, False)
    theirs, ours = ({ticket["ticket"]: ticket for ticket in pack["tickets"]} for pack in (old, new))
    decides = Change("pack", old["decides"], new["decides"]) if old["decides"] != new["decides"] else None
    both = [ticket for ticket in theirs if ticket in ours]
    own = {ticket: _changes(theirs[ticket], ours[ticket]) for ticket in both}
    proved = {ticket: (_proved(theirs[ticket]), _proved(ours[ticket])) for ticket in both}
    of_all = (decides,) if decides is not None else ()
    changed = {ticket: found or of_all for ticket, found in own.items() if found or of_all}
    unproved = {ticket: sides for ticket, sides in proved.items() if not all(sides) and ticket not in changed}
    found = Difference(
        pack=name,
        old=before,
        new=after,
        came=tuple(ticket for ticket in ours if ticket not in theirs),
        went=tuple(ticket for ticket in theirs if ticket not in ours),
        changed=changed,
        unproved=unproved,
        same=tuple(ticket for ticket in both if ticket not in changed and ticket not in unproved),
        decides=decides,
        blind=_bounds(old, new),
        failing=_failing(old, new),
        contradictory=False,
    )
    return replace(found, contradictory=found.identical and proved_by == now_by and _contradictory(old, new, found))


def _contradictory(old: Mapping[str, Any], new: Mapping[str, Any], found: Difference) -> bool:
    """Whether certificates of one digest, by one version, say what can't both be so.

    They may have been asked for other things, and prove more or less: a check counts where both went through with it.
    """
    bounds = [change for change in found.blind.values() if change.old is not None and change.new is not None]
    if (
        old["version"] != new["version"]
        or found.came
        or found.went
        or found.changed
        or any("not proved" not in (one.old, one.new) for one in bounds)
    ):
        return True
    asked = [code for code, demand in old["demands"].items() if new["demands"].get(code) == demand]
    if asked == [*old["demands"]] == [*new["demands"]] and not (_unproved(old) or _unproved(new)):
        return old != new
    open_ends = ("not proved", "ignored")
    tickets = {ticket["ticket"]: ticket for ticket in new["tickets"]}
    return any(
        was["checks"].get(code) != now["checks"].get(code)
        and not {was["checks"].get(code), now["checks"].get(code)}.intersection(open_ends)
        for was, now in [(old, new), *((ticket, tickets[ticket["ticket"]]) for ticket in old["tickets"])]
        for code in asked
    )


def _unproved(pack: Mapping[str, Any]) -> bool:
    return "not proved" in pack["checks"].values() or not all(map(_proved, pack["tickets"]))


def _proved(ticket: Mapping[str, Any]) -> bool:
    return all(variant["numbers"] is not None for variant in ticket["variants"])


def _failing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Failing]:
    """By check what began to fail and what stopped; a ticket that went has stopped nothing."""
    there = {None, *(ticket["ticket"] for ticket in new["tickets"])}
    before, after = _fails(old), _fails(new)
    found: dict[str, Failing] = {}
    for code in sorted({code for code, _ in {**before, **after}}):
        began = tuple(ticket for one, ticket in after if one == code and (one, ticket) not in before)
        ended = (ticket for one, ticket in before if one == code and (one, ticket) not in after)
        stopped = tuple(ticket for ticket in ended if ticket in there)
        if began or stopped:
            found[code] = Failing(began, stopped, new["checks"].get(code, "ignored"))
    return found


def _fails(pack: Mapping[str, Any]) -> dict[tuple[str, str | None], None]:
    """The checks that fail, each with its ticket, in the order of the findings."""
    failed = (finding for finding in pack["findings"] if finding["status"] == "fails")
    return dict.fromkeys((finding["code"], finding["ticket"]) for finding in failed)


def _bounds(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Change]:
    """The changes of P07's bounds; one that is missing because it isn't proved is `not proved`."""
    before, after = old["blind"], new["blind"]
    missing = [pack["checks"].get("P07") if pack["checks"].get("P07") == "not proved" else None for pack in (old, new)]
    pairs = {task: (before.get(task, missing[0]), after.get(task, missing[1])) for task in {**before, **after}}
    return {task: Change("blind", was, now) for task, (was, now) in pairs.items() if _exact(was) != _exact(now)}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes of a ticket; that something else decides it is one where no other shows it."""
    found = tuple(_shown_changes(old, new))
    if not found and old["decides"] != new["decides"]:
        return (Change("decides", old["decides"], new["decides"]),)
    return found


def _shown_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """What isn't proved on one side has changed only where such cases came or went."""
    if old["task"] != new["task"]:
        yield Change("task", old["task"], new["task"])
    before, after = _by_cases(old), _by_cases(new)
    pairs = {cases: (before.get(cases, {}), after.get(cases, {})) for cases in {**before, **after}}
    for cases, (was, now) in pairs.items():
        if cases not in before or cases not in after:
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
        fields = tuple(sorted(variant["fields"])) if "fields" in variant else None
        manner = Manner(variant.get("refuses", 0), variant["stalls"], fields)
        cases = Cases(tuple(sorted(variant["known"])), manner)
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
