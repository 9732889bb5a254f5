"""The application's ASGI face: sockets and the hot routes are answered here, everything else by Flask.

Nothing here blocks for long: a step takes microseconds, so it is taken on the event loop itself.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import Any, NamedTuple, Protocol

from asgiref.wsgi import WsgiToAsgi

from server import batch, http, protocol
from server.body import MAX_BODY
from server.gate import SECURITY_HEADERS, Gate, Headers
from server.intake import Intake, Message, Receive
from server.mcp import Mcp
from server.peers import Patience, Peer, Peers
from server.problems import Problem
from server.service import Caller, Service
from server.sessions import Session, Sessions
from server.tally import COUNTED, REQUEST_SECONDS
from server.together import Together
from server.upkeep import Upkeep

Scope = MutableMapping[str, Any]
Pairs = list[tuple[bytes, bytes]]  # headers; names are in lower case
Send = Callable[[Message], Awaitable[None]]

logger = logging.getLogger("server")


class Speech(NamedTuple):
    """What is spoken on a socket: `talk` answers a session's frames, `refuse` says why there is no session.

    `talk` is given what counts the messages that a frame holds besides its first.
    """

    talk: Callable[[Session, batch.Spend], Callable[[str], protocol.Reply]]
    refuse: Callable[[str, Exception], str]


class Application(Protocol):
    """The Flask application, as far as it is needed here: it answers what isn't hot."""

    service: Service
    upkeep: Upkeep

    @property
    def wsgi_app(self) -> Callable[..., Any]: ...


class Asgi:
    """The ASGI 3 application around a service."""

    def __init__(self, flask: Application, sessions: Sessions, mcp: Mcp, patience: Patience, gate: Gate) -> None:
        self._service = service = flask.service
        self._upkeep = flask.upkeep
        self._sessions = sessions
        self._gate = gate
        self._flask = WsgiToAsgi(flask.wsgi_app, duplicate_header_limit=0)  # type: ignore[no-untyped-call]
        self._hot = {**http.HOT, **mcp.routes}
        self._peers = Peers(patience)
        self._together = Together(service)
        # A durable store writes once for all steps that come at the same time.
        self._gathered = http.HOT[http.STEP] if service.durable else None
        self._intake = Intake()
        self._busy = 0  # HTTP requests that aren't answered yet
        self._chores: asyncio.Task[None] | None = None
        self._sockets: Mapping[str, Speech] = {
            "/ws": Speech(lambda session, _: protocol.Conversation(service, mcp, session).receive, protocol.refused),
            "/mcp": Speech(
                lambda session, spend: lambda text: protocol.Reply(mcp.receive(text, session, spend)),
                protocol.refused_rpc,
            ),
        }

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        if self._chores is None:
            self._chores = asyncio.get_running_loop().create_task(_keep_up(self._upkeep))
        if scope["type"] == "http":
            return self._http(scope, receive, send)
        if scope["type"] == "websocket":
            return self._websocket(scope, receive, send)
        return _lifespan(receive, send)

    @property
    def sockets(self) -> int:
        """How many are held."""
        return len(self._peers)

    async def leave(self) -> None:
        """Say goodbye on all sockets, and wait until every HTTP request is answered."""
        await self._peers.dismiss()
        while self._busy:
            await asyncio.sleep(0.05)

    def hang_up(self) -> asyncio.Task[None]:
        """Say goodbye on all sockets as far as there is time."""
        return asyncio.get_running_loop().create_task(self._peers.dismiss())

    # -- HTTP

    def at_once(
        self, method: str, path: str, query: bytes, headers: Pairs, address: str | None, content: bytes
    ) -> tuple[int, Pairs, bytes] | None:
        """The answer to a request whose whole body is there; None where there is something to wait for.

        What `__call__` sends, without the messages: the status, the headers, and the body.
        """
        route = self._hot.get((method, path))
        if route is None and batch.is_short(content):
            route = http.WHOLE.get((method, path))
        if route is None or route is self._gathered or len(content) > MAX_BODY:
            return None
        started = time.perf_counter()
        given = _Headers(headers)
        try:
            owner = self._gate.admit(path, given, address)
        except Problem as problem:
            answer = http.refuse(problem)
        else:
            answer = http.respond(self._service, route, _request(query, given, content, address, owner, self._gate))
        sent = _dressed(answer, self._gate.cors(given.get("origin")))
        count_request(path, answer.status, time.perf_counter() - started)
        return sent

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        if "://" in scope["path"]:
            scope = _origin_form(scope)
        path, headers = scope["path"], _Headers(scope["headers"])
        key = (scope["method"], path)
        route = self._hot.get(key)
        native = route is not None or key in http.BATCHES
        address = scope["client"][0] if scope.get("client") else None
        self._busy += 1
        try:
            try:
                # Flask lets in, and counts, what it answers; here that is only kept from sending a body in vain.
                owner = (
                    self._gate.admit(path, headers, address)
                    if native
                    else self._gate.glance(scope["method"], path, headers)
                )
                content = await self._intake.read(receive, http.limit(path))
            except Problem as problem:
                answer = http.refuse(problem)
            else:
                try:
                    if not native:
                        await self._through_flask(scope, content, send)
                        return
                    request = _request(scope["query_string"], headers, content, address, owner, self._gate)
                    if route is None:
                        answer = await self._in_slices(key, request)
                    elif route is self._gathered:
                        answer = await self._together.step(request)
                    else:
                        answer = http.respond(self._service, route, request)
                finally:
                    self._intake.let_go(content)
            status, fields, body = _dressed(answer, self._gate.cors(headers.get("origin")))
            await send({"type": "http.response.start", "status": status, "headers": fields})
            await send({"type": "http.response.body", "body": body})
        finally:
            self._busy -= 1
        count_request(path if native else "other", answer.status, time.perf_counter() - started)

    async def _in_slices(self, key: tuple[str, str], request: http.Request) -> http.Answer:
        """Lets everybody else have a turn between the slices of a batch."""
        work = http.respond_in_slices(http.BATCHES[key](self._service, request.body, request.owner, request.spend))
        while True:
            try:
                next(work)
            except StopIteration as end:
                answer: http.Answer = end.value
                return answer
            await asyncio.sleep(0)

    async def _through_flask(self, scope: Scope, content: bytes, send: Send) -> None:
        """Flask has one thread for everybody: its answer is kept first, lest a peer that reads slowly hold that up."""
        said: list[Message] = []

        async def keep(message: Message) -> None:
            said.append(message)

        await self._flask(_complete(scope, content), _once(content), keep)
        for message in said:
            await send(message)

    # -- Sockets

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        speech = self._sockets.get(scope["path"])
        if (await receive())["type"] != "websocket.connect":
            return
        headers, address = _Headers(scope["headers"]), scope["client"][0] if scope.get("client") else None
        try:
            owner = self._gate.admit(scope["path"], headers, address)
        except Problem:
            speech = None
        if speech is None:
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: HTTP 403
            return
        subprotocol = "mcp" if "mcp" in scope.get("subprotocols", ()) else None
        try:
            await send({"type": "websocket.accept", "subprotocol": subprotocol})
            session, refusal = self._session(http.query(scope["query_string"]), speech, owner)
            if session is not None:
                talk = _counted(speech, session, scope["path"], self._gate, owner, address)
                await self._hold(session, talk, receive, send)
                return
            await send({"type": "websocket.send", "text": refusal})
            await send({"type": "websocket.close", "code": 1000})
        except OSError:
            pass  # the peer went while it was being answered

    async def _hold(
        self, session: Session, reply_to: Callable[[str], protocol.Reply], receive: Receive, send: Send
    ) -> None:
        try:
            with self._peers.joined(send) as peer:
                await _converse(receive, peer, reply_to)
        finally:
            self._sessions.detach(session)

    def _session(self, query: Mapping[str, str], speech: Speech, owner: str) -> tuple[Session | None, str]:
        """The session that a socket asks for; where it can't be had, the frame that says why."""
        session = None
        try:
            session_id = query.get("session_id")
            session = (
                self._sessions.attach(session_id, owner) if session_id else self._sessions.open(owner, socket=True)
            )
            if query.get("episode_id"):
                self._service.enter(Caller(session=session, owner=owner), query["episode_id"])
        except Exception as error:
            if session is not None:
                self._sessions.detach(session)
            made = session is not None or query.get("session_id")
            return None, speech.refuse("SESSION_ERROR" if made else "FACTORY_ERROR", error)
        return session, ""


def _counted(
    speech: Speech, session: Session, path: str, gate: Gate, owner: str, address: str | None
) -> Callable[[str], protocol.Reply]:
    """Replies to frames, each message of which counts as a request."""
    talk = speech.talk(session, partial(gate.spend_more, owner, address))

    def reply_to(text: str) -> protocol.Reply:
        started = time.perf_counter()
        try:
            gate.spend(owner, address)
        except Problem as problem:
            return protocol.Reply(speech.refuse("EXECUTION_ERROR", problem))
        reply = talk(text)
        count_request(path, 200, time.perf_counter() - started, "websocket")
        return reply

    return reply_to


async def _converse(receive: Receive, peer: Peer, reply_to: Callable[[str], protocol.Reply]) -> None:
    """Replies to each frame in turn, until the peer or the conversation ends."""
    now = asyncio.get_running_loop().time
    while (message := await receive())["type"] == "websocket.receive":
        if peer.closing:
            continue  # until its end comes
        peer.spoke = peer.heard = now()
        text = message.get("text")
        # What isn't UTF-8 in a binary frame stays recognisable: whoever reads the text refuses it.
        reply = reply_to(text if text is not None else message["bytes"].decode("utf-8", "surrogateescape"))
        if reply.frame is not None:
            await peer.send({"type": "websocket.send", "text": reply.frame})
        if reply.close:
            await peer.send({"type": "websocket.close", "code": 1000})
            return


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


def _origin_form(scope: Scope) -> Scope:
    """A request may name a whole URL (RFC 9112, 3.2.2); what counts is its path."""
    address, _, rest = scope["path"].partition("://")
    _, slash, path = rest.partition("/")
    return {**scope, "path": slash + path or "/"} if "/" not in address else scope


class _Headers(Mapping[str, str]):
    """The headers of a request, decoded when somebody looks; several of one name are one list, as WSGI has it."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        pairs = tuple(raw)
        self._raw = dict(pairs)
        if len(self._raw) < len(pairs):
            self._raw = {}
            for name, value in pairs:
                self._raw[name] = self._raw[name] + b"," + value if name in self._raw else value

    def __getitem__(self, name: str) -> str:
        return self._raw[name.encode("latin-1")].decode("latin-1")

    def get(self, name: str, default: Any = None) -> Any:
        value = self._raw.get(name.encode("latin-1"))  # quicker than by way of a KeyError
        return default if value is None else value.decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def _request(
    raw_query: bytes, headers: Mapping[str, str], content: bytes, address: str | None, owner: str, gate: Gate
) -> http.Request:
    query, cookie = http.query(raw_query), http.cookie(headers.get("cookie"))
    # Where there are tokens an address is nobody's own.
    known = None if owner else address
    return http.Request(content, query, headers, cookie, known, owner, partial(gate.spend_more, owner, address))


def _dressed(answer: http.Answer, more: Headers) -> tuple[int, Pairs, bytes]:
    kind = _JSON if answer.media_type == http.JSON else (b"content-type", answer.media_type.encode("ascii"))
    headers = [kind, (b"content-length", b"%d" % len(answer.body)), *_DRESS]
    for name, value in (*answer.headers, *more):
        headers.append((name.lower().encode("ascii"), value.encode("latin-1")))
    return answer.status, headers, answer.body


_JSON = (b"content-type", http.JSON.encode())
_DRESS = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS]


def count_request(route: str, status: int, seconds: float, protocol: str = "http") -> None:
    """Note a request that was answered."""
    COUNTED.observe(REQUEST_SECONDS, (protocol, route, _STATUSES[status]), seconds)


_STATUSES = {status: str(status) for status in range(100, 600)}


async def _keep_up(upkeep: Upkeep) -> None:
    while True:
        await asyncio.sleep(1.0)
        try:
            upkeep.turn()
        except Exception:
            logger.exception("the upkeep failed")


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
