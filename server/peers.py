"""The peers at the other end of the sockets: which of them are still there, and the goodbye at the end.

A peer is pinged, so that its network notices it, and so that one that is gone is noticed. ASGI has no word for pings:
uvicorn sends its own; for gunicorn's worker they are sent here, and what is private to it stands here and nowhere else.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

GOING_AWAY, RESTARTING = 1001, 1012  # close codes of RFC 6455's registry
_PING = 0x9  # a frame's opcode


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds; 0 stands for never.

    A peer is pinged every `ping`; gone if nothing at all, not even a pong, came from it for `silent`; idle if no
    message came for `idle`.
    """

    ping: float = 20.0
    silent: float = 300.0
    idle: float = 3600.0


class Peer:
    """One end of a socket. `heard` is when anything came from it last, `spoke` when a message did."""

    __slots__ = ("_gunicorn", "_transport", "heard", "pinged", "send", "spoke")

    def __init__(self, send: Send, now: float) -> None:
        self.send = send
        self.heard = self.spoke = self.pinged = now
        server: Any = getattr(send, "__self__", None)
        self._transport: Any = getattr(server, "transport", None)
        self._gunicorn: Any = server if hasattr(server, "_send_frame") and hasattr(server, "feed_data") else None

    @property
    def audible(self) -> bool:
        """Whether a sign of life other than a message can be noticed."""
        return self._gunicorn is not None

    def listen(self, now: Callable[[], float]) -> None:
        """Note whatever comes, pongs too."""
        if self._gunicorn is None:
            return
        feed = self._gunicorn.feed_data

        def hear(data: bytes) -> None:
            self.heard = now()
            feed(data)

        self._gunicorn.feed_data = hear

    def drop_if_unacknowledged(self, seconds: float) -> None:
        """Let the kernel end a connection on which what was sent is never acknowledged."""
        raw = self._transport.get_extra_info("socket") if self._transport is not None else None
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))

    async def ping(self) -> None:
        if self._gunicorn is not None:
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


class Peers:
    """All peers of one event loop, watched by a single task that lives as long as there are any."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._peers: set[Peer] = set()
        self._watch: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._leaving = False

    def join(self, send: Send) -> Peer:
        """A peer that is watched from now on."""
        loop = asyncio.get_running_loop()
        peer = Peer(send, loop.time())
        self._peers.add(peer)
        if self._patience.silent:
            peer.listen(loop.time)
            peer.drop_if_unacknowledged(self._patience.silent)
        if self._leaving:
            self._close(peer, RESTARTING, "the server is stopping")
        elif self._watch is None or self._watch.done():
            self._watch = loop.create_task(self._look_after())
        return peer

    def leave(self, peer: Peer) -> None:
        self._peers.discard(peer)

    async def dismiss(self) -> None:
        """Say goodbye to all of them, and to whoever comes later; returns once they are gone."""
        self._leaving = True
        for peer in tuple(self._peers):
            self._close(peer, RESTARTING, "the server is stopping")
        await asyncio.gather(*self._closing)

    async def _look_after(self) -> None:
        limits = [limit for limit in (self._patience.ping, self._patience.silent, self._patience.idle) if limit]
        loop = asyncio.get_running_loop()
        while limits and self._peers and not self._leaving:
            await asyncio.sleep(min(limits) / 4)
            for peer in tuple(self._peers):
                await self._look_at(peer, loop.time())

    async def _look_at(self, peer: Peer, now: float) -> None:
        ping, silent, idle = self._patience.ping, self._patience.silent, self._patience.idle
        if idle and now - peer.spoke >= idle:
            self._close(peer, GOING_AWAY, f"no message for {idle:g} seconds")
        elif silent and peer.audible and now - peer.heard >= silent:
            self._close(peer, GOING_AWAY, f"nothing heard for {silent:g} seconds")
        elif ping and now - peer.pinged >= ping:
            peer.pinged = now
            with suppress(OSError, RuntimeError):  # its own conversation notices
                await peer.ping()

    def _close(self, peer: Peer, code: int, reason: str) -> None:
        self._peers.discard(peer)
        task = asyncio.get_running_loop().create_task(peer.close(code, reason))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
