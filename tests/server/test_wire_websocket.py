"""`/ws` as OpenEnv's own package speaks it: its client classes play, its models read every frame.

What stands elsewhere: test_socket.py (each message and code once, closing, sessions that are attached),
test_mcp_clients.py (MCPToolClient, list_tools and call_tool, an attached session that is kept, closing and closed),
test_hidden.py (what is hidden, on HTTP), test_wire_mcp.py (JSON-RPC inside a message), test_wire_peers.py (lost
connections, room and silence), test_wire_graders.py (the official collector, whose plan is played here as well).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from openenv.core import EnvClient, GenericEnvClient, MCPToolClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import types as wire
from openenv.core.env_server.mcp_types import JsonRpcResponse, ListToolsAction, Tool, WSMCPMessage, WSMCPResponse
from pydantic import ValidationError
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from engine.load import load_pack, shipped_packs
from server import protocol
from tests.server.wire import ACTIONS, HARD, RESET, ask, closed, rpc, run, shipped, ws

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with shipped(root, tmp_path_factory.mktemp("ws")) as url:
        yield url


@pytest.fixture
def socket(address: str) -> Iterator[Connection]:
    with connect(ws(address)) as opened:
        yield opened


# -- The messages, read by OpenEnv's models


def test_every_reply_is_what_openenv_s_models_take(socket: Connection) -> None:
    def observation(reply: Any, model: Any) -> Any:
        data = wire.WSObservationResponse(**reply).data  # these models refuse members that they don't know
        read = model(**data)
        assert read.observation == data["observation"] and not {"reward", "done"} & data["observation"].keys()
        assert data["metadata"]  # left out where it is empty: null breaks the typed clients
        return read

    for message in ({"type": "reset"}, {"type": "reset", "data": {}}, {"type": "reset", "data": RESET}):
        first = observation(ask(socket, message), wire.ResetResponse)
        assert (first.reward, first.done) == (None, False)
    for number, action in enumerate(ACTIONS, 1):
        step = observation(ask(socket, {"type": "step", "data": action}), wire.StepResponse)
        assert type(step.reward) is float and type(step.done) is bool
        reply = wire.WSStateResponse(**ask(socket, {"type": "state"}))
        assert wire.State(**reply.data).step_count == number and "observation" not in reply.data
    assert step.done is True and step.metadata["score"] == 1.0
    listed = ask(socket, {"type": "step", "data": {"type": "list_tools"}})
    assert "metadata" not in listed["data"]
    tools = wire.StepResponse(**wire.WSObservationResponse(**listed).data).observation["tools"]
    assert [Tool(**tool).name for tool in tools] == ["ask_info", "classify", "resolve"]
    told = WSMCPResponse(**ask(socket, {"type": "mcp", "data": rpc("ping")}))
    assert JsonRpcResponse(**told.data).result == {}
    socket.send('{"type": "close"}')
    assert closed(socket)[0] == 1000


class Act(wire.Action):  # type: ignore[misc]
    type: str
    field: str | None = None
    category: str | None = None


class Seen(wire.Observation):  # type: ignore[misc]
    ticket_id: str
    customer_message: str
    history: list[dict[str, Any]]
    known_info: dict[str, str]
    required: list[str]
    missing_required: list[str]
    info_progress: float
    status: str
    step_count: int
    remaining_steps: int


class Desk(EnvClient):  # type: ignore[misc]
    """A typed client, as OpenEnv's template has it."""

    def _step_payload(self, action: Act) -> Any:
        return action.model_dump()

    def _parse_result(self, payload: Any) -> Any:
        more = {"reward": payload["reward"], "done": payload["done"], "metadata": payload["metadata"]}
        return StepResult(Seen(**payload["observation"], **more), payload["reward"], payload["done"])

    def _parse_state(self, payload: Any) -> Any:
        return wire.State(**payload)


def test_a_typed_client(address: str) -> None:
    with Desk(base_url=address).sync() as env:
        env.reset(episode_id="typed", **RESET)
        results = [env.step(Act(**action)) for action in ACTIONS]  # with `metadata` and nulls in each
        state = env.state()
    assert sum(result.reward for result in results) == 2.0
    assert (results[-1].done, results[-1].observation.status) == (True, "resolved")
    assert (state.episode_id, state.step_count) == ("typed", len(ACTIONS))


def test_the_generic_client_and_its_children(address: str) -> None:
    async def play() -> None:
        async with GenericEnvClient(base_url=address) as env:
            child = await env.new_session()
            await env.reset(episode_id="parent", **RESET)
            await child.reset(episode_id="child", **RESET)
            for action in ACTIONS:
                last = await env.step(action)
            assert (last.reward, last.done, last.metadata["end_reason"]) == (1.0, True, "resolved")
            assert [(await one.state())["step_count"] for one in (env, child)] == [len(ACTIONS), 0]

    run(play())


def test_the_mcp_client_without_await(address: str) -> None:
    with MCPToolClient(base_url=address).sync() as env:
        # Some trainers list the tools first of all.
        assert env.step(ListToolsAction()).observation.tools[0].name == "ask_info"
        env.reset(**RESET)
        assert env.call_tool("classify")["step_count"] == 1
        assert env.has_tool("resolve") and not env.has_tool("reset")
        assert env.state().step_count == 1


# -- Errors, beside what OpenEnv's models say of the same message

MODELS = {
    "reset": wire.WSResetMessage,
    "step": wire.WSStepMessage,
    "state": wire.WSStateMessage,
    "close": wire.WSCloseMessage,
    "mcp": WSMCPMessage,
}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "reset", "data": None},
        {"type": "reset", "data": [1]},
        {"type": "reset", "data": "⚠️", "seed": 7},
        {"type": "reset", "seed": 7, "episode_id": "e"},
        {"type": "step"},
        {"type": "step", "data": None},
        {"more": {"a": [1, None]}, "type": "step", "data": 7},
        {"type": "step", "action": {"type": "classify"}},
        {"type": "state", "data": {}},
        {"type": "close", "data": None},
        {"type": "mcp"},
        {"type": "mcp", "data": [rpc("ping")]},
    ],
    ids=json.dumps,
)
def test_a_message_that_its_type_does_not_take(socket: Connection, message: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        MODELS[message["type"]](**message)
    reply = wire.WSErrorResponse(**ask(socket, message))
    assert reply.data["code"] == wire.WSErrorCode.VALIDATION_ERROR.value
    assert reply.data["errors"] == [
        {"type": error["type"], "loc": list(error["loc"]), "msg": error["msg"], "input": error["input"]}
        for error in refused.value.errors()
    ]
    assert ask(socket, {"type": "reset"})["type"] == "observation"


@pytest.mark.parametrize(
    ("message", "code", "says"),
    [
        ("", "VALIDATION_ERROR", "Invalid message"),
        ('{"type": "state", "type": "reset"}', "INVALID_JSON", "same key twice"),
        ('{"type": "step", "data": {"x": NaN}}', "INVALID_JSON", "NaN is not a JSON value"),
        (b"\xff", "INVALID_JSON", "not UTF-8"),
        ({"type": ["reset"]}, "UNKNOWN_TYPE", "Unknown message type"),
        ({"data": {}}, "UNKNOWN_TYPE", "Unknown message type"),
        ({"type": "step", "data": {"type": "classify", "episode_id": "no"}}, "EXECUTION_ERROR", "no episode 'no'"),
        ({"type": "step", "data": {"type": "classify", "episode_id": 7}}, "VALIDATION_ERROR", "must be a string"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isupper() else "",
)
def test_errors_have_a_code_and_leave_the_socket_open(socket: Connection, message: Any, code: str, says: str) -> None:
    data = wire.WSErrorResponse(**ask(socket, message)).data
    assert wire.WSErrorCode(data["code"]).value == code and says in data["message"]
    assert ("errors" in data) == (code == "VALIDATION_ERROR")
    for error in data.get("errors", ()):
        assert error.keys() == {"type", "loc", "msg", "input"}
    assert ask(socket, {"type": "reset"})["type"] == "observation"


def test_an_error_says_where_and_what_was_given(socket: Connection) -> None:
    refused = ask(socket, {"type": "reset", "data": {"seed": -1, "episode_id": "", "pack": 7}})["data"]
    found = {tuple(error["loc"]): error["input"] for error in refused["errors"]}
    assert found == {("data", "seed"): -1, ("data", "episode_id"): "", ("data", "pack"): 7}


def test_openenv_s_client_raises_what_the_error_says(address: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        for asked, code in (({"seed": -1}, "VALIDATION_ERROR"), ({"ticket_id": "nowhere"}, "EXECUTION_ERROR")):
            with pytest.raises(RuntimeError, match=rf"Server error: .*(seed|nowhere).* \(code: {code}\)"):
                env.reset(**asked)
        env.reset(**RESET)
        assert env.step(ACTIONS[0]).reward == 0.5  # on the same socket


def test_frames_of_any_size_and_kind(socket: Connection) -> None:
    reset = json.dumps({"type": "reset", "data": RESET})
    first = ask(socket, reset)["data"]["observation"]
    assert ask(socket, reset.encode())["data"]["observation"] == first  # binary
    socket.send(part for part in (reset[:9], reset[9:], ""))  # in fragments
    assert json.loads(socket.recv(timeout=30))["data"]["observation"] == first
    large = ask(socket, {"type": "reset", "data": {"note": "x" * 70_000}})["data"]
    assert large["code"] == "VALIDATION_ERROR" and "larger than 65536 bytes" in large["message"]
    # A reply is never too long for a client, whose limit is a megabyte by default.
    many = ask(socket, {"type": "state", **{f"{number:x}": 0 for number in range(6_000)}})["data"]
    assert many["code"] == "VALIDATION_ERROR" and len(json.dumps(many)) < 2_000
    assert ask(socket, reset)["data"]["observation"] == first
    with suppress(ConnectionClosed):
        socket.send("x" * (1 << 21))
    assert closed(socket)[0] == 1009


def test_a_factory_that_fails_shows_nothing() -> None:
    frame = json.loads(protocol.refused("FACTORY_ERROR", ZeroDivisionError("secret")))
    assert wire.WSErrorCode(wire.WSErrorResponse(**frame).data["code"]) is wire.WSErrorCode.FACTORY_ERROR
    assert "secret" not in json.dumps(frame)


# -- One reply for each request, in order, and nothing else


def test_replies_come_in_order_however_fast_the_requests_do(socket: Connection) -> None:
    asked = ({"type": "reset", "data": {"seed": 1}}, {"type": "state"}, {"type": "dance"}, "{", {"type": "step"})
    sent = [asked[number % len(asked)] for number in range(400)]
    sent += [{"type": "mcp", "data": {**rpc("ping"), "id": number}} for number in range(100)]
    sent += [{"type": "mcp", "data": {"jsonrpc": "2.0", "method": "notifications/initialized"}}, {"type": "close"}]
    for message in sent:
        socket.send(message if isinstance(message, str) else json.dumps(message))
    replies = []
    with suppress(ConnectionClosed):
        while True:
            replies.append(json.loads(socket.recv(timeout=30)))
    assert closed(socket)[0] == 1000
    assert len(replies) == len(sent) - 1  # all but the close
    codes = [reply["data"].get("code", reply["type"]) for reply in replies[:400]]
    assert codes == ["observation", "state", "UNKNOWN_TYPE", "INVALID_JSON", "VALIDATION_ERROR"] * 80
    assert [reply["data"]["id"] for reply in replies[400:500]] == list(range(100))
    assert replies[500] == {"type": "mcp", "data": {"jsonrpc": "2.0", "id": None, "result": {}}}


# -- What an agent does is never an error, and what it must not see never comes


def test_an_agents_mistake_is_a_step_whatever_it_is(socket: Connection) -> None:
    mistakes: list[dict[str, Any]] = [
        {},
        {"type": "fly"},
        {"type": None},
        {"type": ["ask_info"], "field": {"order_id": 1}},
        {"type": "ask_info"},
        {"type": "ask_info", "field": "shoe_size"},
        {"type": "ask_info", "field": "order_id", "tone": "kind"},
        {"action": "resolve"},
        {"action": []},
        {"type": "call_tool", "tool_name": "reset"},
    ]
    ask(socket, {"type": "reset", "data": RESET})
    replies = [ask(socket, {"type": "step", "data": mistake}) for mistake in mistakes]
    assert [reply["type"] for reply in replies] == ["observation"] * 10
    assert [reply["data"]["reward"] for reply in replies] == [-0.1] * 10
    assert {reply["data"]["metadata"]["outcome"] for reply in replies} == {"invalid"}
    last = replies[-1]["data"]
    assert (last["done"], last["metadata"]["truncated"], last["metadata"]["end_reason"]) == (True, True, "max_steps")
    assert last["metadata"]["score"] == 0.0


def test_nothing_hidden_comes_before_a_classification(socket: Connection) -> None:
    for path in shipped_packs():
        pack = load_pack(path)
        for ticket in [one for one in pack.tickets.values() if one.task == HARD and one.category is not None]:
            asked = {"pack": pack.name, "ticket_id": ticket.id, "seed": 1, "episode_id": "e"}
            frames = [ask(socket, {"type": "reset", "data": asked})]
            for data in ({"type": "resolve"}, {"type": "fly"}, {"type": "list_tools"}):
                frames += [ask(socket, {"type": "step", "data": data}), ask(socket, {"type": "state"})]
            for frame in frames:
                seen = frame["data"].get("observation", {})
                assert not seen.get("required") and not seen.get("missing_required")
            del frames[-2]  # the tools name all categories
            assert f'"{ticket.category}"' not in json.dumps(frames, ensure_ascii=False)
            assert not any(f'"{word}"' in json.dumps(frames) for word in ("category", "answers", "goal", "known"))


# -- One serializer, and the same bytes


def test_http_and_sockets_say_the_same_bytes(address: str, socket: Connection) -> None:
    """The same seed and actions: not one byte differs, in metadata neither."""
    name = {"episode_id": "same"}
    with httpx.Client(base_url=address, trust_env=False) as http:

        def played(seed: int) -> tuple[list[str], list[str]]:
            bodies = [http.post("/reset", json={**RESET, **name, "seed": seed}).text]
            bodies += [http.post("/step", json={**name, "action": action}).text for action in ACTIONS]
            state = http.get("/state", params=name).text
            socket.send(json.dumps({"type": "reset", "data": {**RESET, **name, "seed": seed}}))
            frames = [str(socket.recv(timeout=30))]
            for action in ACTIONS:
                socket.send(json.dumps({"type": "step", "data": {**action, **name}}))
                frames.append(str(socket.recv(timeout=30)))
            socket.send('{"type": "state"}')
            assert socket.recv(timeout=30) == f'{{"type":"state","data":{state}}}'
            return bodies, frames

        first, again, other = played(9), played(9), played(10)
    assert first == again
    assert first[0] != other[0]  # a seed is never ignored
    assert first[1] == [f'{{"type":"observation","data":{body}}}' for body in first[0]]


def test_a_tools_call_has_the_same_metadata(socket: Connection) -> None:
    def said(message: dict[str, Any]) -> Any:
        data = ask(socket, message)["data"]
        return data["reward"], data["done"], data["metadata"]

    begun = {"type": "reset", "data": {**RESET, "episode_id": "called"}}
    plain = [said(begun), *(said({"type": "step", "data": action}) for action in ACTIONS)]
    given = [{name: value for name, value in action.items() if name != "type"} for action in ACTIONS]
    calls = [
        {"type": "call_tool", "tool_name": action["type"], "arguments": arguments}
        for action, arguments in zip(ACTIONS, given, strict=True)
    ]
    assert [said(begun), *(said({"type": "step", "data": call}) for call in calls)] == plain
