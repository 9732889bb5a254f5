"""A proof as it is told to people, on a terminal or on a page: a verdict for each check, and episodes step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from engine.case import make_case
from engine.diagnostics import Place
from engine.dynamics.graph import explore
from engine.episode import Episode
from engine.pack import REWARD_UNIT, Pack, Severity
from engine.proof.episodes import shown
from engine.proof.prove import OF_TICKETS
from engine.proof.result import KINDS, Check, Counterexample, Kind, Numbers, PackProof, Variant, margin, severity
from engine.proof.tickets import Study, study
from engine.solve import Budget, OverBudget, variants
from engine.transcript import printable

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
    """What doesn't hold, by code: what fails before what isn't proved."""
    found: dict[str, list[Check]] = {}
    for status in ("fails", "not proved"):
        for check in proof.checks:
            if check.status == status:
                found.setdefault(check.code, []).append(check)
    return dict(sorted(found.items()))


# -- Episodes


@dataclass(frozen=True, slots=True)
class Said:
    """A step of an episode, in words that are safe to show. `reward` and `total`, the return so far, are in
    ten-thousandths; `paid` marks the step that a fault comes down to."""

    number: int
    action: str
    outcome: str
    speaker: str
    text: str
    reward: int
    total: int
    paid: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """An episode as an agent would see it: the opening message, the steps, and how it ended.

    `rule` names the rule that paid, and `place` says where it stands; both None where it is no single step's.
    """

    ticket: str
    seed: int
    message: str
    steps: tuple[Said, ...]
    end: str
    total: int
    score: float
    rule: str | None
    place: Place | None


def scene(pack: Pack, episode: Counterexample) -> Scene:
    """Plays an episode, with the engine that serves it."""
    now = Episode.start(make_case(pack, episode.ticket, episode.seed))
    total, steps = 0, []
    for number, action in enumerate(episode.actions, 1):
        if now.done:
            break  # no seed of many made the very case
        now = now.step(action)
        step = now.steps[-1]
        total += step.reward
        name = step.outcome.removeprefix(f"{action.get('type')}.")
        steps.append(
            Said(
                number,
                words(action),
                printable(name),
                printable(step.speaker),
                lines(step.text),
                step.reward,
                total,
                number == episode.paid,
            )
        )
    end = {"resolved": "resolved", "max_steps": "out of steps", None: "stopped"}[now.end_reason]
    rule, place = episode.rule, None
    if rule is not None:
        place = rule.place._replace(file=printable(rule.place.file))
    return Scene(
        ticket=printable(episode.ticket),
        seed=episode.seed,
        message=lines(now.case.message),
        steps=tuple(steps),
        end=end,
        total=total,
        score=now.score(),
        rule=printable(rule.outcome) if rule is not None else None,
        place=place,
    )


def words(action: Mapping[str, Any]) -> str:
    """An action in the words in which `play` takes it: its type, then its parameters' values."""
    flat = {name: value for name, value in action.items() if name not in ("type", "parameters")}
    nested = action.get("parameters")
    values = (*flat.values(), *(nested.values() if isinstance(nested, Mapping) else ()))
    return printable(" ".join(str(value) for value in (action.get("type"), *values)))


def lines(text: str) -> str:
    """A text of several lines, each of them safe to show."""
    return "\n".join(printable(line) for line in text.split("\n"))


def at(place: Place) -> str:
    """file:line:column, safe to show."""
    return printable(str(place))


# -- Best lines of play


@dataclass(frozen=True, slots=True)
class Best:
    """A variant of a ticket, all that is known of it, and a best episode of it; None where it isn't proved."""

    variant: Variant
    known: Study | None
    episode: Counterexample | None


def bests(pack: Pack, proof: PackProof, ticket: str, budget: int) -> Iterator[Best]:
    """The variants of a ticket, worked out once more: a proof keeps no graphs."""
    of_ticket = next(one for one in proof.tickets if one.ticket == ticket)
    for variant, machine in zip(of_ticket.variants, variants(pack, pack.tickets[ticket]), strict=True):
        try:
            known = study(explore(machine, Budget(budget))) if variant.numbers is not None else None
        except OverBudget:
            known = None
        yield Best(variant, known, shown(known.graph, known.optimal.line) if known is not None else None)


def brief(actions: Iterable[Mapping[str, Any]]) -> str:
    """Actions in a line; one taken several times in a row once, with how often."""
    told: list[tuple[str, int]] = []
    for action in map(words, actions):
        if told and told[-1][0] == action:
            told[-1] = (action, told[-1][1] + 1)
        else:
            told.append((action, 1))
    return ", ".join(action if times == 1 else f"{action} (x{times})" for action, times in told)


def title(variant: Variant) -> str:
    """What sets a variant apart from its ticket's others."""
    known = ", ".join(printable(name) for name in sorted(variant.known))
    stalls = f"; {count(variant.stalls, 'stall')} before each answer" if variant.stalls else ""
    return f"{known or 'nothing'} known at the start{stalls}"


# -- Numbers


def units(reward: int | Fraction) -> str:
    """Ten-thousandths as reward units, without needless zeros."""
    return decimal(Fraction(reward, REWARD_UNIT), 4).rstrip("0").rstrip(".")


def decimal(number: Fraction, digits: int) -> str:
    """A number, rounded; never "-0.00"."""
    told = f"{float(number):.{digits}f}"
    return told.removeprefix("-") if not told.strip("-0.") else told


def span(numbers: Iterable[int], told: Any = str) -> str:
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
