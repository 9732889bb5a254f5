"""MCP where the server has tokens: a call without a session would begin an episode that is nobody's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp import McpError
from openenv.core import MCPToolClient

from engine.pack import Pack
from server.app import create_app
from server.settings import Settings
from server.store.memory import MemoryStore
from tests.server.guarded import client, initialized, on_socket, rpc, token, write_tokens
from tests.server.live import Server, ask, running
from tests.server.rpc import fault, message, post, result

T = TypeVar("T")
CLASSIFY = {"name": "classify"}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def guarded(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    tokens = write_tokens(tmp_path_factory.mktemp("tokens") / "tokens", "kim")
    with running(root, TOKENS=str(tokens), STORE="memory:") as server:
        yield server


def run(conversation: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(conversation, 60))


def test_a_call_without_a_session_is_refused_and_begins_nothing(lamps: Pack, tmp_path: Path) -> None:
    store = MemoryStore()
    configured = Settings(tokens=write_tokens(tmp_path / "tokens", "kim"))
    http = create_app([lamps], store, configured).test_client(use_cookies=False)
    kim = {"Authorization": f"Bearer {token('kim')}"}
    for called in ("reset", "classify", "fly"):
        response = post(http, message("tools/call", {"name": called}), **kim)
        assert response.status_code == 200
        assert fault(response.json, -32600) is None
        said: Any = response.json
        assert "initialize first" in said["error"]["message"] and "Mcp-Session-Id" in said["error"]["message"]
    batch: Any = post(http, [message("tools/call", CLASSIFY), message("ping")], **kim).json
    assert fault(batch[0], -32600) is None and result(batch[1]) == {}
    assert store.open_count() == 0
    # What begins nothing needs no session.
    assert len(result(post(http, message("tools/list"), **kim).json)["tools"]) == 4


def test_whoever_has_no_address_needs_a_session_too(lamps: Pack) -> None:
    """As behind a UNIX socket."""
    http = create_app([lamps]).test_client(use_cookies=False)
    asked = message("tools/call", CLASSIFY)
    assert fault(http.post("/mcp", json=asked, environ_overrides={"REMOTE_ADDR": None}).json, -32600) is None
    assert result(http.post("/mcp", json=asked).json)["data"]["step_count"] == 1


def test_each_way_to_have_a_session(guarded: Server) -> None:
    with client(guarded, "kim") as http:
        assert rpc(http, "tools/call", CLASSIFY).json()["error"]["code"] == -32600
        header = {"Mcp_Session_Id": initialized(http)}
        named = {"session_id": rpc(http, "openenv/session/create").json()["result"]["session_id"]}
        for count in (1, 2):
            for answer in (rpc(http, "tools/call", CLASSIFY, **header), rpc(http, "tools/call", {**CLASSIFY, **named})):
                assert answer.json()["result"]["data"]["step_count"] == count
    with on_socket(guarded, "kim", "/mcp") as socket:  # its own
        assert ask(socket, message("tools/call", CLASSIFY))["result"]["data"]["step_count"] == 1
    with on_socket(guarded, "kim", "/ws") as socket:
        called = ask(socket, {"type": "mcp", "data": message("tools/call", CLASSIFY)})["data"]
        assert called["result"]["data"]["step_count"] == 1
        step = {"type": "call_tool", "tool_name": "classify", "arguments": {}}
        assert ask(socket, {"type": "step", "data": step})["data"]["observation"]["result"]["data"]["step_count"] == 2


def test_fastmcp_plays_with_a_token(guarded: Server) -> None:
    async def play() -> None:
        transport = StreamableHttpTransport(f"{guarded.http}/mcp", auth=token("kim"))
        async with Client(transport) as desk:
            assert (await desk.call_tool("reset", {"ticket_id": "t-1"})).data.step_count == 0
            for count in (1, 2):
                assert (await desk.call_tool("classify")).data.step_count == count
            # A session that was ended: the client hears of it, and nothing begins.
            ended = {"Authorization": f"Bearer {token('kim')}", "Mcp-Session-Id": str(transport.get_session_id())}
            assert httpx.delete(f"{guarded.http}/mcp", headers=ended, trust_env=False).json()["closed"] is True
            with pytest.raises(McpError):
                await desk.call_tool("classify")

    run(play())


def test_openenv_s_tool_client_plays_with_a_token(guarded: Server) -> None:
    async def play() -> None:
        async with MCPToolClient(base_url=guarded.http, headers={"Authorization": f"Bearer {token('kim')}"}) as env:
            await env.reset(ticket_id="t-1", seed=1)
            assert [tool.name for tool in await env.list_tools()] == ["ask_info", "classify", "resolve"]
            for count in (1, 2):
                assert (await env.call_tool("classify"))["step_count"] == count

    run(play())
