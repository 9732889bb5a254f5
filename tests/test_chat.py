"""An episode as a chat: what a model is told, and which action its answer is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import chat
from engine.action import action_space
from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack
from engine.pack import Pack
from engine.tools import tools
from tests.evaluation.desks import shipped

# Actions and parameters whose names a function or an action's canonical form has another use for.
ODD = """
pack: odd
version: 1.0.0
fields: {a: {description: A}}
facts: {x: {values: [false, true]}}
actions:
  action_5: {description: Free}
  'größe messen!':
    description: Measure
    parameters:
      type: {type: string, enum: [tall, wide]}
      parameters: {type: string, enum: [one, two]}
      loud: {type: boolean, description: Whether, required: false}
rules:
  action_5: [{outcome: none, then: {waste: true, say: No.}}]
  'größe messen!': [{outcome: done, then: {set: {x: true}, say: Done.}}]
tickets: [{id: t, task: easy-info-collection, messages: [Hm.], required: [], goal: {x: true}}]
"""


def odd(folder: Path) -> Pack:
    (folder / "odd.yaml").write_text(ODD, "utf-8")
    return load_pack(folder / "odd.yaml")


def start(pack: Pack, ticket: str) -> Episode:
    return Episode.start(make_case(pack, ticket, 0))


def test_the_first_messages(desk: Pack) -> None:
    """All that is seen, but for the history: its one item is the customer's message."""
    seen = start(desk, "e-two").observation
    system, user = chat.opening("Be quick.", seen)
    assert system == {"role": "system", "content": "Be quick."}
    assert (user["role"], json.loads(user["content"])) == ("user", {k: v for k, v in seen.items() if k != "history"})
    assert chat.opening("", seen) == [user]


def test_news_are_what_was_said_and_what_may_have_changed(desk: Pack) -> None:
    episode = start(desk, "e-two").step({"type": "ask_info", "field": "order"})
    told = json.loads(chat.news(episode.observation))
    assert told == {
        "role": "customer",
        "text": "ORD-1",
        "known_info": {"order": "ORD-1"},
        "required": ["order", "email"],
        "missing_required": ["email"],
        "info_progress": 0.5,
        "status": "open",
        "step_count": 1,
        "remaining_steps": 9,
    }


def test_whom_news_are_told() -> None:
    assert chat.answers([], "news") == [{"role": "user", "content": "news"}]
    assert chat.answers(["a", "b"], "news") == [
        {"role": "tool", "tool_call_id": "a", "content": "news"},
        {"role": "tool", "tool_call_id": "b", "content": chat.ONE_AT_A_TIME},
    ]


@pytest.mark.parametrize("pack", [*shipped(), None], ids=lambda pack: pack.name if pack else "odd")
def test_every_action_can_be_called(pack: Pack | None, tmp_path: Path) -> None:
    """And the call, as JSON, is the action again."""
    pack = pack or odd(tmp_path)
    functions, space = chat.Functions(tools(pack)), action_space(pack)
    for choice in space.choices:
        name, arguments = functions.called(choice.canonical())
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        assert space.understand(functions.action(call)).meaning == choice


def test_functions_have_names_that_services_take(tmp_path: Path) -> None:
    """The action is the fifth; the sixth of that name is taken already."""
    defined = {one["function"]["name"]: one["function"] for one in chat.Functions(tools(odd(tmp_path))).definitions}
    assert list(defined) == ["ask_info", "classify", "resolve", "action_5", "action_5_"]
    assert defined["action_5_"]["description"] == "größe messen!: Measure"
    assert defined["action_5_"]["parameters"]["properties"].keys() == {"type", "parameters", "loud"}


@pytest.mark.parametrize(
    ("call", "action"),
    [
        ({"function": {"name": "resolve"}}, {"type": "resolve", "arguments": {}}),
        ({"name": "resolve", "arguments": '{"a": 1}'}, {"type": "resolve", "arguments": {"a": 1}}),
        ({"name": "nothing_of_ours", "arguments": "x"}, {"type": "nothing_of_ours", "arguments": "x"}),
        ({"function": {"arguments": "{}"}}, {}),
        ({"function": None}, {}),
        ({"type": "custom", "custom": {"name": "resolve"}}, {}),
    ],
)
def test_what_a_call_comes_to(desk: Pack, call: Any, action: Any) -> None:
    assert chat.Functions(tools(desk)).action(call) == action


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"field": "order"}', {"field": "order"}),
        ({"field": "order"}, {"field": "order"}),
        ("", {}),
        (" null ", {}),
        (None, {}),
        ("[]", "[]"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"field": "order"', '{"field": "order"'),
        ("x" * 301, "x" * 300 + "…"),
        ('{"a":' * 21 + "1" + "}" * 21, '{"a":' * 21 + "1" + "}" * 21),
    ],
)
def test_arguments_as_models_write_them(written: Any, meant: Any) -> None:
    assert chat.arguments(written) == meant


# -- Calls in the next request


@pytest.mark.parametrize(
    ("name", "repeated"),
    [
        ("resolve", "resolve"),
        ("größe messen!", "action_5_"),
        ("action_5_", "action_5_"),
        ("nothing_of_ours", "nothing_of_ours"),
        ("functions.resolve", "functions_resolve"),
        ("ask info", "ask_info_"),  # it isn't the action ask_info that was called
        ("x" * 64, "x" * 64),
        ("x" * 1_000_000, "x" * 40),
        ("\ud83d", "_"),
        ("", "_"),
        (7, "7"),
        (None, "null"),
    ],
)
def test_names_that_services_take(tmp_path: Path, name: Any, repeated: str) -> None:
    assert chat.Functions(tools(odd(tmp_path))).repeated({"function": {"name": name}})["name"] == repeated


@pytest.mark.parametrize(
    ("written", "repeated"),
    [
        ('{"field":"order"}', '{"field":"order"}'),
        ('{"field": "\\u00e9"}', '{"field": "\\u00e9"}'),
        ({"field": "é"}, '{"field": "é"}'),
        ("", "{}"),
        ("null", "{}"),
        (None, "{}"),
        ('{"field"', "{}"),
        ('{"a": NaN}', "{}"),
        ("[]", "{}"),
        ('{"field":"\\ud83d"}', '{"field": "\\\\ud83d"}'),
        ('{"field":"\ud83d"}', '{"field": "\\\\ud83d"}'),
    ],
)
def test_arguments_that_services_take(desk: Pack, written: Any, repeated: str) -> None:
    call = {"name": "ask_info", "arguments": written}
    assert chat.Functions(tools(desk)).repeated(call)["arguments"] == repeated


def test_the_ids_of_an_answer_s_calls_differ() -> None:
    given: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "a"},
        {},
        {"id": ""},
        {"id": 7},
        {"id": "\ud83d"},
        {"id": "call_2"},
    ]
    assert chat.call_ids(given, "call") == ["a", "call_2", "call_3", "call_4", "call_5", "\\ud83d", "call_7"]
    assert chat.call_ids([{"id": "c_2"}, {}], "c") == ["c_2", "c_2_"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ""),
        ("Hm.", "Hm."),
        ([{"type": "text", "text": "Hm"}, {"type": "text", "text": "."}], "Hm."),
        ([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "output_text", "text": "Hm."}], "Hm."),
        ({"type": "text", "text": "Hm."}, "Hm."),
        ([None, 7, []], ""),
        ("\ud83d!", "\\ud83d!"),
    ],
)
def test_what_an_assistant_s_message_says(content: Any, said: str) -> None:
    assert chat.said(content) == said


def test_half_of_a_surrogate_pair_is_told_in_words(desk: Pack) -> None:
    """As it is written in JSON and in Python; a whole pair is a character."""
    episode = start(desk, "e-two").step({"type": "ask_info", "field": "a\ud83d"})
    said = "ask_info: 'a\\ud83d' is not a valid field. Valid: order, email, device, colour."
    assert json.loads(chat.news(episode.observation))["text"] == said == episode.error
    episode = episode.step({"type": "\udfff"})
    assert (episode.error or "").startswith("There is no action '\\udfff'. ")
    assert (episode.step({"type": "resolve", "\ud83d": 1}).error or "").startswith("resolve takes no '\\ud83d'.")
    assert json.loads(chat.as_json({"\ud83d": ["😀\ude00"]})) == {"\\ud83d": ["😀\\ude00"]}
