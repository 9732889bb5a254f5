"""Models behind OpenAI's interface: a whole conversation over real HTTP, and the verdict of all that may go wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.case import make_case
from engine.chat import ONE_AT_A_TIME, ONLY_TOOLS
from engine.episode import Episode
from engine.evaluation.agents import AgentError, AgentUnusable
from engine.evaluation.openai_agent import OpenAIAgent
from engine.evaluation.options import AgentOptions
from engine.evaluation.spent import Spent
from engine.load import load_pack
from engine.pack import Pack
from engine.tools import tools
from tests.evaluation.completions import Reply, Service, call, calls, error, hang, message, raw, refusal, serving, text
from tests.evaluation.desks import played, words

KEY = "sk-very-secret-key"


@contextmanager
def model(*replies: Reply, **options: Any) -> Iterator[tuple[OpenAIAgent, Service]]:
    with serving(*replies) as service:
        agent = OpenAIAgent("m-1", service.url, KEY, AgentOptions(**{"retries": 0, "seconds": 20.0, **options}))
        yield agent, service
        agent.close()


def seen(pack: Pack, ticket: str = "e-two") -> dict[str, Any]:
    return Episode.start(make_case(pack, ticket, 0)).observation


def asked(agent: OpenAIAgent, pack: Pack) -> Any:
    return agent(seen(pack), tools(pack), instructions=pack.instructions)


# -- A conversation


def test_a_whole_conversation(desk: Pack) -> None:
    replies = (
        calls(("classify",)),
        calls(("ask_info", {"field": "order"})),
        calls(("ask_info", {"field": "email"}), ("resolve",)),
        calls(("resolve", "")),
    )
    with model(*replies) as (agent, service):
        episode = played(agent, desk, "e-two")
    assert words(episode) == ["classify", "ask_info order", "ask_info email", "resolve"]
    assert (episode.total, episode.score()) == (2.0, 1.0)
    first, *_, last = service.asked
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.body["model"] == "m-1"
    system, user = first.body["messages"]
    assert system == {"role": "system", "content": desk.instructions}
    opening = {name: value for name, value in seen(desk).items() if name != "history"}
    assert (user["role"], json.loads(user["content"])) == ("user", opening)
    function = first.body["tools"][0]["function"]
    shown = tools(desk)[0]
    assert function == {"name": "ask_info", "description": shown["description"], "parameters": shown["inputSchema"]}
    # Each request repeats all that was said before; the last has the answers to both calls of the one before it.
    for one, other in pairwise(service.asked):
        assert other.body["messages"][: len(one.body["messages"])] == one.body["messages"]
    called, done, not_done = last.body["messages"][-3:]
    assert [one["function"]["name"] for one in called["tool_calls"]] == ["ask_info", "resolve"]
    assert (done["role"], done["tool_call_id"]) == ("tool", "call_1")
    told = json.loads(done["content"])
    assert (told["role"], told["text"]) == ("customer", "a@example.org")
    assert told["known_info"] == {"order": "ORD-1", "email": "a@example.org"}
    assert told.keys() == {*opening, "role", "text"} - {"ticket_id", "customer_message"}
    assert not_done == {"role": "tool", "tool_call_id": "call_2", "content": ONE_AT_A_TIME}


def test_each_episode_is_a_conversation_of_its_own(desk: Pack) -> None:
    with model(calls(("resolve",))) as (agent, service):
        for _ in range(2):
            agent(seen(desk), tools(desk), instructions="Be quick.")
    assert len(service.asked[1].body["messages"]) == 2


def test_what_a_request_has_besides(desk: Pack) -> None:
    options = {"temperature": 0.0, "request": (("max_completion_tokens", "500"), ("service_tier", '"flex"'))}
    with model(calls(("resolve",)), **options) as (agent, service):
        asked(agent, desk)
    body = service.asked[0].body
    assert (body["temperature"], body["max_completion_tokens"], body["service_tier"]) == (0.0, 500, "flex")
    assert body.keys() == {"model", "messages", "tools", "temperature", "max_completion_tokens", "service_tier"}


def test_actions_of_any_name_can_be_called(tmp_path: Path) -> None:
    """Names that a tool can't have there become others, which aren't taken."""
    path = tmp_path / "pack.yaml"
    path.write_text(
        "pack: names\nversion: 1.0.0\nfields: {a: {description: A}}\n"
        "actions: {action_5: {description: Free}, 'größe messen!': {description: Measure}}\n"
        "facts: {x: {values: [false, true]}}\n"
        "rules: {action_5: [{outcome: none, then: {waste: true, say: No.}}],\n"
        "  'größe messen!': [{outcome: done, then: {set: {x: true}, say: Done.}}]}\n"
        "tickets: [{id: t, task: easy-info-collection, messages: [Hm.], required: [], goal: {x: true}}]\n",
        "utf-8",
    )
    pack = load_pack(path)
    with model(calls(("action_5_",)), calls(("action_5",)), calls(("resolve",))) as (agent, service):
        episode = played(agent, pack, "t")
    assert words(episode) == ["größe messen!", "action_5", "resolve"]
    named = {one["function"]["name"]: one["function"]["description"] for one in service.asked[0].body["tools"]}
    assert named["action_5_"] == "größe messen!: Measure"
    assert named["action_5"] == "Free"


# -- What the model does wrongly is a step


def outcomes(pack: Pack, *replies: Reply) -> tuple[list[tuple[str, str]], Service]:
    """Of the steps that come of these replies and a resolve: outcome and what was said."""
    with model(*replies, calls(("resolve",))) as (agent, service):
        episode = Episode.start(make_case(pack, "e-idle", 0))
        given = tools(pack)
        while not episode.done:
            episode = episode.step(agent(episode.observation, given, instructions=pack.instructions))
    return [(step.outcome, step.text) for step in episode.steps], service


INVALID: list[tuple[tuple[Reply, ...], str]] = [
    ((calls(("ask_info", '{"field": "order"')),), "ask_info takes no 'arguments'. It takes: field."),
    ((calls(("resolve", "well, resolve")),), "resolve takes no 'arguments'. It takes: nothing."),
    ((calls(("resolve", "[]")),), "resolve takes no 'arguments'. It takes: nothing."),
    ((calls(("resolve", '{"a": NaN}')),), "resolve takes no 'arguments'. It takes: nothing."),
    ((calls(("resolve", '{"a": 1e999}')),), "resolve takes no 'arguments'. It takes: nothing."),
    ((calls(("resolve", "[" * 5_000)),), "resolve takes no 'arguments'. It takes: nothing."),
    ((calls(("resolve", '{"a":' * 50 + "1" + "}" * 50)),), "resolve takes no 'arguments'. It takes: nothing."),
    ((calls(("ask_info", {"field": "shoe"})),), "ask_info: 'shoe' is not a valid field. Valid: order, email, device"),
    ((calls(("ask_info",)),), "ask_info needs field: one of order, email, device, colour."),
    ((calls(("refund_all", {"to": "me"})),), "There is no action 'refund_all'. Valid actions: ask_info"),
    ((text("I'd resolve."), text("As I said.")), "No action was named. Valid actions: ask_info, classify"),
    ((refusal(), refusal()), "No action was named. Valid actions: "),
    ((text(""), message("length", content=None)), "No action was named. Valid actions: "),
]


@pytest.mark.parametrize(("replies", "said"), INVALID)
def test_what_a_model_does_wrongly_is_an_invalid_step(desk: Pack, replies: tuple[Reply, ...], said: str) -> None:
    steps, service = outcomes(desk, *replies)
    assert [outcome for outcome, _ in steps] == ["invalid", "resolve.done"]
    assert steps[0][1].startswith(said)
    # The model hears of it; and what is said again is JSON, as some services read it anew.
    *_, last = service.asked[-1].body["messages"]
    assert json.loads(last["content"])["text"] == steps[0][1]
    for one in service.asked[-1].body["messages"]:
        for made in one.get("tool_calls", ()):
            assert isinstance(json.loads(made["function"]["arguments"]), dict)


@pytest.mark.parametrize("first", [text("Let me think."), refusal()])
def test_a_model_that_calls_no_tool_is_asked_once_more(desk: Pack, first: Reply) -> None:
    steps, service = outcomes(desk, first)
    assert [outcome for outcome, _ in steps] == ["resolve.done"]
    assert service.asked[1].body["messages"][-1] == {"role": "user", "content": ONLY_TOOLS}


ODD: list[Reply] = [
    calls(("resolve", "null")),
    calls(("resolve", " ")),
    message("tool_calls", tool_calls=[{**call("resolve"), "id": None}]),
    message("tool_calls", tool_calls=[{**call("resolve"), "function": {"name": "resolve", "arguments": {}}}]),
    message("tool_calls", usage=False, tool_calls=[call("resolve")], reasoning_content="hm", content="So be it."),
]


@pytest.mark.parametrize("reply", ODD)
def test_what_some_services_make_of_a_call_is_understood(desk: Pack, reply: Reply) -> None:
    steps, _ = outcomes(desk, reply)
    assert [outcome for outcome, _ in steps] == ["resolve.done"]


# -- What the service fails to do is an error


ERRORS: list[tuple[Reply, str]] = [
    (error(429, "slow down"), "answered 429, asked 1 time: slow down"),
    (error(500, "oops\n" + "x" * 1_000), "answered 500, asked 1 time: oops xxx"),
    (error(400, "the context is too long"), "answered 400: the context is too long"),
    (raw(b'{"choices": ['), "answered what isn't JSON."),
    (raw(b"<html>", Content_Type="text/html"), "gave no completion."),
    (raw(b"{}"), "gave no completion."),
    (raw(b'{"choices": [], "error": {"message": "overloaded"}}'), "gave no completion: {'message': 'overloaded'}"),
    (raw(b"[]"), "gave no completion."),
    (message("content_filter", content="I"), "held the model's answer back: it didn't pass the filter."),
    (lambda handler: setattr(handler, "close_connection", True), "can't be reached: "),
]


@pytest.mark.parametrize(("reply", "said"), ERRORS)
def test_what_a_service_fails_to_do_is_an_error(desk: Pack, reply: Reply, said: str) -> None:
    with model(reply) as (agent, service), pytest.raises(AgentError) as failed:
        asked(agent, desk)
    assert not isinstance(failed.value, AgentUnusable)
    assert str(failed.value).startswith(f"The service of openai:m-1 at {service.url}/ {said}")
    assert len(str(failed.value)) < 500


def test_a_service_may_take_too_long(desk: Pack) -> None:
    with (
        model(hang(3), seconds=0.3) as (agent, _),
        pytest.raises(AgentError, match=r"gave no answer within 0\.3 s, asked"),
    ):
        asked(agent, desk)


UNUSABLE: list[tuple[Reply, str]] = [
    (
        error(401, f"Incorrect API key: {KEY}"),
        "refuses the key (401; OPENAI_API_KEY, API_KEY or HF_TOKEN hold it): Inc",
    ),
    (error(403, "not in your country"), "refuses the key (403; "),
    (error(404, "The model m-1 does not exist"), "knows no such model, or is no such service (404): The model m-1"),
    (error(429, "You exceeded your quota", "insufficient_quota"), "isn't paid for any more (429): You exceeded"),
]


@pytest.mark.parametrize(("reply", "said"), UNUSABLE)
def test_what_no_episode_would_survive_ends_the_run(desk: Pack, reply: Reply, said: str) -> None:
    with model(reply) as (agent, service), pytest.raises(AgentUnusable) as failed:
        asked(agent, desk)
    assert str(failed.value).startswith(f"The service of openai:m-1 at {service.url}/ {said}")
    assert KEY not in str(failed.value)


def test_what_is_refused_for_now_is_asked_again(desk: Pack) -> None:
    replies = (error(429), error(503), hang(5), calls(("resolve",)))
    with model(*replies, retries=3, seconds=2) as (agent, service):
        assert asked(agent, desk)["type"] == "resolve"
    assert len(service.asked) == 4
    assert all(one.body == service.asked[0].body for one in service.asked)


def test_it_waits_as_long_as_it_is_told_to(desk: Pack) -> None:
    with model(error(429, retry_after="1.2"), calls(("resolve",)), retries=1) as (agent, _):
        began = time.monotonic()
        asked(agent, desk)
    assert time.monotonic() - began > 1.15  # without the header it waits half a second at the most


def test_it_is_not_asked_for_ever(desk: Pack) -> None:
    with model(error(429, retry_after="0.01"), retries=2) as (agent, service), pytest.raises(AgentError) as failed:
        asked(agent, desk)
    assert len(service.asked) == 3
    assert "answered 429, asked 3 times: no" in str(failed.value)


def test_after_an_error_the_next_episode_begins_anew(desk: Pack) -> None:
    with model(calls(("resolve",)), error(500), calls(("resolve",))) as (agent, service):
        first = seen(desk)
        asked(agent, desk)
        with pytest.raises(AgentError):
            agent({**first, "step_count": 1}, tools(desk))
        asked(agent, desk)
    assert service.asked[2].body == service.asked[0].body


# -- The account


def test_tokens_and_money_are_counted(desk: Pack) -> None:
    """Two answers of 100 and 10 tokens: 200 at 2.5 dollars and 20 at 10 dollars a million are 0.0007 dollars."""
    with model(text("Hm."), calls(("resolve",)), price_in=2.5, price_out=10.0) as (agent, _):
        assert agent.spent == Spent(0, 0, 0.0)
        asked(agent, desk)
        assert agent.spent.tokens == 220
        assert agent.spent.cost == pytest.approx(0.0007)


def test_without_prices_there_is_no_cost_and_without_a_count_nothing(desk: Pack) -> None:
    with model(message("tool_calls", usage=False, tool_calls=[call("resolve")])) as (agent, _):
        asked(agent, desk)
        assert agent.spent == Spent(0, 0, None)


def test_what_no_service_would_read_again_is_repeated_in_other_words(desk: Pack) -> None:
    """Half of a surrogate pair as its escape, invented names in the letters of names, no two calls of one id."""
    made = message("tool_calls", tool_calls=[call("ask_info", '{"field":"\ud83d"}'), call("functions.resolve", "x")])
    with serving(made, text("\ud83d"), calls(("classify",))) as service:
        agent = OpenAIAgent("m", service.url, "key", AgentOptions(retries=0))
        episode = played(agent, desk, "e-two")
        agent.close()
    assert (episode.steps[0].outcome, episode.steps[0].text.split(".")[0]) == (
        "invalid",
        "ask_info: '\\ud83d' is not a valid field",
    )
    first, *told, second, _ = service.asked[2].body["messages"][2:]
    assert [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in first["tool_calls"]] == [
        ("call_1", "ask_info", '{"field": "\\\\ud83d"}'),
        ("call_2_2", "functions_resolve", "{}"),
    ]
    assert [one["tool_call_id"] for one in told] == ["call_1", "call_2_2"]
    assert second["content"] == "\\ud83d"
