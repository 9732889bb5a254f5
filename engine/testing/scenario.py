"""Scenarios: a ticket of a pack at a seed. Which ones a test asks for, and what they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.case import make_case
from engine.episode import Episode
from engine.evaluation.agents import Agent
from engine.evaluation.http_agent import SECONDS
from engine.nearest import nearest
from engine.pack import Pack
from engine.testing.play import Play

ALL = "all"


class Unclear(ValueError):
    """A marker that asks for what there isn't; the text is a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A ticket of `pack`, by its id, and a seed. `plays` are its episodes, as many as were begun; a function that plays
    has so many `seconds` for each answer."""

    pack: Pack = field(repr=False)
    ticket: str
    seed: int
    plays: list[Play] = field(default_factory=list, repr=False)
    seconds: float = field(default=SECONDS, repr=False)

    @property
    def task(self) -> str:
        """The task's id."""
        return self.pack.tickets[self.ticket].task

    @property
    def id(self) -> str:
        return f"{self.ticket}-seed{self.seed}"

    def start(self) -> Play:
        """A new episode, with nothing done yet."""
        play = Play(Episode.start(make_case(self.pack, self.ticket, self.seed)), self.seconds)
        self.plays.append(play)
        return play

    def play(self, agent: Agent | Callable[..., Any]) -> Play:
        """A whole episode, played by an agent: a function `(observation, tools)`, or what the fixture `agent` gives.

        Raises:
            AgentError: the agent failed.
        """
        __tracebackhide__ = True
        return self.start().play(agent)


def scenarios(packs: Sequence[Pack], task: Any, tickets: Any, seeds: Any) -> list[Scenario]:
    """The scenarios of some packs that a marker asks for, in the order of the packs, their tickets and the seeds.

    Raises:
        Unclear: there are none, or what is asked for isn't there.
    """
    chosen = [(pack, ticket) for pack in packs for ticket in _of_task(pack, task)]
    if not chosen:
        _known("task", task, [name for pack in packs for name in pack.tasks])
        raise Unclear(f"{_named(packs)} has no tickets of the task {task!r}")
    numbers = _seeds(seeds)
    return [Scenario(pack, ticket, seed) for pack, ticket in _chosen(packs, chosen, tickets) for seed in numbers]


def names(found: Sequence[Scenario]) -> list[str]:
    """A name for each scenario; with the pack's, where there are several."""
    several = len({scenario.pack.name for scenario in found}) > 1
    return [f"{scenario.pack.name}-{scenario.id}" if several else scenario.id for scenario in found]


def _of_task(pack: Pack, task: Any) -> Iterable[str]:
    return [ticket.id for ticket in pack.tickets.values() if task in (None, ticket.task)]


def _chosen(packs: Sequence[Pack], of_task: Sequence[tuple[Pack, str]], tickets: Any) -> Sequence[tuple[Pack, str]]:
    """Those of a task's tickets that are asked for: all, the first so many, or some by their ids."""
    if tickets == ALL:
        return of_task
    if isinstance(tickets, int) and not isinstance(tickets, bool):
        if not 1 <= tickets <= len(of_task):
            have = "has" if len(packs) == 1 else "have"
            raise Unclear(f"tickets={tickets}: {_named(packs)} {have} {len(of_task)} that can be chosen from")
        return of_task[:tickets]
    wanted = [tickets] if isinstance(tickets, str) else tickets
    if not isinstance(wanted, list | tuple) or not wanted or not all(isinstance(one, str) for one in wanted):
        raise Unclear(f"tickets is {tickets!r}: it takes {ALL!r}, a list of ids, or how many")
    ids = [ticket for _, ticket in of_task]
    for ticket in wanted:
        _known("ticket", ticket, ids)
    return [pair for ticket in wanted for pair in of_task if pair[1] == ticket]


def _seeds(seeds: Any) -> list[int]:
    wanted = range(seeds) if isinstance(seeds, int) and not isinstance(seeds, bool) else seeds
    if (
        not isinstance(wanted, list | tuple | range)
        or not wanted
        or not all(type(one) is int and one >= 0 for one in wanted)
    ):
        raise Unclear(f"seeds is {seeds!r}: it takes how many (at least 1), or a list or range of whole numbers from 0")
    return list(dict.fromkeys(wanted))


def _known(kind: str, name: Any, known: Iterable[str]) -> None:
    names_known = [*dict.fromkeys(known)]
    if name not in names_known:
        near = nearest(str(name), names_known)
        hint = f": did you mean {near!r}?" if near is not None else f"; there are {', '.join(names_known[:20])}"
        raise Unclear(f"there is no {kind} {name!r}{hint}")


def _named(packs: Sequence[Pack]) -> str:
    return f"the pack {packs[0].name!r}" if len(packs) == 1 else "none of the packs" if not packs else "the packs"
