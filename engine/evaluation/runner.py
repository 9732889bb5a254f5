"""Plays what is planned and isn't played yet, and writes down what becomes of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import Literal, NamedTuple

from engine.evaluation.cluster import Cluster
from engine.evaluation.crew import Alone, Crew, Factory, Threads
from engine.evaluation.folder import Run
from engine.evaluation.ledger import OpenLedger
from engine.evaluation.limits import TIME_UP, RunLimits
from engine.evaluation.options import Engine
from engine.evaluation.playing import Until
from engine.evaluation.processes import Processes
from engine.evaluation.result import DONE, State
from engine.pack import REWARD_UNIT

# "new": what has no record, or one that a limit of the run cut short; "errors": that, and what ended in an error;
# "failing": what ended in an error, at a limit, or without being resolved, and nothing else.
Again = Literal["new", "errors", "failing"]
# The crew for so many episodes.
Gather = Callable[[Until, int], Crew]
# Where workers wait for others most of the time, there are so many unless somebody says otherwise.
WAITING = 4
# A process takes half a second to start: it should have so many episodes to play.
WORTH_A_PROCESS = 1_000

_CHOSEN: dict[Again, frozenset[State]] = {
    "new": frozenset((State.NOTHING, State.UNFINISHED)),
    "errors": frozenset((State.NOTHING, State.UNFINISHED, State.ERROR)),
    "failing": frozenset((State.UNRESOLVED, State.ERROR, State.LIMIT, State.UNFINISHED)),
}


class Standing(NamedTuple):
    """How far a run has come. `left` is what this sitting still has to play, `mean` the mean return so far."""

    planned: int
    done: int
    errors: int
    limits: int
    left: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class Sitting:
    """What a run is to play now, and when to stop; nothing of it changes what a record says."""

    again: Again = "new"
    limits: RunLimits = RunLimits()  # noqa: RUF009  (it can't be changed)


def chosen(ledger: OpenLedger, again: Again) -> Iterator[int]:
    """The places that are to be played, in the order in which they are."""
    states = _CHOSEN[again]
    return (place for place in ledger.plan.order() if ledger.state(place) in states)


def play(
    run: Run, ledger: OpenLedger, sitting: Sitting, gather: Gather, hear: Callable[[Standing], None]
) -> str | None:
    """Plays a sitting of a run, and puts its records in order. Gives the limit of the run that ended it, None where
    nothing was left to play.

    `gather` gives the crew that plays so many episodes; `hear` is told how far it has come, at every episode and some
    times a second. Raises AgentUnusable, Unwritable, NoCluster.
    """
    left = ledger.count(*_CHOSEN[sitting.again])
    ends = monotonic() + sitting.limits.seconds if sitting.limits.seconds is not None else None
    over = sitting.limits.spent(ledger.tokens, ledger.cost)
    hear(standing(ledger, left))
    if left and over is None:
        crew = gather(Until(run.about.limits, ends, lambda: None), left)
        try:
            for found in crew.play(chosen(ledger, sitting.again)):
                if found is not None:
                    ledger.append(found)
                    left -= found.state is not State.UNFINISHED
                    if over is None:
                        over = sitting.limits.spent(ledger.tokens, ledger.cost)
                        if over is not None:
                            crew.end(over)
                hear(standing(ledger, left))
        finally:
            crew.close()
    ledger.arrange()
    return over or (TIME_UP if left else None)


def standing(ledger: OpenLedger, left: int) -> Standing:
    done = ledger.count(*DONE)
    mean = ledger.returns / done / REWARD_UNIT if done else None
    limits = ledger.count(State.LIMIT, State.UNFINISHED)
    return Standing(ledger.plan.count, done, ledger.count(State.ERROR), limits, left, mean)


def crew_of(
    run: Run,
    factory: Factory,
    waits: bool,
    workers: int | None = None,
    engine: Engine = "local",
    foreign: bool = False,
) -> Gather:
    """The crew in which agents of a factory play. No workers: as many as seem right.

    `waits`: the agent waits for others most of the time. `foreign`: its code is somebody else's and runs in the process
    that plays, which it may end; so that isn't this one, unless one worker is asked for.
    """

    def gather(until: Until, left: int) -> Crew:
        if engine == "ray":
            return Cluster(run.plan, run.about.wish, factory, until, workers)
        worth = WAITING if waits else min(_processors(), ceil(left / WORTH_A_PROCESS))
        many = min(workers or worth, left)
        if many == 1 and (workers == 1 or not foreign):
            return Alone(run.plan, factory, until)
        if waits:
            return Threads(run.plan, factory, until, many)
        return Processes(run.plan, run.about.wish, factory, until, many)

    return gather


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
