"""The agents that come with Deskproof: lower and upper bounds for all others, and something to try a run with.

`random` is the proof's uniformly random policy. `ask-everything` asks for every field there is. `playbook` reads what a
clerk is given, keywords instead of meanings. `oracle` alone sees what is hidden: it takes the best line of the proof.
All but the oracle know only what any agent is asked with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from engine.automaton import State
from engine.case import Case
from engine.draw import choose
from engine.dynamics.regret import best_action
from engine.episode import Episode
from engine.evaluation.agents import Action, AgentError, AgentUnusable, Tools
from engine.evaluation.desk import Desk, Desks
from engine.evaluation.spent import AgentStopped
from engine.solve import OverBudget
from engine.terminal import printable

# How often a customer is asked for one thing.
PATIENCE = 5

Observation = Mapping[str, Any]
# One episode: takes observations, gives actions.
Line = Generator[Action, Observation, None]


class RandomPolicy:
    """Takes any valid action, with any of its parameters' values, equally often.

    What it draws depends on the episode's id and the step alone.
    """

    name = "random"

    def __init__(self) -> None:
        self._desks = Desks()

    def __call__(
        self, observation: Observation, tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        choices = self._desks(tools, instructions).choices
        return choices[choose(len(choices), "random", episode_id, observation["step_count"])]


class _Scripted:
    """Plays each episode by a line of its own, which begins at an observation of no steps."""

    def __init__(self, name: str, line: Callable[[Desk, Observation], Line]) -> None:
        self.name = name
        self._line = line
        self._desks = Desks()
        self._playing: Line | None = None

    def __call__(
        self, observation: Observation, tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        if self._playing is None or observation["step_count"] == 0:
            self._playing = self._line(self._desks(tools, instructions), observation)
            return next(self._playing)
        return self._playing.send(observation)


def ask_everything() -> _Scripted:
    return _Scripted("ask-everything", _ask_everything)


def playbook() -> _Scripted:
    return _Scripted("playbook", _playbook)


def _ask_everything(desk: Desk, seen: Observation) -> Line:
    """Classifies without a category, asks for every field in turn, then for what is still missing, and resolves."""
    if desk.classify is not None:
        seen = yield desk.classify
    for ask in desk.asks.values():
        seen = yield ask
    asked = dict.fromkeys(desk.asks, 0)
    while True:
        field = _next(seen, asked)
        seen = yield desk.resolve if field is None else desk.asks[field]


def _next(seen: Observation, asked: dict[str, int]) -> str | None:
    """Of what is missing that which was asked for least, and counts it; None where asking is of no more use."""
    missing: list[str] = [name for name in seen["missing_required"] if name in asked]
    field = min(missing, key=asked.__getitem__, default=None)
    if field is None or asked[field] >= PATIENCE:
        return None
    asked[field] += 1
    return field


def _playbook(desk: Desk, seen: Observation) -> Line:
    """Classifies, asks for what is missing, does what the instructions list, decides, and resolves.

    Where the requirements are hidden the category is guessed from the opening message; a guess is taken back where the
    ticket can't be resolved with nothing missing that shows.
    """
    guessed = None
    if desk.classify is not None:
        guessed = _guess(desk, seen)
        seen = yield desk.classify if guessed is None else guessed
    asked, done, refused = dict.fromkeys(desk.asks, 0), 0, False
    decisions: list[Action] | None = None
    while True:
        field = _next(seen, asked)
        if field is not None:
            seen = yield desk.asks[field]
        elif done < len(desk.procedure):
            seen = yield desk.procedure[done]
            done += not seen["missing_required"]  # what it brought up is asked for, then it is done again
        elif refused and guessed is not None and desk.classify is not None:
            guessed, refused, done, decisions = None, False, 0, None
            seen = yield desk.classify
        else:
            if desk.procedure or refused:
                decisions = _likely(desk, seen) if decisions is None else decisions
                if decisions:
                    seen = yield decisions.pop(0)
            seen = yield desk.resolve
            refused = not seen["missing_required"]


def _guess(desk: Desk, seen: Observation) -> Action | None:
    """The category that the opening message speaks of most, as a classification; None where it needn't be guessed."""
    if seen["required"] or seen["info_progress"]:
        return None
    scores = desk.categories.scores(seen["customer_message"])
    most = max(scores)
    return desk.filed[scores.index(most)] if most else None


def _likely(desk: Desk, seen: Observation) -> list[Action]:
    """All decisions, those first whose reasons were spoken of most."""
    said = " ".join(item["text"] for item in seen["history"] if item["role"] == "desk")
    scores = desk.reasons.scores(said)
    return [desk.decisions[at] for at in sorted(range(len(scores)), key=lambda at: -scores[at])]


class Oracle:
    """Takes an action with which V* is had soonest. Raises AgentStopped where it is had only by stopping."""

    name = "oracle"

    def __init__(self) -> None:
        self._case: Case | None = None
        self._state: State | None = None

    def begin(self, episode: Episode, episode_id: str) -> None:
        """It is followed from here on: the actions that are given are those that are taken."""
        self._case, self._state = episode.case, episode.state

    def __call__(
        self, observation: Observation, tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        if self._case is None or self._state is None:
            raise AgentUnusable("The oracle sees what is hidden, and nobody shows it here.")
        machine, ticket = self._case.automaton, self._case.ticket.id
        try:
            best = best_action(machine, self._state, observation["remaining_steps"])
        except OverBudget:
            raise AgentError(
                f"The oracle doesn't know the ticket {printable(ticket)}: it has too many states."
            ) from None
        if best is None:
            raise AgentStopped
        self._state = machine.transition(self._state, best).state
        return best.canonical()
