"""What an automaton is worth, exactly: dynamic programming by the steps that remain (Bellman 1957), over integers.

All returns are in ten-thousandths. An agent may stop at any time: an episode that is cut off returns what it has earned
so far. The uniformly random policy takes each valid action, with all its parameters, equally often, and never stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from engine.dynamics.graph import Edge, Graph
from engine.pack import REWARD_UNIT

# By the steps that remain, then by the number of the state. None where there is no such episode.
Table = tuple[tuple[int, ...], ...]
Partial = tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """What is still to be had from each state, with each number of steps that remain.

    `best` and `worst` are the greatest and the least return; `short` is the greatest of an episode that doesn't reach
    the goal; `goal` the greatest of one that does. `random` is the return of the uniformly random policy, summed over
    all sequences of valid actions of the steps that remain: divide by choices ** steps.
    """

    graph: Graph
    best: Table
    worst: Table
    short: Table
    goal: Partial
    random: Table

    @property
    def optimum(self) -> int:
        """V* of the initial state."""
        return self.best[-1][0]

    @property
    def expected(self) -> Fraction:
        """The return of the uniformly random policy, in reward units."""
        graph = self.graph
        return Fraction(self.random[-1][0], graph.choices**graph.horizon * REWARD_UNIT)


def values(graph: Graph) -> Values:
    """The values of an automaton's states, from no step that remains up to `max_steps`."""
    # States of a depth are met with as many steps fewer: what is out of reach isn't worked out.
    size, horizon, choices = len(graph.states), graph.horizon, graph.choices
    resolved = [state.resolved for state in graph.states]
    moves = [_merged(edges) for edges in graph.edges]
    best, worst, short, random = [[(0,) * size] for _ in range(4)]
    goal: list[tuple[int | None, ...]] = [tuple(0 if over else None for over in resolved)]
    for remaining in range(1, horizon + 1):
        rows: tuple[list[int], ...] = ([0] * size, [0] * size, [0] * size, [0] * size)
        ends: list[int | None] = list(goal[0])
        last = [table[-1] for table in (best, worst, short, random)]
        ended, sequences = goal[-1], choices ** (remaining - 1)
        for state in range(size):
            if graph.depths[state] + remaining > horizon:
                break
            high = low = cut = total = 0
            end = ends[state]
            for target, reward, number in moves[state]:
                high = max(high, reward + last[0][target])
                low = min(low, reward + last[1][target])
                if not resolved[target]:
                    cut = max(cut, reward + last[2][target])
                total += number * (reward * sequences + last[3][target])
                after = ended[target]
                if after is not None and (end is None or reward + after > end):
                    end = reward + after
            rows[0][state], rows[1][state], rows[2][state], rows[3][state] = high, low, cut, total
            ends[state] = end
        for table, row in zip((best, worst, short, random), rows, strict=True):
            table.append(tuple(row))
        goal.append(tuple(ends))
    return Values(graph, tuple(best), tuple(worst), tuple(short), tuple(goal), tuple(random))


def soonest(known: Values) -> Table:
    """The fewest steps in which `best` can be earned, by the steps that remain, then by the number of the state."""
    graph, best = known.graph, known.best
    table = [tuple(0 for _ in graph.states)]
    for remaining in range(1, graph.horizon + 1):
        earlier, worth, before = table[-1], best[remaining], best[remaining - 1]
        table.append(
            tuple(
                0
                if worth[state] == 0
                else 1
                + min(earlier[edge.target] for edge in edges if edge.reward + before[edge.target] == worth[state])
                for state, edges in enumerate(graph.edges)
            )
        )
    return tuple(table)


def _merged(edges: tuple[Edge, ...]) -> list[tuple[int, int, int]]:
    """(target, reward, how many actions): what is all the same to returns."""
    counts: dict[tuple[int, int], int] = {}
    for edge in edges:
        counts[edge.target, edge.reward] = counts.get((edge.target, edge.reward), 0) + edge.number
    return [(target, reward, number) for (target, reward), number in counts.items()]
