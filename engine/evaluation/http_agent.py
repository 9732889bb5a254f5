"""An agent at an HTTP address: a question is a POST of JSON, its answer the action."""

from __future__ import annotations

import base64
import http.client
import io
import json
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import unquote, urlsplit

from engine.evaluation.agents import Action, AgentError, Tools, action_of, question_of, shortened
from engine.evaluation.masking import masked_url
from engine.proof import told

SECONDS = 60.0
# The bytes of an answer that are taken.
MAX_ANSWER = 1024 * 1024
_SCHEMES = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


class HttpAgent:
    """Asks an address, within `seconds` a step: until the last byte of the answer.

    What is sent: `{"observation": {...}, "tools": [...], "instructions": "...", "episode_id": "..."}`. One connection
    is kept and used again. A user and password in the address are sent as such. Raises AgentError where `url` is none.
    """

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        self.name = told.lines(masked_url(url))
        self._seconds = seconds
        try:
            parts = urlsplit(url)
            kind, host, port = _SCHEMES.get(parts.scheme), parts.hostname, parts.port
        except ValueError:
            kind, host, port = None, None, None
        if kind is None or not host or not url.isprintable() or " " in url:
            raise AgentError(f"'{self.name}' is no address of an agent: http://HOST:PORT/PATH, or https://…")
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {**_HEADERS, **_authorization(parts.username, parts.password)}
        self._connection = kind(host, port, timeout=seconds)

    def __repr__(self) -> str:
        return f"<HttpAgent {self.name}>"

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        __tracebackhide__ = True
        status, reason, content = self._asked(question_of(observation, tools, instructions, episode_id))
        if status != 200:
            text = content.decode("utf-8", "replace").strip()
            raise self._error(f"answered {status} {reason}".rstrip(), text)
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            raise self._error("answered what isn't JSON", content.decode("utf-8", "replace")) from None
        return action_of(answer, tools, f"The agent {self.name} answered")

    def close(self) -> None:
        """Gives up the connection; the next question opens another."""
        self._connection.close()

    def _asked(self, question: bytes) -> tuple[int, str, bytes]:
        """Status, reason and body of the answer. An agent may have ended the connection between two questions."""
        again = self._connection.sock is not None
        while True:
            try:
                return self._answer(question)
            except TimeoutError:
                self.close()
                raise self._error(f"gave no answer within {self._seconds:g} s") from None
            except (http.client.HTTPException, OSError) as error:
                self.close()
                if again and isinstance(error, http.client.RemoteDisconnected | ConnectionError):
                    again = False
                    continue
                raise self._error(f"can't be asked: {_reason(error)}") from None

    def _answer(self, question: bytes) -> tuple[int, str, bytes]:
        end, connection = time.monotonic() + self._seconds, self._connection
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(_left(end))
        connection.request("POST", self._path, question, self._headers)
        connection.response_class = _until(end)
        content = bytearray()
        with closing(connection.getresponse()) as response:
            announced = response.length
            while piece := response.read1(MAX_ANSWER):
                content += piece
                if len(content) > MAX_ANSWER:
                    self.close()
                    raise self._error(f"answered with more than {MAX_ANSWER:,} bytes")
            if announced is not None and len(content) < announced:
                raise http.client.IncompleteRead(bytes(content), announced - len(content))
        return response.status, response.reason, bytes(content)

    def _error(self, what: str, text: str = "") -> AgentError:
        shown = shortened(text)
        return AgentError(f"The agent {self.name} {what}" + (f": {shown}" if shown else "."))


class _Timed(io.RawIOBase):
    """What comes from a socket until a time: each piece of it has only what is left of that."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._end))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _until(end: float) -> Callable[..., http.client.HTTPResponse]:
    """Makes responses that are read until a time: head and body, however slowly they come. They raise TimeoutError."""

    def made(sock: socket.socket, *given: Any, **more: Any) -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(sock, *given, **more)
        response.fp.close()
        response.fp = io.BufferedReader(_Timed(sock, end))
        return response

    return made


def _left(end: float) -> float:
    """The seconds until a time. Raises TimeoutError where it is past."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _authorization(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "its answer was cut off"
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return told.lines(text or type(error).__name__)
