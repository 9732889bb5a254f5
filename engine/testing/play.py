"""An episode that a test plays: step by step or by an agent, and what may be asserted of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from engine.automaton import INVALID, NO_EFFECT
from engine.episode import Episode, EpisodeOver, Step
from engine.evaluation.agents import Agent, FunctionAgent
from engine.evaluation.http_agent import SECONDS, HttpAgent
from engine.evaluation.spent import AgentStopped
from engine.nearest import nearest
from engine.pack import Pack
from engine.proof import told
from engine.testing.account import account
from engine.tools import tools


class Play:
    """One episode, played in this process. Rewards and `regret` are in reward units, `score` in [0, 1].

    What is asserted and isn't so raises AssertionError, whose text has the whole episode and what each step cost. A
    name that the pack doesn't have is a mistake of the test's: ValueError, with the nearest name.
    """

    def __init__(self, episode: Episode, seconds: float = SECONDS) -> None:
        self.id = uuid.uuid4().hex
        self.tools = tools(episode.case.pack)
        self.told = ""  # the account of it that stands in a failed assertion
        self._episode = episode
        self._seconds = seconds  # that a function has for an answer

    def __repr__(self) -> str:
        case = self._episode.case
        return f"<Play of {case.ticket.id}, seed {case.seed}: {told.count(self.step_count, 'step')}>"

    def __str__(self) -> str:
        return account(self._episode)

    # -- What happens

    def step(self, action: Mapping[str, Any] | str, /, **parameters: Any) -> dict[str, Any]:
        """Takes an action, as `step("ask", field="email")` or as an object; gives the observation after it.

        Raises:
            EpisodeOver: the episode is done.
        """
        __tracebackhide__ = True
        if self.done:
            raise EpisodeOver(f"the episode ended after {told.count(self.step_count, 'step')} ({self.end_reason})")
        if isinstance(action, str):
            action = {"type": action, "parameters": parameters}
        elif not isinstance(action, Mapping):
            raise TypeError(f"an action is its name or an object, not {action!r}")
        elif parameters:
            raise TypeError("parameters go with an action's name; an action as an object has its own")
        self._episode = self._episode.step(action)
        return self.observation

    def play(self, agent: Agent | Callable[..., Any]) -> Play:
        """Lets an agent play to the end, or until it gives up (AgentStopped): the episode stays as it was then.

        It is a function `(observation, tools)`, or what the fixture `agent` gives.

        Raises:
            AgentError: the agent failed, or took too long; the episode stays as it was then.
        """
        __tracebackhide__ = True
        asked: Agent
        asked = agent if isinstance(agent, FunctionAgent | HttpAgent) else FunctionAgent(agent, seconds=self._seconds)
        instructions = self.pack.instructions
        while not self.done:
            try:
                action = asked(self.observation, self.tools, instructions=instructions, episode_id=self.id)
            except AgentStopped:
                break
            self.step(action)
        return self

    # -- How it stands

    @property
    def raw(self) -> Episode:
        """The engine's own episode, as far as it went."""
        return self._episode

    @property
    def pack(self) -> Pack:
        return self._episode.case.pack

    @property
    def observation(self) -> dict[str, Any]:
        """What the agent sees."""
        return self._episode.observation

    @property
    def done(self) -> bool:
        return self._episode.done

    @property
    def end_reason(self) -> str | None:
        """`resolved`, `max_steps`, or None before the end."""
        return self._episode.end_reason

    @property
    def step_count(self) -> int:
        return self._episode.step_count

    @property
    def reward(self) -> float | None:
        """The last step's; None before the first."""
        return self._episode.reward

    @property
    def total(self) -> float:
        """The return so far: the sum of the rewards."""
        return self._episode.total

    @property
    def score(self) -> float:
        """The task's grade of the episode so far."""
        return self._episode.score()

    @property
    def regret(self) -> float | None:
        """What the steps cost together against the best that could be had; None where that isn't known."""
        return self._episode.regret

    @property
    def outcome(self) -> str | None:
        """What came of the last step, such as `resolve.done`; None before the first."""
        return self._episode.outcome

    @property
    def outcomes(self) -> tuple[str, ...]:
        return tuple(step.outcome for step in self._episode.steps)

    # -- What may be asserted

    def assert_resolved(self, *, max_steps: int | None = None, max_regret: float | None = None) -> None:
        """The ticket is resolved, in so many steps at the most, or with no more regret than that."""
        __tracebackhide__ = True
        if not self._episode.terminated:
            self._fail(f"the ticket isn't resolved: the episode is {'out of steps' if self.done else 'still open'}")
        if max_steps is not None and self.step_count > max_steps:
            self._fail(f"resolved in {told.count(self.step_count, 'step')}, {max_steps} are the most that may be taken")
        if max_regret is not None and self.regret is None:
            self._fail("the regret isn't known: the ticket has too many states")
        if max_regret is not None and self.regret is not None and self.regret > max_regret:
            self._fail(f"the regret is {self.regret:g}, expected {max_regret:g} at the most")

    def assert_score(self, *, at_least: float) -> None:
        """The score is no less."""
        __tracebackhide__ = True
        if self.score < at_least:
            self._fail(f"the score is {self.score:g}, expected {at_least:g} at the least")

    def assert_outcome(self, outcome: str, *, step: int | None = None) -> None:
        """This is what came of the last step, or of the one with this number, counted from 1."""
        __tracebackhide__ = True
        self._check("outcome", [outcome], self._possible())
        number = self.step_count if step is None else step
        if not 1 <= number <= self.step_count:
            self._fail(f"step {number}: there is none" if step else "no step was taken yet")
        found = self.outcomes[number - 1]
        if found != outcome:
            self._fail(f"step {number} came to {found}, expected {outcome}", [number])

    def assert_happened(self, *outcomes: str) -> None:
        """Each of these came of some step."""
        __tracebackhide__ = True
        self._check("outcome", outcomes, self._possible())
        for outcome in outcomes:
            if outcome not in self.outcomes:
                self._fail(f"no step came to {outcome}")

    def assert_never(self, *outcomes: str) -> None:
        """None of these came of any step: `assert_never("invalid")`."""
        __tracebackhide__ = True
        self._check("outcome", outcomes, self._possible())
        for number, found in enumerate(self.outcomes, 1):
            if found in outcomes:
                self._fail(f"step {number} came to {found}", [number])

    def assert_asked(self, *fields: str) -> None:
        """Each of these fields was asked for, rightly or not."""
        __tracebackhide__ = True
        self._check("field", fields, self.pack.fields)
        asked = {self._asked(step) for step in self._episode.steps}
        for field in fields:
            if field not in asked:
                self._fail(f"{field!r} was never asked for")

    def assert_not_asked(self, *fields: str) -> None:
        """None of these fields was asked for."""
        __tracebackhide__ = True
        self._check("field", fields, self.pack.fields)
        for number, step in enumerate(self._episode.steps, 1):
            if self._asked(step) in fields:
                self._fail(f"{self._asked(step)!r} was asked for", [number])

    def assert_known(self, /, *fields: str, **values: str) -> None:
        """These fields are known, by whatever value: `assert_known("email")`; or by this one: `(email="a@b.org")`."""
        __tracebackhide__ = True
        self._check("field", (*fields, *values), self.pack.fields)
        known = self.observation["known_info"]
        for field in (*fields, *values):
            if field not in known:
                self._fail(f"{field!r} isn't known")
            if field in values and known[field] != values[field]:
                self._fail(f"{field!r} is known as {known[field]!r}, expected {values[field]!r}")

    def _fail(self, sentence: str, marked: Iterable[int] = ()) -> NoReturn:
        __tracebackhide__ = True
        self.told = account(self._episode, [*marked])
        raise AssertionError(f"{sentence}\n\n{self.told}")

    def _check(self, kind: str, given: Iterable[str], known: Iterable[str]) -> None:
        __tracebackhide__ = True
        names = [*known]
        for name in given:
            if name not in names:
                near = nearest(name, names)
                hint = f" Did you mean {near!r}?" if near is not None else ""
                raise ValueError(f"The pack {self.pack.name!r} has no {kind} {name!r}.{hint}")

    def _possible(self) -> list[str]:
        actions = self.pack.actions
        ruled = (rule.outcome for action in actions.values() for rule in action.rules)
        return [INVALID, *ruled, *(f"{name}.{NO_EFFECT}" for name in actions)]

    def _asked(self, step: Step) -> str | None:
        """The field that a step asked for; None where it asked for nothing."""
        action = self.pack.actions.get(str(step.action.get("type")))
        if action is None or action.asks is None:
            return None
        nested = step.action.get("parameters")
        given = step.action.get(action.asks) or (nested.get(action.asks) if isinstance(nested, Mapping) else None)
        return given if isinstance(given, str) else None
