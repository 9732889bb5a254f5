"""Whether a way through states comes back to where it was with more than it had."""

from __future__ import annotations

from engine.dynamics.graph import Edge, Graph
from engine.dynamics.optimal import Line


def paying_loop(graph: Graph) -> tuple[Line, int] | None:
    """A shortest way to a loop that pays, and once round it, with the loop's length; None where no loop pays.

    Progress is a potential (Ng, Harada and Russell 1999): round a loop it comes to nothing, so where no step pays more
    than the progress that it makes, no loop pays. Else longest ways are looked for (Bellman 1958, Ford 1956), which
    have an end unless a loop pays.
    """
    progress = [graph.machine.progress(state) for state in graph.states]
    steps = [(state, edge) for state, edges in enumerate(graph.edges) for edge in edges]
    if all(edge.reward <= progress[edge.target] - progress[state] for state, edge in steps if _goes_on(graph, edge)):
        return None
    most = [0] * len(graph.states)
    came: list[tuple[int, Edge] | None] = [None] * len(graph.states)
    for _ in range(len(graph.states)):
        grown = None
        for state, edge in steps:
            if most[state] + edge.reward > most[edge.target]:
                most[edge.target], came[edge.target] = most[state] + edge.reward, (state, edge)
                grown = edge.target
        if grown is None:
            return None
        loop = _loop(came, grown)
        if loop is not None:
            start = min(range(len(loop)), key=lambda at: graph.depths[loop[at][0]])
            turned = (*loop[start:], *loop[:start])
            return (*graph.line_to(turned[0][0]), *turned), len(turned)
    return None


def _goes_on(graph: Graph, edge: Edge) -> bool:
    return not graph.states[edge.target].resolved


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
