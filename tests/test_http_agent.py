"""Agents at an address: they are asked what to do next, and what is said of those that don't answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from engine.evaluation.agents import AgentError
from engine.evaluation.http_agent import MAX_ANSWER, HttpAgent
from tests.test_agents import ACTION, SEEN, TOOLS

Respond = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    respond: Respond
    asked: list[tuple[str, Any, int]]  # of each request its path, its body, and the port that it came from

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body, self.client_address[1]))
        type(self).respond(self)

    def say(self, content: bytes | Any, status: int = 200, **headers: str) -> None:
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...


@contextmanager
def answering(respond: Respond) -> Iterator[tuple[str, list[tuple[str, Any, int]]]]:
    """A server of an agent: its address, and what it is asked."""
    asked: list[tuple[str, Any, int]] = []
    handler = type("AgentHandler", (Handler,), {"respond": staticmethod(respond), "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_an_address_is_asked_all_there_is_to_know() -> None:
    with answering(lambda handler: handler.say(ACTION)) as (url, asked):
        agent = HttpAgent(f"{url}/agent?key=1")
        assert agent({"text": "⚠️"}, TOOLS, instructions="Be quick.", episode_id="e1") == ACTION
        agent.close()
    ((path, body, _),) = asked
    assert path == "/agent?key=1"
    assert body == {"observation": {"text": "⚠️"}, "tools": TOOLS, "instructions": "Be quick.", "episode_id": "e1"}


def test_an_action_may_stand_inside() -> None:
    with answering(lambda handler: handler.say({"action": ACTION, "thought": "well"})) as (url, _):
        agent = HttpAgent(url)
        assert agent(SEEN, TOOLS) == ACTION
        agent.close()


def test_a_connection_is_kept_and_one_that_has_gone_is_opened_again() -> None:
    with answering(lambda handler: handler.say(ACTION)) as (url, asked):
        agent = HttpAgent(url)
        for _ in range(3):
            agent(SEEN, TOOLS)
        agent.close()
    assert len({port for _, _, port in asked}) == 1

    def hang_up(handler: Handler) -> None:
        handler.say(ACTION)
        handler.close_connection = True  # without a word

    with answering(hang_up) as (url, asked):
        agent = HttpAgent(url)
        for _ in range(3):
            assert agent(SEEN, TOOLS) == ACTION
            time.sleep(0.05)
        agent.close()
    assert len({port for _, _, port in asked}) == 3


def slowly(handler: Handler) -> None:
    time.sleep(1)


def drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    dripped(handler, b"")


def drip_chunks(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    dripped(handler, b"1\r\n \r\n")


def drip_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    dripped(handler, b"X-Slow: 1\r\n")


def drip_status(handler: Handler) -> None:
    dripped(handler, b"HTTP/1.1 200 OK")


def dripped(handler: Handler, text: bytes) -> None:
    """A byte at a time, for a second."""
    with suppress(OSError):  # nobody listens to the end
        for number in range(20):
            handler.wfile.write(text[number % len(text) :][:1] if text else b" ")
            time.sleep(0.05)
    handler.close_connection = True


CUT = json.dumps(ACTION).encode()


def cut(handler: Handler) -> None:
    """A whole action, and an announcement of more."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + CUT)
    handler.close_connection = True


def cut_chunks(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(CUT), CUT))
    handler.close_connection = True


def nothing(handler: Handler) -> None:
    handler.close_connection = True


ANSWERS: list[tuple[Respond, str]] = [
    (lambda handler: handler.say(b"out of order", 500), "answered 500 Internal Server Error: out of order"),
    (lambda handler: handler.say(b"", 404), "answered 404 Not Found."),
    (lambda handler: handler.say(ACTION, 201), "answered 201 Created: "),
    (lambda handler: handler.say(b"", 307, Location="http://127.0.0.1:1"), "answered 307 Temporary Redirect."),
    (lambda handler: handler.say(b"resolve"), "answered what isn't JSON: resolve"),
    (lambda handler: handler.say(b"\xff\x1b[2J"), "answered what isn't JSON: �\\x1b[2J"),
    (lambda handler: handler.say(b"[" * 200_000), "answered what isn't JSON: [[["),
    (
        lambda handler: handler.say(["resolve"]),
        'answered ["resolve"], which is no action: an object whose "type" is one of "ask"',
    ),
    (lambda handler: handler.say(b" " * (MAX_ANSWER + 1)), "answered with more than 1,048,576 bytes."),
    (slowly, "gave no answer within 0.3 s."),
    (drip, "gave no answer within 0.3 s."),
    (drip_chunks, "gave no answer within 0.3 s."),
    (drip_headers, "gave no answer within 0.3 s."),
    (drip_status, "gave no answer within 0.3 s."),
    (cut, "can't be asked: its answer was cut off"),
    (cut_chunks, "can't be asked: its answer was cut off"),
    (lambda handler: handler.say({"error": "no key"}), 'answered {"error": "no key"}, which is no action: '),
    (lambda handler: handler.say({"action": "stop"}), 'answered {"action": "stop"}, which is no action: '),
    (nothing, "can't be asked: Remote end closed connection without response"),
]


@pytest.mark.parametrize(("respond", "said"), ANSWERS)
def test_what_is_no_answer_is_said(respond: Respond, said: str) -> None:
    with answering(respond) as (url, _):
        agent = HttpAgent(url, 0.3)
        with pytest.raises(AgentError) as failed:
            agent(SEEN, TOOLS)
        agent.close()
    assert str(failed.value).startswith(f"The agent {url} {said}")
    assert len(str(failed.value)) < 500
    assert failed.value.trace is None


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        with pytest.raises(AgentError, match=f"The agent {url} can't be asked: Connection refused"):
            HttpAgent(url)(SEEN, TOOLS)


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host/", "http://", "http://host:port/", "http://a b/", "http://h\n/"]
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(AgentError, match="is no address of an agent"):
        HttpAgent(url)
