"""The best lines of play: how short they are, how many there are, and one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from engine.dynamics.graph import Edge, Graph
from engine.dynamics.values import Partial, Table, Values

Line = tuple[tuple[int, Edge], ...]  # each edge with the number of the state that it leaves


class Chain(NamedTuple):
    """A line, its first edge and the rest: lines that end alike share their ends."""

    state: int
    edge: Edge
    rest: Chain | None


@dataclass(frozen=True, slots=True)
class Optimal:
    """The episodes whose return is V*; those that reach the goal, where any of them does.

    `steps` is how many steps a shortest has, `episodes` how many different ones there are, each a sequence of valid
    actions up to the goal, 0 where none reaches it; `line` is a shortest.
    """

    steps: int
    episodes: int
    line: Line


def optimal(values: Values) -> Optimal:
    """The best lines from the initial state."""
    if values.goal[-1][0] == values.optimum:
        found = to_goal(values)
        assert found is not None  # it reaches the goal
        return found
    # No best episode reaches the goal: one is over as soon as there is nothing left to earn.
    found = lines(values.graph, values.best, lambda remaining, state: values.best[remaining][state] == 0)
    return Optimal(found.steps, 0, found.line)


def to_goal(values: Values) -> Optimal | None:
    """The best lines of those that reach the goal, which may be worth less than V*; None where none reaches it."""
    graph = values.graph
    if values.goal[-1][0] is None:
        return None
    return lines(graph, values.goal, lambda remaining, state: graph.states[state].resolved)


def lines(
    graph: Graph,
    table: Table | Partial,
    over: Callable[[int, int], bool],
    through: Callable[[Edge], bool] = lambda edge: True,
) -> Optimal:
    """The lines that earn what a table promises, `through` certain edges alone, up to where they are `over`.

    Both are asked with the steps that remain and the number of a state, as the table is.
    """

    def along(remaining: int, state: int) -> list[Edge]:
        if over(remaining, state):
            return []
        earlier, worth = table[remaining - 1], table[remaining][state]
        return [
            edge for edge in graph.edges[state] if through(edge) and _sum(edge.reward, earlier[edge.target]) == worth
        ]

    layers = [{0}]  # where such a line may be, by the steps taken
    for remaining in range(graph.horizon, 0, -1):
        layers.append({edge.target for state in layers[-1] for edge in along(remaining, state)})
    # By state: the fewest steps, the number of lines, and a shortest as a chain, each link an edge and the rest.
    ahead: dict[int, tuple[int, int, Chain | None]] = {}
    for remaining, layer in enumerate(reversed(layers)):
        before, ahead = ahead, {}
        for state in layer:
            if over(remaining, state):
                ahead[state] = 0, 1, None
                continue
            found = [(before[edge.target], edge) for edge in along(remaining, state)]
            (steps, _, rest), first = min(found, key=lambda one: one[0][0])
            number = sum(edge.number * lines for (_, lines, _), edge in found)
            ahead[state] = steps + 1, number, Chain(state, first, rest)
    steps, number, chain = ahead[0]
    line = []
    while chain is not None:
        line.append((chain.state, chain.edge))
        chain = chain.rest
    return Optimal(steps, number, tuple(line))


def _sum(reward: int, after: int | None) -> int | None:
    return None if after is None else reward + after
