"""What an agent may have besides being asked for actions: a look at the episode, an account, an end of its own.

All of it is optional, and found by its name. An agent is one worker's alone and plays one episode at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from engine.episode import Episode


class AgentStopped(Exception):
    """An agent gives up its episode: raised in place of an action. The episode is over, and that is no error."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What an agent used up since it was made. `cost` is in US dollars; None where nobody said what a token costs."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def since(self, before: Spent) -> Spent:
        """What came on top of an earlier account."""
        cost = None if self.cost is None else self.cost - (before.cost or 0.0)
        return Spent(self.input_tokens - before.input_tokens, self.output_tokens - before.output_tokens, cost)


@runtime_checkable
class Beginning(Protocol):
    """An agent that is told when an episode begins.

    `episode` is the engine's own, with everything that is hidden in it: for `oracle`, and for nobody else.
    `episode_id` is a digest of (pack, ticket, seed, trial), the same in every run of the same plan: whoever draws
    numbers draws them from it, so that a record doesn't depend on the order in which workers play.
    """

    def begin(self, episode: Episode, episode_id: str) -> None: ...


@runtime_checkable
class Spending(Protocol):
    """An agent that keeps an account."""

    @property
    def spent(self) -> Spent: ...


@runtime_checkable
class Closing(Protocol):
    """An agent that holds something: a connection, a process. It is closed when its worker has nothing more to play."""

    def close(self) -> None: ...
