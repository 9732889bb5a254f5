"""Machines that play a run's episodes: a cluster of Ray's, which gets a few of them at a time as a task.

A task that is lost, with its process or its machine, is played again. One that is lost again and again is cut in two,
until it is clear which episode takes its players with it.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Any

from engine.evaluation.agents import AgentUnusable
from engine.evaluation.crew import TICK, Duties, Factory, duties_of, is_past, unseen
from engine.evaluation.plan import Plan, Wish
from engine.evaluation.playing import Player, Until
from engine.evaluation.result import Result

# What a task is told should take about so many seconds, and be no more than so many episodes.
SHIFT, MOST = 2.0, 256
# How often a task that was lost is played again before it is cut in two.
RETRIES = 2
LOST = f"Whoever played it was lost, {RETRIES + 1} times."

# What a task gives: results, and how many seconds they took; or why the agent can play nothing at all.
_Given = tuple[Sequence[Result], float] | AgentUnusable


class NoCluster(ValueError):
    """There is no cluster to play on; the text says why."""


class Cluster:
    """A cluster plays: the one whose address RAY_ADDRESS has, else one on this machine, which ends with the run."""

    def __init__(self, plan: Plan, wish: Wish, factory: Factory, until: Until, workers: int | None) -> None:
        """Raises NoCluster. `workers` is how many tasks there are at once, None as many as the cluster has use for."""
        self._plan = plan
        self._until = until
        self._ray, self._ours = joined(workers)
        self._many = workers or 2 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        duties = duties_of(plan, wish, factory, until)
        self._duties = self._ray.put((secrets.token_hex(8), duties))
        self._task = self._ray.remote(max_retries=RETRIES)(_play)
        self._again: deque[list[int]] = deque()
        self._shift = 1
        self._over = False
        self._pending: dict[Any, list[int]] = {}

    def play(self, places: Iterator[int]) -> Iterator[Result | None]:
        while True:
            while len(self._pending) < self._many and (told := self._next(places)):
                left = self._until.ends - monotonic() if self._until.ends is not None else None
                self._pending[self._task.remote(self._duties, told, left)] = told
            if not self._pending:
                return
            ready, _ = self._ray.wait([*self._pending], num_returns=1, timeout=TICK)
            if not ready:
                yield None
            for task in ready:
                yield from self._heard(task, self._pending.pop(task))

    def end(self, why: str) -> None:
        """What is being played is played to its end."""
        self._over = True

    def close(self) -> None:
        if self._ours:
            self._ray.shutdown()
        else:
            for task in self._pending:
                self._ray.cancel(task, force=True)
        self._pending.clear()

    def _next(self, places: Iterator[int]) -> list[int]:
        if self._over or is_past(self._until):
            return []
        return self._again.popleft() if self._again else [*islice(places, self._shift)]

    def _heard(self, task: Any, told: list[int]) -> Iterator[Result]:
        try:
            found: _Given = self._ray.get(task)
        except self._ray.exceptions.RayTaskError:  # our own mistake: a player lets nothing out
            raise
        except self._ray.exceptions.RayError:
            half = len(told) // 2
            if half:
                self._again.extend((told[:half], told[half:]))
            else:
                yield unseen(self._plan, told[0], "error", LOST, 0.0)
            return
        if isinstance(found, AgentUnusable):
            raise found
        results, seconds = found
        self._shift = max(1, min(MOST, 4 * self._shift, int(len(told) * SHIFT / max(seconds, 1e-3))))
        yield from results


def joined(workers: int | None) -> tuple[Any, bool]:
    """Ray's library, with a cluster, and whether that is to be left when the run ends. Raises NoCluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else it tells its makers, unasked
    try:
        import ray
    except ImportError:
        raise NoCluster(
            "--engine ray needs the library ray, which isn't there: pip install 'deskproof[ray]'."
        ) from None
    if ray.is_initialized():
        return ray, False
    address = os.environ.get("RAY_ADDRESS")
    ours: dict[str, Any] = {} if address else {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **ours)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        text = " ".join(str(error).split())
        raise NoCluster(f"There is no cluster to play on: {text}") from None
    return ray, True


# -- In the cluster


def _play(named: tuple[str, Duties], told: Sequence[int], left: float | None) -> _Given:
    """A task. `left` is how many seconds the run has left: each machine has a clock of its own."""
    began = monotonic()
    name, duties = named
    if name not in _known:
        _known.clear()
        until = Until(duties.limits, began + left if left is not None else None, lambda: None)
        _known[name] = (*duties.taken_up(until), until)
    plan, player, until = _known[name]
    results = []
    try:
        for place in told:
            if is_past(until):
                break
            results.append(player.play(place, plan.key(place)))
    except AgentUnusable as error:
        return error
    return results, monotonic() - began


# What this process plays just now, by the name of the crew that it plays for.
_known: dict[str, tuple[Plan, Player, Until]] = {}
