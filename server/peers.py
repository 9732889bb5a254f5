"""The peers at the other end of the sockets: which of them are still there, and the goodbye at the end.

A peer is pinged, so that its network notices it, and so that one that is gone is noticed. ASGI has no word for pings:
uvicorn sends its own; for gunicorn's worker they are sent here. What is private to gunicorn stands here and in
`server.worker`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

GOING_AWAY, RESTARTING = 1001, 1012  # close codes of RFC 6455's registry
STOPPING = "the server is stopping"
UNREAD = 2 * 1024 * 1024  # bytes that may wait for a peer that reads nothing: twice what agents make answers grow to
WAITING = 4  # messages of a peer that wait for their turn, beside the one that is answered
_PIECES = 1_024  # of a message, after which they are joined
_PING = 0x9  # a frame's opcode
_AT_ONCE = 64  # peers that are looked after at one go, while everybody else waits
_PARTS = ("_send_frame", "feed_data", "feed_eof", "closed")  # by which gunicorn's protocol is known
_MOST_MILLISECONDS = 2**31 - 1  # what the kernel takes

logger = logging.getLogger("server")


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds; 0 stands for never.

    A peer is pinged every `ping`; gone if nothing at all, not even a pong, came from it for `silent`; idle if no
    message came for `idle`.
    """

    ping: float = 20.0
    silent: float = 300.0
    idle: float = 3600.0

    @property
    def gone(self) -> float:
        """When a silent peer counts as gone: not before it had two pings to answer, so never where there are none."""
        return max(self.silent, 2 * self.ping) if self.silent and self.ping else 0.0


class Peer:
    """One end of a socket. `heard` is when anything came from it last, `spoke` when a message did.

    `audible`: signs of life other than messages are noticed. `closing`: nothing more is taken from it.
    """

    __slots__ = ("_gunicorn", "_transport", "audible", "closing", "heard", "pinged", "send", "spoke")

    def __init__(self, send: Send, now: float) -> None:
        self.send = send
        self.heard = self.spoke = self.pinged = now
        self.audible = self.closing = False
        server: Any = getattr(send, "__self__", None)
        self._transport: Any = getattr(server, "transport", None)
        self._gunicorn: Any = server if all(hasattr(server, part) for part in _PARTS) else None

    def listen(self, now: Callable[[], float]) -> None:
        """Note whatever comes, pongs too, and the end: gunicorn leaves whoever waits for a slow reader waiting.

        It answers pings whether their sender reads or not; that is bounded here.
        """
        if self._gunicorn is None:
            return
        server, transport = self._gunicorn, self._transport
        feed, end = server.feed_data, server.feed_eof

        def hear(data: bytes) -> None:
            self.heard = now()
            if transport.get_write_buffer_size() > UNREAD:
                transport.abort()
            else:
                feed(data)

        def hear_the_end() -> None:
            end()
            server.closed = True
            transport.get_protocol().resume_writing()

        with suppress(AttributeError):
            server.feed_data, server.feed_eof = hear, hear_the_end
            self.audible = True

    def leave(self) -> None:
        """Undo `listen`: what goes round in a circle is freed late."""
        if self.audible:
            self.audible = False
            del self._gunicorn.feed_data, self._gunicorn.feed_eof

    def drop_if_unacknowledged(self, seconds: float) -> None:
        """Let the kernel end a connection on which what was sent is never acknowledged."""
        raw = self._transport.get_extra_info("socket") if self._transport is not None else None
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
            milliseconds = min(int(seconds * 1000), _MOST_MILLISECONDS)
            with suppress(OSError):  # it is closed already
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)

    async def ping(self) -> None:
        if self._gunicorn is not None:
            with suppress(OSError, RuntimeError):  # its own conversation notices
                await self._gunicorn._send_frame(_PING, b"")

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye; gunicorn waits some seconds for the answer, then the connection is cut off."""
        try:
            await self.send({"type": "websocket.close", "code": code, "reason": reason})
        except (OSError, RuntimeError):
            pass  # it went by itself
        finally:
            if self._gunicorn is not None:
                self._transport.abort()


def hold_little(websockets: Any) -> None:
    """Bound what gunicorn's module keeps for a peer that sends and doesn't read: there is no setting for it.

    32 messages would wait, and a message may come in any number of pieces, which may be empty.
    """
    if hasattr(websockets, "RECEIVE_QUEUE_HIGH_WATER"):
        websockets.RECEIVE_QUEUE_HIGH_WATER = WAITING
    protocol: Any = getattr(websockets, "WebSocketProtocol", None)
    if hasattr(protocol, "_handle_continuation"):
        protocol._handle_continuation = _join


async def _join(self: Any, payload: bytes) -> None:
    """What is done after each piece: gunicorn itself has nothing to do then."""
    if len(getattr(self, "_fragments", ())) > _PIECES:
        self._fragments = [b"".join(self._fragments)]


class Peers:
    """All peers of one event loop, watched by a single task that lives as long as there are any."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._peers: set[Peer] = set()
        self._watch: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._leaving = False

    def __len__(self) -> int:
        return len(self._peers)

    @contextmanager
    def joined(self, send: Send) -> Iterator[Peer]:
        """A peer that is watched until the end."""
        loop = asyncio.get_running_loop()
        peer = Peer(send, loop.time())
        self._peers.add(peer)
        try:
            peer.listen(loop.time)
            if self._patience.gone:
                peer.drop_if_unacknowledged(self._patience.gone)
            if self._leaving:
                self._close(peer, RESTARTING, STOPPING)
            elif self._watch is None or self._watch.done():
                self._watch = loop.create_task(self._look_after())
            yield peer
        finally:
            self._peers.discard(peer)
            peer.leave()

    async def dismiss(self) -> None:
        """Say goodbye to all of them, and to whoever comes later; returns once they are gone."""
        self._leaving = True
        for peer in tuple(self._peers):
            self._close(peer, RESTARTING, STOPPING)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _look_after(self) -> None:
        limits = [limit for limit in (self._patience.ping, self._patience.gone, self._patience.idle) if limit]
        loop = asyncio.get_running_loop()
        while limits and self._peers and not self._leaving:
            await asyncio.sleep(min(limits) / 4)
            for number, peer in enumerate(tuple(self._peers), 1):
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                try:
                    await self._look_at(peer, loop.time())
                except Exception:
                    logger.exception("a socket could not be looked after")

    async def _look_at(self, peer: Peer, now: float) -> None:
        ping, gone, idle = self._patience.ping, self._patience.gone, self._patience.idle
        if peer.closing:
            return
        if idle and now - peer.spoke >= idle:
            self._close(peer, GOING_AWAY, f"no message for {idle:g} seconds")
        elif gone and peer.audible and now - peer.heard >= gone:
            self._close(peer, GOING_AWAY, f"nothing heard for {gone:g} seconds")
        elif ping and now - peer.pinged >= ping:
            peer.pinged = now
            await peer.ping()

    def _close(self, peer: Peer, code: int, reason: str) -> None:
        peer.closing = True
        self._peers.discard(peer)
        task = asyncio.get_running_loop().create_task(peer.close(code, reason))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
