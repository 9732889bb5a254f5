"""Trajectories from a cluster of Ray's: shards of a plan over its workers, given back in the plan's order."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from engine.evaluation.agents import AgentError
from engine.evaluation.cluster import RETRIES, NoCluster, joined
from engine.evaluation.plan import Plan, Wish
from engine.load import rebuild
from engine.training.trajectories import Manner, Player

# Episodes of a shard: few enough that workers end together, so many that handing them out takes no time.
SHARD = 64
# Shards in hand for each worker: no more are kept in memory.
AHEAD = 2


@dataclass(frozen=True, slots=True)
class Work:
    """All that a worker needs to know: a pack's source, what is played of it, and how."""

    source: str
    wish: Wish
    manner: Manner

    def taken_up(self) -> tuple[Plan, Player]:
        pack = rebuild(self.source)
        return Plan([pack], self.wish), Player(pack, self.manner)


def on_ray(work: Work, places: Iterable[int], workers: int | None) -> Iterator[tuple[str, int]]:
    """The lines of the episodes at some places of the plan, shard by shard, each with how many episodes it has.

    A shard that is lost, with its process or its machine, is played again.

    Raises:
        NoCluster: there is none, or it loses a shard again and again.
        AgentError: a ticket has too many states to know what is best.
    """
    ray, ours = joined(workers)
    left, pending = iter(places), deque[tuple[Any, int]]()
    try:
        many = AHEAD * (workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
        named, task = ray.put((secrets.token_hex(8), work)), ray.remote(max_retries=RETRIES)(_play)
        while True:
            while len(pending) < many and (shard := [*islice(left, SHARD)]):
                pending.append((task.remote(named, shard), len(shard)))
            if not pending:
                return
            answer, count = pending.popleft()
            yield _heard(ray, answer), count
    finally:
        if ours:
            ray.shutdown()
        else:
            for answer, _ in pending:
                ray.cancel(answer)


def _heard(ray: Any, answer: Any) -> str:
    try:
        found: str | AgentError = ray.get(answer)
    except ray.exceptions.RayTaskError:  # our own mistake
        raise
    except ray.exceptions.RayError as error:
        text = " ".join(str(error).split())
        raise NoCluster(f"The cluster lost a worker {RETRIES + 1} times: {text}") from None
    if isinstance(found, AgentError):
        raise found
    return found


# -- In the cluster


def _play(named: tuple[str, Work], places: Sequence[int]) -> str | AgentError:
    name, work = named
    if name not in _known:
        _known.clear()
        _known[name] = work.taken_up()
    plan, player = _known[name]
    try:
        return "".join(player.lines(plan.key(place)) for place in places)
    except AgentError as error:
        return error


# What this process plays just now, by a name of its own.
_known: dict[str, tuple[Plan, Player]] = {}
