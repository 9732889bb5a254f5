"""What an automaton is worth, exactly: dynamic programming by the steps that remain (Bellman 1957), over integers.

All returns are in ten-thousandths. An agent may stop at any time: an episode that is cut off returns what it has earned
so far. The uniformly random policy takes each valid action, with all its parameters, equally often, and never stops.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.dynamics.graph import Edge, Graph
from engine.pack import REWARD_UNIT

# By the steps that remain, then by the number of the state: of those that can be met with so many steps that remain.
Table = tuple[Sequence[int], ...]
# The same; None where there is no such episode.
Partial = tuple[Sequence[int | None], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """What is still to be had from each state, with each number of steps that remain.

    `best` and `worst` are the greatest and the least return; `short` is the greatest of an episode that doesn't reach
    the goal; `goal` the greatest of one that does. `random` is the return of the uniformly random policy, summed over
    all sequences of `max_steps` valid actions.
    """

    graph: Graph
    best: Table
    worst: Table
    short: Table
    goal: Partial
    random: int

    @property
    def optimum(self) -> int:
        """V* of the initial state."""
        return self.best[-1][0]

    @property
    def expected(self) -> Fraction:
        """The return of the uniformly random policy, in reward units."""
        graph = self.graph
        return Fraction(self.random, graph.choices**graph.horizon * REWARD_UNIT)


def values(graph: Graph) -> Values:
    """The values of an automaton's states, from no step that remains up to `max_steps`."""
    resolved = [state.resolved for state in graph.states]
    moves = [_merged(edges) for edges in graph.edges]
    nothing = array("q", bytes(8 * len(resolved)))
    best, worst, short = [nothing], [nothing], [nothing]
    goal: list[list[int | None]] = [[0 if over else None for over in resolved]]
    random = [0] * len(resolved)
    for remaining in range(1, graph.horizon + 1):
        highs, lows, cuts = array("q"), array("q"), array("q")
        ends: list[int | None] = []
        totals = []
        high_before, low_before, cut_before, end_before = best[-1], worst[-1], short[-1], goal[-1]
        sequences = graph.choices ** (remaining - 1)
        for state in range(graph.within(remaining)):
            high = low = cut = total = 0
            end = 0 if resolved[state] else None
            for target, reward, number in moves[state]:
                # Comparisons, as calls of `max` take most of the time.
                if (value := reward + high_before[target]) > high:
                    high = value
                if (value := reward + low_before[target]) < low:
                    low = value
                if not resolved[target] and (value := reward + cut_before[target]) > cut:
                    cut = value
                after = end_before[target]
                if after is not None and (end is None or reward + after > end):
                    end = reward + after
                total += number * (reward * sequences + random[target])
            highs.append(high)
            lows.append(low)
            cuts.append(cut)
            ends.append(end)
            totals.append(total)
        best.append(highs)
        worst.append(lows)
        short.append(cuts)
        goal.append(ends)
        random = totals
    return Values(graph, tuple(best), tuple(worst), tuple(short), tuple(goal), random[0])


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
                for state, edges in enumerate(graph.edges[: graph.within(remaining)])
            )
        )
    return tuple(table)


def _merged(edges: tuple[Edge, ...]) -> list[tuple[int, int, int]]:
    """(target, reward, how many actions): what is all the same to returns."""
    counts: dict[tuple[int, int], int] = {}
    for edge in edges:
        counts[edge.target, edge.reward] = counts.get((edge.target, edge.reward), 0) + edge.number
    return [(target, reward, number) for (target, reward), number in counts.items()]
