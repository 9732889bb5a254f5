"""How sockets live and die, on real servers: pings, silence, idleness, capacity, and any kind of frame."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from server.body import MAX_BODY
from server.peers import WAITING, Patience
from server.sessions import CAPACITY
from tests.server.live import (
    CLOSE,
    GUNICORN,
    PING,
    PONG,
    RESET,
    SOON,
    STEP,
    TEXT,
    UVICORN,
    Raw,
    Server,
    ask,
    eventually,
    farewell,
    frame,
    running,
)
from tests.serving import healthy

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def impatient(root: Path) -> Iterator[Server]:
    """Pings each second, waits two for an answer, and has four places."""
    with running(root, WS_PING="1", WS_SILENT="4", WS_IDLE="0", MAX_SESSIONS="4") as server:
        yield server


@pytest.fixture(scope="module")
def patient(root: Path) -> Iterator[Server]:
    """Where a process starts with few files; it waits for the silent longer than the kernel can."""
    with running(root, files=256, WS_SILENT="999999999") as server:
        yield server


@pytest.fixture(scope="module")
def uvicorn(root: Path) -> Iterator[Server]:
    with running(root, UVICORN, WS_IDLE="0", MAX_SESSIONS="4") as server:
        yield server


# -- Pings, silence, idleness


def test_pings_come_and_whoever_answers_none_is_dropped(impatient: Server) -> None:
    """Two that are gone in different ways give their places back; the one that only listens stays."""
    with (
        connect(impatient.ws, ping_interval=None) as alive,  # after this it sends nothing but pongs
        Raw(impatient) as silent,
        Raw(impatient) as deaf,
    ):
        assert ask(alive, RESET)["type"] == "observation"
        deaf.send(frame(TEXT, json.dumps(RESET)))
        deaf.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):  # nothing more is taken from one that reads nothing
            deaf.send(*[frame(TEXT, '{"type":"state"}') * 100] * 10_000)
        assert places(impatient) == 1
        assert silent.read() == (PING, b"")
        assert silent.close_code() == 1001
        assert silent.read() is None
        eventually(lambda: places(impatient) == 3)
        assert ask(alive, {"type": "state"})["data"]["step_count"] == 0


def places(server: Server) -> int:
    """How many more sockets there may be."""
    with ExitStack() as stack:
        for number in count():
            if not has_place(stack.enter_context(connect(server.ws))):
                return number
    raise AssertionError


def has_place(socket: Connection) -> bool:
    try:
        return bool(ask(socket, RESET)["type"] == "observation")
    except ConnectionClosed:
        return False


def test_whoever_sends_pings_and_reads_nothing_is_cut_off(patient: Server) -> None:
    """Their answers would fill the memory."""
    pings = frame(PING, b"x" * 125) * 1_000
    with Raw(patient) as flood, pytest.raises(ConnectionError):
        flood.send(*[pings] * 1_000)
    assert healthy(patient.http)


@pytest.mark.parametrize("command", [GUNICORN, UVICORN])
def test_a_socket_without_messages_is_closed(root: Path, command: Sequence[str]) -> None:
    with (
        running(root, command, WS_PING="0", WS_IDLE="2") as server,
        connect(server.ws, ping_interval=0.2) as idle,
        connect(server.ws) as busy,
    ):
        for _ in range(15):
            assert ask(busy, RESET)["type"] == "observation"
            time.sleep(0.2)
        assert farewell(idle) == (1001, "no message for 2 seconds")
        assert ask(busy, {"type": "state"})["type"] == "state"


# -- Capacity


@pytest.mark.parametrize("name", ["impatient", "uvicorn"])
def test_there_are_as_many_places_as_was_said(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    eventually(lambda: places(server) == 4)
    with connect(server.ws), connect(server.ws), connect(server.ws), connect(server.ws) as fourth:
        ask(fourth, RESET)
        with connect(server.ws) as fifth:
            refusal = json.loads(fifth.recv(timeout=SOON))
            assert farewell(fifth)[0] == 1000
        assert refusal["type"] == "error"
        assert {name: refusal["data"][name] for name in ("code", "active_sessions", "max_sessions")} == {
            "code": "CAPACITY_REACHED",
            "active_sessions": 4,
            "max_sessions": 4,
        }
        assert httpx.post(f"{server.http}/reset").status_code == 200  # episodes over HTTP take no place
    eventually(lambda: places(server) == 4)


def test_a_thousand_idle_sockets_are_in_nobodys_way(patient: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))

    async def hold() -> None:
        few = asyncio.Semaphore(50)

        async def open_one() -> Any:
            async with few:
                return await connect_async(patient.ws, ping_interval=None, open_timeout=SOON)

        sockets = await asyncio.gather(*(open_one() for _ in range(1_000)))
        async with httpx.AsyncClient(timeout=SOON) as client:
            for _ in range(5):
                assert (await client.get(f"{patient.http}/health")).json() == {"status": "healthy"}
        for one in (sockets[0], sockets[-1]):
            await one.send(json.dumps(RESET))
            assert json.loads(await asyncio.wait_for(one.recv(), SOON))["type"] == "observation"
        await asyncio.gather(*(one.close() for one in sockets))

    asyncio.run(hold())


# -- Frames


def test_messages_sent_at_once_are_answered_in_order(patient: Server) -> None:
    with Raw(patient) as raw:
        raw.send(*(frame(TEXT, json.dumps(message)) for message in (RESET, STEP, {"type": "state"}, {"type": "no"})))
        assert [raw.read_json()["type"] for _ in range(4)] == ["observation", "observation", "state", "error"]
        raw.send(*([frame(TEXT, json.dumps({"type": "state"}))] * 500))
        assert {raw.read_json()["data"]["step_count"] for _ in range(500)} == {1}


def test_a_message_in_pieces_with_a_ping_in_between(patient: Server) -> None:
    text = json.dumps(RESET)
    with Raw(patient) as raw:
        raw.send(frame(TEXT, text[:9], last=False), frame(PING, b"still there?"))
        raw.send(frame(0, text[9:20], last=False), frame(0, text[20:]))
        assert raw.read() == (PONG, b"still there?")
        assert raw.read_json()["data"]["observation"]["step_count"] == 0


@pytest.mark.parametrize("name", ["patient", "uvicorn"])
def test_binary_frames_are_read_like_text(name: str, request: pytest.FixtureRequest) -> None:
    with connect(request.getfixturevalue(name).ws) as socket:
        assert ask(socket, json.dumps(RESET).encode())["type"] == "observation"
        assert ask(socket, b"\xff\xfe")["data"]["code"] == "INVALID_JSON"
        assert ask(socket, STEP)["data"]["reward"] == 0.5


def test_messages_that_are_too_long(patient: Server) -> None:
    with connect(patient.ws) as socket:
        for size in (MAX_BODY + 1, 128 * 1024):
            refusal = ask(socket, " " * size)
            assert (refusal["type"], refusal["data"]["code"]) == ("error", "VALIDATION_ERROR")
            assert refusal["data"]["errors"][0]["type"] == "bytes_too_long"
        assert ask(socket, RESET)["type"] == "observation"
        socket.send(" " * (128 * 1024 + 1))
        assert farewell(socket)[0] == 1009
    with Raw(patient) as raw:  # nor in pieces
        raw.send(frame(TEXT, b" " * 70_000, last=False), frame(0, b" " * 70_000))
        assert raw.close_code() == 1009


@pytest.mark.parametrize(
    ("garbage", "code"),
    [
        (frame(TEXT, "{}", mask=False), 1002),
        (frame(TEXT, "{}", first_bits=0x40), 1002),
        (frame(5, "{}"), 1002),
        (frame(0, "{}"), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(CLOSE, b"\x03"), 1002),
        (frame(TEXT, b"\xff\xfe"), 1007),
        (b"GET / HTTP/1.1\r\n\r\n", 1002),
    ],
)
def test_garbage_ends_one_socket_and_no_other(patient: Server, garbage: bytes, code: int) -> None:
    with connect(patient.ws) as other, Raw(patient) as raw:
        raw.send(frame(TEXT, json.dumps(RESET)))
        assert raw.read_json()["type"] == "observation"
        raw.send(garbage)
        assert raw.close_code() == code
        assert ask(other, RESET)["type"] == "observation"


# -- The page


def test_the_page_has_the_numbers_of_the_code(root: Path) -> None:
    page = (root / "docs" / "websocket.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", page, flags=re.MULTILINE))
    default = Patience()
    assert rows == {
        "WS_PING": f"{default.ping:.0f}",
        "WS_SILENT": f"{default.silent:.0f}",
        "WS_IDLE": f"{default.idle:.0f}",
        "MAX_SESSIONS": str(CAPACITY),
    }
    config: dict[str, Any] = {}
    exec((root / "server" / "gunicorn.conf.py").read_text("utf-8"), config)
    for size in (MAX_BODY, config["websocket_max_message_size"]):
        assert f"{size // 1024} KiB" in page
    assert f"{WAITING} messages wait" in " ".join(page.split())
    assert f"{config['graceful_timeout']} seconds" in page
