"""Pack mutation testing: would anybody notice if a pack were a little different?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from engine.build import build, pack_validator
from engine.contract import Contract
from engine.diagnostics import Finding, Report
from engine.nodes import File, Map, items, placeless
from engine.openings import opening_findings
from engine.pack import Pack, Ticket
from engine.pack_tests import all_failures, sentence
from engine.proof.apart import Difference, difference
from engine.proof.blind import blind
from engine.proof.leaks import leaks
from engine.proof.live import live
from engine.proof.mutant import KINDS, Mutant, changed
from engine.proof.prove import BUDGET, Prover
from engine.proof.result import Check, severity
from engine.schema import check
from engine.scripted import check_tests
from engine.solve import Budget, OverBudget, ticket_findings

# Who noticed a mutant: the loader, a test or the proof; else whether it can be told from the pack at all.
Fate = Literal["refused", "tested", "proved", "survived", "equivalent"]
FATES: tuple[Fate, ...] = get_args(Fate)
KILLED: tuple[Fate, ...] = ("refused", "tested", "proved")
# How many moves are looked at for an episode that tells a mutant that nobody noticed from the pack.
LOOK = 2_000_000


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant and what became of it. `by` says what noticed it, or why nothing can.

    `test` is the episode that tells a survivor from the pack, so that a test of it would notice; None where there is
    none, or none was found.
    """

    mutant: Mutant
    fate: Fate
    by: str = ""
    test: Difference | None = None


@dataclass(frozen=True, slots=True)
class Mutation:
    """What became of a pack's mutants."""

    pack: Pack
    judged: tuple[Judged, ...]

    def of(self, *fates: Fate) -> tuple[Judged, ...]:
        """The mutants that came to one of these ends."""
        return tuple(one for one in self.judged if one.fate in fates)

    @property
    def score(self) -> Fraction:
        """The share of the mutants that were killed; equivalent ones don't count. 1 where there are none."""
        killed, survived = len(self.of(*KILLED)), len(self.of("survived"))
        return Fraction(killed, killed + survived) if killed + survived else Fraction(1)

    def kinds(self) -> Mapping[str, Mutation]:
        """The same for each kind of mutant that there are any of."""
        by_kind = {kind: tuple(one for one in self.judged if one.mutant.kind == kind) for kind in KINDS}
        return {kind: Mutation(self.pack, judged) for kind, judged in by_kind.items() if judged}


def mutate(
    pack: Pack,
    document: Map,
    contract: Contract,
    all_of_them: Iterable[Mutant],
    progress: Callable[[int], None] = lambda judged: None,
) -> Mutation:
    """What becomes of mutants of a pack whose own tests pass. `document` is what the pack was built from.

    `progress` hears after each mutant how many are through.
    """
    judge = _Judge(pack, document, contract)
    judged: list[Judged] = []
    for mutant in all_of_them:
        judged.append(judge.judge(mutant))
        progress(len(judged))
    return Mutation(pack, tuple(judged))


class _Judge:
    """Builds mutants, and asks whoever may notice, the quickest first."""

    def __init__(self, pack: Pack, document: Map, contract: Contract) -> None:
        self._pack, self._document, self._contract = pack, document, contract
        self._proof = _Proof(pack, contract)
        self._failed = _failures(self._proof.checks())
        if self._failed:  # what is told of a failure may hold the place of a rule, and mutants stand nowhere
            again = self._built({**document})
            self._failed |= _failures(_Proof(again, contract).checks()) if isinstance(again, Pack) else {}

    def judge(self, mutant: Mutant) -> Judged:
        built = self._built(self._alone(mutant))
        if isinstance(built, str):
            return Judged(mutant, "refused", built)
        if self._is_same(built, mutant.ticket):
            return Judged(mutant, "equivalent", "it is the same pack, only written in another way")
        noticed = next(map(sentence, all_failures(built)), None)
        if noticed is not None:
            return Judged(mutant, "tested", noticed)
        noticed = self._refused(built)
        if noticed is not None:
            return Judged(mutant, "refused", noticed)
        try:
            test, why = difference(self._pack, built, built.tickets, Budget(LOOK)), ""
        except OverBudget:
            test, why = None, f"no test was found in {LOOK:,} moves"
        if test is None and not why:
            why = self._beside_play(mutant, built)
            if not why:
                return Judged(mutant, "equivalent", "no episode tells it from the pack")
        noticed = self._proof_notices(mutant, built)
        if noticed is not None:
            return Judged(mutant, "proved", noticed)
        return Judged(mutant, "survived", why, test)

    def _beside_play(self, mutant: Mutant, built: Pack) -> str:
        """What an agent can see of a mutant although each episode is the same."""
        if mutant.kind == "task":
            return "only the ticket's task tells it from the pack"
        return "only the instructions tell it from the pack" if built.instructions != self._pack.instructions else ""

    def _alone(self, mutant: Mutant) -> dict[str, Any]:
        """The document of a mutant; where it is about one ticket, with this ticket and its tests alone."""
        if mutant.ticket is None:
            return self._whole(mutant)
        tests = [test for test in items(self._document, "tests") if test["ticket"] == mutant.ticket]
        return {**self._document, "tickets": [mutant.value], "tests": tests}

    def _whole(self, mutant: Mutant) -> dict[str, Any]:
        document: dict[str, Any] = changed(self._document, mutant.at, mutant.value)
        return document

    def _built(self, document: dict[str, Any]) -> Pack | str:
        """The pack, or what the loader says against it before it looks at whether tickets can be resolved."""
        report, nodes = Report(), placeless(document, File("a mutant", ""))
        pack = build(nodes, self._contract, report, check(nodes, pack_validator(), report))
        if pack is not None:
            check_tests(pack, nodes, report)
        return _first_error(report.findings()) or pack or ""

    def _refused(self, built: Pack) -> str | None:
        """What the loader says against a pack's tickets."""
        space = self._contract.observation_space
        return _first_error((*ticket_findings(built), *opening_findings(built, space)))

    def _is_same(self, built: Pack, ticket: str | None) -> bool:
        """Whether a mutant is the same pack, only written in another way."""
        if ticket is not None:
            return built.tickets[ticket] == self._pack.tickets[ticket]
        parts = ("max_steps", "rewards", "fields", "categories", "people", "noise", "facts", "actions", "tasks")
        return all(getattr(built, part) == getattr(self._pack, part) for part in (*parts, "tickets", "instructions"))

    def _proof_notices(self, mutant: Mutant, built: Pack) -> str | None:
        """A check that fails, and didn't before."""
        proof = self._proof if mutant.ticket is not None else _Proof(built, self._contract)
        found = proof.checks(built.tickets[mutant.ticket] if mutant.ticket is not None else None)
        return next((message for failed, message in _failures(found).items() if failed not in self._failed), None)


class _Proof:
    """The checks of a pack in which one ticket is another: what was found of the others is kept."""

    def __init__(self, pack: Pack, contract: Contract) -> None:
        self._pack, self._space = pack, contract.observation_space
        self._base = Prover(pack, self._space, pack.demands, BUDGET)
        self._tickets = {ticket.id: self._base.ticket(ticket)[1] for ticket in pack.tickets.values()}

    def checks(self, ticket: Ticket | None = None) -> list[Check]:
        """The checks with this ticket in place of the one of its id; without one, of the pack as it is."""
        pack, plays, openings, of_tickets = self._pack, self._base.plays, self._base.openings, self._tickets
        if ticket is not None:
            pack = replace(pack, tickets={**pack.tickets, ticket.id: ticket})
            prover = Prover(pack, self._space, pack.demands, BUDGET)
            of_tickets = {**of_tickets, ticket.id: prover.ticket(ticket)[1]}
            plays = [one for one in plays if one[0].ticket.id != ticket.id] + prover.plays
            openings = [one for one in openings if one.machine.ticket.id != ticket.id] + prover.openings
        of_pack = (*blind(pack, openings, pack.demands)[0], *live(pack, plays), *leaks(pack))
        found = [check for checks in of_tickets.values() for check in checks]
        return [check for check in (*found, *of_pack) if severity(pack.demands, check.code) != "ignore"]


def _first_error(findings: Iterable[Finding]) -> str | None:
    return next((f"{one.code}: {one.message}" for one in findings if one.severity == "error"), None)


def _failures(checks: Iterable[Check]) -> dict[tuple[str, str | None, str], str]:
    """What doesn't hold, by what makes it the same in another pack, each with what is told of it.

    Numbers in a message may change: a check of tickets fails once a ticket, and P07 as a whole.
    """
    found = {}
    for one in checks:
        if one.status in ("fails", "not proved"):
            same = one.message if one.code in ("P09", "P11") else ""
            found[one.code, one.ticket, same] = f"{one.code}: {one.message}"
    return found
