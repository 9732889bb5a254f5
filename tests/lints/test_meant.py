"""PACK080 to PACK085: what is said but hardly meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.marked import HEAD, TESTS, found, linted, ticket

BASE = (Path(__file__).parents[1] / "packs" / "lamps.yaml").read_text(encoding="utf-8")


def edited(old: str, new: str) -> str:
    assert BASE.count(old) == 1, old
    return BASE.replace(old, new)


MEANT = [
    ("[Where is it?]", "[▲'Where is {{ order }}?']", "PACK080",
     "'{{ order }}' stays as it is in a plain text; where it is to be filled in, write {template: ...}"),
    ("say: Told.", "say: ▲'Told {{ told }}.'", "PACK080",
     "'{{ told }}' stays as it is in a plain text; where it is to be filled in, write {template: ...}"),
    ("[Where is it?]", '[▲{template: "Where is {{ order }}?"}]', "PACK081",
     "this message states 'order', and an agent has to ask for it all the same; list it under `known`"),
    ("    - {outcome: idle", "    - {outcome: done, then: {say: x}}\n    - ▲{outcome: idle", "PACK082",
     "this rule never fires: the one at line 24 has no `when`, so it always does"),
    ("[Where is it?]", "[▲“Where is it?”]", "PACK083", "these quotes are part of the text; YAML knows ' and \" only"),
    ("[Another colour., ", "[Another colour., ▲Another colour., ", "PACK084",
     "this message stands here twice, so it is picked twice as often"),
    ("stalls: 1, says", "▲says", "PACK085",
     "'slow' never says this: say in `stalls` how many turns come before each answer"),
    ("stalls: 1, says: [Hold on.]", "stalls: 1, ▲refuses_with: [No.]", "PACK085",
     "'slow' never says this: say in `refuses` how many turns come before each answer"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code", "said"), MEANT, ids=[case[2] + case[1][:20] for case in MEANT])
def test_what_was_hardly_meant(old: str, new: str, code: str, said: str) -> None:
    assert found(edited(old, new), code) == [said]
    assert [finding.code for finding in linted(edited(old, new))] == [code]
    assert linted(edited(old, new), {code: "ignore"}) == []
    assert [finding.severity for finding in linted(edited(old, new), {code: "error"})] == ["error"]


@pytest.mark.parametrize("text", ["{{ name }}", "Say “yes”.", "{ order }", "‘Twas late’ he said"])
def test_what_may_well_be_meant(text: str) -> None:
    assert linted(edited("[Where is it?]", f"['{text}']")) == []


def test_a_ticket_says_which_fields_a_message_may_state() -> None:
    text = HEAD + ticket("a", "late", "{template: 'Where is {{ order }}?'}", more="    known: {order: L-1}\n")
    text = text.replace("    answers: {order: L-4821, colour: dark green}\n", "")
    assert found(text + TESTS, "PACK081") == []
