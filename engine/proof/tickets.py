"""The checks of single tickets that follow from the graph of one automaton: P01 to P06, and P10."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.dynamics.grades import expected_grades
from engine.dynamics.graph import Edge, Graph
from engine.dynamics.loops import paying_loop
from engine.dynamics.optimal import Line, Optimal, lines, optimal, to_goal
from engine.dynamics.values import Table, Values, values
from engine.pack import REWARD_UNIT, Demands
from engine.proof.result import Numbers, margin


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """All that is known of one automaton."""

    values: Values
    optimal: Optimal
    numbers: Numbers

    @property
    def graph(self) -> Graph:
        return self.values.graph


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a check fails: a sentence that goes on from "ticket 't-1'", the line that shows it, the step that paid."""

    code: str
    message: str
    line: Line
    paid: int | None = None


def study(graph: Graph) -> Study:
    """Work out what an automaton is worth."""
    found = values(graph)
    best = optimal(found)
    ends = [depth for depth, state in zip(graph.depths, graph.states, strict=True) if state.resolved]
    reaching = best if best.episodes else to_goal(found)
    grades = expected_grades(graph, reaching.steps if reaching is not None else None)
    numbers = Numbers(
        states=len(graph.states),
        optimum=found.optimum,
        worst=found.worst[-1][0],
        short=found.short[-1][0],
        fewest_steps=min(ends, default=None),
        optimal_steps=best.steps,
        optimal_episodes=best.episodes,
        random_return=found.expected,
        random_grades=grades,
    )
    return Study(found, best, numbers)


def faults(known: Study, demands: Demands) -> Iterator[Fault]:
    """What is wrong with an automaton, in the order of the codes."""
    for check in (_solvable, _bounds, _optimum, _shortcut, _farming, _idle, _order):
        fault = check(known, demands)
        if fault is not None:
            yield fault


def _solvable(known: Study, demands: Demands) -> Fault | None:
    if known.numbers.fewest_steps is not None:
        return None
    steps = known.graph.horizon
    return Fault("P01", f"can't be resolved in {steps} steps; this is the most that can be had", known.optimal.line)


def _bounds(known: Study, demands: Demands) -> Fault | None:
    graph = known.graph
    rewards = graph.machine.pack.rewards
    low, high = rewards.minimum, rewards.maximum
    allowed = f"the reward range is {_units(low)} to {_units(high)}"
    for state, edges in enumerate(graph.edges):
        for edge in edges:
            if not low <= edge.reward <= high:
                line = (*graph.line_to(state), (state, edge))
                return Fault("P02", f"has a step that pays {_units(edge.reward)}; {allowed}", line, len(line))
    for name, table in (("most", known.values.best), ("least", known.values.worst)):
        total = table[-1][0]
        if not low <= total <= high:
            found = lines(graph, table, _nothing_left(table))
            return Fault(
                "P02", f"has an episode that returns {_units(total)}, the {name} there is; {allowed}", found.line
            )
    return None


def _optimum(known: Study, demands: Demands) -> Fault | None:
    maximum = known.graph.machine.pack.rewards.maximum
    if known.numbers.optimum == maximum or known.numbers.fewest_steps is None:
        return None
    line = known.optimal.line
    wasted = next((step for step, (_, edge) in enumerate(line, 1) if edge.wasted), None)
    message = f"has a best possible return of {_units(known.numbers.optimum)}, not {_units(maximum)}"
    return Fault("P03", message, line, wasted)


def _shortcut(known: Study, demands: Demands) -> Fault | None:
    best, short, asked = known.numbers.optimum, known.numbers.short, margin(demands, "P04")
    if Fraction(best - short, REWARD_UNIT) >= asked or known.numbers.fewest_steps is None:
        return None
    graph, table = known.graph, known.values.short
    found = lines(
        graph,
        table,
        _nothing_left(table),
        lambda edge: not graph.states[edge.target].resolved,
    )
    message = (
        f"pays {_units(short)} to an episode that misses the goal, {_units(best - short)} less than the best one; "
        f"{float(asked)} are asked for"
    )
    return Fault("P04", message, found.line, _dearest(found.line))


def _farming(known: Study, demands: Demands) -> Fault | None:
    loop = paying_loop(known.graph)
    if loop is None:
        return None
    line, paid = loop
    total = sum(edge.reward for _, edge in line[-paid:])
    return Fault("P05", f"has a loop of states that pays {_units(total)} each time", line, len(line))


def _idle(known: Study, demands: Demands) -> Fault | None:
    """Fields of which something wrong is learned aren't achieved either: more is shown than is asked."""
    graph = known.graph
    idle = [
        not (collected or state.earned or state.classified == "right" or state.resolved)
        for state, collected in zip(graph.states, graph.collected(), strict=True)
    ]
    moves = [[edge for edge in edges if idle[edge.target]] for edges in graph.edges]
    table = [(0,) * len(idle)]
    for remaining in range(1, graph.horizon + 1):
        last = table[-1]
        row = [
            max([0, *(edge.reward + last[edge.target] for edge in moves[number])])
            for number in range(graph.within(remaining))
        ]
        table.append(tuple(row))
    most, kept = table[-1][0], tuple(table)
    if most > 0:
        found = lines(graph, kept, _nothing_left(kept), lambda edge: idle[edge.target]).line
        return Fault("P06", f"returns {_units(most)} to an agent that achieves nothing", found, _dearest(found))
    return _graded(graph, moves)


def _graded(graph: Graph, moves: Sequence[Sequence[Edge]]) -> Fault | None:
    """Whether an episode that makes these moves alone is graded above 0: its score depends on its steps at the most."""
    ways: dict[int, Line] = {0: ()}
    queue, scored = [0], set[int]()
    for number in queue:  # it grows
        line = ways[number]
        if len(line) not in scored:
            scored.add(len(line))
            score = graph.machine.task.grader(_idle_record(graph, len(line)))
            if score > 0:
                return Fault("P06", f"has a score of {score} for an agent that achieves nothing", line)
        for edge in moves[number] if len(line) < graph.horizon else ():
            if edge.target not in ways:
                ways[edge.target] = (*line, (number, edge))
                queue.append(edge.target)
    return None


def _idle_record(graph: Graph, steps: int) -> dict[str, object]:
    """What the graders read of an episode without asks that count, which is as well as they can think of it."""
    machine = graph.machine
    return {
        "task_id": machine.ticket.task,
        "ticket_id": machine.ticket.id,
        "resolved": False,
        "steps": steps,
        "optimal_steps": None,
        "missing_at_start": len(machine.missing_at_start),
        "collected": 0,
        "asks": 0,
        "asks_wasted": 0,
        "classifier": "none",
        "first_classification": "none",
    }


def _order(known: Study, demands: Demands) -> Fault | None:
    grades = known.numbers.random_grades
    if not known.graph.machine.missing_at_start or grades.easy > grades.medium > grades.hard:
        return None
    easy, medium, hard = (float(grade) for grade in (grades.easy, grades.medium, grades.hard))
    message = (
        f"has no order of difficulty: actions taken at random are graded {easy:.4f} by easy, {medium:.4f} by medium "
        f"and {hard:.4f} by hard"
    )
    return Fault("P10", message, known.optimal.line)


def _dearest(line: Line) -> int | None:
    """The step that pays most, the first of several."""
    if not line:
        return None
    return 1 + max(range(len(line)), key=lambda step: (line[step][1].reward, -step))


def _nothing_left(table: Table) -> Callable[[int, int], bool]:
    return lambda remaining, state: table[remaining][state] == 0


def _units(reward: int) -> float:
    return reward / REWARD_UNIT
