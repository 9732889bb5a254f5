"""Regret: what each step cost, against the best that could be had before it; exact, in ten-thousandths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from engine.action import Choice
from engine.automaton import Applied, Automaton, State
from engine.dynamics.graph import Graph, explore
from engine.dynamics.values import soonest, values
from engine.pack import REWARD_UNIT, once
from engine.solve import BUDGET, Budget, OverBudget


class Regret(NamedTuple):
    """V* before a step, less its reward and V* after it, each with the steps that then remain.

    `best` is an action that would have cost nothing: of several one from which V* is earned soonest, and of these the
    first in the order of the action space. None where the one that was taken cost nothing, and where none is as good
    as to stop.
    """

    cost: int
    best: Choice | None


def regrets(machine: Automaton, actions: Iterable[Mapping[str, Any]]) -> tuple[Regret, ...] | None:
    """The regret of each of an episode's actions; None where the automaton has more than `BUDGET` different moves.

    An episode that ends by itself returns V* of its start less the sum of these. One that was cut off could still have
    had V* of where it stands: that is no step's regret, and not counted.
    """
    worth = _worth(machine)
    if worth is None:
        return None
    return tuple(
        Regret(cost, worth.best(state, remaining) if cost > 0 else None)
        for state, remaining, cost in _costs(worth, machine, actions)
    )


def costs(machine: Automaton, actions: Iterable[Mapping[str, Any]]) -> tuple[int, ...] | None:
    """What each step cost, and nothing else: the best actions of many episodes take long to find."""
    worth = _worth(machine)
    return tuple(cost for _, _, cost in _costs(worth, machine, actions)) if worth is not None else None


def _costs(worth: _Worth, machine: Automaton, actions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[State, int, int]]:
    """For each step the state before it, the steps that remained then, and what it cost."""
    state, remaining = machine.initial, machine.pack.max_steps
    for action in actions:
        move = machine.transition(state, machine.actions.understand(action).meaning)
        yield state, remaining, worth.of(state, remaining) - move.reward - worth.of(move.state, remaining - 1)
        state, remaining = move.state, remaining - 1


def best_action(machine: Automaton, state: State, remaining: int) -> Choice | None:
    """An action with which V* is had soonest, with the steps that remain; None where it is had only by stopping.

    Raises:
        OverBudget: the automaton has more than `BUDGET` different moves.
    """
    worth = _worth(machine)
    if worth is None:
        raise OverBudget
    return worth.best(state, remaining)


def choice_costs(machine: Automaton, state: State, remaining: int) -> dict[Choice, int]:
    """What each valid action would cost, with the steps that remain, in the order of the action space.

    Raises:
        OverBudget: the automaton has more than `BUDGET` different moves.
    """
    worth = _worth(machine)
    if worth is None:
        raise OverBudget
    return {choice: cost for choice, _, cost in worth.moves(state, remaining)}


def blame(found: Iterable[Regret]) -> tuple[str, ...]:
    """A sentence for each step that cost something: "step 3 cost 0.1; best was classify(delivery)"."""
    return tuple(
        f"step {number} cost {regret.cost / REWARD_UNIT}; best was {_words(regret.best)}"
        for number, regret in enumerate(found, 1)
        if regret.cost > 0
    )


def _words(best: Choice | None) -> str:
    if best is None:
        return "to stop"
    return f"{best.type}({', '.join(str(value) for _, value in best.parameters)})"


class _Worth:
    """V* of every state that an automaton can be in, and the best actions there; what was asked once is kept."""

    def __init__(self, graph: Graph) -> None:
        self._machine = graph.machine
        self._canonical, self._numbers = graph.symmetry.canonical, graph.numbers
        worth = values(graph)
        self._values, self._soonest = worth.best, soonest(worth)
        self._known: dict[State, int] = {}
        self._best: dict[tuple[State, int], Choice | None] = {}

    def of(self, state: State, remaining: int) -> int:
        """V* to go, with the steps that remain."""
        number = self._known.get(state)
        if number is None:
            number = self._known[state] = self._numbers[self._canonical(state)]
        return self._values[remaining][number]

    def best(self, state: State, remaining: int) -> Choice | None:
        """The action with which V* is had soonest; None where it is had only by stopping."""
        if (state, remaining) not in self._best:
            self._best[state, remaining] = self._first(state, remaining)
        return self._best[state, remaining]

    def moves(self, state: State, remaining: int) -> Iterator[tuple[Choice, Applied, int]]:
        """Each valid action, what it leads to, and what it costs."""
        most = self.of(state, remaining)
        for choice in self._machine.actions.choices:
            move = self._machine.apply(state, choice)
            yield choice, move, most - move.reward - self.of(move.state, remaining - 1)

    def _first(self, state: State, remaining: int) -> Choice | None:
        later = self._soonest[remaining - 1]
        good = {
            choice: later[self._known[move.state]] for choice, move, cost in self.moves(state, remaining) if not cost
        }
        return min(good, key=good.__getitem__, default=None)


@once
def _worth(machine: Automaton) -> _Worth | None:
    """None where there is too much to look at: that, too, is found out once."""
    try:
        return _Worth(explore(machine, Budget(BUDGET)))
    except OverBudget:
        return None
