"""Many episodes in one request: the items are bodies of /reset or /step, taken in order, each answered in its place.

An item that is wrong is answered with its problem document, and changes nothing; the others are taken all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from server import body
from server.answers import encode
from server.failures import problem_of
from server.problems import Problem
from server.service import Caller, Encoded, Service

SLICE = 64  # items that are taken at one go, while everybody else waits
MOST = 64 * 1024 * 1024  # bytes of answers; beyond, what is left of the batch isn't taken

# The work on a batch, cut into slices: whatever else has to be done may be done between them. It returns the answer.
Work = Generator[None, None, bytes]
Spend = Callable[[int], None]  # counts so many requests more than the one that came; may raise Problem 429


def reset(service: Service, raw: bytes, owner: str = "", spend: Spend = lambda count: None) -> Work:
    """Begin an episode for each item. Raises Problem 400, 413, 422, 429 where there are no items to take."""

    caller = Caller(owner=owner)

    def begin(item: Any) -> Encoded:
        if isinstance(item, dict) and item.get("episode_id") is None:
            # A batch has no cookie and no address to know an episode by.
            item = {**item, "episode_id": service.new_id()}
        return service.reset_encoded(item, caller)[1]

    return _in_slices(lambda items: _each(begin, items), raw, spend)


def step(service: Service, raw: bytes, owner: str = "", spend: Spend = lambda count: None) -> Work:
    """Take an action for each item. Raises Problem 400, 413, 422, 429 where there are no items to take."""

    caller = Caller(owner=owner)

    def act(item: Any) -> Encoded:
        if type(item) is dict and item.get("episode_id") is None:
            detail = "an item of a batch has to name its episode"
            raise Problem(422, f"There is no episode_id: {detail}.", [{"pointer": "/episode_id", "detail": detail}])
        return service.step_encoded(item, caller)

    def take(items: Sequence[Any]) -> Sequence[Encoded]:
        try:
            together = service.steps_encoded(items, caller)
        except Exception as error:  # the store's: whether it took them isn't known, so they aren't tried again
            return [_failed(error)] * len(items)
        return _each(act, items) if together is None else together

    return _in_slices(take, raw, spend)


def is_short(raw: bytes) -> bool:
    """Whether it is taken in the time of a few slices: by its commas, without reading it."""
    return raw.count(b",") <= 4 * SLICE


def _in_slices(take: Callable[[Sequence[Any]], Sequence[Encoded]], raw: bytes, spend: Spend) -> Work:
    items = _items(raw)
    spend(max(0, len(items) - 1))
    pieces, size, weighed = [b'{"items":['], 0, 0
    for first in range(0, len(items), SLICE):
        if first:
            yield
            size, weighed = size + sum(map(len, pieces[weighed:])), len(pieces)
        some = items[first : first + SLICE]
        for answer in take(some) if size < MOST else [_full()] * len(some):
            pieces += answer
            pieces.append(b",")
    if items:
        pieces.pop()
    pieces.append(b"]}")
    return b"".join(pieces)


def _each(take: Callable[[Any], Encoded], items: Sequence[Any]) -> list[Encoded]:
    answers = []
    for item in items:
        try:
            answers.append(take(item))
        except Exception as error:
            answers.append(_failed(error))
    return answers


def _failed(error: Exception) -> Encoded:
    return (encode(problem_of(error, "an item of a batch failed").document()),)


def _full() -> Encoded:
    problem = Problem(
        413, f"The answer to this batch is larger than {MOST} bytes without this item: send it in another."
    )
    return (encode(problem.document()),)


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
