"""MCP on its three ways in: POST `/mcp`, the WebSocket `/mcp`, and `mcp` messages on `/ws`; and the clients it is for.

One table for all three, read by OpenEnv's models and the MCP SDK's. What stands elsewhere: test_mcp.py (JSON-RPC in
every detail, in process), test_mcp_play.py (tools and results), test_mcp_hidden.py (every byte before and after what is
hidden), test_mcp_clients.py (FastMCP, the SDK over a WebSocket, MCPToolClient, attached sessions, list_tools and
call_tool on `/ws`), test_wire_peers.py (no room for another session: -32000).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import mcp.types as sdk
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp import McpError
from openenv.core.env_server.mcp_types import JsonRpcResponse, Tool
from websockets.sync.client import connect

from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from server.mcp import VERSIONS
from tests.server.wire import HARD, rpc, run, shipped, ws

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with shipped(root, tmp_path_factory.mktemp("mcp")) as url:
        yield url


@pytest.fixture(scope="module")
def pack() -> Pack:
    return next(pack for pack in map(load_pack, shipped_packs()) if pack.name == "customer-support")


class Way(NamedTuple):
    """A way in: `say` gives the reply to a message, None where there is none."""

    name: str
    say: Callable[[Any], Any]

    def ask(self, method: str, request_id: Any = 1, **params: Any) -> JsonRpcResponse:
        """The reply to a request, as OpenEnv reads it: its models refuse members that they don't know."""
        reply = self.say({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        assert ("error" in reply) != ("result" in reply)
        if "error" in reply:
            assert reply["error"].keys() == {"code", "message", "data"}
        return JsonRpcResponse(**reply)

    def result(self, method: str, **params: Any) -> Any:
        answer = self.ask(method, **params)
        assert answer.error is None, answer
        return answer.result

    def fails(self, method: str, **params: Any) -> int:
        """The code of the error; its data are null."""
        error = self.ask(method, **params).error
        assert error is not None and error.data is None and error.message
        return int(error.code)


@pytest.fixture(params=["POST /mcp", "WebSocket /mcp", "WebSocket /ws"])
def way(request: pytest.FixtureRequest, address: str) -> Iterator[Way]:
    with ExitStack() as stack:
        if request.param == "POST /mcp":
            http = stack.enter_context(httpx.Client(base_url=address, trust_env=False, timeout=30))

            def post(message: Any) -> Any:
                answer = http.post("/mcp", content=message if isinstance(message, bytes) else json.dumps(message))
                assert answer.status_code in (200, 202) and ("2.0" in answer.text) == (answer.status_code == 200)
                return answer.json() if answer.status_code == 200 else None

            yield Way(request.param, post)
            return
        path = request.param.split()[1]
        socket = stack.enter_context(connect(ws(address, path)))

        def send(message: Any) -> Any:
            socket.send(message if isinstance(message, bytes) else json.dumps(message))
            return json.loads(socket.recv(timeout=30))

        def wrapped(message: Any) -> Any:
            reply = send({"type": "mcp", "data": message})
            assert reply.keys() == {"type", "data"} and reply["type"] == "mcp"
            return reply["data"]

        yield Way(request.param, wrapped if path == "/ws" else send)


# -- The table


def test_the_handshake(way: Way, pack: Pack) -> None:
    asked = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for version in (*VERSIONS, "2099-01-01"):
        answer = sdk.InitializeResult(**way.result("initialize", protocolVersion=version, **asked))
        assert answer.protocolVersion == (version if version in VERSIONS else sdk.LATEST_PROTOCOL_VERSION)
        assert answer.capabilities.tools is not None and answer.instructions == pack.instructions
        assert answer.serverInfo.name == "customer-support"
    assert set(VERSIONS) >= {sdk.LATEST_PROTOCOL_VERSION, sdk.DEFAULT_NEGOTIATED_VERSION}
    assert way.result("ping") == {}
    assert way.fails("initialize") == -32602


def test_notifications(way: Way, address: str) -> None:
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    if way.name == "WebSocket /mcp":
        with connect(ws(address, "/mcp")) as socket:
            for message in (told, {"jsonrpc": "2.0", "id": 7, "method": "ping"}):
                socket.send(json.dumps(message))
            assert json.loads(socket.recv(timeout=30))["id"] == 7  # nothing came before it
    else:  # on /ws each message has its reply
        expected: Any = None if way.name == "POST /mcp" else {"jsonrpc": "2.0", "id": None, "result": {}}
        assert way.say(told) == expected


def test_tools_are_listed(way: Way, pack: Pack) -> None:
    result = way.result("tools/list")
    tools = {tool.name: tool for tool in sdk.ListToolsResult(**result).tools}
    for tool in result["tools"]:
        Tool(name=tool["name"], description=tool["description"], input_schema=tool["inputSchema"])  # as OpenEnv does
    # Whoever holds a socket on /ws resets; its agent must not.
    assert list(tools) == ["ask_info", "classify", "resolve", *([] if way.name == "WebSocket /ws" else ["reset"])]
    assert tools["ask_info"].inputSchema["properties"]["field"]["enum"] == list(pack.fields)
    assert way.fails("tools/list", cursor="more") == -32602
    assert way.fails("tools/list", session_id="nobody's") == -32602


def test_a_tool_is_called(way: Way) -> None:
    result = way.result("tools/call", name="classify", arguments={})
    assert result.keys() >= {"content", "structured_content", "data", "is_error"}
    assert result["data"] == result["structured_content"] == sdk.CallToolResult(**result).structuredContent
    assert (result["is_error"], result["data"]["step_count"]) == (False, 1)
    wrong = sdk.CallToolResult(**way.result("tools/call", name="fly"))
    assert wrong.isError and wrong.structuredContent is not None and wrong.structuredContent["step_count"] == 2
    # What is no call at all is no step.
    for params in ({}, {"name": None}, {"name": "classify", "arguments": []}, {"name": "classify", "session_id": "x"}):
        assert way.fails("tools/call", **params) == -32602
    assert way.result("tools/call", name="resolve", arguments=None)["data"]["step_count"] == 3


def test_sessions(way: Way, address: str) -> None:
    name = way.result("openenv/session/create")["session_id"]
    assert isinstance(name, str) and name
    if way.name == "POST /mcp":
        assert way.result("openenv/session/create")["session_id"] != name
        for count in (1, 2):
            assert way.result("tools/call", name="classify", session_id=name)["data"]["step_count"] == count
        assert way.result("openenv/session/close", session_id=name) == {"session_id": name, "closed": True}
    else:
        assert way.result("openenv/session/create")["session_id"] == name
        assert way.fails("openenv/session/close", session_id=name) == -32600
        assert way.result("tools/call", name="classify")["data"]["step_count"] == 1
    created = httpx.post(f"{address}/mcp", json=rpc("openenv/session/create"), trust_env=False).json()
    held = created["result"]["session_id"]
    with connect(ws(address, f"/ws?session_id={held}")):
        closing = way.result("openenv/session/close", session_id=held)
        assert closing == {"session_id": held, "closed": False, "closing": True}
    for params in ({}, {"session_id": None}, {"session_id": 7}, {"session_id": "nobody's"}):
        assert way.fails("openenv/session/close", **params) == -32602


@pytest.mark.parametrize("request_id", ["a", "", "⚠️", 0, -1, 2**53, 2**70, 7.0])
def test_ids_come_back_as_they_were(way: Way, request_id: Any) -> None:
    reply = way.say({"jsonrpc": "2.0", "id": request_id, "method": "ping"})
    assert (reply["id"], type(reply["id"])) == (request_id, type(request_id))
    missing = way.say({"jsonrpc": "2.0", "id": request_id, "method": "resources/list"})
    assert (missing["id"], missing["error"]["code"]) == (request_id, -32601)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": None}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "all"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, -32602),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "notifications/initialized"}, -32601),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_bad_envelopes(way: Way, message: dict[str, Any], code: int) -> None:
    reply = way.say(message)
    assert reply["error"].keys() == {"code", "message", "data"} and reply["error"]["data"] is None
    assert (reply["error"]["code"], reply["jsonrpc"]) == (code, "2.0")
    given = message.get("id")
    assert reply["id"] == (given if type(given) is int else None)


@pytest.mark.parametrize("way", ["POST /mcp", "WebSocket /mcp"], indirect=True)
@pytest.mark.parametrize("frame", [b"{", b"\xff", b"", b'{"id": NaN}', b'{"id": 1, "id": 2}', b"[" * 20_000])
def test_what_is_no_json(way: Way, frame: bytes) -> None:
    reply = JsonRpcResponse(**way.say(frame))
    assert reply.id is None and reply.error is not None
    assert (reply.error.code, reply.error.data) == (-32700, None)


@pytest.mark.parametrize("way", ["POST /mcp", "WebSocket /mcp"], indirect=True)
def test_batches(way: Way) -> None:
    ping = {"jsonrpc": "2.0", "method": "ping"}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    replies = way.say([{**ping, "id": 1}, told, {**ping, "id": "two"}, 7, {**ping, "method": "no", "id": 3}])
    assert [reply["id"] for reply in replies] == [1, "two", None, 3]
    assert [reply.get("error", {}).get("code") for reply in replies] == [None, None, -32600, -32601]
    assert way.say([])["error"]["code"] == -32600
    calls = [{**ping, "method": "tools/call", "id": name, "params": {"name": name}} for name in ("reset", "classify")]
    played = [reply["result"]["data"]["step_count"] for reply in way.say([*calls, calls[1]])]
    assert played == [0, 1, 2]
    if way.name == "WebSocket /mcp":  # its session knows which version was agreed on
        way.result("initialize", protocolVersion="2025-06-18")
        assert way.say([{**ping, "id": 1}])["error"]["code"] == -32600


# -- Sessions in a header


def test_the_session_header(address: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    begin = {**ping, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    with httpx.Client(base_url=address, trust_env=False) as http:
        began = http.post("/mcp", json=begin)
        named = {"Mcp-Session-Id": began.headers["Mcp-Session-Id"]}
        assert http.post("/mcp", json=ping, headers=named).json()["result"] == {}
        assert http.post("/mcp", json=[ping], headers=named).json()["error"]["code"] == -32600
        assert http.post("/mcp", json=ping).status_code == 200  # without one
        other = {**named, "MCP-Protocol-Version": "1999-01-01"}
        assert http.post("/mcp", json=ping, headers=other).json()["result"] == {}
        assert http.delete("/mcp", headers=named).json() == {"session_id": named["Mcp-Session-Id"], "closed": True}
        for name in (named["Mcp-Session-Id"], "nobody's", "", "x" * 5_000):
            header = {"Mcp-Session-Id": name}
            gone = http.post("/mcp", json=ping, headers=header)
            assert (gone.status_code, gone.json()["id"], gone.json()["error"]["code"]) == (404, 1, -32602)
            assert http.post("/mcp", json={**ping, "id": None}, headers=header).json()["id"] is None
            assert http.delete("/mcp", headers=header).status_code == 404
            again = http.post("/mcp", json=begin, headers=header)
            assert again.status_code == 200 and again.headers["Mcp-Session-Id"] != name
        assert http.delete("/mcp").status_code == 400
        got = http.get("/mcp", headers={"Accept": "text/event-stream"})
        assert got.status_code == 405 and {"POST", "DELETE"} <= set(got.headers["Allow"].split(", "))
        assert http.put("/mcp", json=ping).status_code == 405


def test_a_client_whose_session_was_ended_begins_anew(address: str) -> None:
    async def play() -> None:
        transport = StreamableHttpTransport(f"{address}/mcp")
        client = Client(transport)
        async with client:
            await client.call_tool("classify")
            name = transport.get_session_id()
            assert name is not None
            ended = httpx.delete(f"{address}/mcp", headers={"Mcp-Session-Id": name}, trust_env=False)
            assert ended.json()["closed"] is True
            with pytest.raises(McpError):
                await client.call_tool("classify")
        async with client:
            assert (await client.call_tool("classify")).data.step_count == 1
            last = transport.get_session_id()
        # A client that leaves ends its session, so that none is left over.
        left = httpx.delete(f"{address}/mcp", headers={"Mcp-Session-Id": str(last)}, trust_env=False)
        assert last != name and left.status_code == 404

    run(play())


# -- A general client plays, and sees what an agent may


@pytest.mark.parametrize("name", ["customer_support", "it_helpdesk_de"])
def test_a_general_client_plays_a_ticket_from_start_to_end(address: str, root: Path, name: str) -> None:
    """It knows nothing but what the tools say; every byte that reaches it is looked at."""
    pack = load_pack(root / "scenarios" / name)
    ticket = next(one for one in pack.tickets.values() if one.task == HARD)
    heard: list[bytes] = []

    async def hear(response: httpx.Response) -> None:
        heard.append(str(response.headers).encode() + await response.aread())

    def factory(
        headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None, **given: Any
    ) -> httpx.AsyncClient:
        hooks = {"response": [hear]}
        return httpx.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks, trust_env=False)

    async def play() -> Any:
        async with Client(StreamableHttpTransport(f"{address}/mcp", httpx_client_factory=factory)) as client:
            await client.list_tools()
            seen = (await client.call_tool("reset", {"pack": pack.name, "ticket_id": ticket.id, "seed": 3})).data
            assert seen.required == [] and seen.status == "open"
            tools = {tool.name: tool for tool in await client.list_tools()}
            categories = tools["classify"].inputSchema["properties"]["category"]["enum"]
            assert ticket.category in categories
            before = len(heard)
            await client.call_tool("ask_info", {"field": "shoe size"}, raise_on_error=False)
            early = b"".join(heard[before:]).decode()
            assert not any(json.dumps(name, ensure_ascii=False) in early for name in (*categories, "category"))
            seen = (await client.call_tool("classify")).data  # the desk says what it is, and what is needed
            while seen.missing_required and seen.remaining_steps > 1:
                seen = (await client.call_tool("ask_info", {"field": seen.missing_required[0]})).data
            last = await client.call_tool("resolve")
            assert last.data.status == "resolved" and "The ticket is resolved." in last.content[0].text
            over = await client.call_tool("resolve", raise_on_error=False)
            assert over.is_error

    run(play())
    everything = b"\n".join(heard).decode().lower()
    assert pack.digest not in everything
    words = ("reward", "outcome", "score", "optimal_steps", "metadata", "end_reason", "terminated", "truncated")
    assert not [word for word in words if word in everything]
    outcomes = {rule.outcome for action in pack.actions.values() for rule in action.rules}
    assert "classify.shown" in outcomes or "classify.right" in outcomes
    assert not [outcome for outcome in outcomes if f'"{outcome}"' in everything]
