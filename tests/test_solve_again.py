"""What was found of tickets once and is kept: a second look finds what a first one would."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.check_command import Checker
from engine.diagnostics import Finding
from engine.load import load_pack
from engine.new import EXAMPLE
from engine.pack import Pack
from engine.solve import Unsound, Verdict, Verdicts, ticket_findings
from tests.proof.small_packs import Document, documents, loaded

FAKE = Verdict(Unsound("PACK060", "is said to be unsound", "to be asked again"), 0)


def told(findings: list[Finding]) -> list[tuple[str, str, str | None]]:
    return [(finding.code, finding.message, finding.expected) for finding in findings]


def first_look(pack: Pack) -> list[tuple[str, str, str | None]]:
    return told([*ticket_findings(pack)])


@given(documents(5), st.integers(2, 6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_a_second_look_finds_what_a_first_one_would(document: Document, steps: int) -> None:
    """Whatever was looked at before, of packs that differ in their tickets only."""
    tickets = document["tickets"]
    packs = [loaded({**document, "tickets": own}) for own in ([tickets[0]], tickets[::-1], tickets)]
    sound = [pack for pack in packs if pack is not None]
    assume(sound)
    verdicts: Verdicts = {}
    for pack in (*sound, *sound):
        assert told([*ticket_findings(pack, verdicts)]) == first_look(pack)


def test_what_is_known_is_not_looked_for(desk: Pack) -> None:
    verdicts: Verdicts = {}
    assert [*ticket_findings(desk, verdicts)] == []
    found = [*ticket_findings(desk, dict.fromkeys(verdicts, FAKE))]
    assert told(found) == [
        ("PACK060", f"ticket '{name}' is said to be unsound", "to be asked again") for name in desk.tickets
    ]


def test_what_is_known_costs_as_much_as_it_did(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a pack would be let in that a check from the beginning refuses."""
    pack = load_pack(root / "tests" / "packs" / "desk.yaml")
    verdicts: Verdicts = {}
    assert [*ticket_findings(pack, verdicts)] == []
    whole = sum(verdict.spent for verdict in verdicts.values())
    monkeypatch.setattr("engine.solve.TICKET_BUDGET", 0)
    for budget in (whole, whole - 1, whole // 2, 0):
        monkeypatch.setattr("engine.solve.PACK_BUDGET", budget)
        again = told([*ticket_findings(pack, verdicts)])
        assert again == first_look(pack)
        assert ("PACK062" in {code for code, *_ in again}) == (budget < whole)
        # What could not be looked at is not known.
        assert all(verdict.told is None for verdict in verdicts.values())


def test_what_decides_all_tickets_is_looked_at(tmp_path: Path) -> None:
    """At its best a ticket that stays as it is takes six steps: with five it goes without being classified."""
    path, checker = tmp_path / "p.yaml", Checker({})
    for steps, codes in ((6, []), (5, ["PACK061"]), (6, [])):
        path.write_text(f"{EXAMPLE}max_steps: {steps}\n", "utf-8")
        assert [finding.code for finding in checker.check(path).findings] == codes
