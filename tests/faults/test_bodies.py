"""Whatever a client sends, it gets an answer that says what is wrong: never a 5xx, and nothing stays behind.

Bodies for every route, and frames for both sockets: sound ones, nearly sound ones, and bytes. They go to a server as it
ships, with its store on disk. `make soak` sends 10,000 of each.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from tests.faults import hostile
from tests.faults.memory import MB, Growth, resident
from tests.faults.processes import children
from tests.server.live import Server, running
from tests.server.specification import Specification

# SOAK=full takes all of them, new ones each time; by itself a soak takes some, always the same.
SOAK = os.environ.get("SOAK", "")
SAME = SOAK != "full"
COUNT = {"": 0, "full": 10_000}.get(SOAK, 2_000) or 200
SECONDS = 30  # in which anything is answered
# What memory may grow by after the first tenth: caches that fill up, and the allocator's own untidiness.
SLACK = 24 * MB

pytestmark = [
    *(pytest.mark.slow, pytest.mark.soak, pytest.mark.xdist_group("faults")),
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),  # that an example is too long to show
]

EASY = "easy-info-collection"
CLASSIFY = {"type": "classify"}
ASK = {"action_type": "ask_info", "field": "order"}
CALL = {"name": "ask_info", "arguments": {"field": "email"}}
META = {"method": "tools/call", "params": {**CALL, "_meta": {"progressToken": 1}}}
SPLIT = {"split": "train", "index": 0}

RESETS: Sequence[Any] = (
    None,
    {},
    {"episode_id": "e1", "ticket_id": "t-1", "seed": 7, "request_id": "r1"},
    {"episode_id": "e2", "task_id": EASY, "pack": "lamps", "seed": 0},
    {"episode_id": "e3", **SPLIT},
)
STEPS: Sequence[Any] = (
    CLASSIFY,
    {"action": CLASSIFY, "episode_id": "e1", "request_id": "r2"},
    {"action": ASK, "episode_id": "e2", "timeout_s": 5},
    {"action": CALL, "episode_id": "e3"},
    {"action": META},
    {"action": {"type": "resolve", "metadata": {}}, "episode_id": "e1"},
)
RPC: Sequence[Any] = tuple(
    {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    for method, params in (
        (
            "initialize",
            {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
        ),
        ("ping", {}),
        ("notifications/initialized", {}),
        ("tools/list", {"cursor": None}),
        ("tools/call", CALL),
        ("tools/call", {"name": "reset", "arguments": {"ticket_id": "t-1", "seed": 1}}),
        ("openenv/session/create", {}),
        ("openenv/session/close", {"session_id": "s"}),
    )
)
BODIES: Mapping[str, Sequence[Any]] = {
    "/reset": RESETS,
    "/step": STEPS,
    "/batch/reset": ({"items": list(RESETS)}, {"items": []}),
    "/batch/step": ({"items": list(STEPS)}, {"items": [{"action": CLASSIFY, "episode_id": "e1"}] * 3}),
    "/mcp": (*RPC, list(RPC[1:])),
    "/create_session": (None,),
    "/create": (
        {"env_name": "lamps", "task_spec": {"ticket_id": "t-1", "task_id": EASY, "seed": 7}, "secrets": {}},
        {"env_name": "lamps", **SPLIT},
        SPLIT,
    ),
    "/ping": (None,),
    "/delete": (None,),
    "/delete_session": (None,),
    "/lamps/call": (
        {"name": "classify", "input": {}},
        {"name": "ask_info", "input": {"field": "order"}, "task_id": "r1"},
    ),
    "/lamps/tasks": ({"split": "train"},),
    "/lamps/num_tasks": ({"split": "test"},),
    "/lamps/task": (SPLIT,),
    "/lamps/task_range": ({"split": "train", "start": 0, "stop": 9},),
}
FRAMES: Sequence[Any] = (
    {"type": "reset"},
    *({"type": "reset", "data": data} for data in RESETS[1:]),
    {"type": "step", "data": CLASSIFY},
    {"type": "step", "data": {**ASK, "episode_id": "e1", "request_id": "r1"}},
    {"type": "step", "data": {"type": "call_tool", "tool_name": "classify", "arguments": {}}},
    {"type": "step", "data": {"type": "list_tools"}},
    {"type": "state"},
    *({"type": "mcp", "data": message} for message in RPC),
)
GETS = ("/state", "/tasks", "/schema", "/metadata", "/packs", "/list_environments", "/lamps/splits", "/lamps/tools",
        "/lamps/task_tools", "/lamps/prompt", "/docs", "/")  # fmt: skip
ANYTHING: tuple[Any, ...] = (None, True, -1, 0.5, 10**30, "x" * 300, "\ud800", [[1]], {"a": {}})
ANYWHERE = (405, 413, 414, 431)  # what any request may be answered with, whatever its path
QUERIES = ("episode_id", "pack", "session_id")
HEADERS = ("X-Session-ID", "Mcp-Session-Id", "MCP-Protocol-Version", "Cookie", "Content-Type", "Accept",
           "X-Forwarded-For", "Idempotency-Key", "Content-Encoding")  # fmt: skip

PIECES = [*'{ } [ ] , : " \\ null NaN -Infinity 1e999 {"a":1,"a":2} \\ud800 \\u0000 // 0x1 01 +1 é'.split(),
          "\0", "\n", "\t", "\ufeff", "\x1b", "9" * 5_000, "[" * 3_000, '{"a":' * 3_000, "x" * 70_000]  # fmt: skip
NAMES = st.sampled_from(
    ["lamps", "LAMPS", "lamp", "e1", "e2", "e9", "train", "s", "2025-03-26", "application/json", "gzip", "*/*"]
)
TEXTS = NAMES | hostile.TEXTS


def contents(sound: Sequence[Any]) -> st.SearchStrategy[bytes]:
    """Bytes, mostly nearly what `sound` are."""
    some = st.sampled_from(sound)
    near = st.builds(hostile.changed, some, st.lists(hostile.CHANGES, min_size=1, max_size=3)).map(hostile.as_json)
    broken = st.builds(hostile.edited, near, st.lists(hostile.edits(PIECES), min_size=1, max_size=3))
    ways = [
        some.map(hostile.as_json).map(str.encode),
        *[near.map(str.encode)] * 5,
        hostile.VALUES.map(hostile.as_json).map(str.encode),
        *[broken.map(lambda text: text.encode("utf-8", "surrogatepass"))] * 2,
        st.builds(str.encode, near, st.sampled_from(["utf-16", "utf-32", "utf-8-sig"])),
        st.binary(max_size=64),
    ]
    return st.integers(0, len(ways) - 1).flatmap(ways.__getitem__)


def sent_text(text: str) -> str:
    """The text as far as a header can hold it."""
    return "".join(character for character in text if 0x20 <= ord(character) < 0x7F or 0xA0 <= ord(character) <= 0xFF)


ROUTES: Mapping[tuple[str, str], Sequence[Any]] = {
    **{("POST", path): bodies for path, bodies in BODIES.items()},
    **{("GET", path): (None,) for path in GETS},
    **dict.fromkeys((("DELETE", "/mcp"), ("HEAD", "/state"), ("DELETE", "/step")), STEPS),
}
POSTS = [("POST", path) for path in BODIES]
REQUESTS = st.sampled_from([*POSTS, *POSTS, *ROUTES]).flatmap(
    lambda route: st.tuples(st.just(route), contents(ROUTES[route]))
)
EXTRAS = st.tuples(
    st.dictionaries(st.sampled_from(HEADERS), TEXTS.map(sent_text), max_size=3),
    st.dictionaries(st.sampled_from(QUERIES), TEXTS, max_size=2),
    NAMES | st.text(min_size=1, max_size=5),
)

MANY = settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=SAME,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One worker, so that what it keeps is seen. At its end no traceback has been printed."""
    store = tmp_path_factory.mktemp("bodies") / "episodes.db"
    with running(root, WORKERS="1", STORE=f"sqlite:{store}", LOG="json", IDLE="0") as started:
        yield started
        errors = [line for line in started.printed().splitlines() if '"level":"ERROR"' in line.replace(" ", "")]
        assert errors == []


def memory(server: Server) -> Callable[[], int]:
    pids = (server.process.pid, *children(server.process.pid))
    return lambda: resident(pids)


def sound(document: Any) -> None:
    """Nothing in an answer says that it was the server's mistake."""
    for container, key in hostile.places(document):
        if key == "status" and isinstance(container[key], int):
            assert container[key] < 500, document
        if key == "code":
            assert container[key] != -32603, document  # JSON-RPC's internal error


class Client:
    """Sends requests one after the other, and holds each answer against the document."""

    def __init__(self, server: Server) -> None:
        self._specification = Specification(httpx.get(f"{server.http}/openapi.json", trust_env=False).json())
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)

    def send(self, method: str, path: str, content: bytes, headers: Mapping[str, str], query: str = "") -> None:
        self._connection.request(method, f"{path}?{query}" if query else path, content, headers)
        response = self._connection.getresponse()
        answer = response.read()
        assert response.status < 500, answer
        if response.status in ANYWHERE or (response.status == 404 and b"There is nothing at" in answer):
            assert response.headers["Content-Type"] == "application/problem+json"
        else:
            got = httpx.Headers(response.headers.items())
            sound(self._specification.check(method, path, response.status, got, answer))

    def close(self) -> None:
        self._connection.close()


@pytest.mark.parametrize("path", BODIES)
def test_any_member_may_be_anything(path: str, server: Server) -> None:
    """Each in its turn, in every sound body."""
    with closing(Client(server)) as client:
        for body in (body for body in BODIES[path] if isinstance(body, dict)):
            for where in range(len(list(hostile.places(body)))):
                for value in ANYTHING:
                    changed = hostile.changed(body, [hostile.Change("replace", where, value)])
                    client.send("POST", path, hostile.as_json(changed).encode(), {"X-Session-ID": "s"})


def test_whatever_comes_over_http(server: Server) -> None:
    growth = Growth(COUNT, memory(server))
    with closing(Client(server)) as client:

        @MANY
        @given(REQUESTS, EXTRAS)
        def send(request: tuple[tuple[str, str], bytes], extras: tuple[dict[str, str], dict[str, str], str]) -> None:
            ((method, path), content), (headers, query, env) = request, extras
            if len(content) % 4 == 0:
                path = path.replace("/lamps/", f"/{quote(env, safe='', errors='replace')}/")
            client.send(method, path, content, headers, urlencode(query, errors="replace"))
            growth.example()

        send()
    assert growth.bytes() < SLACK


class Socket:
    """A socket that is opened again where a frame has closed it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._closing = ExitStack()
        self._open: Connection | None = None

    def ask(self, *frames: str | bytes) -> Iterator[Any]:
        """What comes back for the frames, until the server closes the socket."""
        if self._open is None:
            # Pings would draw from the generator of random numbers that hypothesis holds still.
            self._open = self._closing.enter_context(connect(self.address, ping_interval=None))
        try:
            for frame in frames:
                self._open.send(frame)
            while True:
                text = self._open.recv(timeout=SECONDS)
                assert "Traceback" not in str(text)
                yield json.loads(text)
        except ConnectionClosed:
            self.close()

    def close(self) -> None:
        self._closing.close()
        self._open = None


def last(reply: Any, path: str) -> bool:
    """Whether it is the last for a frame: on /ws each has one; on /mcp, where not each has any, a ping comes last."""
    return path == "/ws" or (isinstance(reply, dict) and reply.get("id") == PING["id"])


PING = {"jsonrpc": "2.0", "id": "are you there?", "method": "ping"}


@pytest.mark.parametrize("path", ["/ws", "/mcp"])
def test_whatever_comes_over_a_socket(path: str, server: Server) -> None:
    growth = Growth(COUNT // 2, memory(server))
    frames = contents(FRAMES if path == "/ws" else (*RPC, list(RPC[1:])))
    socket = Socket(f"ws://127.0.0.1:{server.port}{path}")

    @settings(MANY, max_examples=COUNT // 2)
    @given(frames, st.booleans())
    def send(content: bytes, as_text: bool) -> None:
        frame = content.decode("utf-8", "replace") if as_text else content
        for reply in socket.ask(frame, *(() if path == "/ws" else (json.dumps(PING),))):
            sound(reply)
            if last(reply, path):
                break
        growth.example()

    with closing(socket):
        send()
    assert growth.bytes() < SLACK
