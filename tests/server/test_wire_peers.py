"""Who is at the other end, and whether: lost connections, late replies, room, silence; and what else may serve it.

OpenEnv's own clients over real networks, as they are where their users complain. What stands elsewhere: test_socket.py
(going on by `?episode_id=`), test_process.py (HTTP clients at once), test_sessions.py (sessions and their room).
"""

from __future__ import annotations

import asyncio
import json
import socket as sockets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp import Client
from openenv.core import GenericEnvClient, MCPToolClient
from openenv.core.env_server import types as wire
from openenv.core.env_server.mcp_types import JsonRpcResponse
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.server.wire import ACTIONS, EASY, RESET, ask, closed, rpc, run, shipped, ws

LAMPS = Path(__file__).with_name("lamps.yaml")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with shipped(root, tmp_path_factory.mktemp("peers")) as url:
        yield url


@pytest.fixture(scope="module")
def small(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One with room for two sessions, and little patience."""
    settings = {"PACKS": str(LAMPS), "MAX_SESSIONS": "2", "WS_PING": "1", "WS_SILENT": "3", "WS_IDLE": "6"}
    with shipped(root, tmp_path_factory.mktemp("few"), settings=settings) as url:
        yield url


# -- Connections that are lost, replies that are late


@asynccontextmanager
async def line(address: str) -> AsyncIterator[tuple[str, asyncio.Event, set[asyncio.StreamWriter]]]:
    """A network to the server: its address, whether what the server says comes through, and what to cut."""
    port = int(address.rpartition(":")[2])
    flows = asyncio.Event()
    flows.set()
    ends: set[asyncio.StreamWriter] = set()

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, held: bool) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                if held:
                    await flows.wait()
                target.write(data)
        target.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        ends.update((writer, back))
        await asyncio.gather(pump(reader, back, False), pump(there, writer, True))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flows, ends
    server.close()
    for end in ends:
        end.transport.abort()
    await asyncio.sleep(0.05)  # the pumps notice


@pytest.mark.parametrize("trouble", ["the reply is late", "the line is cut"])
def test_openenv_s_client_goes_on_after(address: str, trouble: str) -> None:
    """A time-out shifts no later reply; a lost connection loses no run: the same request again has its first answer."""
    late = trouble == "the reply is late"
    name = trouble.replace(" ", "-")

    async def play() -> None:
        async with line(address) as (url, flows, ends), GenericEnvClient(base_url=url) as env:
            await env.reset(episode_id=name, **RESET)
            asked = {**ACTIONS[0], "episode_id": name, "request_id": "r1"}
            flows.clear()
            lost = asyncio.ensure_future(env.step(asked))
            while (await state(name))["step_count"] == 0:  # it was taken, and its answer is on the way
                await asyncio.sleep(0.01)
            if late:
                lost.cancel()
            for end in () if late else ends:
                end.transport.abort()
            flows.set()
            with pytest.raises((asyncio.CancelledError, ConnectionClosed)):
                await lost
            again = await env.step(asked)
            assert (again.reward, again.observation["step_count"]) == (0.5, 1)
            assert (await env.state())["step_count"] == 1  # the new socket is in the episode now
            rest = [await env.step(action) for action in ACTIONS[1:]]
            assert [result.observation["step_count"] for result in rest] == [2, 3, 4, 5, 6]
            assert again.reward + sum(result.reward for result in rest) == 2.0

    async def state(episode_id: str) -> Any:
        async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
            return (await http.get("/state", params={"episode_id": episode_id})).raise_for_status().json()

    run(play())


# -- Room and silence


def test_what_is_said_where_there_is_no_room(small: str) -> None:
    with connect(ws(small)) as one, connect(ws(small)) as two:

        def both(message: str) -> set[str]:
            return {ask(held, {"type": message})["type"] for held in (one, two)}

        assert both("reset") == {"observation"}
        with connect(ws(small)) as third:
            full = wire.WSErrorResponse(**json.loads(third.recv(timeout=30))).data
            assert (full["code"], full["active_sessions"], full["max_sessions"]) == ("CAPACITY_REACHED", 2, 2)
            assert wire.ServerCapacityStatus.from_counts(full["active_sessions"], full["max_sessions"]).is_at_capacity
            assert closed(third)[0] == 1000
        with pytest.raises(RuntimeError, match=r"all 2 sessions are taken.*\(code: CAPACITY_REACHED\)"):
            GenericEnvClient(base_url=small).sync().reset()
        assert both("state") == {"state"}  # nobody else is disturbed
        created = httpx.post(f"{small}/mcp", json=rpc("openenv/session/create"), trust_env=False)
        assert created.status_code == 200
        with connect(ws(small, "/mcp")) as fourth:
            for answer in (created.json(), json.loads(fourth.recv(timeout=30))):
                error = JsonRpcResponse(**answer).error
                assert error is not None and error.code == -32000
                assert error.data == {"active_sessions": 2, "max_sessions": 2}
            assert closed(fourth)[0] == 1000
        assert both("state") == {"state"}
        httpx.post(f"{small}/reset", trust_env=False).raise_for_status()  # who plays over HTTP needs no session
    room(small)


def room(address: str) -> None:
    """Wait until a session is to be had."""
    end = time.monotonic() + 30
    while True:
        with connect(ws(address)) as opened:
            with suppress(ConnectionClosed):  # refused, as the frame says
                opened.send('{"type": "reset"}')
            if json.loads(opened.recv(timeout=30))["type"] == "observation":
                return
        assert time.monotonic() < end
        time.sleep(0.1)


def test_sockets_that_nobody_is_at_give_their_room_back(small: str) -> None:
    """Peers that went without a word answer no pings: they are dropped. Those that are silent but there are kept."""
    host, port = small.removeprefix("http://").split(":")
    upgrade = (
        f"GET /ws HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    room(small)
    # It sends no pings of its own, as behind tunnels that drop them: the server's are enough.
    with connect(ws(small), ping_interval=None) as there, sockets.create_connection((host, int(port))) as gone:
        gone.sendall(upgrade.encode())
        assert gone.recv(12, sockets.MSG_WAITALL) == b"HTTP/1.1 101"
        room(small)
        # Heard from after WS_SILENT, and let go after WS_IDLE only.
        assert closed(there) == (1001, "no message for 6 seconds")


def test_health_answers_however_many_sockets_there_are(address: str) -> None:
    """Each socket held by a thread would leave none for it."""

    async def play() -> None:
        opened = await asyncio.gather(*(connect_async(ws(address)) for _ in range(150)))
        async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
            for number, one in enumerate(opened):
                await one.send(json.dumps({"type": "reset", "data": {"episode_id": f"held-{number}", "seed": number}}))
            assert (await http.get("/health")).json() == {"status": "healthy"}
            replies = [json.loads(await one.recv()) for one in opened]
        ids = [reply["data"]["metadata"]["episode_id"] for reply in replies]
        assert ids == [f"held-{number}" for number in range(150)]
        await asyncio.gather(*(one.close() for one in opened))

    run(play())


def test_uvicorn_serves_it_too(root: Path, tmp_path: Path) -> None:
    """Some of OpenEnv's providers start `uvicorn server.app:app`."""

    async def play(url: str) -> None:
        async with GenericEnvClient(base_url=url) as env:
            await env.reset(**RESET)
            results = [await env.step(action) for action in ACTIONS]
            assert sum(result.reward for result in results) == 2.0
        async with MCPToolClient(base_url=url) as tools, Client(f"{url}/mcp") as agent:
            await tools.reset(task_id=EASY)
            assert (await tools.call_tool("classify"))["step_count"] == 1
            assert (await agent.call_tool("classify")).data.step_count == 1
            assert (await tools.state()).step_count == 1

    command = ("uvicorn", "server.app:app", "--host", "127.0.0.1", "--port", "PORT")
    with shipped(root, tmp_path, command=command) as url:
        run(play(url))
