"""P07: how near a policy that doesn't read comes to the best return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.action import Choice
from engine.automaton import Automaton
from engine.pack import Demands, Pack
from engine.proof.result import Check
from engine.proof.tickets import Study


@dataclass(frozen=True, slots=True)
class FirstMove:
    """What one action does at the start. `worth` is the reward and V* after it; `outcome` and `reward` are what is
    heard of it, `changed` whether the state is another."""

    worth: int
    reward: int
    outcome: str
    changed: bool


FirstMoves = Mapping[Choice, FirstMove]


@dataclass(frozen=True, slots=True)
class Opening:
    """A variant of a ticket, how often the ticket's cases are of it, and its first moves; None where not proved."""

    machine: Automaton
    weight: Fraction
    moves: FirstMoves | None


def first_moves(known: Study) -> FirstMoves:
    """All valid actions in the initial state."""
    raise NotImplementedError


def blind(
    pack: Pack, openings: Sequence[Opening], demands: Demands
) -> tuple[tuple[Check, ...], Mapping[str, Fraction]]:
    """The check of the whole pack, and the greatest bound by task."""
    raise NotImplementedError
