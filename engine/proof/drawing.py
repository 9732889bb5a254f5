"""The picture of a state graph: states in columns by the fewest steps to them, a best line of play along the top.

Within a column, states stand in the order of their neighbours' (the barycentre heuristic: Sugiyama, Tagawa and Toda
1981), so that few lines cross.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.automaton import State
from engine.dynamics.graph import Edge, Graph
from engine.pack import REWARD_UNIT
from engine.proof import told
from engine.proof.episodes import choices_of
from engine.proof.tickets import Study
from engine.terminal import printable

# How many states of a graph are drawn: those of the best line, and those with the fewest steps from there.
DRAWN = 120
# In pixels: between columns and rows, of a state, around the picture, and above it for the best line's words.
ACROSS, DOWN, RADIUS, MARGIN, ABOVE = 126, 36, 14, 28, 46
# How many characters a thing that is drawn takes besides its title, roughly; how many a title has at the most.
PART, TITLE = 150, 400
# How many characters of a word stand over a step of the best line, and how often the order is improved.
LETTERS, SWEEPS = 17, 6


@dataclass(frozen=True, slots=True)
class Node:
    """A state. `kind` says how it is drawn; `cut` that it has moves to states that aren't; `worth` is the best return
    that is still to be had, `title` what else there is to say."""

    x: int
    y: int
    kind: str  # start, goal, dead, state
    best: bool
    cut: bool
    worth: str
    title: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """All actions that lead from one state to another; `path` is SVG's."""

    path: str
    best: bool
    wasted: bool
    back: bool
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """The words of a step of the best line, one above the other, and under them what it earns."""

    x: int
    y: int  # of the last of them
    words: tuple[str, ...]
    reward: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of `width` by `height` pixels, of some of the `states` of a graph, of which `dead` are dead ends."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    labels: tuple[Label, ...]
    columns: tuple[int, ...]  # where each number of steps stands
    states: int
    dead: int

    @property
    def size(self) -> int:
        """Roughly how many characters it takes."""
        titles = (*(node.title for node in self.nodes), *(arrow.title for arrow in self.arrows))
        return sum(len(title) + PART for title in titles)


def draw(known: Study) -> Drawing:
    """The picture of the automaton that was studied."""
    graph, line = known.graph, known.optimal.line
    along = dict.fromkeys(state for state, _ in line) | dict.fromkeys(edge.target for _, edge in line) or {0: None}
    drawn = sorted(_nearest(graph, along))
    places = _places(graph, drawn, list(along))
    dead = [_is_dead(known, state) for state in range(len(graph.states))]
    nodes = tuple(_node(known, state, places, dead[state], state in along) for state in drawn)
    pairs = {(state, edge.target) for state, edge in line}
    arrows = [
        _arrow(graph, state, target, places, edges, (state, target) in pairs)
        for state in drawn
        for target, edges in _by_target(graph.edges[state]).items()
        if target in places and target != state
    ]
    columns = tuple(
        MARGIN + RADIUS + ACROSS * depth for depth in range(1 + max(graph.depths[state] for state in drawn))
    )
    return Drawing(
        width=columns[-1] + RADIUS + MARGIN,
        height=max(y for _, y in places.values()) + RADIUS + MARGIN,
        nodes=nodes,
        arrows=tuple(sorted(arrows, key=lambda arrow: arrow.best)),  # the best line is drawn over the others
        labels=tuple(_labels(known, places)),
        columns=columns,
        states=len(graph.states),
        dead=sum(dead),
    )


def _nearest(graph: Graph, along: Iterable[int]) -> list[int]:
    """The states of the best line, then those that are reached from there, as many as are drawn."""
    found = dict.fromkeys(along)
    queue = list(found)
    for state in queue:  # it grows
        for edge in graph.edges[state]:
            if edge.target not in found and len(found) < DRAWN:
                found[edge.target] = None
                queue.append(edge.target)
    return queue


def _is_dead(known: Study, state: int) -> bool:
    """Whether the goal is out of reach, however soon the state was reached."""
    graph = known.graph
    return known.values.goal[graph.horizon - graph.depths[state]][state] is None


# -- Where states stand


def _places(graph: Graph, drawn: Sequence[int], along: Sequence[int]) -> dict[int, tuple[int, int]]:
    columns: dict[int, list[int]] = {}
    for state in (*along, *(state for state in drawn if state not in along)):
        columns.setdefault(graph.depths[state], []).append(state)
    neighbours = _neighbours(graph, drawn)
    fixed = set(along)
    rows = {state: row for column in columns.values() for row, state in enumerate(column)}
    for sweep in range(SWEEPS):
        for depth in sorted(columns, reverse=bool(sweep % 2)):
            first = [state for state in columns[depth] if state in fixed]
            others = [state for state in columns[depth] if state not in fixed]
            beside = depth + (1 if sweep % 2 else -1)
            others.sort(key=lambda state: _middle(state, beside, graph, neighbours, rows))
            columns[depth] = [*first, *others]
            rows.update((state, row) for row, state in enumerate(columns[depth]))
    x, y = MARGIN + RADIUS, MARGIN + RADIUS + ABOVE
    return {state: (x + ACROSS * graph.depths[state], y + DOWN * row) for state, row in rows.items()}


def _neighbours(graph: Graph, drawn: Sequence[int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {state: set() for state in drawn}
    for state in drawn:
        for edge in graph.edges[state]:
            if edge.target in found and edge.target != state:
                found[state].add(edge.target)
                found[edge.target].add(state)
    return found


def _middle(
    state: int, beside: int, graph: Graph, neighbours: Mapping[int, set[int]], rows: Mapping[int, int]
) -> tuple[float, int]:
    """The mean row of the neighbours in the column beside; a state without any stays where it is."""
    found = [rows[other] for other in neighbours[state] if graph.depths[other] == beside]
    return (sum(found) / len(found) if found else float(rows[state])), state


# -- What is drawn


def _node(known: Study, state: int, places: Mapping[int, tuple[int, int]], dead: bool, best: bool) -> Node:
    graph = known.graph
    resolved = graph.states[state].resolved
    kind = "goal" if resolved else "dead" if dead else "start" if state == 0 else "state"
    left = graph.horizon - graph.depths[state]
    worth = known.values.best[left][state]
    steps = told.count(graph.depths[state], "step")
    parts = ["the start" if state == 0 else f"after {steps} at the soonest", *_described(graph, graph.states[state])]
    if not resolved:
        parts.append(f"at the most {told.units(worth)} still to be had")
        parts += ["the goal is out of reach"] * dead
        same = sum(edge.number for edge in graph.edges[state] if edge.target == state)
        parts += [f"{same} of {graph.choices} actions lead back here"] * bool(same)
    cut = any(edge.target not in places for edge in graph.edges[state])
    x, y = places[state]
    return Node(x, y, kind, best, cut, "" if resolved else told.rounded(worth), _cut("; ".join(parts), TITLE))


def _described(graph: Graph, state: State) -> Iterable[str]:
    """What of a state is not as it is when nothing happened yet."""
    machine = graph.machine
    if state.resolved:
        yield "the goal"
    by_value: dict[str, list[str]] = {}
    for name, slot in zip(machine.fields, state.slots, strict=True):
        value = "pointed out as wrong" if slot.pointed else slot.value
        if value != "none":
            by_value.setdefault(value, []).append(printable(name))
    yield from (f"{value}: {', '.join(names)}" for value, names in by_value.items())
    if machine.ticket.category is not None and state.classified != "none":
        yield f"classified: {state.classified}"
    facts = zip(machine.pack.facts, state.facts, machine.initial.facts, strict=True)
    yield from (printable(f"{name}: {value}") for name, value, at_first in facts if value != at_first)


def _by_target(edges: Iterable[Edge]) -> dict[int, list[Edge]]:
    found: dict[int, list[Edge]] = {}
    for edge in edges:
        found.setdefault(edge.target, []).append(edge)
    return found


def _arrow(
    graph: Graph, state: int, target: int, places: Mapping[int, tuple[int, int]], edges: Sequence[Edge], best: bool
) -> Arrow:
    back = graph.depths[target] <= graph.depths[state]
    wasted = all(edge.wasted for edge in edges)
    return Arrow(_path(places[state], places[target]), best, wasted, back, _cut("\n".join(map(_titled, edges)), TITLE))


def _titled(edge: Edge) -> str:
    alike = f" and {edge.number - 1} alike" if edge.number > 1 else ""
    action = told.words(edge.choice.canonical())
    return f"{action}{alike}: {printable(edge.outcome)}, {edge.reward / REWARD_UNIT:+.4f}"


def _path(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A curve from the right of one circle to the left of another; a bow where it doesn't lead to the right."""
    (x, y), (to_x, to_y) = start, end
    if to_x > x:
        x, to_x = x + RADIUS, to_x - RADIUS
        if y == to_y:
            return f"M{x} {y}H{to_x}"
        half = (to_x - x) // 2
        return f"M{x} {y}C{x + half} {y} {to_x - half} {to_y} {to_x} {to_y}"
    if to_x == x:
        x += RADIUS
        return f"M{x} {y}C{x + 36} {y} {x + 36} {to_y} {x} {to_y}"
    low = max(y, to_y) + RADIUS + 30
    return f"M{x} {y + RADIUS}C{x} {low} {to_x} {low} {to_x} {to_y + RADIUS}"


def _labels(known: Study, places: Mapping[int, tuple[int, int]]) -> Iterable[Label]:
    line = known.optimal.line
    for (state, edge), choice in zip(line, choices_of(known.graph, line), strict=True):
        (x, y), (to_x, to_y) = places[state], places[edge.target]
        values = " ".join(str(value) for _, value in choice.parameters)
        words = tuple(_cut(printable(word), LETTERS) for word in (choice.type, values))
        reward = f"{'+' if edge.reward > 0 else ''}{told.units(edge.reward)}"
        yield Label((x + to_x) // 2, (y + to_y) // 2 - 7, tuple(word for word in words if word), reward)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
