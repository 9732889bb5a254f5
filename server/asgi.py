"""The application's ASGI face: sockets and the hot routes are answered here, everything else by Flask.

Nothing here blocks for long: a step takes microseconds, so it is taken on the event loop itself.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from asgiref.wsgi import WsgiToAsgi

from server import body, http, protocol
from server.mcp import Mcp
from server.peers import Patience, Peer, Peers
from server.problems import Problem
from server.service import Caller, Service
from server.sessions import Full, Session, Sessions, Unknown

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

logger = logging.getLogger("server")


class Speech(NamedTuple):
    """What is spoken on a socket: `talk` answers a session's frames, `refuse` says why there is no session."""

    talk: Callable[[Session], Callable[[str], protocol.Reply]]
    refuse: Callable[[str, Exception], str]


class Asgi:
    """The ASGI 3 application around a service; `wsgi` is the Flask application that answers what isn't hot."""

    def __init__(
        self, service: Service, sessions: Sessions, mcp: Mcp, wsgi: Callable[..., Any], patience: Patience
    ) -> None:
        self._service = service
        self._sessions = sessions
        self._flask = WsgiToAsgi(wsgi)  # type: ignore[no-untyped-call]
        self._hot = {**http.HOT, **mcp.routes}
        self._peers = Peers(patience)
        self._busy = 0  # HTTP requests that aren't answered yet
        self._sockets: Mapping[str, Speech] = {
            "/ws": Speech(lambda session: protocol.Conversation(service, mcp, session).receive, protocol.refused),
            "/mcp": Speech(
                lambda session: lambda text: protocol.Reply(mcp.receive(text, session)), protocol.refused_rpc
            ),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._busy += 1
            try:
                await self._http(scope, receive, send)
            finally:
                self._busy -= 1
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)

    async def leave(self) -> None:
        """Say goodbye on all sockets, and wait until every HTTP request is answered."""
        await self._peers.dismiss()
        while self._busy:
            await asyncio.sleep(0.05)

    def hang_up(self) -> asyncio.Task[None]:
        """Say goodbye on all sockets as far as there is time."""
        return asyncio.get_running_loop().create_task(self._peers.dismiss())

    # -- HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = (scope["method"], scope["path"])
        batch = http.BATCHES.get(key)
        try:
            content = await _content(receive, http.limit(scope["path"]))
        except Problem as problem:
            await _send(send, http.refuse(problem))
            return
        route = self._hot.get(key)
        if route is not None:
            await _send(send, http.respond(self._service, route, _request(scope, content)))
        elif batch is not None:
            await _send(send, await _in_slices(http.respond_in_slices(batch(self._service, content))))
        else:
            await self._flask(_complete(scope, content), _once(content), send)

    # -- Sockets

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        speech = self._sockets.get(scope["path"])
        if (await receive())["type"] != "websocket.connect":
            return
        if speech is None:
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: HTTP 403
            return
        subprotocol = "mcp" if "mcp" in scope.get("subprotocols", ()) else None
        await send({"type": "websocket.accept", "subprotocol": subprotocol})
        session, refusal = self._session(http.query(scope["query_string"]), speech)
        if session is None:
            await send({"type": "websocket.send", "text": refusal})
            await send({"type": "websocket.close", "code": 1000})
            return
        peer = self._peers.join(send)
        try:
            await _converse(receive, peer, speech.talk(session))
        except OSError:
            pass  # the peer went while it was being answered
        finally:
            self._peers.leave(peer)
            self._sessions.detach(session)

    def _session(self, query: Mapping[str, str], speech: Speech) -> tuple[Session | None, str]:
        """The session that a socket asks for; where it can't be had, the frame that says why."""
        session = None
        try:
            session_id = query.get("session_id")
            session = self._sessions.attach(session_id) if session_id else self._sessions.open(socket=True)
            if query.get("episode_id"):
                self._service.enter(Caller(session=session), query["episode_id"])
        except Exception as error:
            if not isinstance(error, Full | Unknown | Problem):
                logger.exception("a socket could not be given a session")
            if session is not None:
                self._sessions.detach(session)
            made = session is not None or query.get("session_id")
            return None, speech.refuse("SESSION_ERROR" if made else "FACTORY_ERROR", error)
        return session, ""


async def _converse(receive: Receive, peer: Peer, reply_to: Callable[[str], protocol.Reply]) -> None:
    """Replies to each frame in turn, until the peer or the conversation ends."""
    now = asyncio.get_running_loop().time
    while (message := await receive())["type"] == "websocket.receive":
        peer.spoke = peer.heard = now()
        text = message.get("text")
        # What isn't UTF-8 in a binary frame stays recognisable: whoever reads the text refuses it.
        reply = reply_to(text if text is not None else message["bytes"].decode("utf-8", "surrogateescape"))
        if reply.frame is not None:
            await peer.send({"type": "websocket.send", "text": reply.frame})
        if reply.close:
            await peer.send({"type": "websocket.close", "code": 1000})
            return


async def _in_slices(work: Generator[None, None, http.Answer]) -> http.Answer:
    """Lets everybody else have a turn between the slices."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            answer: http.Answer = end.value
            return answer
        await asyncio.sleep(0)


async def _content(receive: Receive, limit: int) -> bytes:
    """The body of a request. Raises Problem 413 where it is larger than `limit`, 408 where not all of it comes."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        content: bytes = message.get("body", b"")
        if len(content) > limit:
            raise body.too_large(limit)
        return content
    chunks: list[bytes] = []
    size = 0
    while message["type"] == "http.request":
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        if size > limit + body.PATIENCE or (size > limit and not message.get("more_body")):
            raise body.too_large(limit)
        if not message.get("more_body"):
            return b"".join(chunks)
        message = await receive()
    raise Problem(408, "The body of the request did not come whole.")


def _once(content: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    return receive


def _complete(scope: Scope, content: bytes) -> Scope:
    """The scope of a request whose body has been read: WSGI needs its length, and a query string in ASCII."""
    framing = (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in scope["headers"] if name not in framing]
    if content:
        headers.append((b"content-length", b"%d" % len(content)))
    query = re.sub(rb"[^\x00-\x7f]", lambda found: b"%%%02X" % found[0][0], scope["query_string"])
    return {**scope, "headers": headers, "query_string": query}


class _Headers(Mapping[str, str]):
    """The headers of a request, decoded when somebody looks; of a name that comes more than once, the last."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = dict(raw)

    def __getitem__(self, name: str) -> str:
        return self._raw[name.encode("latin-1")].decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def _request(scope: Scope, content: bytes) -> http.Request:
    headers = _Headers(scope["headers"])
    client = scope.get("client")
    query, cookie = http.query(scope["query_string"]), http.cookie(headers.get("cookie"))
    return http.Request(content, query, headers, cookie, client[0] if client else None)


async def _send(send: Send, answer: http.Answer) -> None:
    headers = [(b"content-type", answer.media_type.encode("ascii")), (b"content-length", b"%d" % len(answer.body))]
    for name, value in answer.headers:
        headers.append((name.lower().encode("ascii"), value.encode("latin-1")))
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
