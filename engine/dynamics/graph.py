"""The reachable states of an automaton, those that differ only by interchangeable fields merged, and all its moves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.action import Choice, action_space
from engine.automaton import Applied, Automaton, State
from engine.pack import Pack, Rule, once
from engine.solve import Budget, OverBudget
from engine.symmetry import Symmetry

# How many moves may be added up in the tables of an automaton's values: some fifteen seconds.
WORK = 20_000_000


class Edge(NamedTuple):
    """What `number` of the valid actions do in a state, `choice` for one.

    `target` is the number of the state after it, `reward` in ten-thousandths. `rule` is the one that fired, None where
    none did. `asks` marks an ask for a field; `classified` is the classification that one that classifies led to;
    `turn` is the turn (slot, number) that an ask played.
    """

    choice: Choice
    number: int
    target: int
    reward: int
    outcome: str
    rule: Rule | None
    wasted: bool
    asks: bool
    classified: str | None
    turn: tuple[int, int] | None


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The states that are reached within `max_steps`, the initial one first, in the order of their depths.

    `edges` are those out of each state: none where it is resolved, or reached with the last step only. `came` is the
    edge, and the state before it, by which each was reached first; None for the initial one.
    """

    machine: Automaton
    symmetry: Symmetry
    states: tuple[State, ...]
    edges: tuple[tuple[Edge, ...], ...]
    depths: tuple[int, ...]
    came: tuple[tuple[int, Edge] | None, ...]
    numbers: Mapping[State, int]  # of the states, each by its representative

    @property
    def horizon(self) -> int:
        return self.machine.pack.max_steps

    @property
    def choices(self) -> int:
        """How many valid actions there are in every state."""
        return len(action_space(self.machine.pack).choices)

    def within(self, remaining: int) -> int:
        """How many states, the first ones, are reached early enough to be met with so many steps that remain."""
        return bisect_right(self.depths, self.horizon - remaining)

    def collected(self) -> tuple[int, ...]:
        """For each state, how many of the fields missing at the start are rightly known or waived."""
        return tuple(self.machine.collected(state) for state in self.states)

    def line_to(self, state: int) -> tuple[tuple[int, Edge], ...]:
        """A shortest way from the initial state: each edge with the state that it leaves."""
        line = []
        step = self.came[state]
        while step is not None:
            line.append(step)
            step = self.came[step[0]]
        return tuple(reversed(line))


def explore(machine: Automaton, budget: Budget) -> Graph:
    """The graph of an automaton.

    Raises:
        OverBudget: after as many different moves as the budget has; and where those that are left, each counted once
            for every step that may remain, are more than WORK.
    """
    symmetry = Symmetry(machine)
    initial = symmetry.canonical(machine.initial)
    numbers, states, depths = {initial: 0}, [initial], [0]
    came: list[tuple[int, Edge] | None] = [None]
    edges: list[tuple[Edge, ...]] = []
    work = WORK
    for number, state in enumerate(states):  # it grows
        found: dict[tuple[object, ...], Edge] = {}
        over = state.resolved or depths[number] == machine.pack.max_steps
        for choices in () if over else symmetry.alike(state).values():
            budget.spend()
            move = machine.apply(state, choices[0])
            after = state if move.state is state else symmetry.canonical(move.state)
            target = numbers.setdefault(after, len(states))
            edge = _edge(machine, state, choices, target, move)
            if target == len(states):
                states.append(after)
                depths.append(depths[number] + 1)
                came.append((number, edge))
            key = (id(edge.rule), *edge[2:5], *edge[6:])
            known = found.get(key)
            found[key] = edge if known is None else known._replace(number=known.number + edge.number)
        edges.append(tuple(found.values()))
        work -= len(found) * machine.pack.max_steps
        if work < 0:
            raise OverBudget
    return Graph(machine, symmetry, tuple(states), tuple(edges), tuple(depths), tuple(came), numbers)


def _edge(machine: Automaton, state: State, choices: list[Choice], target: int, move: Applied) -> Edge:
    action = machine.pack.actions[choices[0].type]
    return Edge(
        choices[0],
        len(choices),
        target,
        move.reward,
        move.outcome,
        _rules(machine.pack).get(id(move.then)),
        move.then.waste,
        action.asks is not None,
        move.state.classified if action.classifies is not None else None,
        (move.asked, state.slots[move.asked].turn) if move.asked is not None and move.then.learn else None,
    )


@once
def _rules(pack: Pack) -> Mapping[int, Rule]:
    """The rule that each effect belongs to, by the effect's identity: two rules may have equal ones."""
    return {id(rule.then): rule for action in pack.actions.values() for rule in action.rules}
