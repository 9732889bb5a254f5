"""P09: every rule that the pack adds, every answer turn and every field can come to play somewhere."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from engine.automaton import Automaton
from engine.dynamics.graph import Graph
from engine.pack import Pack
from engine.proof.result import Check


@dataclass(frozen=True, slots=True)
class Played:
    """What comes to play in automata of one shape: rules by identity, and turns of scripts by the kind of the slot."""

    rules: frozenset[int]
    turns: frozenset[tuple[Hashable, int]]


def played(graph: Graph) -> Played:
    """What comes to play in an automaton."""
    raise NotImplementedError


def live(pack: Pack, plays: Sequence[tuple[Automaton, Played | None]]) -> tuple[Check, ...]:
    """The check of the whole pack: one that holds, else one for each thing that never comes to play."""
    raise NotImplementedError
