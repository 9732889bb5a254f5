"""Records, tickets and runs, made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode
from engine.evaluation.estimates import Range
from engine.evaluation.exact import Exact
from engine.evaluation.folder import about, make
from engine.evaluation.ledger import EPISODES
from engine.evaluation.limits import EpisodeLimits
from engine.evaluation.numbers import Planned, Tally
from engine.evaluation.passes import KS
from engine.evaluation.plan import Plan, Wish
from engine.evaluation.record import Record, Status, line, recorded
from engine.pack import Pack
from engine.proof.certificate import certificate
from engine.proof.certificate import write as as_text
from engine.proof.prove import prove

REWARDS = Range(-1.0, 2.0)
# V* is 2, chance may expect a loss of 1/2 and a score of 1/4.
KNOWN = Exact(Fraction(2), Fraction(-1, 2), Fraction(1, 4))


def record(
    ticket: str,
    seed: int = 0,
    trial: int = 1,
    *,
    pack: str = "p",
    task: str = "t",
    status: Status = "done",
    error: str | None = None,
    total: int = 0,
    score: float = 0.0,
    resolved: bool = False,
    steps: int = 0,
    optimal_steps: int | None = 2,
    regret: int | None = 0,
) -> Record:
    """The record of an episode, its `regret` all in its first step; the numbers alone are read."""
    return Record(
        pack=pack,
        pack_digest="",
        task=task,
        ticket=ticket,
        seed=seed,
        trial=trial,
        status=status,
        error=error,
        actions=(),
        outcomes=(),
        rewards=(total,),
        total=total,
        score=score,
        resolved=resolved,
        steps=steps,
        optimal_steps=optimal_steps,
        end_reason=None,
        regrets=(regret,) if regret is not None else None,
    )


def failed(ticket: str, seed: int = 0, trial: int = 1, cause: str = "It broke.", status: Status = "error") -> Record:
    return record(ticket, seed, trial, status=status, error=cause)


def tally(
    tickets: Sequence[str | tuple[str, str, str]],
    seeds: int = 1,
    trials: int = 1,
    known: Exact | None = KNOWN,
    ks: Sequence[int] = KS,
) -> Tally:
    """A tally of tickets: their ids, or pack, id and task."""
    rows = [(("p", one, "t") if isinstance(one, str) else one) for one in tickets]
    planned = [Planned(pack, ticket, task, REWARDS) for pack, ticket, task in rows]
    return Tally(planned, seeds, trials, lambda pack, ticket, seed: known, ks)


def taken(into: Tally, records: Iterable[Record]) -> Tally:
    for one in records:
        into.take(one)
    return into


# -- Runs

# What to do next in an episode of a trial; None: to stop, a text: to fail.
Play = Callable[[Episode, int], Mapping[str, Any] | str | None]


def run(path: Path, packs: Sequence[Pack], play: Play, seeds: str = "1", trials: int = 1, name: str = "mine") -> Path:
    """The folder of a run in which `play` played everything."""
    space = load_contract().observation_space
    wish = Wish(seeds=seeds, trials=trials)
    plan = Plan(packs, wish)
    certificates = {pack.name: as_text(certificate([(pack, prove(pack, space))], "1.0.0")) for pack in packs}
    make(path, about("1.0.0", {"agent": name}, plan, wish, EpisodeLimits()), packs, certificates)
    with (path / EPISODES).open("wb") as file:
        for place in range(plan.count):
            pack, ticket, seed, trial = plan.key(place)
            file.write(line(_played(Episode.start(make_case(plan.packs[pack], ticket, seed)), trial, play)))
    return path


def _played(episode: Episode, trial: int, play: Play) -> Record:
    while not episode.done:
        found = play(episode, trial)
        if isinstance(found, str):
            return recorded(episode, trial, "error", found)
        if found is None:
            return recorded(episode, trial, stopped=True)
        episode = episode.step(found)
    return recorded(episode, trial)
