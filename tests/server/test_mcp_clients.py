"""The clients that people use, unmodified, against the server as it ships: FastMCP, the MCP SDK, OpenEnv's."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from mcp import ClientSession
from mcp.client.websocket import websocket_client
from openenv.core import MCPToolClient
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from websockets.sync.client import connect

from engine.load import load_pack
from tests.serving import free_port, serving

LAMPS = Path(__file__).with_name("lamps.yaml")
T = TypeVar("T")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(root), "PACKS": str(LAMPS), "PORT": str(port)}
    with serving((sys.executable, "-m", "server.app"), port, cwd=tmp_path_factory.mktemp("mcp"), env=env) as url:
        yield url


def run(conversation: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(conversation, 60))


# -- FastMCP, over streamable HTTP


def test_fastmcp_plays_a_ticket_from_start_to_end(address: str) -> None:
    async def play() -> None:
        async with Client(f"{address}/mcp") as client:
            assert client.initialize_result is not None
            assert client.initialize_result.instructions == load_pack(LAMPS).instructions
            assert await client.ping()
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert list(tools) == ["ask_info", "classify", "resolve", "reset"]
            seen = (await client.call_tool("reset", {"ticket_id": "t-2", "seed": 1})).structured_content
            while seen is not None and seen["missing_required"]:
                # The order's number needs three asks: a stall, a wrong value, the right one.
                seen = (await client.call_tool("ask_info", {"field": seen["missing_required"][0]})).structured_content
            first = await client.call_tool("resolve")
            assert first.structured_content is not None and first.structured_content["status"] == "open"
            await client.call_tool("ask_info", {"field": "order"})
            last = await client.call_tool("resolve")
            # FastMCP has checked it against the output schema, and made an object of it.
            assert (last.data.status, last.data.step_count, last.is_error) == ("resolved", 6, False)
            with pytest.raises(ToolError, match="The episode is over: call reset"):
                await client.call_tool("resolve")
            assert (await client.call_tool("reset")).data.step_count == 0

    run(play())


def test_fastmcp_hears_of_mistakes(address: str) -> None:
    async def play() -> None:
        async with Client(f"{address}/mcp") as client:
            with pytest.raises(ToolError, match=r"There is no action 'fly'\. Valid actions: ask_info"):
                await client.call_tool("fly")
            failed = await client.call_tool("ask_info", {"field": "shoe"}, raise_on_error=False)
            assert failed.is_error and failed.structured_content is not None
            assert failed.structured_content["step_count"] == 2  # each mistake was a step

    run(play())


def test_two_fastmcp_clients_at_once(address: str) -> None:
    async def play() -> None:
        async with Client(f"{address}/mcp") as first, Client(f"{address}/mcp") as second:
            await first.call_tool("reset", {"ticket_id": "t-1"})
            await second.call_tool("reset", {"ticket_id": "t-2"})
            for count in (1, 2):
                for client, ticket in ((first, "t-1"), (second, "t-2")):
                    seen = (await client.call_tool("classify")).data
                    assert (seen.ticket_id, seen.step_count) == (ticket, count)

    run(play())


# -- the MCP SDK, over a WebSocket


def test_the_sdk_plays_over_a_websocket(address: str) -> None:
    async def play() -> None:
        with pytest.warns(DeprecationWarning, match="WebSocket"):  # the SDK is about to give this transport up
            transport = websocket_client(f"{address.replace('http', 'ws')}/mcp")
        async with transport as (read, write), ClientSession(read, write) as session:
            assert (await session.initialize()).capabilities.tools is not None
            assert len((await session.list_tools()).tools) == 4
            await session.call_tool("reset", {"ticket_id": "t-1"})
            called = await session.call_tool("ask_info", {"field": "order"})
            assert called.structuredContent is not None
            assert called.structuredContent["known_info"] == {"order": "A-1001"}

    run(play())


# -- OpenEnv's MCPToolClient: tools over HTTP, the rest on a socket that is attached to the same session


def test_mcp_tool_client_calls_tools(address: str) -> None:
    async def play() -> None:
        async with MCPToolClient(base_url=address) as env:
            # Who holds the socket resets; its agent must not, and OpenEnv's harness refuses tools of that name.
            assert [tool.name for tool in await env.list_tools()] == ["ask_info", "classify", "resolve"]
            tool = await env.get_tool("ask_info")
            assert tool.input_schema["properties"]["field"]["enum"] == ["order", "email", "colour"]
            await env.reset(ticket_id="t-1", seed=1)
            assert (await env.call_tool("classify"))["step_count"] == 1
            seen = await env.call_tool("ask_info", field="order")
            assert seen["known_info"] == {"order": "A-1001"} and "reward" not in seen
            assert (await env.call_tool("reset"))["history"][-1]["text"].startswith("There is no action 'reset'.")
            assert (await env.state()).step_count == 3
            await env.call_tool("ask_info", field="email")
            assert (await env.call_tool("resolve"))["status"] == "resolved"
            assert await env.call_tool("resolve") == "The episode is over."

    run(play())


def test_mcp_tool_client_steps_with_tool_actions(address: str) -> None:
    async def play() -> None:
        async with MCPToolClient(base_url=address) as env:
            listed = (await env.step(ListToolsAction())).observation  # before any reset
            assert [tool.name for tool in listed.tools] == ["ask_info", "classify", "resolve"]
            await env.reset(ticket_id="t-1", seed=1)
            asked = await env.step(CallToolAction(tool_name="ask_info", arguments={"field": "order"}))
            assert (asked.reward, asked.done, asked.observation.error) == (0.25, False, None)
            assert asked.observation.result["data"]["known_info"] == {"order": "A-1001"}
            for name, arguments, kind in (("fly", {}, "tool_not_found"), ("ask_info", {"field": "x"}, "invalid_args")):
                wrong = await env.step(CallToolAction(tool_name=name, arguments=arguments))
                assert (wrong.reward, wrong.observation.error.error_type.value) == (-0.1, kind)
            assert (await env.state()).step_count == 3

    run(play())


def test_openenv_sessions_over_http(address: str) -> None:
    def rpc(method: str, **params: Any) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return httpx.post(f"{address}/mcp", json=asked, trust_env=False).raise_for_status().json()

    name = rpc("openenv/session/create")["result"]["session_id"]
    url = f"{address.replace('http', 'ws')}/ws?session_id={name}"
    with connect(url) as socket:
        socket.send('{"type": "reset", "data": {"ticket_id": "t-1", "episode_id": "shared"}}')
        assert json.loads(socket.recv())["data"]["reward"] is None
        called = rpc("tools/call", name="classify", arguments={}, session_id=name)["result"]
        assert called.keys() >= {"content", "structured_content", "data", "is_error"}
        socket.send('{"type": "state"}')
        state = json.loads(socket.recv())["data"]
        assert (state["episode_id"], state["step_count"]) == ("shared", 1)
    assert rpc("tools/call", name="classify", session_id=name)["result"]["data"]["step_count"] == 2  # it was kept
    with connect(url) as socket:
        assert rpc("openenv/session/close", session_id=name)["result"] == {
            "session_id": name,
            "closed": False,
            "closing": True,
        }
        socket.send('{"type": "close"}')
    assert rpc("tools/list", session_id=name)["error"]["code"] == -32602
    assert rpc("openenv/session/close", session_id=name)["error"]["code"] == -32602


def test_a_socket_of_its_own(address: str) -> None:
    with connect(f"{address.replace('http', 'ws')}/mcp") as socket:

        def rpc(method: str, **params: Any) -> Any:
            socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            return json.loads(socket.recv())

        name = rpc("openenv/session/create")["result"]["session_id"]
        assert rpc("openenv/session/create")["result"]["session_id"] == name
        assert rpc("openenv/session/close", session_id=name)["error"]["code"] == -32600
        socket.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        assert rpc("tools/call", name="classify")["result"]["data"]["step_count"] == 1
        socket.send("{")
        assert json.loads(socket.recv())["error"]["code"] == -32700
