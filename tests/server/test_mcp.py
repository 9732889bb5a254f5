"""MCP without a network: JSON-RPC and its errors, the handshake, sessions."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema
import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from engine.contract import Contract
from engine.pack import Pack
from server.app import create_app
from server.mcp import VERSIONS, Mcp
from server.problems import Problem
from server.service import Service
from server.settings import Settings
from server.store import Key, Step
from server.store.memory import MemoryStore
from tests.server.rpc import LATEST, Agent, fault, initialize, message, post, result, sessions
from tests.server.specification import Specification


@pytest.fixture
def mcp(service: Service) -> Mcp:
    return Mcp(service, sessions(capacity=2))


@pytest.fixture
def agent(naive: FlaskClient) -> Agent:
    return Agent(naive)


# -- JSON-RPC


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, None),
        (b"\xff", -32700, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b"7", -32600, None),
        ({"id": 1, "method": "ping"}, -32600, 1),
        (message("ping", jsonrpc="1.0"), -32600, 1),
        ({"jsonrpc": "2.0", "id": 1}, -32600, 1),
        (message("ping") | {"method": 7}, -32600, 1),
        (message("ping", "x"), -32600, 1),
        (message("ping", [1]), -32602, 1),
        (message("ping", request_id=True), -32600, None),
        (message("ping", request_id=1.5), -32600, None),
        (message("ping", request_id=[1]), -32600, None),
        (message("resources/list"), -32601, 1),
        (message("tools/fly", request_id="a"), -32601, "a"),
        (message("initialize"), -32602, 1),
        (message("initialize", {"protocolVersion": 1}), -32602, 1),
        (message("tools/list", {"cursor": "x"}), -32602, 1),
        (message("tools/list", {"session_id": 7}), -32602, 1),
        (message("tools/call"), -32602, 1),
        (message("tools/call", {"name": 7}), -32602, 1),
        (message("tools/call", {"name": "classify", "arguments": ["delivery"]}), -32602, 1),
        (message("tools/call", {"name": "classify", "session_id": "none"}), -32602, 1),
        (message("openenv/session/close"), -32602, 1),
        (message("openenv/session/close", {"session_id": "none"}), -32602, 1),
    ],
)
def test_mistakes_are_answered_in_json_rpc(naive: FlaskClient, body: Any, code: int, request_id: Any) -> None:
    response = post(naive, body)
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert fault(response.json, code, request_id) is None


@pytest.mark.parametrize("given", ["initialized", 0, -1, "", 2**70])
def test_an_id_comes_back_as_it_was(naive: FlaskClient, given: Any) -> None:
    assert post(naive, message("ping", request_id=given)).json == {"jsonrpc": "2.0", "id": given, "result": {}}


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": None},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": {"code": 1, "message": ""}},
        [{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 4, "result": {}}],
    ],
)
def test_what_needs_no_answer_gets_none(naive: FlaskClient, mcp: Mcp, body: Any) -> None:
    response = post(naive, body)
    assert (response.status_code, response.data) == (202, b"")
    session = sessions(1).open(socket=True)
    assert mcp.receive(json.dumps(body), session) is None
    if isinstance(body, dict):  # on /ws each message has its reply
        assert mcp.handle(body, session) == {"jsonrpc": "2.0", "id": None, "result": {}}


def test_a_request_without_an_id_is_answered_as_openenv_does(naive: FlaskClient) -> None:
    body = {"jsonrpc": "2.0", "method": "tools/list"}
    assert post(naive, body).json["id"] is None  # type: ignore[index]
    assert len(result(post(naive, body).json)["tools"]) == 4


def test_batches_are_of_one_version(naive: FlaskClient) -> None:
    batch = [message("ping", request_id=1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7]
    answers: Any = post(naive, batch).json
    assert result(answers[0]) == {} and len(answers) == 2
    fault(answers[1], -32600, None)
    fault(post(naive, []).json, -32600, None)
    begun: Any = post(naive, [message("initialize", {"protocolVersion": LATEST})]).json
    fault(begun[0], -32600)
    fault(post(naive, batch, **{"MCP-Protocol-Version": "2025-06-18"}).json, -32600, None)
    for version in VERSIONS:
        session = initialize(naive, version)
        # What was agreed on counts, whatever a header says.
        answer: Any = post(naive, [message("ping")], session, **{"MCP-Protocol-Version": "2025-03-26"}).json
        assert isinstance(answer, list) == (version == "2025-03-26")


def test_a_batch_is_counted_before_any_of_it_is_taken(mcp: Mcp) -> None:
    """Whoever hands a frame over has counted one message already."""
    session, counted = sessions(1).open(socket=True), []

    def spend(count: int) -> None:
        counted.append(count)
        if len(counted) > 1:
            raise Problem(429, "Too many requests: try again after 1 second.", retry_after=1)

    def say(messages: Any) -> Any:
        reply = mcp.receive(json.dumps(messages), session, spend)
        return None if reply is None else json.loads(reply)

    call, told = message("tools/call", {"name": "classify"}), {"jsonrpc": "2.0", "method": "notifications/x"}
    for alone in (call, [], [call] * 65):  # one message, and batches that are none
        say(alone)
    assert counted == []
    assert [result(reply)["data"]["step_count"] for reply in say([call, told, call])] == [2, 3]
    assert fault(say([call, call]), -32000, None) is None
    assert counted == [2, 1]
    assert result(say(call))["data"]["step_count"] == 4


def test_the_answers_to_a_batch_have_so_much_room(naive: FlaskClient) -> None:
    """Nine actions of 16 KiB make an answer of more than 400 kB, since it has the history three times."""
    agents = [Agent(naive, initialize(naive, "2025-03-26")) for _ in range(4)]
    for agent in agents:
        for _ in range(9):
            agent.call("say", text="x" * 16_300)
    calls = [
        message("tools/call", {"name": "resolve", "session_id": agent.session}, number)
        for number, agent in enumerate(agents)
    ]
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = post(naive, [*calls, told], agents[0].session)
    replies: Any = response.json
    assert [result(reply)["data"]["step_count"] for reply in replies[:2]] == [10, 10]
    assert len(replies) == 4
    for number in (2, 3):
        assert fault(replies[number], -32000, number) is None
        assert "send fewer messages" in replies[number]["error"]["message"]
        assert agents[number].call("resolve")["data"]["step_count"] == 10  # it was not taken
    assert 800_000 < len(response.data) < 1024 * 1024  # what clients take by default


def test_too_large_a_body_is_refused_before_it_is_read(naive: FlaskClient) -> None:
    assert post(naive, b" " * 70_000).status_code == 413


def test_a_mistake_of_the_server_shows_nothing(lamps: Pack) -> None:
    class Broken(MemoryStore):
        def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
            raise ZeroDivisionError("secret")

    response = post(create_app([lamps], Broken()).test_client(), message("tools/call", {"name": "classify"}))
    assert response.status_code == 200 and b"secret" not in response.data
    assert fault(response.json, -32603) is None


# -- the handshake and sessions


@pytest.mark.parametrize("asked", [*VERSIONS, "2024-10-07", "1999-01-01", ""])
def test_the_version_asked_for_is_spoken_if_it_is_known(naive: FlaskClient, contract: Contract, asked: str) -> None:
    response = post(naive, message("initialize", {"protocolVersion": asked}))
    answer = result(response.json)
    assert answer["protocolVersion"] == (asked if asked in VERSIONS else LATEST)
    assert answer["capabilities"] == {"tools": {"listChanged": False}}
    assert answer["serverInfo"] == {"name": contract.name, "version": "1.0"}
    assert response.headers["Mcp-Session-Id"]


def test_initialize_tells_the_instructions_of_the_default_pack(naive: FlaskClient, lamps: Pack) -> None:
    answer = result(post(naive, message("initialize", {"protocolVersion": LATEST})).json)
    assert answer["instructions"] == lamps.instructions


def test_each_session_plays_its_own_episode(naive: FlaskClient) -> None:
    first, second = Agent(naive), Agent(naive)
    assert first.session != second.session
    first.call("reset", ticket_id="t-1")
    second.call("reset", ticket_id="t-2")
    for agent, ticket in ((first, "t-1"), (second, "t-2"), (first, "t-1")):
        assert agent.call("classify")["structuredContent"]["ticket_id"] == ticket
    assert first.call("classify")["structuredContent"]["step_count"] == 3
    # OpenEnv's way of naming a session stands above the header.
    asked = message("tools/call", {"name": "classify", "session_id": first.session})
    assert result(post(naive, asked, second.session).json)["structuredContent"]["step_count"] == 4


def test_a_session_that_is_gone_asks_for_a_new_handshake(naive: FlaskClient, agent: Agent) -> None:
    ended = naive.delete("/mcp", headers={"Mcp-Session-Id": agent.session})
    assert (ended.status_code, ended.json) == (200, {"session_id": agent.session, "closed": True})
    response = post(naive, message("ping"), agent.session)
    assert response.status_code == 404  # as the protocol has it: clients initialize again
    assert fault(response.json, -32602) is None
    again = post(naive, message("initialize", {"protocolVersion": LATEST}), agent.session)
    assert again.status_code == 200 and again.headers["Mcp-Session-Id"] not in ("", agent.session)
    assert naive.delete("/mcp", headers={"Mcp-Session-Id": agent.session}).status_code == 404
    assert naive.delete("/mcp").status_code == 400


def test_there_is_no_stream_to_get(naive: FlaskClient) -> None:
    response = naive.get("/mcp")
    assert response.status_code == 405
    assert {"POST", "DELETE"} <= set(response.headers["Allow"].split(", "))


def test_openenv_sessions(naive: FlaskClient) -> None:
    created = result(post(naive, message("openenv/session/create")).json)
    assert created.keys() == {"session_id"}
    named = {"session_id": created["session_id"]}
    for count in (1, 2):
        called = result(post(naive, message("tools/call", {"name": "classify", **named})).json)
        assert called["data"]["step_count"] == count
    assert result(post(naive, message("openenv/session/close", named)).json) == {**named, "closed": True}
    fault(post(naive, message("openenv/session/close", named)).json, -32602)
    fault(post(naive, message("tools/call", {"name": "classify", **named})).json, -32602)
    own = initialize(naive)  # over HTTP a client may end the session that it speaks in
    assert result(post(naive, message("openenv/session/close", {"session_id": own}), own).json)["closed"] is True


def test_there_are_so_many_sessions_and_no_more(lamps: Pack) -> None:
    client = create_app([lamps], configured=Settings(max_sessions=2)).test_client()
    initialize(client)
    result(post(client, message("openenv/session/create")).json)
    for asked in (message("openenv/session/create"), message("initialize", {"protocolVersion": LATEST})):
        response = post(client, asked)
        assert response.status_code == 200
        assert fault(response.json, -32000) == {"active_sessions": 2, "max_sessions": 2}


def test_a_session_that_a_socket_holds_closes_with_it(service: Service) -> None:
    registry = sessions(capacity=2)
    mcp = Mcp(service, registry)
    socket = registry.open(socket=True)
    free = result(mcp.handle(message("openenv/session/create"), socket))["session_id"]
    assert free == socket.id  # on a socket: its own
    fault(mcp.handle(message("openenv/session/close", {"session_id": socket.id}), socket), -32600)
    held = registry.attach(registry.open().id)
    for _ in range(2):
        closing = result(mcp.handle(message("openenv/session/close", {"session_id": held.id}), socket))
        assert closing == {"session_id": held.id, "closed": False, "closing": True}
    registry.detach(held)
    fault(mcp.handle(message("openenv/session/close", {"session_id": held.id}), socket), -32602)


def test_frames_on_a_socket(mcp: Mcp) -> None:
    session = sessions(1).open(socket=True)

    def say(text: str) -> Any:
        reply = mcp.receive(text, session)
        return None if reply is None else json.loads(reply)

    fault(say("{"), -32700, None)
    fault(say("\udcff"), -32700, None)  # a binary frame that isn't UTF-8
    fault(say("{}"), -32600, None)
    fault(say(json.dumps(message("ping", {"x": "y" * 70_000}))), -32600, None)
    began = say(json.dumps(message("initialize", {"protocolVersion": "2025-03-26"})))
    assert result(began)["protocolVersion"] == session.protocol == "2025-03-26"
    assert say(json.dumps([message("ping")])) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    for count in (1, 2):
        played = result(say(json.dumps(message("tools/call", {"name": "classify"}))))
        assert played["structuredContent"]["step_count"] == count


# -- the specification


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
METHODS = ("initialize", "ping", "tools/list", "tools/call", "openenv/session/create", "openenv/session/close", "x")
PARAMS = st.dictionaries(st.sampled_from(["name", "arguments", "session_id", "protocolVersion", "cursor"]), JSON)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS)}, optional={"id": JSON, "params": PARAMS | JSON}
)


@pytest.fixture(scope="module")
def served(lamps: Pack) -> FlaskClient:
    return create_app([lamps]).test_client(use_cookies=False)


@pytest.fixture(scope="module")
def reply(served: FlaskClient) -> jsonschema.protocols.Validator:
    """What a 200 may say."""
    described: Any = served.get("/openapi.json").json
    schema = described["paths"]["/mcp"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    return jsonschema.Draft202012Validator({**schema, "components": described["components"]})


@settings(deadline=None)
@given(body=JSON | MESSAGES | st.lists(MESSAGES | JSON, max_size=3))
def test_whatever_comes_is_answered(served: FlaskClient, reply: jsonschema.protocols.Validator, body: Any) -> None:
    response = post(served, body)
    assert response.status_code in (200, 202)
    if response.status_code == 200:
        reply.validate(response.json)
    assert b'"code":-32603' not in response.data


def test_answers_are_as_the_specification_says(naive: FlaskClient, agent: Agent) -> None:
    specification = Specification(naive.get("/openapi.json").json)

    def check(response: TestResponse) -> None:
        headers = httpx.Headers(list(response.headers))
        specification.check(response.request.method, "/mcp", response.status_code, headers, response.data)

    for body in (b"", {}, message("ping"), [message("ping")], message("tools/list"), message("tools/call")):
        check(post(naive, body))
        check(post(naive, body, "no-such-session"))
    check(post(naive, message("tools/call", {"name": "classify"})))
    check(post(naive, {"jsonrpc": "2.0", "method": "notifications/initialized"}))
    check(post(naive, b" " * 70_000))
    for headers in ({}, {"Mcp-Session-Id": "none"}, {"Mcp-Session-Id": agent.session}):
        check(naive.delete("/mcp", headers=headers))
