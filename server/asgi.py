"""The application's ASGI face: sockets and the hot routes are answered here, everything else by Flask.

Nothing here blocks for long: a step takes microseconds, so it is taken on the event loop itself.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl

from asgiref.wsgi import WsgiToAsgi

from server import body, http, protocol
from server.mcp import Mcp
from server.openapi import COOKIE
from server.problems import Problem
from server.service import Caller, Service
from server.sessions import Full, Session, Sessions, Unknown

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# Seconds. A peer that is gone is noticed by an unanswered ping, one that is only silent after IDLE.
PING, GONE, IDLE = 20.0, 60.0, 3600.0


class Asgi:
    """The ASGI 3 application around a service; `wsgi` is the Flask application that answers what isn't hot."""

    def __init__(self, service: Service, sessions: Sessions, mcp: Mcp, wsgi: Callable[..., Any]) -> None:
        self._service = service
        self._sessions = sessions
        self._mcp = mcp
        self._flask = WsgiToAsgi(wsgi)  # type: ignore[no-untyped-call]
        self._sockets: Mapping[str, Callable[[Session], Callable[[str], protocol.Reply]]] = {
            "/ws": lambda session: protocol.Conversation(service, mcp, session).receive,
            "/mcp": lambda session: lambda text: protocol.Reply(mcp.receive(text, session)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = http.HOT.get((scope["method"], scope["path"]))
        content = await _content(receive)
        if content is None:
            await _send(send, http.refuse(body.too_large()))
        elif route is not None:
            await _send(send, http.respond(self._service, route, _request(scope, content)))
        else:
            scope = {**scope, "query_string": scope["query_string"].decode("latin-1").encode("ascii", "replace")}
            await self._flask(scope, _once(content), send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        talk = self._sockets.get(scope["path"])
        if talk is None:
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        try:
            session = self._session(dict(parse_qsl(scope["query_string"].decode("latin-1"))))
        except Full as full:
            await _refuse(send, protocol.refused(full))
            return
        except (Unknown, Problem) as error:
            await _refuse(send, protocol.error("SESSION_ERROR", str(error)))
            return
        try:
            _notice_the_dead(send)
            await _converse(receive, send, talk(session))
        finally:
            self._sessions.detach(session)

    def _session(self, query: Mapping[str, str]) -> Session:
        """The session that a socket asks for. Raises Full, Unknown, Problem."""
        if "session_id" in query:
            return self._sessions.attach(query["session_id"])
        session = self._sessions.open(socket=True)
        if "episode_id" in query:
            try:
                self._service.enter(Caller(session=session), query["episode_id"])
            except Problem:
                self._sessions.detach(session)
                raise
        return session


async def _converse(receive: Receive, send: Send, reply_to: Callable[[str], protocol.Reply]) -> None:
    """Replies to each frame in turn, until the peer or the conversation ends."""
    alive = _Alive(send)
    watch = asyncio.create_task(alive.watch())
    try:
        while (message := await receive())["type"] == "websocket.receive":
            alive.sign()
            text = message.get("text")
            reply = reply_to(text if text is not None else message["bytes"].decode("utf-8", "replace"))
            if reply.frame is not None:
                await send({"type": "websocket.send", "text": reply.frame})
            if reply.close:
                await send({"type": "websocket.close", "code": 1000})
                return
    except OSError:
        return  # the peer went while it was being answered
    finally:
        watch.cancel()


class _Alive:
    """Pings a peer every PING seconds, and closes the socket after IDLE without a message."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._time = asyncio.get_running_loop().time
        self._last = self._time()

    def sign(self) -> None:
        self._last = self._time()

    async def watch(self) -> None:
        while self._time() - self._last < IDLE:
            await asyncio.sleep(PING)
            await _ping(self._send)
        await self._send({"type": "websocket.close", "code": 1001, "reason": "idle"})


async def _refuse(send: Send, frame: str) -> None:
    await send({"type": "websocket.send", "text": frame})
    await send({"type": "websocket.close", "code": 1000})


def _notice_the_dead(send: Send) -> None:
    """Let the kernel drop a connection whose pings are never acknowledged."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    raw = transport.get_extra_info("socket") if transport is not None else None
    if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(GONE * 1000))


async def _ping(send: Send) -> None:
    """A ping, where the server leaves that to the application. ASGI has no word for it; uvicorn pings by itself."""
    frame = getattr(getattr(send, "__self__", None), "_send_frame", None)
    if frame is not None:
        await frame(0x9, b"")


async def _content(receive: Receive) -> bytes | None:
    """The body of a request, None where it is larger than any may be."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # the client is gone; nobody reads the answer
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= body.MAX_BODY:
            chunks.append(chunk)
        elif size > body.PATIENCE:
            return None
        if not message.get("more_body", False):
            return b"".join(chunks) if size <= body.MAX_BODY else None


def _once(content: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    return receive


def _request(scope: Scope, content: bytes) -> http.Request:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query: dict[str, str] = {}
    if scope["query_string"]:
        for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
            query.setdefault(name, value)
    client = scope.get("client")
    return http.Request(content, query, headers, _cookie(headers.get("cookie")), client[0] if client else None)


def _cookie(header: str | None) -> str | None:
    if header is None or COOKIE not in header:
        return None
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return morsel.value if morsel is not None else None


async def _send(send: Send, answer: http.Answer) -> None:
    headers = [
        (b"content-type", answer.media_type.encode("ascii")),
        (b"content-length", b"%d" % len(answer.body)),
        *((name.lower().encode("ascii"), value.encode("latin-1")) for name, value in answer.headers),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
