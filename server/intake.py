"""How the bodies of requests come in: how large, how slowly, and how many large ones at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from server.body import MAX_BODY, PATIENCE, too_large
from server.problems import Problem

WITHIN = 60.0  # seconds from the first piece of a body to its last
ROOM = 32 * 1024 * 1024  # bytes that large bodies may have together; read as JSON they are ten times that

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class Intake:
    """The bodies of one event loop. Those larger than MAX_BODY have `room` bytes together, until they are let go."""

    def __init__(self, within: float = WITHIN, room: int = ROOM) -> None:
        self._within = within
        self._room = room

    async def read(self, receive: Receive, limit: int) -> bytes:
        """The body of a request, to be let go when it is answered.

        Raises Problem 413 where it is larger than `limit`, 408 where not all of it comes, 503 where there is no room.
        """
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            content: bytes = message.get("body", b"")
            if len(content) > limit:
                raise too_large(limit)
            if not self._takes(0, len(content)):
                raise _crowded()
            return content
        try:
            async with asyncio.timeout(self._within):
                return await self._in_pieces(receive, message, limit)
        except TimeoutError:
            raise Problem(408, f"The body of the request did not come within {self._within:g} seconds.") from None

    def let_go(self, content: bytes | bytearray) -> None:
        if len(content) > MAX_BODY:
            self._room += len(content)

    async def _in_pieces(self, receive: Receive, message: Message, limit: int) -> bytes:
        """The body that begins with `message`. What can't be kept is read all the same: its sender is to hear why."""
        content, size, fits = bytearray(), 0, True
        try:
            while message["type"] == "http.request":
                piece = message.get("body", b"")
                size += len(piece)
                fits = fits and size <= limit and self._takes(len(content), size)
                if fits:
                    content += piece
                else:
                    self.let_go(content)
                    content = bytearray()
                if size > limit + PATIENCE or (size > limit and not message.get("more_body")):
                    raise too_large(limit)
                if not message.get("more_body"):
                    if not fits:
                        raise _crowded()
                    return bytes(content)
                message = await receive()
            raise Problem(408, "The body of the request did not come whole.")
        except BaseException:
            self.let_go(content)
            raise

    def _takes(self, before: int, after: int) -> bool:
        """Make room for a body that was so large, and is going to be. False, and no change, where there is none."""
        if after <= MAX_BODY:
            return True
        more = after - (before if before > MAX_BODY else 0)
        if more > self._room:
            return False
        self._room -= more
        return True


def _crowded() -> Problem:
    return Problem(503, "Too many large bodies come at the same time: try again in a second.", retry_after=1)
