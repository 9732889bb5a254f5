"""P08: contracts that some reachable observation breaks, by hand and by brute force; and those that none does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode
from engine.load import check_draft, shipped_packs
from engine.pack import Pack
from engine.proof.observed import Observations
from engine.proof.prove import prove
from engine.proof.result import Check
from engine.solve import variants
from tests.proof.brute import cases, episodes
from tests.proof.small_packs import COSTLY, documents, loaded

CONTRACT = load_contract()
SPACE = CONTRACT.observation_space
ENOUGH = 100_000

# Two stalls and a value under the one field; three steps are all there are.
STALLS = """\
pack: stalls
version: 1.0.0
max_steps: 3
fields: {order: {}}
tickets:
  - {id: q-1, task: easy-info-collection, messages: [Nothing came.], required: [order],
     answers: {order: [{say: One moment.}, {say: Hm.}, A1]}}
"""
# A sample and its default script, two messages of which one is a template, a category of two fields.
DRAWN = """\
pack: drawn
version: 1.0.0
fields: {order: {sample: 'L-###'}, colour: {}}
categories: {late: {description: Late, requires: [order]}, swap: {description: Other, requires: [order, colour]}}
tickets:
  - id: q-1
    task: easy-info-collection
    category: late
    messages: [Nothing came., {template: "Where is {{ order }}?", known: [order]}]
"""


def pack_of(tmp_path: Path, text: str) -> Pack:
    path = tmp_path / "pack.yaml"
    path.write_text(text, encoding="utf-8")
    pack, findings = check_draft(path, CONTRACT)
    assert pack is not None, findings
    return pack


def with_part(name: str, schema: Any) -> dict[str, Any]:
    """The contract's observation space, with another schema for one part."""
    return {**SPACE, "properties": {**SPACE["properties"], name: schema}}


def of_items(**properties: Any) -> dict[str, Any]:
    return with_part("history", {"type": "array", "items": {"type": "object", "properties": properties}})


def found(pack: Pack, space: Mapping[str, Any], budget: int = ENOUGH) -> list[Check | None]:
    """What comes of each variant of each ticket."""
    observations = Observations(pack, space, budget)
    return [observations.check(machine) for ticket in pack.tickets.values() for machine in variants(pack, ticket)]


def steps_of(pack: Pack, check: Check | None, space: Mapping[str, Any]) -> int:
    """How long the episode is that is shown; what it shows at its end is invalid, and nothing before."""
    assert check is not None and check.status == "fails" and check.counterexample is not None
    episode = Episode.start(make_case(pack, check.counterexample.ticket, check.counterexample.seed))
    valid = Draft202012Validator(dict(space)).is_valid
    for action in check.counterexample.actions:
        assert valid(episode.observation)
        episode = episode.step(action)
    assert not valid(episode.observation)
    return episode.step_count


BROKEN = {
    # The value is known after the third ask.
    "a value is text": (with_part("known_info", {"additionalProperties": {"type": "integer"}}), 3),
    "a name is known": (with_part("known_info", {"properties": {"order": False}}), 3),
    "all is known": (with_part("info_progress", {"type": "number", "maximum": 0.5}), 3),
    "nothing is missing": (with_part("missing_required", {"minItems": 1}), 3),
    "steps are counted": (with_part("step_count", {"maximum": 1}), 2),
    "no step remains": (with_part("remaining_steps", {"minimum": 1}), 3),
    # One item at the start, and two for each step.
    "a history grows": (with_part("history", {"type": "array", "maxItems": 3}), 2),
    "items have steps": (of_items(step={"maximum": 2}), 3),
    # The desk speaks where an agent classifies.
    "the desk speaks": (of_items(role={"enum": ["agent", "customer"]}), 1),
    "texts are long": (of_items(text={"maxLength": 5}), 0),
    # "Hm." has three characters.
    "texts are short": (of_items(text={"minLength": 4}), 2),
    # Agents send what they like.
    "an action without a type": (of_items(action={"required": ["type"]}), 1),
    "an action of a strange type": (of_items(action={"properties": {"type": {"type": "string"}}}), 1),
    "an action with a strange name": (of_items(action={"properties": {"mood": {"type": "string"}}}), 1),
    "a list where a name is meant": (of_items(action={"properties": {"field": {"items": {"type": "string"}}}}), 1),
    # What one part may be where another is something.
    "parts at odds": ({**SPACE, "if": {"properties": {"step_count": {"const": 3}}, "required": ["step_count"]},
                       "then": {"properties": {"missing_required": {"minItems": 1}}}}, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_shortest_episode_that_breaks_the_contract(name: str, tmp_path: Path) -> None:
    space, steps = BROKEN[name]
    pack = pack_of(tmp_path, STALLS)
    (check,) = found(pack, space)
    assert steps_of(pack, check, space) == steps
    assert check is not None and check.ticket == "q-1" and check.place is not None and check.place.line == 6


KEPT = {
    "the contract's own": SPACE,
    "nothing is asked": {},
    "the numbers are within bounds": with_part("info_progress", {"minimum": 0, "maximum": 1}),
    "the steps are within bounds": with_part("step_count", {"type": "integer", "minimum": 0, "maximum": 3}),
    "a history is as long as it gets": with_part("history", {"type": "array", "minItems": 1, "maxItems": 7}),
    "two kinds of items": with_part(
        "history",
        {"items": {"oneOf": [{"required": ["action"]}, {"required": ["text"], "properties": {"text": True}}]}},
    ),
    "all roles": of_items(role={"enum": ["agent", "customer", "desk"]}),
    "all texts": of_items(text={"minLength": 2}),
    "any words": with_part("customer_message", {"minLength": 1}),
    "parts agree": {**SPACE, "if": {"properties": {"missing_required": {"maxItems": 0}}},
                    "then": {"properties": {"info_progress": {"const": 1}}}},
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_contract_that_is_kept(name: str, tmp_path: Path) -> None:
    assert found(pack_of(tmp_path, STALLS), KEPT[name]) == [None]


def test_a_form_that_no_state_has_breaks_nothing(tmp_path: Path) -> None:
    # With one required field progress is 0 or 1. Half of it would be that of the other category, which nobody gets to
    # see here: a wrong category doesn't show its playbook where what is required shows anyway.
    space = with_part("info_progress", {"enum": [0, 1]})
    assert found(pack_of(tmp_path, DRAWN), space) == [None, None]
    hard = pack_of(tmp_path, DRAWN.replace("easy-info-collection", "hard-efficient-resolution"))
    checks = found(hard, space)
    # Classified wrongly, with the order known: one of the two that the other category needs.
    assert [steps_of(hard, check, space) for check in checks] == [2, 1]


def test_tickets_that_differ_by_names_alone_are_told_apart() -> None:
    pack, _ = check_draft(Path(__file__).parent / "faulty" / "p07.yaml", CONTRACT)
    assert pack is not None
    proof = prove(pack, with_part("known_info", {"properties": {"colour": {"type": "integer"}}}))
    failing = [check.ticket for check in proof.checks if check.code == "P08" and check.status == "fails"]
    assert failing == ["q-2"]  # the only one that has an answer about the colour
    assert not proof.sound


def test_words_that_are_drawn_are_not_proved(tmp_path: Path) -> None:
    pack = pack_of(tmp_path, DRAWN)
    for part, schema in (
        ("customer_message", {"maxLength": 100}),
        ("known_info", {"additionalProperties": {"pattern": "^L"}}),
        ("history", {"items": {"properties": {"text": {"maxLength": 500}}}}),
    ):
        checks = found(pack, with_part(part, schema))
        assert {check and check.status for check in checks} == {"not proved"}
        assert all(check is not None and f"`{part}`" in check.message for check in checks)
    # What is found is found all the same: the template's message is longer than the other.
    space = with_part("customer_message", {"maxLength": 13})
    failing = [check for check in found(pack, space) if check is not None and check.status == "fails"]
    assert [steps_of(pack, check, space) for check in failing] == [0]


def test_what_is_asked_of_a_history_as_a_whole_is_not_proved(tmp_path: Path) -> None:
    pack = pack_of(tmp_path, STALLS)
    for space in (
        with_part("history", {"type": "array", "uniqueItems": True}),
        {**SPACE, "not": {"properties": {"history": {"maxItems": 0}}}},
    ):
        (check,) = found(pack, space)
        assert check is not None and check.status == "not proved" and "histories" in check.message


def test_more_than_may_be_looked_at_is_not_proved(tmp_path: Path) -> None:
    space = with_part("required", {"type": "array", "uniqueItems": True})
    pack = pack_of(tmp_path, STALLS)
    assert found(pack, space) == [None]
    (check,) = found(pack, space, budget=5)
    assert check is not None and check.status == "not proved" and "5" in check.message
    # The contract's own needs no look at states.
    assert found(pack, SPACE, budget=0) == [None]


SPACES = [
    with_part("known_info", {"additionalProperties": {"type": "integer"}}),
    with_part("known_info", {"properties": {"b": {"type": "integer"}}}),
    with_part("known_info", {"required": ["a"]}),
    with_part("known_info", {"minProperties": 1, "maxProperties": 1}),
    with_part("required", {"maxItems": 1}),
    with_part("required", {"items": {"enum": ["a", "b"]}}),
    with_part("missing_required", {"items": {"type": "integer"}}),
    with_part("missing_required", {"minItems": 1}),
    with_part("info_progress", {"enum": [0, 1]}),
    with_part("info_progress", {"exclusiveMaximum": 1}),
    with_part("status", {"const": "open"}),
    with_part("step_count", {"maximum": 1}),
    with_part("history", {"type": "array", "maxItems": 4}),
    {**SPACE, "if": {"properties": {"status": {"const": "resolved"}}},
     "then": {"properties": {"step_count": {"minimum": 3}}}},
]  # fmt: skip


@pytest.mark.parametrize("steps", [1, 2, 3])
@COSTLY
@given(data=st.data())
def test_what_breaks_a_contract_is_what_brute_force_finds(steps: int, data: st.DataObject) -> None:
    pack = loaded(data.draw(documents(steps)))
    if pack is None:
        return
    space = data.draw(st.sampled_from(SPACES))
    valid = Draft202012Validator(space).is_valid
    observations = Observations(pack, space, ENOUGH)
    for ticket in pack.tickets.values():
        for case in cases(pack, ticket):
            lengths = [one.step_count for one in episodes(Episode.start(case)) if not valid(one.observation)]
            check = observations.check(case.automaton)
            if lengths:
                assert steps_of(pack, check, space) == min(lengths)
            else:
                assert check is None


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_what_ships_keeps_the_contract(path: Path) -> None:
    pack, _ = check_draft(path, CONTRACT)
    assert pack is not None
    assert set(found(pack, SPACE, budget=0)) == {None}
