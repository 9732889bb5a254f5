"""The grades that the uniformly random policy may expect, exactly, of each of the contract's three formulas.

Easy and hard follow backwards like a return. Medium divides by the number of asks, so what is added up is kept apart by
that number: as the coefficients of a polynomial in x, one x for each ask. The polynomials are kept in integers, at
x = 2 ** bits (Kronecker substitution: Kronecker 1882; von zur Gathen and Gerhard, Modern Computer Algebra, 8.4), so
that a sum of polynomials is one sum of integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TypeVar

from engine.dynamics.graph import Edge, Graph
from engine.solve import OverBudget

T = TypeVar("T")

# How much is added up for medium's expectation, in bytes of polynomials: some fifteen seconds.
BYTES = 20_000_000_000


@dataclass(frozen=True, slots=True)
class Grades:
    """The expected grade under each formula, in [0, 1]."""

    easy: Fraction
    medium: Fraction
    hard: Fraction


def expected_grades(graph: Graph, optimal_steps: int | None) -> Grades:
    """What the uniformly random policy may expect of one automaton.

    `optimal_steps` are those of a best episode that reaches the goal, as an episode's record has them; None: efficiency
    counts as 1.

    Raises:
        OverBudget: there are too many steps for so many moves.
    """
    return Grades(_easy(graph), _medium(graph), _hard(graph, optimal_steps))


def _shares(graph: Graph) -> tuple[list[int], int]:
    """For each state the share's numerator, and their common denominator."""
    missing = len(graph.machine.missing_at_start)
    if missing:
        return list(graph.collected()), missing
    return [int(state.resolved) for state in graph.states], 1


def _easy(graph: Graph) -> Fraction:
    shares, whole = _shares(graph)
    enough = (whole + 1) // 2  # of 1, where none was missing: 1
    ends = [min(share, enough) for share in shares]
    row = ends
    moves = _moves(graph, lambda edge: None)
    for remaining in range(1, graph.horizon + 1):
        sequences = graph.choices**remaining
        row = [
            sum([number * row[target] for target, _, number in moves[state]])
            if moves[state]
            else ends[state] * sequences
            for state in range(graph.within(remaining))
        ]
    return Fraction(row[0], enough * graph.choices**graph.horizon)


def _medium(graph: Graph) -> Fraction:
    shares, whole = _shares(graph)
    most = graph.choices**graph.horizon * whole * graph.horizon
    bits = most.bit_length() + 1
    # By state: the share of the last state, and that times the asks not wasted, both by the number of asks.
    share, useful = shares, [0] * len(shares)
    moves = _moves(graph, lambda edge: (edge.asks, edge.asks and not edge.wasted))
    # Each move adds a polynomial for every step that remains, half as long on average as the longest.
    if sum(map(len, moves)) * graph.horizon**2 * bits // 16 > BYTES:
        raise OverBudget
    for remaining in range(1, graph.horizon + 1):
        sequences = graph.choices**remaining
        share_row, useful_row = [], []
        for state in range(graph.within(remaining)):
            ended = shares[state] * sequences if not moves[state] else 0
            worth = ended_asks = worth_asks = 0
            for target, (asks, pays), number in moves[state]:
                if not asks:
                    ended += number * share[target]
                    worth += number * useful[target]
                else:
                    ended_asks += number * share[target]
                    worth_asks += number * (useful[target] + share[target] if pays else useful[target])
            share_row.append(ended + (ended_asks << bits))
            useful_row.append(worth + (worth_asks << bits))
        share, useful = share_row, useful_row
    mask = (1 << bits) - 1
    total = Fraction(share[0] & mask)  # no ask made: the share
    for made in range(1, graph.horizon + 1):
        total += Fraction(useful[0] >> made * bits & mask, made)
    return total / Fraction(whole * graph.choices**graph.horizon)


def _hard(graph: Graph, optimal_steps: int | None) -> Fraction:
    horizon, machine = graph.horizon, graph.machine
    unit = 2 * lcm(*range(1, horizon + 1))
    agent = machine.task.classifier == "agent" and machine.ticket.category is not None
    resolved = [state.resolved for state in graph.states]
    moves = _moves(graph, lambda edge: edge.classified)
    # By state, what is to be had where the first classification was right, and where there was none yet.
    right = [0] * len(graph.states)
    none = right
    for remaining in range(1, horizon + 1):
        steps = horizon - remaining + 1
        efficiency = unit if optimal_steps is None else min(unit, unit * optimal_steps // steps)
        goal = efficiency * graph.choices ** (remaining - 1)
        right_row, none_row = [], []
        for state in range(graph.within(remaining)):
            settled = undecided = 0
            for target, told, number in moves[state]:
                after, first = (goal, goal // 2) if resolved[target] else (right[target], none[target])
                settled += number * after
                undecided += number * (first if told is None else after if told == "right" else after // 2)
            right_row.append(settled)
            none_row.append(undecided)
        right, none = right_row, none_row
    return Fraction((none if agent else right)[0], unit * graph.choices**horizon)


def _moves(graph: Graph, kind: Callable[[Edge], T]) -> list[list[tuple[int, T, int]]]:
    """For each state: where one gets by actions of each kind, and by how many. Grades see no more than that."""
    moves = []
    for edges in graph.edges:
        counts: dict[tuple[int, T], int] = {}
        for edge in edges:
            key = edge.target, kind(edge)
            counts[key] = counts.get(key, 0) + edge.number
        moves.append([(target, what, number) for (target, what), number in counts.items()])
    return moves
