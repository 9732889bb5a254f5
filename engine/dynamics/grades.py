"""The grades that the uniformly random policy may expect, exactly, of each of the contract's three formulas.

Easy and hard follow backwards like a return. Medium divides by the number of asks, so what is added up is kept apart by
that number: as the coefficients of a polynomial in x, one x for each ask. The polynomials are kept in integers, at
x = 2 ** bits (Kronecker substitution: Kronecker 1882; von zur Gathen and Gerhard, Modern Computer Algebra, 8.4), so
that a sum of polynomials is one sum of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from engine.dynamics.graph import Graph


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
    row = [min(share, enough) for share in shares]
    ends = row
    for sequences in _sequences(graph):
        row = [
            sum(edge.number * row[edge.target] for edge in edges) if edges else ends[state] * sequences * graph.choices
            for state, edges in enumerate(graph.edges)
        ]
    return Fraction(row[0], enough * graph.choices**graph.horizon)


def _medium(graph: Graph) -> Fraction:
    shares, whole = _shares(graph)
    most = graph.choices**graph.horizon * whole * graph.horizon
    bits = most.bit_length() + 1
    # By state: the share of the last state, and that times the asks not wasted, both by the number of asks.
    share, useful = shares, [0] * len(shares)
    for sequences in _sequences(graph):
        share_row, useful_row = [], []
        for state, edges in enumerate(graph.edges):
            ended = shares[state] * sequences * graph.choices if not edges else 0
            worth = 0
            for edge in edges:
                after, earned = share[edge.target], useful[edge.target]
                if edge.asks:
                    earned = (earned if edge.wasted else earned + after) << bits
                    after <<= bits
                ended += edge.number * after
                worth += edge.number * earned
            share_row.append(ended)
            useful_row.append(worth)
        share, useful = share_row, useful_row
    mask = (1 << bits) - 1
    total = Fraction(share[0] & mask)  # no ask made: the share
    for asks in range(1, graph.horizon + 1):
        total += Fraction(useful[0] >> asks * bits & mask, asks)
    return total / Fraction(whole * graph.choices**graph.horizon)


def _hard(graph: Graph, optimal_steps: int | None) -> Fraction:
    horizon, machine = graph.horizon, graph.machine
    unit = 2 * lcm(*range(1, horizon + 1))
    agent = machine.reads
    # By state, what is to be had where the first classification was right, and where there was none yet.
    right = [0] * len(graph.states)
    none = right
    for taken, sequences in zip(range(horizon - 1, -1, -1), _sequences(graph), strict=True):
        right_row, none_row = [], []
        for edges in graph.edges:
            settled = undecided = 0
            for edge in edges:
                if graph.states[edge.target].resolved:
                    steps = taken + 1
                    efficiency = unit if optimal_steps is None else min(unit, unit * optimal_steps // steps)
                    after = efficiency * sequences
                    first = after // 2
                else:
                    after, first = right[edge.target], none[edge.target]
                if edge.classified is not None:
                    first = after if edge.classified == "right" else after // 2
                settled += edge.number * after
                undecided += edge.number * first
            right_row.append(settled)
            none_row.append(undecided)
        right, none = right_row, none_row
    return Fraction((none if agent else right)[0], unit * graph.choices**horizon)


def _sequences(graph: Graph) -> list[int]:
    """How many sequences of valid actions there are of 0, 1, 2 ... steps, one step fewer than `max_steps`."""
    return [graph.choices**steps for steps in range(graph.horizon)]
