"""Many episodes in one request: the items are bodies of /reset or /step, taken in order, each answered in its place.

An item that is wrong is answered with its problem document, and changes nothing; the others are taken all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Any

from server import body
from server.answers import encode
from server.problems import Problem, server_mistake
from server.service import Caller, Encoded, Service

SLICE = 64  # items that are taken at one go, while everybody else waits

# The work on a batch, cut into slices: whatever else has to be done may be done between them. It returns the answer.
Work = Generator[None, None, bytes]

_NOBODY = Caller()

logger = logging.getLogger("server")


def reset(service: Service, raw: bytes) -> Work:
    """Begin an episode for each item. Raises Problem 400, 413, 422 where there are no items to take."""

    def take(item: Any) -> Encoded:
        if isinstance(item, dict) and item.get("episode_id") is None:
            # A batch has no cookie and no address to know an episode by.
            item = {**item, "episode_id": service.new_id()}
        return service.reset_encoded(item, _NOBODY)[1]

    return _each(take, raw)


def step(service: Service, raw: bytes) -> Work:
    """Take an action for each item. Raises Problem 400, 413, 422 where there are no items to take."""

    def take(item: Any) -> Encoded:
        if type(item) is dict and item.get("episode_id") is None:
            detail = "an item of a batch has to name its episode"
            raise Problem(422, f"There is no episode_id: {detail}.", [{"pointer": "/episode_id", "detail": detail}])
        return service.step_encoded(item, _NOBODY)

    return _each(take, raw)


def _each(take: Callable[[Any], Encoded], raw: bytes) -> Work:
    items = _items(raw)
    pieces = [b'{"items":[']
    for first in range(0, len(items), SLICE):
        if first:
            yield
        for item in items[first : first + SLICE]:
            try:
                pieces += take(item)
            except Exception as error:
                pieces.append(_failed(error))
            pieces.append(b",")
    if items:
        pieces.pop()
    pieces.append(b"]}")
    return b"".join(pieces)


def _failed(error: Exception) -> bytes:
    if not isinstance(error, Problem):
        logger.error("an item of a batch failed", exc_info=error)
        error = server_mistake()
    return encode(error.document())


def _items(raw: bytes) -> list[Any]:
    document = body.decode(raw, body.MAX_BATCH)
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise _wrong("" if not isinstance(document, dict) else "/items", 'the body must be {"items": [...]}')
    if len(items) > body.MAX_ITEMS:
        raise _wrong("/items", f"there may be {body.MAX_ITEMS} items, not {len(items)}")
    return items


def _wrong(pointer: str, detail: str) -> Problem:
    return Problem(422, f"The body is not what this route takes: {detail}.", [{"pointer": pointer, "detail": detail}])
