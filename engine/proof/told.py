"""A proof as it is told to people, on a terminal or on a page: a verdict for each check, names, actions and numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from engine.automaton import INVALID
from engine.diagnostics import Place
from engine.pack import REWARD_UNIT, Pack, Severity
from engine.proof.prove import OF_TICKETS
from engine.proof.result import KINDS, Check, Kind, Numbers, PackProof, Variant, margin, severity
from engine.terminal import printable
from engine.turns import Manner

# How many tickets are named where many have something in common.
NAMED = 12

Word = Literal["holds", "error", "warning", "not proved", "no matter", "ignored"]


@dataclass(frozen=True, slots=True)
class Proved:
    """A pack and its proof. `seconds` is how long it took, where somebody looked at a clock."""

    pack: Pack
    proof: PackProof
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one check of a pack, in a word, and for how many tickets."""

    kind: Kind
    word: Word
    detail: str
    margin: Fraction | None


def verdicts(proof: PackProof) -> Iterator[Verdict]:
    """One for each check, in the order of the codes. With some tickets' checks alone there are no others."""
    by_code: dict[str, list[Check]] = {}
    for check in proof.checks:
        by_code.setdefault(check.code, []).append(check)
    for code, kind in KINDS.items():
        asked = margin(proof.demands, code) if kind.margin is not None else None
        grave = severity(proof.demands, code)
        if grave == "ignore":
            yield Verdict(kind, "ignored", "", None)
        else:
            yield Verdict(kind, *_verdict(by_code.get(code, []), grave, code in OF_TICKETS), asked)


def _verdict(checks: Sequence[Check], grave: Severity, of_tickets: bool) -> tuple[Word, str]:
    failed, unproved, holds = (sum(check.status == one for check in checks) for one in ("fails", "not proved", "holds"))
    bad: Word = "error" if grave == "error" else "warning"
    if not of_tickets:
        if failed:
            return bad, count(failed, "finding")
        return ("not proved", "") if unproved else ("holds", "") if holds else ("no matter", "")
    if failed:
        word, parts = bad, [f"{failed} of {count(len(checks), 'ticket')}"]
        parts += [f"{unproved} not proved"] * bool(unproved)
    elif unproved:
        word, parts = "not proved", [f"{unproved} of {count(len(checks), 'ticket')}"]
    elif holds:
        word, parts = "holds", [count(holds, "ticket")]
    else:
        word, parts = "no matter", [count(len(checks), "ticket")]
    return word, ", ".join(parts)


def count(number: int, thing: str) -> str:
    """How many there are of a thing: "1 ticket", "1,000 tickets"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def tally(proved: Iterable[PackProof]) -> tuple[int, int]:
    """How many checks that are errors don't hold, and how many that are warnings."""
    proofs = tuple(proved)
    return sum(len(one.failed("error")) for one in proofs), sum(len(one.failed("warning")) for one in proofs)


def failures(proof: PackProof) -> dict[str, list[Check]]:
    """The checks that fail, by code."""
    found: dict[str, list[Check]] = {}
    for check in proof.checks:
        if check.status == "fails":
            found.setdefault(check.code, []).append(check)
    return found


@dataclass(frozen=True, slots=True)
class Unproved:
    """Why checks, all of one ticket or of the pack, are not proved."""

    message: str
    place: str | None
    codes: tuple[str, ...]


def unproved(proof: PackProof) -> list[Unproved]:
    """What isn't proved, each reason once."""
    found: dict[tuple[str, Place | None], list[str]] = {}
    for check in proof.checks:
        if check.status == "not proved":
            found.setdefault((check.message, check.place), []).append(check.code)
    return [
        Unproved(lines(message), at(place) if place is not None else None, tuple(codes))
        for (message, place), codes in found.items()
    ]


# -- Words


def words(action: Mapping[str, Any]) -> str:
    """An action in the words in which `play` takes it: its type, then its parameters' values; JSON if it has none."""
    if not isinstance(action.get("type"), str):
        return _as_given(action)
    flat = {name: value for name, value in action.items() if name not in ("type", "parameters")}
    nested = action.get("parameters")
    values = (*flat.values(), *(nested.values() if isinstance(nested, Mapping) else ()))
    return printable(" ".join(str(value) for value in (action.get("type"), *values)))


def acted(action: Mapping[str, Any], outcome: str) -> str:
    """What was done at a step. Of an invalid action its parameters' names may be what is wrong: it comes as JSON."""
    bare = set(action) <= {"type"}
    return _as_given(action) if outcome == INVALID and not bare else words(action)


def _as_given(action: Mapping[str, Any]) -> str:
    return printable(json.dumps(action, ensure_ascii=False))


def lines(text: str) -> str:
    """A text of several lines, each of them safe to show."""
    return "\n".join(printable(line) for line in text.split("\n"))


def at(place: Place) -> str:
    """file:line:column, safe to show."""
    return printable(str(place))


def brief(actions: Iterable[Mapping[str, Any]]) -> str:
    """Actions in a line; one taken several times in a row once, with how often."""
    return in_a_line(map(words, actions))


def in_a_line(actions: Iterable[str]) -> str:
    """The same of actions in words."""
    told: list[tuple[str, int]] = []
    for action in actions:
        if told and told[-1][0] == action:
            told[-1] = (action, told[-1][1] + 1)
        else:
            told.append((action, 1))
    return ", ".join(action if times == 1 else f"{action} (x{times})" for action, times in told) or "no action"


def title(variant: Variant) -> str:
    """What sets a variant apart from its ticket's others."""
    known = ", ".join(printable(name) for name in sorted(variant.known))
    return "; ".join(filter(None, (f"{known or 'nothing'} known at the start", before(variant.manner))))


def before(manner: Manner) -> str:
    """What comes before the answers of people of a manner; empty where nothing does."""
    ahead = ((manner.refuses, "refusal"), (manner.stalls, "stall"))
    parts = [count(number, thing) for number, thing in ahead if number]
    under = f" under {named(manner.fields)}" if manner.fields is not None else ""
    return f"{' and '.join(parts)} before each answer{under}" if parts else ""


def named(tickets: Sequence[str]) -> str:
    """The names of some tickets, the first of many."""
    more = len(tickets) - NAMED
    names = ", ".join(map(printable, tickets[:NAMED]))
    return f"{names} and {more:,} more" if more > 0 else names


# -- Numbers


def units(reward: int | Fraction) -> str:
    """Ten-thousandths as reward units, without needless zeros."""
    return _short(decimal(Fraction(reward, REWARD_UNIT), 4))


def rounded(reward: int) -> str:
    """The same to two places."""
    return _short(decimal(Fraction(reward, REWARD_UNIT), 2))


def _short(number: str) -> str:
    return number.rstrip("0").rstrip(".")


def many(number: int) -> str:
    """A count that may be huge: all its digits up to a million millions, then about how many it is."""
    return f"{number:,}" if number < 10**12 else f"{Decimal(number):.2e}"


def decimal(number: Fraction, digits: int) -> str:
    """A number, rounded; never "-0.00"."""
    told = f"{float(number):.{digits}f}"
    return told.removeprefix("-") if not told.strip("-0.") else told


def span(numbers: Iterable[int], told: Callable[[int], str] = str) -> str:
    """The least and the greatest, once where they are one."""
    found = sorted(set(numbers))
    if not found:
        return "-"
    return told(found[0]) if len(found) == 1 else f"{told(found[0])}–{told(found[-1])}"


def mean(numbers: Sequence[Fraction]) -> Fraction | None:
    """The arithmetic mean; None of nothing."""
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else None


def known_numbers(proof: PackProof, tickets: Iterable[str]) -> Iterator[Numbers]:
    """What is known of these tickets' variants, as far as they are proved."""
    wanted = set(tickets)
    for ticket in proof.tickets:
        if ticket.ticket in wanted:
            yield from (variant.numbers for variant in ticket.variants if variant.numbers is not None)
