"""Episodes of a proof, played and told step by step: counterexamples, and best lines of play."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.automaton import Automaton
from engine.case import make_case
from engine.dynamics.graph import explore
from engine.episode import Episode
from engine.pack import Pack
from engine.proof import told
from engine.proof.episodes import shown
from engine.proof.result import Counterexample, PackProof, Variant
from engine.proof.tickets import Study, study
from engine.solve import Budget, OverBudget, variants
from engine.terminal import printable


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
    place: str | None


def said(episode: Episode, paid: int | None = None) -> Iterator[Said]:
    """The steps of an episode; `paid` is the number of the one that is marked."""
    total = 0
    for number, step in enumerate(episode.steps, 1):
        total += step.reward
        name = step.outcome.removeprefix(f"{step.action.get('type')}.")
        yield Said(
            number,
            told.acted(step.action, step.outcome),
            printable(name),
            printable(step.speaker),
            told.lines(step.text),
            step.reward,
            total,
            number == paid,
        )


def play(pack: Pack, episode: Counterexample) -> Scene:
    """Plays an episode, with the engine that serves it."""
    now = Episode.start(make_case(pack, episode.ticket, episode.seed))
    for action in episode.actions:
        if now.done:
            break  # no seed of many made the very case
        now = now.step(action)
    steps = tuple(said(now, episode.paid))
    end = {"resolved": "resolved", "max_steps": "out of steps", None: "stopped"}[now.end_reason]
    rule = episode.rule
    return Scene(
        ticket=printable(episode.ticket),
        seed=episode.seed,
        message=told.lines(now.case.message),
        steps=steps,
        end=end,
        total=steps[-1].total if steps else 0,
        score=now.score(),
        rule=printable(rule.outcome) if rule is not None else None,
        place=told.at(rule.place) if rule is not None else None,
    )


# -- Best lines of play


@dataclass(frozen=True, slots=True)
class Best:
    """A variant of a ticket, all that is known of it, and a best episode of it; None where it isn't proved."""

    variant: Variant
    known: Study | None
    episode: Counterexample | None


def best(variant: Variant, machine: Automaton, budget: int) -> Best:
    """A variant of a ticket, worked out once more: a proof keeps no graphs."""
    try:
        known = study(explore(machine, Budget(budget))) if variant.numbers is not None else None
    except OverBudget:
        known = None
    return Best(variant, known, shown(known.graph, known.optimal.line) if known is not None else None)


def bests(pack: Pack, proof: PackProof, ticket: str, budget: int) -> Iterator[Best]:
    """The variants of a ticket."""
    of_ticket = next(one for one in proof.tickets if one.ticket == ticket)
    for variant, machine in zip(of_ticket.variants, variants(pack, pack.tickets[ticket]), strict=True):
        yield best(variant, machine, budget)
