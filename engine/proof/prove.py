"""The proof of a pack: every ticket in every variant, and the pack as a whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from engine.automaton import Automaton
from engine.dynamics.graph import explore
from engine.pack import Demands, Pack, Ticket
from engine.proof.blind import FirstMoves, Opening, blind, first_moves
from engine.proof.episodes import seed_of, shown
from engine.proof.leaks import leaks
from engine.proof.live import Played, live, played
from engine.proof.observed import Observations
from engine.proof.result import Check, Numbers, PackProof, TicketProof, Variant, severity
from engine.proof.tickets import Study, faults, study
from engine.solve import Budget, OverBudget, variants
from engine.symmetry import Symmetry
from engine.turns import Manner, manners

# The checks of single tickets; the others are about a pack as a whole.
OF_TICKETS = ("P01", "P02", "P03", "P04", "P05", "P06", "P08", "P10")
# How many different moves are looked at for each variant of a ticket: some seconds, and some hundred megabytes.
BUDGET = 500_000


def prove(
    pack: Pack,
    space: Mapping[str, Any],
    demands: Demands | None = None,
    budget: int = BUDGET,
    progress: Callable[[int], None] = lambda proved: None,
) -> PackProof:
    """The proof of a pack.

    `space` is the contract's observation space, a JSON Schema; `demands` come before the pack's own. `budget` is how
    many different moves are looked at for each variant of a ticket; `progress` hears after each ticket how many are
    through.
    """
    asked = demands.over(pack.demands) if demands is not None else pack.demands
    prover = Prover(pack, space, asked, budget)
    tickets: list[TicketProof] = []
    checks: list[Check] = []
    for ticket in pack.tickets.values():
        proof, found = prover.ticket(ticket)
        tickets.append(proof)
        checks += found
        progress(len(tickets))
    of_blind, bounds = blind(pack, prover.openings, asked)
    checks += (*of_blind, *live(pack, prover.plays), *leaks(pack))
    kept = tuple(check for check in checks if severity(asked, check.code) != "ignore")
    ordered = tuple(sorted(kept, key=lambda check: check.code))  # stable: the tickets keep their order
    return PackProof(pack.name, pack.version, pack.digest, asked, tuple(tickets), ordered, bounds)


@dataclass(frozen=True, slots=True)
class _Summary:
    """What is true of all automata of one shape; `faulty` where a check of tickets fails.

    `symmetry` and `moves` are those of the one that was looked at, the latter none where nobody has to read.
    """

    numbers: Numbers
    faulty: bool
    played: Played
    symmetry: Symmetry
    moves: FirstMoves


class Prover:
    """Goes from ticket to ticket, and studies automata of one shape once. `plays` and `openings` are of all so far."""

    def __init__(self, pack: Pack, space: Mapping[str, Any], demands: Demands, budget: int) -> None:
        self._pack, self._demands, self._budget = pack, demands, budget
        self._observations = Observations(pack, space, budget)
        self._summaries: dict[Hashable, _Summary | None] = {}  # None where it isn't proved
        self.plays: list[tuple[Automaton, Played | None]] = []
        self.openings: list[Opening] = []

    def ticket(self, ticket: Ticket) -> tuple[TicketProof, list[Check]]:
        """The numbers of a ticket's variants, and its checks: of variants that fail in one way the first counts."""
        found = []
        checks = {code: Check(code, "holds", ticket.id) for code in OF_TICKETS}
        for machine in variants(self._pack, ticket):
            summary, own = self._look_at(machine)
            numbers = summary.numbers if summary is not None else None
            known = frozenset(machine.fields[index] for index, slot in enumerate(machine.initial.slots) if slot.source)
            found.append(Variant(known, machine.manner, seed_of(self._pack, ticket, machine), numbers))
            self.plays.append((machine, summary.played if summary is not None else None))
            if machine.reads:
                moves = _renamed(summary, machine) if summary is not None else None
                self.openings.append(Opening(machine, share(self._pack, ticket, known, machine.manner), moves))
            for check in self._failures(machine, summary, own):
                if checks[check.code].status != "fails":
                    checks[check.code] = check
        return TicketProof(ticket.id, tuple(found)), list(checks.values())

    def _look_at(self, machine: Automaton) -> tuple[_Summary | None, Study | None]:
        """What is true of an automaton, and its own study where that tells more: names, and counterexamples."""
        shape = Symmetry(machine).shape()
        if shape in self._summaries:
            summary = self._summaries[shape]
            if summary is None or not summary.faulty:
                return summary, None
        try:
            own = study(explore(machine, Budget(self._budget)))
        except OverBudget:
            self._summaries[shape] = None
            return None, None
        if shape not in self._summaries:
            faulty = next(faults(own, self._demands), None) is not None
            moves = first_moves(own) if machine.reads else {}
            self._summaries[shape] = _Summary(own.numbers, faulty, played(own.graph), own.graph.symmetry, moves)
        return self._summaries[shape], own

    def _failures(self, machine: Automaton, summary: _Summary | None, own: Study | None) -> Iterator[Check]:
        ticket = machine.ticket
        if summary is None:
            message = (
                f"ticket '{ticket.id}' isn't proved: it has more than {self._budget:,} different moves, or too many "
                f"for {self._pack.max_steps} steps"
            )
            for code in OF_TICKETS:
                if code != "P08":
                    yield Check(code, "not proved", ticket.id, message, ticket.place)
        elif own is not None and summary.faulty:
            for fault in faults(own, self._demands):
                message = f"ticket '{ticket.id}' {fault.message}"
                episode = shown(own.graph, fault.line, fault.paid)
                yield Check(fault.code, "fails", ticket.id, message, ticket.place, episode)
        seen = self._observations.check(machine)
        if seen is not None:
            yield seen


def _renamed(known: _Summary, machine: Automaton) -> FirstMoves:
    """The first moves of an automaton of a shape that is known."""
    counterpart = Symmetry(machine).counterpart(known.symmetry)
    return {choice: known.moves[counterpart(choice)] for choice in machine.actions.choices}


def share(pack: Pack, ticket: Ticket, known: frozenset[str], manner: Manner) -> Fraction:
    """How many of a ticket's cases are of a variant: its messages and its people are drawn equally often."""
    stated = [frozenset((*ticket.known, *message.known)) == known for message in ticket.messages]
    people = [one == manner for one in manners(pack, ticket)]
    return Fraction(sum(stated), len(stated)) * Fraction(sum(people), len(people))
