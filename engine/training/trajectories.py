"""Episodes to learn from, as lines of JSON: for supervised and offline training, and pairs of answers for preferences.

Each line is a row of a data set, and holds what it is of: pack, digest, ticket, seed. What is written follows from the
pack and from what is asked for alone. A model is told what `deskproof eval openai:MODEL` tells one, and nothing hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

from engine import chat
from engine.case import make_case
from engine.draw import choose
from engine.dynamics.regret import choice_costs, costs
from engine.episode import Episode
from engine.evaluation.agents import Action
from engine.evaluation.playing import episode_id
from engine.evaluation.policies import Oracle, RandomPolicy
from engine.evaluation.record import Key
from engine.evaluation.spent import AgentStopped
from engine.pack import REWARD_UNIT, Pack
from engine.split import splits
from engine.tools import tools
from engine.transcript import line

Policy = Literal["best", "random", "mixed"]
Form = Literal["episodes", "pairs"]
# What stands in no text of JSON, and once in a line: where it says what it is of.
_ABOUT = '"pack":'
# How fine the share of random actions is.
PARTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Manner:
    """Who plays, and what is written of it. `epsilon` is the share of `mixed`'s steps that are random, in [0, 1]."""

    policy: Policy = "best"
    form: Form = "episodes"
    epsilon: float = 0.2


def said(line: str) -> str:
    """What a line of `Player.lines` holds, without what it is of."""
    return line[: line.rindex(_ABOUT)]


class Player:
    """Plays the tickets of a pack, and writes down how."""

    def __init__(self, pack: Pack, manner: Manner) -> None:
        self._pack, self._manner = pack, manner
        self._tools = tools(pack)
        self._functions = chat.Functions(self._tools)
        self._oracle, self._random = Oracle(), RandomPolicy()

    def lines(self, key: Key) -> str:
        """What is written of an episode: no line, one, or several.

        Raises:
            AgentError: the ticket has too many states to know what is best.
        """
        name = episode_id(key)
        moments = self._played(Episode.start(make_case(self._pack, key.ticket, key.seed)), name)
        rows = [self._episode(moments)] if self._manner.form == "episodes" else self._pairs(moments, name)
        return "".join(line({**row, **self._about(key)}).decode() for row in rows)

    # -- Playing

    def _played(self, episode: Episode, name: str) -> list[Episode]:
        """The episode at its start, and after each step; it ends early where nothing is to be had but by stopping."""
        moments = [episode]
        while not episode.done:
            action = self._drawn(episode, name) if self._is_random(name, episode.step_count) else self._best(episode)
            if action is None:
                break
            episode = episode.step(action)
            moments.append(episode)
        return moments

    def _drawn(self, episode: Episode, name: str) -> Action:
        instructions = self._pack.instructions
        return self._random(episode.observation, self._tools, instructions=instructions, episode_id=name)

    def _best(self, episode: Episode) -> Action | None:
        """The oracle's action; None where it would stop."""
        self._oracle.begin(episode, "")
        try:
            return self._oracle(episode.observation, self._tools)
        except AgentStopped:
            return None

    def _is_random(self, name: str, step: int) -> bool:
        manner = self._manner
        if manner.policy != "mixed":
            return manner.policy == "random"
        return choose(PARTS, "mixed", name, step) < round(manner.epsilon * PARTS)

    # -- Writing

    def _episode(self, moments: Sequence[Episode]) -> dict[str, Any]:
        episode = moments[-1]
        messages = [*self._conversation(moments)]
        rewards = [step.reward for step in episode.steps]
        spent = costs(episode.case.automaton, episode.actions)
        return {
            "messages": messages,
            "mask": [int(message["role"] == "assistant") for message in messages],
            "tools": self._functions.definitions,
            "rewards": _units(rewards),
            "rewards_to_go": _units([*accumulate(reversed(rewards))][::-1]),
            "regrets": _units(spent) if spent is not None else None,
            "return": episode.total,
            "score": episode.score(),
            "terminated": episode.terminated,
            "truncated": episode.truncated,
        }

    def _conversation(self, moments: Sequence[Episode]) -> Iterator[chat.Message]:
        """All that is said up to the last action; what came of that, no model is told."""
        yield from chat.opening(self._pack.instructions, moments[0].observation)
        for number, action in enumerate(moments[-1].actions, 1):
            if number > 1:
                yield from chat.answers([_id(number - 1)], chat.news(moments[number - 1].observation))
            yield self._called(action, number)

    def _called(self, action: Mapping[str, Any], number: int) -> chat.Message:
        """An action as the assistant's message. Chat templates take a call's arguments as an object."""
        name, arguments = self._functions.called(action)
        call = {"id": _id(number), "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    def _pairs(self, moments: Sequence[Episode], name: str) -> Iterator[dict[str, Any]]:
        """For each step the best action there, and one of those that cost something."""
        said = [*self._conversation(moments)]
        ends = [at for at, message in enumerate(said) if message["role"] == "assistant"]
        for number, (before, end) in enumerate(zip(moments, ends, strict=False), 1):
            remaining = self._pack.max_steps - before.step_count
            best = self._best(before)
            priced = choice_costs(before.case.automaton, before.state, remaining)
            costly = [choice for choice, cost in priced.items() if cost > 0]
            if best is None or not costly:
                continue
            rejected = costly[choose(len(costly), "rejected", name, before.step_count)]
            yield {
                "prompt": said[:end],
                "chosen": [self._called(best, number)],
                "rejected": [self._called(rejected.canonical(), number)],
                "tools": self._functions.definitions,
                "step": number,
                "regret": priced[rejected] / REWARD_UNIT,
            }

    def _about(self, key: Key) -> dict[str, Any]:
        return {
            "pack": self._pack.name,
            "pack_digest": self._pack.digest,
            "task_id": self._pack.tickets[key.ticket].task,
            "ticket_id": key.ticket,
            "split": self._splits[key.ticket],
            "seed": key.seed,
            "policy": self._manner.policy,
        }

    @cached_property
    def _splits(self) -> Mapping[str, str]:
        return {ticket: split for split, tickets in splits(self._pack).items() for ticket in tickets}


def _units(rewards: Sequence[int]) -> list[float]:
    return [reward / REWARD_UNIT for reward in rewards]


def _id(number: int) -> str:
    """What the call of a step is called."""
    return f"call_{number}"
