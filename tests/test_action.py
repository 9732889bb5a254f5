"""The forms in which actions arrive, and the schema that describes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.action import Choice, Mistake, action_schema, action_space, normalise
from engine.pack import Pack

ASK = {"type": "ask_info", "field": "order"}


@pytest.mark.parametrize(
    "body",
    [
        {"type": "ask_info", "field": "order"},
        {"name": "ask_info", "field": "order"},
        {"action_type": "ask_info", "field": "order"},
        {"type": "ask_info", "parameters": {"field": "order"}},
        {"name": "ask_info", "arguments": {"field": "order"}},
        {"method": "tools/call", "params": {"name": "ask_info", "arguments": {"field": "order"}}},
        {"type": "ask_info", "field": "order", "category": None, "metadata": {}},
        {"type": "ask_info", "name": "resolve", "field": "order"},
        {"type": "ask_info", "field": "order", "parameters": {"field": None}},
        {"method": "tools/call", "params": {"name": "ask_info", "arguments": {"field": "order"}, "_meta": {"x": 1}}},
    ],
)
def test_understood_forms(body: dict[str, Any]) -> None:
    assert normalise(body) == ASK


def test_a_parameter_with_a_word_of_the_envelope_stands_under_parameters() -> None:
    body = {"type": "send", "parameters": {"type": "mail", "to": "x"}}
    assert normalise(body) == {"type": "send", "to": "x", "parameters": {"type": "mail"}}
    assert normalise(normalise(body)) == normalise(body)


def test_what_is_no_action_comes_out_as_it_came() -> None:
    assert normalise({}) == {}
    assert normalise({"type": 3, "parameters": [1]}) == {"type": 3, "parameters": {"parameters": [1]}}


CALL = {"method": "tools/call", "params": {"name": "ask_info", "arguments": {"field": "order"}}}


@pytest.mark.parametrize(
    "body",
    [
        {"type": "classify", "arguments": CALL},
        {"type": "classify", "parameters": CALL},
        {"method": "tools/call", "params": CALL},
        {"type": "x", "parameters": {"arguments": CALL}},
    ],
)
def test_a_call_within_an_action_is_no_call(body: dict[str, Any]) -> None:
    canonical = normalise(body)
    assert canonical != ASK
    assert normalise(canonical) == canonical


words = st.sampled_from(
    ["type", "name", "action_type", "parameters", "arguments", "metadata", "method", "params", "field"]
)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("tools/call") | st.just(CALL),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | words, inner, max_size=3),
)


@given(st.dictionaries(words | st.text(max_size=5), json_values, max_size=5))
def test_any_object_is_a_choice_or_a_mistake(desk: Pack, body: dict[str, Any]) -> None:
    canonical = normalise(body)
    assert normalise(canonical) == canonical
    assert isinstance(action_space(desk).choice(canonical), Choice | Mistake)


def test_true_is_not_one(desk: Pack) -> None:
    assert isinstance(action_space(desk).choice({"type": "ask_info", "field": True}), Mistake)


def test_every_choice_is_enumerated_once(desk: Pack) -> None:
    # Four fields; classify with none or one of three categories; resolve; tell by mail or phone.
    assert len(action_space(desk).choices) == 4 + 4 + 1 + 2
    assert len(set(action_space(desk).choices)) == 11


def test_the_schema_accepts_every_choice_and_nothing_else(desk: Pack) -> None:
    schema = action_schema(desk)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for choice in action_space(desk).choices:
        assert validator.is_valid(choice.canonical())
        assert action_space(desk).choice(choice.canonical()) == choice
    for wrong in ({}, {"type": "ask_info"}, {"type": "ask_info", "field": "x"}, {"type": "resolve", "field": "order"}):
        assert not validator.is_valid(wrong)
