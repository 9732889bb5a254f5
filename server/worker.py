"""gunicorn's ASGI worker with a goodbye, and with some of its private parts replaced.

What is private to gunicorn stands here and in `server.peers`, and nowhere else. Where a version of it lacks one of
these parts, or calls it in another way, it does things its own way.
"""

from __future__ import annotations

import asyncio
import string
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from gunicorn.asgi import websocket  # type: ignore[import-untyped]
from gunicorn.asgi.parser import PythonProtocol  # type: ignore[import-untyped]
from gunicorn.asgi.protocol import ASGIProtocol  # type: ignore[import-untyped]
from gunicorn.asgi.websocket import WebSocketProtocol  # type: ignore[import-untyped]
from gunicorn.workers.gasgi import ASGIWorker  # type: ignore[import-untyped]

from server import about, http, peers
from server.gate import SECURITY_HEADERS
from server.problems import Problem, quoted, server_mistake

# In seconds: how long what was answered last may still be on its way; and how long before its time is up a worker goes
# by itself, whatever is still under way, for then it is killed.
MOMENT, MARGIN = 0.5, 2.0
# And how long a peer that was told goodbye may go on sending.
LINGER = 2.0


class Worker(ASGIWorker):  # type: ignore[misc]
    """Says goodbye on the sockets, finishes what was asked over HTTP, and doesn't wait for idle connections."""

    _leaving: asyncio.Task[None] | None = None
    _hanging_up: asyncio.Task[None] | None = None

    def init_process(self) -> None:
        wait_no_longer(ASGIProtocol)
        refuse_with_problems(ASGIProtocol)
        answer_in_place(ASGIProtocol)
        check_quickly(PythonProtocol)
        unmask_quickly(WebSocketProtocol)
        close_gently(WebSocketProtocol)
        peers.hold_little(websocket)
        super().init_process()

    def handle_exit_signal(self) -> None:
        """SIGTERM, of which there may be several."""
        super().handle_exit_signal()
        about.stopping.set()
        if self._leaving is None:
            self._leaving = self.loop.create_task(self._leave())

    def handle_quit_signal(self) -> None:
        """SIGINT and SIGQUIT: there is time for a goodbye, and for nothing else."""
        super().handle_quit_signal()
        self._hanging_up = self.asgi.asgi.hang_up()

    async def _leave(self) -> None:
        try:
            await asyncio.wait_for(self.asgi.asgi.leave(), max(self.cfg.graceful_timeout - MARGIN, MOMENT))
            await asyncio.sleep(MOMENT)
        except TimeoutError:
            self.log.warning("A request that is under way is given up.")
        finally:
            super().handle_quit_signal()


# -- Connections, and what the parser refuses


def wait_no_longer(protocol: Any) -> None:
    """Wait for a connection's first request as long as for the next one, and not for ever."""
    made = getattr(protocol, "connection_made", None)
    if made is None or not hasattr(protocol, "_arm_keepalive_timer") or getattr(made, "waits_no_longer", False):
        return

    def connection_made(self: Any, transport: Any) -> None:
        made(self, transport)
        if getattr(self, "_request_ready", None) is not None:  # what the timer is about
            self._arm_keepalive_timer()

    connection_made.waits_no_longer = True  # type: ignore[attr-defined]
    protocol.connection_made = connection_made


def answer_in_place(protocol: Any) -> None:
    """Let a connection's own task answer its requests: another task for each is for work that goes on afterwards.

    And let it answer at once what needs no waiting, without the messages of ASGI.
    """
    parts = ("_serve_http_request", "_handle_http_request", "_will_close", "_send_response_start", "_send_body")
    if all(hasattr(protocol, part) for part in parts):
        protocol._serve_http_request = _serve


async def _serve(self: Any, request: Any, sockname: Any, peername: Any) -> Any:
    if not _is_plain(self):
        return await self._handle_http_request(request, sockname, peername)
    query = request.query.encode("latin-1") if request.query else b""
    address, content = peername[0] if peername else None, b"".join(self._body_receiver._chunks)
    try:
        answer = self.app.asgi.at_once(request.method, request.path, query, request.headers_bytes, address, content)
    except Exception:  # what was asked may be done: it isn't tried again
        self.log.exception("A request could not be answered.")
        self._send_error_response(500, "")
        return False
    if answer is None:
        return await self._handle_http_request(request, sockname, peername)
    status, headers, body = answer
    close = self._will_close(request, False)
    self._send_response_start(status, headers, request, close)
    self._send_body(body)
    return not close


def _is_plain(connection: Any) -> bool:
    """Whether a request's whole body is there, its answer can go out, and nobody else wants to hear of either."""
    return (
        connection._body_receiver._complete
        and not connection._flow_control.write_paused
        and not connection._closed
        and connection._pre_request is None
        and connection._post_request is None
        and not connection.log.access_log_enabled
    )


def close_gently(protocol: Any) -> None:
    """Take what a peer still sends after a close frame, until it goes too: a connection that is closed while something
    is unread is reset, and the frame may be lost on its way."""
    run = getattr(protocol, "run", None)
    parts = ("feed_data", "feed_eof", "_resume_reading", "_send_close")
    if run is None or not all(hasattr(protocol, part) for part in parts) or getattr(run, "closes_gently", False):
        return

    async def run_gently(self: Any) -> None:
        await run(self)
        if getattr(self, "_close_sent", False) and not getattr(self, "_eof", True):
            await _linger(self)

    run_gently.closes_gently = True  # type: ignore[attr-defined]
    protocol.run = run_gently


async def _linger(socket: Any) -> None:
    gone, transport = asyncio.Event(), socket.transport
    socket.feed_data, socket.feed_eof = lambda data: None, gone.set
    socket._resume_reading()
    with suppress(OSError, RuntimeError, TimeoutError):
        if transport.can_write_eof():
            transport.write_eof()
        await asyncio.wait_for(gone.wait(), LINGER)


def refuse_with_problems(protocol: Any) -> None:
    """Let what can't be read as HTTP be answered with problem documents, as everything else is."""
    plainly = getattr(protocol, "_send_error_response", None)
    if plainly is None or getattr(plainly, "with_problems", False):
        return

    def send(self: Any, *given: Any, **named: Any) -> None:
        try:
            write, answer = self._safe_write, _refusal(self.cfg, *given, **named)
        except Exception:
            plainly(self, *given, **named)
        else:
            write(answer)

    send.with_problems = True  # type: ignore[attr-defined]
    protocol._send_error_response = send


def _refusal(cfg: Any, status: int, message: str, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """A whole response; `message` is what the parser says."""
    answer = http.refuse(_problem(cfg, status, message))
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: {answer.media_type}",
        f"Content-Length: {len(answer.body)}",
        *(f"{name}: {value}" for name, value in (*SECURITY_HEADERS, *headers)),
        "Connection: close",
        "\r\n",
    ]
    return "\r\n".join(lines).encode("latin-1") + answer.body


def _problem(cfg: Any, status: int, message: str) -> Problem:
    match status:
        case 414:
            return Problem(414, f"The first line of the request is longer than {cfg.limit_request_line} bytes.")
        case 431:
            many, long = cfg.limit_request_fields, cfg.limit_request_field_size
            return Problem(431, f"There may be {many} headers in a request, each of up to {long} bytes.")
        case 426:
            return Problem(426, "Only version 13 of the WebSocket protocol is spoken here.")
        case 500:
            return server_mistake()
        case _:
            return Problem(status, f"The request can't be read as HTTP/1.1: {quoted(message)}.")


# -- What takes gunicorn long, byte by byte in Python

_TOKEN = (string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~").encode()  # RFC 9110, 5.6.2
_CONTROLS = bytes({*range(32), 127} - set(b"\t"))  # which no header's value may hold: RFC 9110, 5.5


def check_quickly(protocol: Any) -> None:
    """Check the names and values of headers all at once."""
    if hasattr(protocol, "_is_valid_token") and hasattr(protocol, "_has_invalid_header_chars"):
        protocol._is_valid_token = _is_token
        protocol._has_invalid_header_chars = _has_controls


def _is_token(self: Any, data: bytes) -> bool:
    return bool(data) and not data.translate(None, _TOKEN)


def _has_controls(self: Any, value: bytes) -> bool:
    return len(value.translate(None, _CONTROLS)) < len(value)


def unmask_quickly(protocol: Any) -> None:
    """Frames are unmasked byte by byte in Python, while everybody waits: a quarter of a second for a megabyte."""
    if hasattr(protocol, "_unmask"):
        protocol._unmask = _unmask


def _unmask(self: Any, payload: bytes, masking_key: bytes) -> bytes:
    size = len(payload)
    mask = (masking_key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(mask, "little")).to_bytes(size, "little")
