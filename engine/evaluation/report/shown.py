"""Which episodes a report shows, and each of them step by step: what was said, what it cost, what was best instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from engine.case import make_case
from engine.dynamics.regret import Regret
from engine.episode import Episode, EpisodeOver, replay
from engine.evaluation.plan import Plan
from engine.evaluation.played import Played
from engine.evaluation.record import Record
from engine.evaluation.report.survey import Kind
from engine.proof.scene import Said, said
from engine.proof.told import lines, words
from engine.terminal import printable

TITLES = {
    Kind.FAILED: "Not resolved",
    Kind.ERROR: "Ended in an error",
    Kind.LIMIT: "Ended by a limit",
    Kind.COSTLY: "Resolved, at a cost",
    Kind.FINE: "Resolved",
}
# Whichever of these is played first is shown first; the others come after them, in their order.
_FAILURES = (Kind.FAILED, Kind.ERROR, Kind.LIMIT)


@dataclass(frozen=True, slots=True)
class Step:
    """A step, and what it cost in ten-thousandths; where it cost anything `best` is what would have cost nothing."""

    said: Said
    cost: int
    best: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """An episode in words that are safe to show. `cost` is what its steps cost together, None where it isn't proved.

    `message` and `steps` are None where this version plays the actions otherwise than they were recorded.
    """

    record: Record
    pack: str
    task: str
    ticket: str
    cause: str | None
    cost: int | None
    message: str | None
    steps: tuple[Step, ...] | None


@dataclass(frozen=True, slots=True)
class Lot:
    """Episodes of a kind, of which there are `number`, and the places of those that are shown."""

    kind: Kind
    number: int
    places: tuple[int, ...]


def lots(plan: Plan, kinds: bytes, most: int | None) -> list[Lot]:
    """Which episodes are shown, `most` of them: all of them where it is None.

    Failures come first, and of those of the same worth the ones that are played first: each ticket once before any
    again.
    """
    found: dict[Kind, list[int]] = {kind: [] for kind in TITLES}
    first = [*islice((place for place in plan.order() if kinds[place] in _FAILURES), most)]
    for place in first:
        found[Kind(kinds[place])].append(place)
    left = most - len(first) if most is not None else None
    for kind in TITLES:
        if kind not in _FAILURES:
            found[kind] = [*islice((place for place in plan.order() if kinds[place] == kind), left)]
            left = left - len(found[kind]) if left is not None else None
    return [Lot(kind, kinds.count(kind), tuple(sorted(places))) for kind, places in found.items() if kind in kinds]


def episodes(played: Played, lot: Lot) -> Iterator[Shown]:
    """The episodes of a lot that are shown, played again one after the other."""
    return (_shown(played, record) for record in played.ledger.records(lot.places))


def _shown(played: Played, record: Record) -> Shown:
    again = _again(played, record)
    return Shown(
        record=record,
        pack=printable(record.pack),
        task=printable(record.task),
        ticket=printable(record.ticket),
        cause=lines(record.error) if record.error is not None else None,
        cost=sum(record.regrets) if record.regrets is not None else None,
        message=lines(again.case.message) if again is not None else None,
        steps=tuple(_steps(again)) if again is not None else None,
    )


def _again(played: Played, record: Record) -> Episode | None:
    """The episode that a record's actions make; None where it is another one than was recorded."""
    pack = played.run.plan.packs[record.pack]
    try:
        episode = replay(make_case(pack, record.ticket, record.seed), record.actions)
    except EpisodeOver:
        return None
    rewards, outcomes = ([getattr(step, name) for step in episode.steps] for name in ("reward", "outcome"))
    return episode if (rewards, outcomes) == ([*record.rewards], [*record.outcomes]) else None


def _steps(episode: Episode) -> Iterator[Step]:
    found: Sequence[Regret | None] = episode.regrets or [None] * len(episode.steps)
    for step, regret in zip(said(episode), found, strict=True):
        if regret is None or regret.cost <= 0:
            yield Step(step, 0, None)
        else:
            yield Step(step, regret.cost, words(regret.best.canonical()) if regret.best is not None else "to stop")
