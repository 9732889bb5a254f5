"""`/ws` as it ships: every message, error code and closing rule, over a real socket."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from tests.serving import free_port, serving

LAMPS = Path(__file__).with_name("lamps.yaml")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(root), "PACKS": str(LAMPS), "PORT": str(port)}
    with serving((sys.executable, "-m", "server.app"), port, cwd=tmp_path_factory.mktemp("ws"), env=env) as url:
        yield url


@pytest.fixture
def socket(address: str) -> Iterator[Connection]:
    with connect(address.replace("http", "ws") + "/ws") as opened:
        yield opened


def ask(socket: Connection, message: Any) -> dict[str, Any]:
    socket.send(message if isinstance(message, str) else json.dumps(message))
    reply: dict[str, Any] = json.loads(socket.recv(timeout=10))
    return reply


def error_code(reply: dict[str, Any]) -> str:
    assert reply["type"] == "error"
    return str(reply["data"]["code"])


def test_reset_step_and_state(socket: Connection) -> None:
    first = ask(socket, {"type": "reset", "data": {"seed": 7, "episode_id": "ws-1", "ticket_id": "t-1"}})
    assert first["type"] == "observation"
    assert (first["data"]["reward"], first["data"]["done"]) == (None, False)
    step = ask(socket, {"type": "step", "data": {"type": "classify"}})
    assert (step["data"]["reward"], step["data"]["metadata"]["addressed_by"]) == (0.5, "session")
    assert "reward" not in step["data"]["observation"]
    state = ask(socket, {"type": "state"})
    assert (state["type"], state["data"]["episode_id"], state["data"]["step_count"]) == ("state", "ws-1", 1)


def test_reset_without_data(socket: Connection) -> None:
    assert ask(socket, {"type": "reset"})["data"]["observation"]["step_count"] == 0


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "INVALID_JSON"),
        ({"type": "dance"}, "UNKNOWN_TYPE"),
        ({}, "UNKNOWN_TYPE"),
        ([], "VALIDATION_ERROR"),
        ({"type": "reset", "data": None}, "VALIDATION_ERROR"),
        ({"type": "step"}, "VALIDATION_ERROR"),
        ({"type": "state", "extra": 1}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"seed": -1}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"ticket_id": "no-such"}}, "EXECUTION_ERROR"),
        ({"type": "step", "data": {"type": "classify"}}, "EXECUTION_ERROR"),
        ({"type": "state"}, "EXECUTION_ERROR"),
    ],
)
def test_an_error_leaves_the_socket_open(socket: Connection, message: Any, code: str) -> None:
    reply = ask(socket, message)
    assert error_code(reply) == code
    if code == "VALIDATION_ERROR":
        assert all({"type", "loc", "msg", "input"} <= one.keys() for one in reply["data"]["errors"])
    assert ask(socket, {"type": "reset"})["type"] == "observation"


def test_an_agents_mistake_is_a_step(socket: Connection) -> None:
    ask(socket, {"type": "reset", "data": {"ticket_id": "t-1", "seed": 1}})
    step = ask(socket, {"type": "step", "data": {}})
    assert (step["data"]["reward"], step["data"]["metadata"]["outcome"]) == (-0.1, "invalid")


def test_close(socket: Connection) -> None:
    socket.send(json.dumps({"type": "close"}))
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1000


def test_tools_before_any_reset(socket: Connection) -> None:
    tools = ask(socket, {"type": "step", "data": {"type": "list_tools"}})["data"]["observation"]["tools"]
    assert {"ask_info", "classify", "resolve"} <= {tool["name"] for tool in tools}


def test_json_rpc(socket: Connection) -> None:
    reply = ask(socket, {"type": "mcp", "data": {"jsonrpc": "2.0", "id": 5, "method": "ping"}})
    assert (reply["type"], reply["data"]["id"], reply["data"]["result"]) == ("mcp", 5, {})


def test_a_lost_connection_goes_on_by_episode_id(address: str) -> None:
    url = address.replace("http", "ws") + "/ws"
    with connect(url) as first:
        ask(first, {"type": "reset", "data": {"episode_id": "lost", "ticket_id": "t-1", "seed": 1}})
        answer = ask(first, {"type": "step", "data": {"type": "classify", "request_id": "r1"}})
    with connect(f"{url}?episode_id=lost") as second:
        again = ask(second, {"type": "step", "data": {"type": "classify", "request_id": "r1"}})
        assert again == answer
        assert ask(second, {"type": "state"})["data"]["step_count"] == 1


def test_what_can_not_be_had_is_refused_after_the_handshake(address: str) -> None:
    for query in ("episode_id=nobody", "session_id=nobody"):
        with connect(f"{address.replace('http', 'ws')}/ws?{query}") as refused:
            assert error_code(json.loads(refused.recv(timeout=10))) == "SESSION_ERROR"
            with pytest.raises(ConnectionClosed) as closed:
                refused.recv(timeout=10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1000


def test_a_session_is_held_by_one_socket_at_a_time(address: str) -> None:
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
    session = httpx.post(f"{address}/mcp", json=rpc).json()["result"]["session_id"]
    url = f"{address.replace('http', 'ws')}/ws?session_id={session}"
    with connect(url) as holder, connect(url) as other:
        assert error_code(json.loads(other.recv(timeout=10))) == "SESSION_ERROR"
        assert ask(holder, {"type": "reset"})["type"] == "observation"
    with connect(url) as later:  # detaching kept the session, and its episode
        assert ask(later, {"type": "state"})["type"] == "state"
