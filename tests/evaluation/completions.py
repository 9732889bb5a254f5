"""A service with OpenAI's interface for tests: real HTTP, what it answers is written beforehand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What each answer says that it took.
PROMPT, COMPLETION = 100, 10


@dataclass
class Request:
    path: str
    headers: Mapping[str, str]
    body: Any


# What is done with a request: it is answered by the handler's `say`.
Reply = Callable[["_Handler"], None]


@dataclass
class Service:
    """Answers the requests one after the other; the last reply again and again. `asked` are those that came."""

    replies: list[Reply]
    url: str = ""
    asked: list[Request] = field(default_factory=list)

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.service.asked.append(
            Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        )
        with suppress(OSError):  # whoever asked may have gone
            self.service.next()(self)

    def say(self, content: Any, status: int = 200, **headers: str) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None: ...


@contextmanager
def serving(*replies: Reply) -> Iterator[Service]:
    service = Service([*replies])
    handler = type("Handler", (_Handler,), {"service": service})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        service.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


# -- What may be answered


def message(finish: str = "stop", usage: bool = True, **members: Any) -> Reply:
    """A completion whose message has these members."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": None, **members}}
        ],
    }
    if usage:
        body["usage"] = {
            "prompt_tokens": PROMPT,
            "completion_tokens": COMPLETION,
            "total_tokens": PROMPT + COMPLETION,
        }
    return lambda handler: handler.say(body)


def call(name: str, arguments: Any = "{}", number: int = 1) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) or arguments is None else json.dumps(arguments)
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": written}}


def calls(*made: tuple[str, Any] | tuple[str]) -> Reply:
    return message("tool_calls", tool_calls=[call(*one, number=at) for at, one in enumerate(made, 1)])  # type: ignore[misc]


def text(content: str) -> Reply:
    return message(content=content)


def refusal() -> Reply:
    return message(refusal="I can't help with that.")


def error(status: int, said: str = "no", code: str | None = None, **headers: str) -> Reply:
    body = {"error": {"message": said, "type": "t", "param": None, "code": code}}
    return lambda handler: handler.say(body, status, **headers)


def raw(content: bytes, **headers: str) -> Reply:
    return lambda handler: handler.say(content, 200, **headers)


def hang(seconds: float) -> Reply:
    return lambda handler: time.sleep(seconds)
