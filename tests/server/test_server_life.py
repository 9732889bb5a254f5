"""How a server starts and stops: its goodbye, the connections that come to nothing, its ports and settings."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.server.live import (
    GUNICORN,
    RESET,
    SOON,
    STEP,
    UVICORN,
    Raw,
    Server,
    ask,
    eventually,
    farewell,
    refused,
    running,
)
from tests.server.specification import Specification
from tests.serving import free_port, healthy

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


# -- The goodbye


class Slow:
    """A request whose body comes in two halves."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=SOON)
        self._socket.sendall(b"POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n" + b"{" + b" " * 9)
        time.sleep(0.5)  # it has to be read before the signal comes

    def __enter__(self) -> Slow:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def finish(self) -> bytes:
        self._socket.sendall(b" " * 9 + b"}")
        return self.rest()

    def rest(self) -> bytes:
        answer = b""
        while piece := self._socket.recv(65_536):
            answer += piece
        return answer


@pytest.mark.parametrize("signals", [[signal.SIGTERM, signal.SIGTERM], [signal.SIGINT]])
def test_a_server_that_stops_says_goodbye(root: Path, signals: list[signal.Signals]) -> None:
    with (
        running(root) as server,
        connect(server.ws) as idle,
        connect(server.ws) as playing,
        connect(server.ws.replace("/ws", "/mcp")) as tools,
        Raw(server) as silent,
        httpx.Client() as kept_alive,
        Slow(server) as slow,
    ):
        ask(playing, RESET)
        assert kept_alive.get(f"{server.http}/health").status_code == 200
        for number in signals:
            server.process.send_signal(number)
        assert [farewell(one) for one in (idle, playing, tools)] == [(1012, "the server is stopping")] * 3
        assert silent.close_code() == 1012
        if signals[0] is signal.SIGTERM:
            assert slow.finish().startswith(b"HTTP/1.1 200 ")
        assert server.process.wait(SOON) == 0, server.printed()
        assert not healthy(server.http)


def test_a_server_that_stops_is_no_longer_ready(root: Path) -> None:
    """It finishes a slow request; meanwhile a load balancer, which has a connection already, is sent elsewhere."""
    with (
        running(root) as server,
        connect(server.ws) as player,
        httpx.Client(base_url=server.http, trust_env=False) as balancer,
        httpx.Client(base_url=server.http, trust_env=False) as prober,
        Slow(server) as slow,
    ):
        described = Specification(balancer.get("/openapi.json").json())
        assert [http.get("/ready").status_code for http in (balancer, prober)] == [200, 200] and ready(server) == 200
        server.process.send_signal(signal.SIGTERM)
        assert farewell(player)[0] == 1012  # the signal has come
        answer = balancer.get("/ready")
        told = described.check("GET", "/ready", answer.status_code, answer.headers, answer.content)
        assert (answer.status_code, told["detail"]) == (503, "The server is stopping: ask another one.")
        assert prober.get("/health").status_code == 200  # the process is as it should be
        assert ready(server) in (503, None)  # a new connection is accepted for a second at the most
        assert slow.finish().startswith(b"HTTP/1.1 200 ")
        assert server.process.wait(SOON) == 0


def ready(server: Server) -> int | None:
    """What /ready says on a new connection; None where there is none to be had."""
    try:
        return httpx.get(f"{server.http}/ready", trust_env=False).status_code
    except httpx.TransportError:
        return None


def test_a_body_that_never_comes_does_not_keep_the_server(root: Path) -> None:
    with running(root, hasty(root, "--graceful-timeout", "3")) as server, Slow(server) as slow:
        server.process.send_signal(signal.SIGTERM)
        assert slow.rest() == b""
        assert server.process.wait(SOON) == 0
        assert "given up" in server.printed()  # it went by itself, and was not killed


def test_uvicorn_says_goodbye_too(root: Path) -> None:
    with running(root, UVICORN) as server, connect(server.ws) as idle, connect(server.ws) as playing:
        assert ask(playing, RESET)["type"] == "observation"
        assert ask(playing, STEP)["data"]["reward"] == 0.5
        with connect(server.ws) as leaving:
            leaving.send(json.dumps({"type": "close"}))
            assert farewell(leaving)[0] == 1000
        server.process.send_signal(signal.SIGTERM)
        assert [farewell(one)[0] for one in (idle, playing)] == [1012, 1012]
        assert server.process.wait(SOON) in (0, -signal.SIGTERM)  # it ends itself with the signal it got
        assert "factory" not in server.printed()


# -- Connections that come to nothing


def hasty(root: Path, *options: str) -> Sequence[str]:
    return ("-m", "gunicorn", "--config", str(root / "server" / "gunicorn.conf.py"), *options, "server.app:app")


def is_gone(connection: socket.socket) -> bool:
    try:
        connection.send(b"x")
    except ConnectionError:
        return True
    return False


def test_connections_that_come_to_nothing_are_closed(root: Path) -> None:
    """One asks nothing, one half of something, and one reads nothing of what it asked for."""
    with running(root, hasty(root, "--keep-alive", "1", "--timeout", "3")) as server:
        address = ("127.0.0.1", server.port)
        with (
            socket.create_connection(address, timeout=SOON) as silent,
            socket.create_connection(address, timeout=SOON) as half,
            socket.create_connection(address, timeout=SOON) as deaf,
            connect(server.ws) as player,
        ):
            half.sendall(b"GET /health HTTP/1.1\r\nHost: local")
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1_000)
            assert silent.recv(1) == half.recv(1) == b""
            eventually(lambda: is_gone(deaf))
            assert ask(player, RESET)["type"] == "observation"


# -- Ports and settings


def test_a_server_on_two_ports(root: Path) -> None:
    port, other = free_port(), free_port()
    with running(root, port=port, EXTRA_PORTS=f"{other}, {port} {other}") as server:
        assert server.listening() == f"http://0.0.0.0:{port},http://0.0.0.0:{other}"
        with connect(server.ws) as one, connect(f"ws://127.0.0.1:{other}/ws") as two:
            ask(one, {"type": "reset", "data": {"episode_id": "both", "ticket_id": "t-1"}})
            assert (
                ask(two, {"type": "step", "data": {"type": "classify", "episode_id": "both"}})["data"]["reward"] == 0.5
            )
            assert httpx.get(f"http://127.0.0.1:{other}/state?episode_id=both").json()["step_count"] == 1
            server.process.send_signal(signal.SIGTERM)
            assert [farewell(socket)[0] for socket in (one, two)] == [1012, 1012]
        assert server.process.wait(SOON) == 0


def test_a_host_without_a_port(root: Path) -> None:
    with running(root, ("-c", "from server.app import serve; serve(host='127.0.0.1')")) as server:
        assert server.listening() == f"http://127.0.0.1:{server.port}"


def test_an_extra_port_that_is_taken(root: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        said = refused(root, GUNICORN, PORT=str(free_port()), EXTRA_PORTS=port)
    assert said.splitlines()[-1].startswith(f"Port {port} is already taken")
    assert said.endswith("EXTRA_PORTS.\n")


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        (GUNICORN, "MAX_SESSIONS", "0"),
        (GUNICORN, "WS_PING", "-1"),
        (GUNICORN, "WS_SILENT", "1.5"),
        ((*UVICORN, "0"), "MAX_SESSIONS", "many"),
        ((*UVICORN, "0"), "WS_IDLE", "9" * 30),
    ],
)
def test_settings_of_sockets_that_make_no_sense(root: Path, command: Sequence[str], name: str, value: str) -> None:
    said = refused(root, command, **{name: value})
    assert re.fullmatch(rf"{name} must be a whole number from \d to \d+, not '.*'\.\n", said)


@pytest.mark.parametrize("value", ["http", "8000:9000", "8000 70000"])
def test_extra_ports_that_are_none(root: Path, value: str) -> None:
    said = refused(root, GUNICORN, EXTRA_PORTS=value)
    assert re.fullmatch(r"Each of EXTRA_PORTS must be a whole number from 1 to 65535, not '.*'\.\n", said)
