"""The ASGI application, driven event by event as a server drives it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pack import Pack
from server import peers, worker
from server.app import create_app
from server.body import MAX_BODY, PATIENCE
from server.peers import Patience
from server.service import Caller
from server.settings import Settings
from server.store import Start
from server.store.memory import MemoryStore
from server.store.sqlite import SqliteStore

Events = Iterable[dict[str, Any]]


def drive(
    application: Any, scope: dict[str, Any], events: Events, send: Callable[[Any], Awaitable[None]] | None = None
) -> list[dict[str, Any]]:
    """What the application sends, when these events come; after the last one nothing comes any more."""
    sent: list[dict[str, Any]] = []
    left = iter(events)

    async def receive() -> dict[str, Any]:
        event = next(left, None)
        if event is None:
            await asyncio.Event().wait()
        return event or {}

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)
        if send is not None:
            await send(message)

    async def run() -> None:
        await asyncio.wait_for(application(scope, receive, keep), 30)

    asyncio.run(run())
    return sent


def http_scope(method: str, path: str) -> dict[str, Any]:
    address = {"server": ("127.0.0.1", 7860), "client": ("127.0.0.1", 5), "scheme": "http", "http_version": "1.1"}
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [], **address}


def part(content: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": content, "more_body": more}


SOCKET = {"type": "websocket", "path": "/ws", "query_string": b"", "headers": [], "subprotocols": []}
STEP = {"type": "step", "data": {"type": "classify"}}
CONNECT, DISCONNECT = {"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1006}


def said(message: Any) -> dict[str, Any]:
    return {"type": "websocket.receive", "text": json.dumps(message)}


def test_a_body_in_many_pieces(lamps: Pack) -> None:
    raw = json.dumps({"episode_id": "e", "ticket_id": "t-1"}).encode()
    pieces = [part(b"", more=True), *(part(bytes([byte]), more=True) for byte in raw), part(b"", more=False)]
    start, body = drive(create_app([lamps]), http_scope("POST", "/reset"), pieces)
    assert start["status"] == 200
    assert json.loads(body["body"])["metadata"]["episode_id"] == "e"


def test_a_body_that_does_not_come_whole_changes_nothing(lamps: Pack) -> None:
    application = create_app([lamps])
    raw = json.dumps({"episode_id": "half"}).encode()
    for path in ("/reset", "/batch/reset", "/create"):
        events = [part(raw, more=True), {"type": "http.disconnect"}]
        assert drive(application, http_scope("POST", path), events)[0]["status"] == 408
    client = application.test_client()
    assert client.get("/state?episode_id=half").status_code == 404


@pytest.mark.parametrize("path", ["/reset", "/packs"])
def test_no_more_of_a_body_is_read_than_its_sender_has_to_hear_of(lamps: Pack, path: str) -> None:
    pieces = -(-(MAX_BODY + PATIENCE + 1) // MAX_BODY)
    events = [part(b" " * MAX_BODY, more=True)] * pieces  # waits for ever where one more is asked for
    start, _ = drive(create_app([lamps]), http_scope("POST", path), events)
    assert start["status"] == 413


@pytest.mark.parametrize(
    ("method", "path", "query", "content"),
    [
        ("POST", "/reset", b"", b'{"episode_id": "e-1", "seed": 1}'),
        ("POST", "/step", b"", b'{"episode_id": "e-1", "action": {"type": "classify"}}'),
        ("POST", "/step", b"", b'{"action": '),
        ("POST", "/batch/step", b"", b'{"items": [{"episode_id": "e-1", "action": {"type": "resolve"}}, {}]}'),
        ("GET", "/state", b"episode_id=e-1", b""),
        ("GET", "/health", b"", b""),
    ],
)
@pytest.mark.parametrize("origin", ["https://trainer.example", "https://stranger.example"])
def test_what_is_answered_at_once_is_what_is_sent(
    lamps: Pack, method: str, path: str, query: bytes, content: bytes, origin: str
) -> None:
    heads = [(b"host", b"desk.example"), (b"origin", origin.encode()), (b"cookie", b"deskproof=e-1")]
    applications = [
        create_app([lamps], MemoryStore(), configured=Settings(origins=("https://trainer.example",))) for _ in "ab"
    ]
    for application in applications:
        application.service.reset({"episode_id": "e-1", "seed": 1}, Caller())
    scope = http_scope(method, path) | {"query_string": query, "headers": heads}
    start, body = drive(applications[0], scope, [part(content, more=False)])
    at_once = applications[1].asgi.at_once(method, path, query, heads, "127.0.0.1", content)
    assert at_once == (start["status"], start["headers"], body["body"])


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/tasks"), ("GET", "/packs"), ("HEAD", "/health"), ("GET", "http://a.b/health")]
)
def test_all_else_is_not_answered_at_once(lamps: Pack, method: str, path: str) -> None:
    assert create_app([lamps], MemoryStore()).asgi.at_once(method, path, b"", [], "127.0.0.1", b"{}") is None


def test_nor_is_a_step_that_is_written_with_others_or_what_takes_long(lamps: Pack, tmp_path: Path) -> None:
    durable = create_app([lamps], SqliteStore(tmp_path / "e.db")).asgi
    assert durable.at_once("POST", "/step", b"", [], "127.0.0.1", b"{}") is None
    assert durable.at_once("POST", "/reset", b"", [], "127.0.0.1", b" " * (MAX_BODY + 1)) is None
    many = b'{"items": [%b]}' % b",".join([b"1"] * 258)  # more than four slices of 64, and 257 commas
    assert durable.at_once("POST", "/batch/reset", b"", [], "127.0.0.1", many) is None


def test_a_lifespan(lamps: Pack) -> None:
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent = drive(create_app([lamps]), {"type": "lifespan"}, events)
    assert [one["type"] for one in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_others_have_their_turn_while_a_batch_is_worked_on(lamps: Pack) -> None:
    application = create_app([lamps])
    items = [{"episode_id": f"b-{number}", "ticket_id": "t-1", "seed": number} for number in range(1_000)]
    done: list[str] = []

    async def ask(path: str, method: str, raw: bytes) -> None:
        async def receive() -> dict[str, Any]:
            return part(raw, more=False)

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body":
                done.append(path)

        await application(http_scope(method, path), receive, send)

    async def run() -> None:
        batch = asyncio.create_task(ask("/batch/reset", "POST", json.dumps({"items": items}).encode()))
        await asyncio.sleep(0)
        await asyncio.gather(batch, *(ask("/health", "GET", b"") for _ in range(3)))

    asyncio.run(run())
    assert done == ["/health"] * 3 + ["/batch/reset"]


def test_leaving_waits_for_requests_but_not_for_cancelled_ones(lamps: Pack) -> None:
    application = create_app([lamps])
    order: list[str] = []

    async def run() -> None:
        come = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await come.wait()
            return part(b"", more=False)

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body":
                order.append("answered")

        answered = asyncio.create_task(application(http_scope("GET", "/health"), receive, send))
        cancelled = asyncio.create_task(application(http_scope("POST", "/reset"), receive, send))
        leaving = asyncio.create_task(application.asgi.leave())
        await asyncio.sleep(0.1)
        cancelled.cancel()
        assert not leaving.done()
        come.set()
        await asyncio.wait_for(leaving, 30)
        order.append("left")
        await asyncio.gather(answered, cancelled, return_exceptions=True)

    asyncio.run(run())
    assert order == ["answered", "left"]


def test_a_mistake_of_the_servers_own_leaves_the_socket_open(lamps: Pack, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        def create(self, episode_id: str, start: Start) -> Any:
            raise RuntimeError("the disk is on fire")

    events = [CONNECT, said({"type": "reset"}), said({"type": "step", "data": {"type": "list_tools"}}), DISCONNECT]
    sent = drive(create_app([lamps], Broken()), SOCKET, events)
    assert [one["type"] for one in sent] == ["websocket.accept", "websocket.send", "websocket.send"]
    failed, tools = (json.loads(one["text"]) for one in sent[1:])
    assert (failed["type"], failed["data"]["code"], failed["data"]["status"]) == ("error", "EXECUTION_ERROR", 500)
    assert "fire" not in sent[1]["text"]
    assert tools["type"] == "observation"
    assert "the disk is on fire" in caplog.text


@pytest.mark.parametrize("what", ["websocket.accept", "websocket.send"])
def test_a_peer_that_goes_while_it_is_answered_gives_its_place_back(lamps: Pack, what: str) -> None:
    application = create_app([lamps], configured=Settings(max_sessions=1))

    async def gone(message: dict[str, Any]) -> None:
        if message["type"] == what:
            raise ConnectionResetError

    drive(application, SOCKET, [CONNECT, said({"type": "reset"})], gone)
    sent = drive(application, SOCKET, [CONNECT, said({"type": "reset"}), DISCONNECT])
    assert '"observation"' in sent[1]["text"]


def test_a_socket_that_is_cancelled_gives_its_place_back(lamps: Pack) -> None:
    application = create_app([lamps], configured=Settings(max_sessions=1))

    async def cancel() -> None:
        async def receive(connect: list[Any] = [CONNECT]) -> Any:  # noqa: B006
            if connect:
                return connect.pop()
            return await asyncio.Event().wait()

        async def send(message: dict[str, Any]) -> None:
            pass

        task = asyncio.create_task(application(SOCKET, receive, send))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    sent = drive(application, SOCKET, [CONNECT, said({"type": "reset"}), DISCONNECT])
    assert '"observation"' in sent[1]["text"]


def test_after_the_goodbye_nothing_is_taken(lamps: Pack) -> None:
    application = create_app([lamps])

    async def hang_up(message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            await application.asgi.hang_up()

    events = iter([CONNECT, said({"type": "reset", "data": {"episode_id": "e"}}), said(STEP), said(STEP), DISCONNECT])
    sent = drive(application, SOCKET, events, hang_up)
    assert list(events) == []  # whoever goes before the end takes the goodbye's words away
    assert [one["type"] for one in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert (sent[-1]["code"], sent[-1]["reason"]) == (1012, "the server is stopping")
    assert application.test_client().get("/state?episode_id=e").get_json()["step_count"] == 0
    late = drive(application, SOCKET, [CONNECT, said({"type": "reset"}), DISCONNECT])
    assert [one["type"] for one in late] == ["websocket.accept", "websocket.close"]


def test_a_path_without_a_socket_is_refused(lamps: Pack) -> None:
    sent = drive(create_app([lamps]), {**SOCKET, "path": "/health"}, [CONNECT])
    assert sent == [{"type": "websocket.close", "code": 1008}]


# -- What is private to gunicorn


@given(payload=st.binary(max_size=70), key=st.binary(min_size=4, max_size=4))
def test_frames_are_unmasked(payload: bytes, key: bytes) -> None:
    class Protocol:
        def _unmask(self, payload: bytes, masking_key: bytes) -> bytes:
            raise AssertionError

    worker.unmask_quickly(Protocol)
    # RFC 6455, 5.3: octet i of what comes out is octet i of what came in XOR octet i mod 4 of the key.
    assert Protocol()._unmask(payload, key) == bytes(octet ^ key[i % 4] for i, octet in enumerate(payload))


@given(data=st.one_of(st.binary(max_size=6), st.from_regex(rb"[!-~]{1,12}", fullmatch=True)))
def test_headers_are_checked(data: bytes) -> None:
    class Parser:
        def _is_valid_token(self, data: bytes) -> bool:
            raise AssertionError

        def _has_invalid_header_chars(self, value: bytes) -> bool:
            raise AssertionError

    worker.check_quickly(Parser)
    # RFC 9110, 5.6.2: a token is one or more of these; 5.5: a value has visible characters, blanks, tabs, and obs-text.
    token = re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+", data)
    assert Parser()._is_valid_token(data) == (token is not None)
    assert Parser()._has_invalid_header_chars(data) == (re.search(rb"[^\t\x20-\x7e\x80-\xff]", data) is not None)


def test_another_gunicorn_keeps_its_own_ways() -> None:
    class Without:
        pass

    class Other:
        said: Any = None

        def _send_error_response(self, problem: Any) -> None:
            self.said = problem

    for replace in (
        peers.hold_little,
        worker.answer_in_place,
        worker.check_quickly,
        worker.close_gently,
        worker.refuse_with_problems,
        worker.unmask_quickly,
        worker.wait_no_longer,
    ):
        replace(Without)
    assert not [name for name in vars(Without) if not name.startswith("__")]
    worker.refuse_with_problems(Other)
    other = Other()
    other._send_error_response("in another way")
    assert other.said == "in another way"


def test_a_silent_peer_has_two_pings_to_answer() -> None:
    assert Patience().gone == Patience().silent
    assert Patience(ping=200, silent=300).gone == 400
    assert Patience(ping=0).gone == Patience(silent=0).gone == 0
