"""Whether a way through states comes back to where it was with more than it had."""

from __future__ import annotations

from engine.dynamics.graph import Edge, Graph
from engine.dynamics.optimal import Line

# How many moves are looked at for a shortest episode with a paying loop, once it is known that there is such a loop.
LOOK = 500_000


def paying_loop(graph: Graph) -> tuple[Line, int] | None:
    """A way to a loop that pays, and once round it, with the loop's length; None where none pays within `max_steps`.

    A shortest, unless there is too much to look at. Progress is a potential (Ng, Harada and Russell 1999): round a loop
    it comes to nothing, so where no step pays more than the progress that it makes, no loop pays. Else longest ways are
    looked for (Bellman 1958, Ford 1956), which have an end unless a loop pays.
    """
    progress = [graph.machine.progress(state) for state in graph.states]
    steps = [(state, edge) for state, edges in enumerate(graph.edges) for edge in edges if _goes_on(graph, edge)]
    if all(edge.reward <= progress[edge.target] - progress[state] for state, edge in steps):
        return None
    loop = _any_loop(len(graph.states), steps)
    if loop is None:
        return None
    start = min(range(len(loop)), key=lambda at: graph.depths[loop[at][0]])
    turned = (*loop[start:], *loop[:start])
    return _shortest(graph, ((*graph.line_to(turned[0][0]), *turned), len(turned)))


def _goes_on(graph: Graph, edge: Edge) -> bool:
    return not graph.states[edge.target].resolved


def _any_loop(size: int, steps: list[tuple[int, Edge]]) -> Line | None:
    most = [0] * size
    came: list[tuple[int, Edge] | None] = [None] * size
    for _ in range(size):
        grown = None
        for state, edge in steps:
            if most[state] + edge.reward > most[edge.target]:
                most[edge.target], came[edge.target] = most[state] + edge.reward, (state, edge)
                grown = edge.target
        if grown is None:
            return None
        loop = _loop(came, grown)
        if loop is not None:
            return loop
    return None


def _shortest(graph: Graph, known: tuple[Line, int]) -> tuple[Line, int] | None:
    """A loop that pays and is gone round soonest, if within `max_steps`; the known one where that is too much work."""
    # For each state from which loops begin: where one gets from there, with how much, and how.
    ways: list[dict[int, tuple[int, Line]]] = []
    looked = 0
    for total in range(1, graph.horizon + 1):
        ways += [{start: (0, ())} for start in range(len(ways), graph.within(graph.horizon - total + 1))]
        for start, way in enumerate(ways):
            further: dict[int, tuple[int, Line]] = {}
            for state, (earned, line) in way.items():
                for edge in graph.edges[state]:
                    looked += 1
                    worth = earned + edge.reward
                    if _goes_on(graph, edge) and worth > further.get(edge.target, (worth - 1, ()))[0]:
                        further[edge.target] = worth, (*line, (state, edge))
            back, loop = further.get(start, (0, ()))
            if back > 0:
                return (*graph.line_to(start), *loop), len(loop)
            if looked > LOOK:
                return known
            ways[start] = further
    return None


def _loop(came: list[tuple[int, Edge] | None], start: int) -> Line | None:
    """The loop that one gets into by going back from a state, in the order in which it is gone; None without one."""
    seen: set[int] = set()
    at = start
    while at not in seen:
        seen.add(at)
        step = came[at]
        if step is None:
            return None
        at = step[0]
    line = []
    state = at
    while True:
        step = came[state]
        assert step is not None  # it is in the loop
        line.append(step)
        state = step[0]
        if state == at:
            return tuple(reversed(line))
