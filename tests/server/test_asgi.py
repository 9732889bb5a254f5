"""One application with four faces: gunicorn's ASGI worker as it ships, uvicorn, gunicorn's threads, and Flask alone."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from http.client import parse_headers
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from flask.testing import FlaskClient

from server.body import MAX_BODY
from tests.serving import free_port, serving

LAMPS = Path(__file__).with_name("lamps.yaml")
CONFIG = Path("server") / "gunicorn.conf.py"

JSON, PROBLEM, EVENTS = "application/json", "application/problem+json", "text/event-stream; charset=utf-8"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


class Told(NamedTuple):
    """What a client can tell of an answer. Ids that are drawn are masked."""

    status: int
    media: str | None
    body: bytes
    headers: tuple[tuple[str, str], ...]


def told(status: int, headers: Any, body: bytes) -> Told:
    kept = {name.lower(): masked(value) for name, value in headers.items()}
    names = ("allow", "content-length", "set-cookie", "mcp-session-id", "cache-control")
    return Told(
        status,
        kept.get("content-type"),
        masked(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"),
        tuple((name, kept[name]) for name in names if name in kept),
    )


def masked(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{32}\b", "*", text)


# -- Requests, as bytes


class Asked(NamedTuple):
    method: str
    target: str
    status: int
    media: str | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    chunked: bool = False

    def raw(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif self.body or self.method == "POST":
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + (in_chunks(self.body) if self.chunked else self.body)


def in_chunks(body: bytes, size: int = 7_000) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def post(path: str, body: Any, status: int = 200, media: str = JSON, **more: Any) -> Asked:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asked("POST", path, status, media, raw, **more)


def get(target: str, status: int = 200, media: str = JSON, **more: Any) -> Asked:
    return Asked("GET", target, status, media, **more)


def bad(method: str, target: str, status: int, body: bytes = b"", **more: Any) -> Asked:
    return Asked(method, target, status, PROBLEM, body, **more)


def episode(name: str) -> dict[str, Any]:
    return {"episode_id": name, "ticket_id": "t-1", "seed": 7}


def step(name: str, action: Any) -> dict[str, Any]:
    return {"episode_id": name, "action": action}


COOKIE = (("Cookie", "other=1; deskproof_episode=e"),)
SESSION = (("X-Session-ID", "s"),)
CLASSIFY = {"type": "classify"}
# In this order, on a server that is new: a step finds what the lines above left.
SCRIPT = (
    get("/health"),
    get("/"),
    get("/metadata"),
    get("/packs"),
    get("/tasks"),
    get("/tasks?pack=lamps"),
    get("/schema"),
    get("/openapi.json"),
    get("/list_environments"),
    get("/lamps/splits"),
    get("/lamps/tools"),
    # Episodes
    post("/reset", episode("e")),
    post("/reset", episode("/ü; =⚠️")),
    post("/reset", episode("chunked"), chunked=True),
    post("/step", step("chunked", CLASSIFY), chunked=True),
    post("/step", step("e", CLASSIFY)),
    post("/step", step("e", {"type": "fly"})),
    post("/step", {"type": "ask_info", "field": "order"}, headers=COOKIE),
    get("/state", headers=COOKIE),
    get("/state?episode_id=e"),
    get("/state?episode_id=%2F%C3%BC%3B%20%3D%E2%9A%A0%EF%B8%8F"),
    get("/state?episode_id=e&episode_id=chunked"),
    post("/batch/reset", {"items": [episode("b"), {"seed": -1}]}),
    post("/batch/step", {"items": [step("b", CLASSIFY), {}, step("nobody", CLASSIFY)]}),
    post("/step", step("e", {"type": "ask_info", "field": "email"})),
    post("/step", step("e", {"type": "resolve"})),
    # The Task API, ORS and MCP
    post("/lamps/tasks", {"split": "train"}),
    post("/lamps/num_tasks", {"split": "test"}),
    post("/create_session", b"", media=EVENTS),
    post("/create", {"env_name": "lamps", "task_spec": {"ticket_id": "t-1", "seed": 7}}, headers=SESSION),
    post("/lamps/call", {"name": "classify", "input": {}}, media=EVENTS, headers=SESSION),
    post("/ping", b"", headers=SESSION),
    post("/delete", b"", headers=SESSION),
    post("/mcp", {}),
    post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
    post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, 202),
    post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "ping"}, 404, headers=(("Mcp-Session-Id", "gone"),)),
    bad("DELETE", "/mcp", 400),
    bad("DELETE", "/mcp", 404, headers=(("Mcp-Session-Id", "one"), ("Mcp-Session-Id", "two"))),
    # Bodies
    post("/reset", {"seed": 7}),
    bad("POST", "/step", 422),
    bad("POST", "/step", 400, b"{"),
    bad("POST", "/step", 400, b"{", chunked=True),
    bad("POST", "/step", 400, b"\xff"),
    bad("POST", "/step", 422, b'{"action": 1}'),
    bad("POST", "/reset", 422, b'{"seed": -1}'),
    bad("POST", "/reset", 404, b'{"pack": "no"}'),
    bad("POST", "/step", 409, json.dumps(step("e", CLASSIFY)).encode()),
    bad("POST", "/reset", 413, b" " * (MAX_BODY + 1)),
    bad("POST", "/reset", 413, b" " * (MAX_BODY + 1), chunked=True),
    bad("POST", "/batch/step", 400, b"{"),
    bad("POST", "/batch/step", 422, b"{}"),
    bad("POST", "/lamps/tasks", 413, b" " * (MAX_BODY + 1)),
    bad("GET", "/packs", 413, b" " * (MAX_BODY + 1)),
    bad("POST", "/nothing", 413, b" " * (MAX_BODY + 1), chunked=True),
    get("/packs", body=b"nobody reads this"),
    get("/health", body=b"nor this", chunked=True),
    # Routes
    bad("GET", "/nothing", 404),
    bad("GET", "/health/", 404),
    bad("GET", "/%FF/%00", 404),
    bad("GET", "/reset", 405),
    bad("POST", "/health", 405),
    bad("DELETE", "/step", 405),
    bad("GET", "/mcp", 405),
    bad("BREW", "/packs", 405),
    bad("GET", "/state", 404, headers=(("Cookie", "deskproof_episode=gone"),)),
    bad("GET", "/state?episode_id=", 422),
    bad("GET", "/state?episode_id=%FF%00", 404),
    bad("GET", "/tasks?pack=%FF", 404),
    bad("GET", "/schema?pack=lmps", 404),
    get("http://localhost/health"),
    get("http://localhost/state?episode_id=e"),
    get("/health", headers=(("Content-Type", "text/plain"), ("X-Twice", "1"), ("X-Twice", "2"))),
    get("/state?episode_id=e", headers=tuple(("X-Often", str(number)) for number in range(95))),
    # HEAD and OPTIONS
    *(Asked("HEAD", path, 200, JSON) for path in ("/health", "/packs", "/state?episode_id=e")),
    *(Asked("HEAD", path, status, PROBLEM) for path, status in (("/nothing", 404), ("/step", 405))),
    *(Asked("OPTIONS", path, 204) for path in ("/", "/health", "/reset", "/state", "/mcp", "/batch/step", "/packs")),
    bad("OPTIONS", "/nothing", 404),
)


class Connection:
    """One connection, that can be used again and again."""

    def __init__(self, address: str) -> None:
        url = httpx.URL(address)
        self.socket = socket.create_connection((url.host, url.port or 80), timeout=30)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def head(self) -> tuple[int, Any]:
        """The status and the headers of what comes next."""
        status = int(self._file.readline().split()[1])
        return status, parse_headers(self._file)

    def read(self, method: str = "GET") -> Told:
        """The next answer."""
        status, headers = self.head()
        bodiless = method == "HEAD" or status == 204
        return told(status, headers, b"" if bodiless else self._file.read(int(headers["content-length"])))

    def ask(self, asked: Asked) -> Told:
        self.socket.sendall(asked.raw())
        return self.read(asked.method)

    def at_its_end(self) -> bool:
        return self._file.read(1) == b""


def by_flask(client: FlaskClient, asked: Asked) -> Told:
    framing = {"wsgi.input_terminated": True} if asked.chunked else {}
    headers: dict[str, str] = {}
    for name, value in asked.headers:  # as servers do it
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    response = client.open(
        asked.target.removeprefix("http://localhost"),
        method=asked.method,
        headers=headers,
        input_stream=io.BytesIO(asked.body),
        content_length=None if asked.chunked else len(asked.body),
        environ_overrides=framing,
    )
    return told(response.status_code, response.headers, response.data)


# -- Servers

FACES = {
    "gunicorn": ("-m", "server.app"),
    "uvicorn": ("-m", "uvicorn", "server.app:app", "--log-level", "warning", "--port"),
    "threads": ("-m", "gunicorn", "--worker-class", "gthread", "--threads", "4", "server.app:app", "--config"),
}


@pytest.fixture(scope="module")
def start(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """The address of a server with a face; it is started when it is first asked for."""
    with ExitStack() as stack:

        @cache
        def begin(face: str) -> str:
            port = free_port()
            last = {"uvicorn": (str(port),), "threads": (str(root / CONFIG),)}.get(face, ())
            env = {**os.environ, "PYTHONPATH": str(root), "PACKS": str(LAMPS), "PORT": str(port)}
            command = (sys.executable, *FACES[face], *last)
            return stack.enter_context(serving(command, port, cwd=tmp_path_factory.mktemp(face), env=env))

        yield begin


@pytest.fixture(scope="module", params=FACES)
def face(start: Callable[[str], str], request: pytest.FixtureRequest) -> str:
    return start(request.param)


@pytest.fixture(scope="module")
def shipped(start: Callable[[str], str]) -> str:
    return start("gunicorn")


def test_all_of_them_answer_alike(face: str, naive: FlaskClient) -> None:
    with Connection(face) as connection:
        for asked in SCRIPT:
            expected = by_flask(naive, asked)
            name = f"{asked.method} {asked.target} {asked.body[:40]!r}"
            assert (expected.status, expected.media) == (asked.status, asked.media), name
            assert connection.ask(asked) == expected, name


def test_requests_in_one_packet_are_answered_in_order(face: str) -> None:
    asked = [get("/health"), get("/packs"), post("/reset", episode("p")), post("/step", step("p", CLASSIFY))]
    with Connection(face) as connection:
        connection.socket.sendall(b"".join(one.raw() for one in asked))
        answers = [connection.read() for _ in asked]
    assert [answer.status for answer in answers] == [200] * 4
    assert answers[0].body == b'{"status":"healthy"}'
    assert b'"default":"lamps"' in answers[1].body
    assert [json.loads(answer.body)["observation"]["step_count"] for answer in answers[2:]] == [0, 1]


def test_a_body_that_waits_to_be_asked_for(face: str) -> None:
    asked = post("/reset", episode("w"), headers=(("Expect", "100-continue"),))
    head, _, body = asked.raw().partition(b"\r\n\r\n")
    with Connection(face) as connection:
        connection.socket.sendall(head + b"\r\n\r\n")
        assert connection.head()[0] == 100
        connection.socket.sendall(body)
        assert connection.read().status == 200
        assert connection.ask(get("/health")).status == 200


def test_a_body_that_comes_byte_by_byte(face: str) -> None:
    asked = post("/reset", {"seed": 1}, chunked=True)
    head, _, _ = asked.raw().partition(b"\r\n\r\n")
    with Connection(face) as connection:
        connection.socket.sendall(head + b"\r\n\r\n")
        for byte in in_chunks(asked.body, 1):
            connection.socket.sendall(bytes([byte]))
        assert connection.read().status == 200


def test_http_1_0(face: str) -> None:
    with Connection(face) as connection:
        connection.socket.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert connection.read().body == b'{"status":"healthy"}'
        assert connection.at_its_end()


def test_a_client_that_leaves_in_the_middle(face: str) -> None:
    whole = post("/reset", episode("left")).raw()
    for end in (10, len(whole) - 5, len(whole)):
        with Connection(face) as connection:
            connection.socket.sendall(whole[:end])
    with Connection(face) as connection:
        assert connection.ask(get("/health")).status == 200


@pytest.mark.parametrize(
    ("raw", "status", "said"),
    [
        (b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 9_000), 414, "longer than 8190 bytes"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: %b\r\n\r\n" % (b"a" * 9_000), 431, "each of up to 8190 bytes"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n%b\r\n" % (b"X-Many: 1\r\n" * 101), 431, "may be 100 headers"),
        (b"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n", 400, "Content-Length"),
        (b"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "Content-Length"),
        (b"POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n", 501, "can't be read"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA Name: 1\r\n\r\n", 400, "'A Name'"),
        (b"GET /tasks?pack=\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400, "can't be read"),
        (b"GET /tasks HTTP/9.1\r\nHost: x\r\n\r\n", 400, "'HTTP/9.1'"),
        (b"\x16\x03\x01\x00\xa5\r\n\r\n", 400, "can't be read"),
        (b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", 426, "version 13"),
    ],
)
def test_what_the_parser_refuses_is_a_problem_too(shipped: str, raw: bytes, status: int, said: str) -> None:
    with Connection(shipped) as connection:
        connection.socket.sendall(raw)
        answer = connection.read()
        assert connection.at_its_end()
    assert (answer.status, answer.media) == (status, PROBLEM)
    document = json.loads(answer.body)
    assert (document["type"], document["status"], document["errors"]) == ("about:blank", status, [])
    assert said in document["detail"]
    assert document["detail"].endswith(".")


def test_one_that_reads_nothing_is_in_nobodys_way(shipped: str) -> None:
    """Flask's answers, of which there would be too many for the buffers on the way."""
    with Connection(shipped) as deaf, Connection(shipped) as other:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.socket.sendall(get("/openapi.json").raw() * 1_000)
        for _ in range(300):
            assert other.ask(get("/packs")).status == 200
