"""An episode: a case plus the list of actions taken so far. Everything else is derived from these two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from engine.automaton import INVALID, State
from engine.case import Case
from engine.dynamics.regret import Regret, regrets
from engine.pack import REWARD_UNIT
from engine.solve import OverBudget, solve

EndReason = Literal["resolved", "max_steps"]


class EpisodeOver(Exception):
    """A step was taken after the end."""


class Step(NamedTuple):
    """One step taken: the canonical action, what came of it, and the reward in ten-thousandths.

    `asked` marks an action that asks for a field, valid or not; `classified` is the classification that a valid one
    that classifies led to. `text` is all that was said, `bare` the same without noise.
    """

    action: Mapping[str, Any]
    outcome: str
    reward: int
    wasted: bool
    asked: bool
    classified: str | None
    speaker: str
    text: str
    bare: str


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """Immutable: `step` gives a new episode."""

    case: Case
    state: State
    steps: tuple[Step, ...]

    @classmethod
    def start(cls, case: Case) -> Episode:
        return cls(case, case.automaton.initial, ())

    def step(self, action: Mapping[str, Any]) -> Episode:
        """The episode after an action, in any form that `engine.action.normalise` understands.

        Raises:
            EpisodeOver: the episode is done.
        """
        if self.done:
            raise EpisodeOver(f"the episode ended after {len(self.steps)} steps ({self.end_reason})")
        case = self.case
        canonical, meaning, asks, classifies = case.automaton.actions.understand(action)
        move = case.automaton.transition(self.state, meaning)
        classified = move.state.classified if classifies and move.outcome != INVALID else None
        bare = case.bare(move)
        text = bare if move.turn is None else case.with_noise(move.turn, bare)
        step = Step(canonical, move.outcome, move.reward, move.wasted, asks, classified, move.speaker, text, bare)
        return Episode(case, move.state, (*self.steps, step))

    @property
    def history(self) -> list[dict[str, Any]]:
        """The opening message, then for each step what the agent did and what was said; made anew at each call."""
        items: list[dict[str, Any]] = [{"role": "customer", "step": 0, "text": self.case.message}]
        for number in range(1, len(self.steps) + 1):
            items += self.exchange(number)
        return items

    def exchange(self, number: int) -> list[dict[str, Any]]:
        """What step `number`, counted from 1, added to the history."""
        step = self.steps[number - 1]
        return [
            {"role": "agent", "step": number, "action": dict(step.action)},
            {"role": step.speaker, "step": number, "text": step.text},
        ]

    @property
    def actions(self) -> tuple[Mapping[str, Any], ...]:
        """The actions taken, in canonical form."""
        return tuple(step.action for step in self.steps)

    @property
    def observation(self) -> dict[str, Any]:
        """What the agent sees, made anew at each call; the keys of the contract's observation space."""
        return {
            "ticket_id": self.case.ticket.id,
            "customer_message": self.case.message,
            "history": self.history,
            **self.standing,
        }

    @property
    def standing(self) -> dict[str, Any]:
        """The part of the observation that isn't told but follows from the state and the step count."""
        view = self.case.automaton.observation(self.state)
        value = self.case.value
        return {
            "known_info": {name: value(source) for name, source in view.known},
            "required": list(view.required),
            "missing_required": list(view.missing),
            "info_progress": view.progress,
            "status": "resolved" if self.state.resolved else "open",
            "step_count": len(self.steps),
            "remaining_steps": self.case.pack.max_steps - len(self.steps),
        }

    @property
    def reward(self) -> float | None:
        """The last step's reward; None before the first step."""
        return self.steps[-1].reward / REWARD_UNIT if self.steps else None

    @property
    def total(self) -> float:
        """The return so far: the sum of the rewards, exact before it is divided."""
        return sum(step.reward for step in self.steps) / REWARD_UNIT

    @property
    def outcome(self) -> str | None:
        """The name of the rule that fired last, "invalid" for a mistake, None before the first step."""
        return self.steps[-1].outcome if self.steps else None

    @property
    def error(self) -> str | None:
        """What was wrong with the last action, where it was invalid."""
        return self.steps[-1].text if self.steps and self.steps[-1].outcome == INVALID else None

    @property
    def step_count(self) -> int:
        return len(self.steps)

    @property
    def terminated(self) -> bool:
        return self.case.automaton.terminated(self.state)

    @property
    def truncated(self) -> bool:
        return self.case.automaton.truncated(self.state, len(self.steps))

    @property
    def done(self) -> bool:
        machine = self.case.automaton
        return machine.terminated(self.state) or machine.truncated(self.state, len(self.steps))

    @property
    def end_reason(self) -> EndReason | None:
        if self.terminated:
            return "resolved"
        return "max_steps" if self.truncated else None

    @property
    def optimal_steps(self) -> int | None:
        """The fewest steps of any episode of this case whose return is the best possible; None where not proved."""
        try:
            solution = solve(self.case.automaton)
        except OverBudget:
            return None
        return solution.optimal_steps if solution else None

    @property
    def regrets(self) -> tuple[Regret, ...] | None:
        """What each step cost, against the best that could be had before it; None where not proved.

        For whoever trains or judges an agent: an agent that sees it before the end is told what is best.
        """
        return regrets(self.case.automaton, self.actions)

    @property
    def regret(self) -> float | None:
        """What the steps cost together, in reward units: once `done`, V* less the return. None where not proved."""
        found = self.regrets
        return sum(regret.cost for regret in found) / REWARD_UNIT if found is not None else None

    def record(self) -> dict[str, Any]:
        """What the graders read; the keys stand in `graders.py`."""
        machine = self.case.automaton
        classified = [step.classified for step in self.steps if step.classified is not None]
        return {
            "task_id": self.case.ticket.task,
            "ticket_id": self.case.ticket.id,
            "resolved": self.state.resolved,
            "steps": len(self.steps),
            "optimal_steps": self.optimal_steps,
            "missing_at_start": len(machine.missing_at_start),
            "collected": machine.collected(self.state),
            "asks": sum(step.asked for step in self.steps),
            "asks_wasted": sum(step.asked and step.wasted for step in self.steps),
            "classifier": machine.task.classifier if self.case.ticket.category is not None else "none",
            "first_classification": classified[0] if classified else "none",
        }

    def score(self) -> float:
        """The task's grade of the episode so far, in [0, 1], whatever the contract's grader gives."""
        return min(1.0, max(0.0, self.case.automaton.task.grader(self.record())))


def replay(case: Case, actions: Iterable[Mapping[str, Any]]) -> Episode:
    """The episode that these actions make of a case: the fold that every stored episode is read by.

    Raises:
        EpisodeOver: there are actions after the end.
    """
    episode = Episode.start(case)
    for action in actions:
        episode = episode.step(action)
    return episode
