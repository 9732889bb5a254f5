"""What ends episodes and runs before their time, and the sentence that says so in a record."""

from __future__ import annotations

from dataclasses import dataclass

TIME_UP = "The run's time was up (--time)."
TOKENS_SPENT = "The run's tokens were spent (--max-tokens)."
COST_SPENT = "The run's money was spent (--max-cost)."
# The limits of whole runs: an episode that one of these ended is played again where the run goes on.
OF_RUNS = (TIME_UP, TOKENS_SPENT, COST_SPENT)


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """Each None where there is none. They decide what records say, so a run has one set of them for good."""

    max_steps: int | None = None
    seconds: float | None = None

    def too_long(self) -> str:
        return f"It took longer than {self.seconds:g} s (--episode-time)."

    def too_many(self) -> str:
        return f"It wasn't over after {self.max_steps} step{'s' * (self.max_steps != 1)} (--max-steps)."


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Each None where there is none. `seconds` are this sitting's; tokens and cost (in US dollars) all of the run's."""

    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None

    def spent(self, tokens: int, cost: float) -> str | None:
        """Why nothing more may be spent; None where it may."""
        if self.tokens is not None and tokens >= self.tokens:
            return TOKENS_SPENT
        if self.cost is not None and cost >= self.cost:
            return COST_SPENT
        return None
