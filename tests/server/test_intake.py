"""How bodies come in: slowly, in pieces, broken off, and many large ones at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from server.body import MAX_BATCH, MAX_BODY, PATIENCE
from server.intake import Intake
from server.problems import Problem

LARGE = MAX_BODY + 1
END = {"type": "http.disconnect"}


def sent(*pieces: bytes, then: Any = None, pause: float = 0.0) -> Callable[[], Awaitable[dict[str, Any]]]:
    """A body in these pieces, the last of which ends it, unless something comes `then`."""
    last = len(pieces) - 1 if then is None else len(pieces)
    messages = [
        {"type": "http.request", "body": piece, "more_body": number != last} for number, piece in enumerate(pieces)
    ]
    left = iter([*messages, then])

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        return next(left) or {}

    return receive


def read(intake: Intake, *pieces: bytes, limit: int = MAX_BATCH, **how: Any) -> bytes:
    return asyncio.run(intake.read(sent(*pieces, **how), limit))


def refused(intake: Intake, *pieces: bytes, **how: Any) -> int:
    with pytest.raises(Problem) as caught:
        read(intake, *pieces, **how)
    return caught.value.status


@pytest.mark.parametrize("pieces", [(b"",), (b"{}",), (b"{", b"}"), (b"", b"{", b"", b"}", b"")])
def test_a_body_in_pieces(pieces: tuple[bytes, ...]) -> None:
    assert read(Intake(), *pieces) == b"".join(pieces)


def test_a_body_that_trickles_is_given_up() -> None:
    """Its sender may take ever so little time between two pieces."""
    with pytest.raises(Problem) as caught:
        read(Intake(within=0.2), *[b" "] * 10_000, pause=0.01)
    assert (caught.value.status, caught.value.detail) == (
        408,
        "The body of the request did not come within 0.2 seconds.",
    )


def test_a_body_that_is_broken_off() -> None:
    assert refused(Intake(), b"{", then=END) == 408
    assert refused(Intake(), then=END) == 408


def test_a_body_that_is_too_large() -> None:
    assert read(Intake(), b" " * 10, b" " * 10, limit=20) == b" " * 20
    for pieces in ((b" " * 21,), (b" " * 10, b" " * 11), (b" " * (PATIENCE + 21), b"")):
        assert refused(Intake(), *pieces, limit=20) == 413


def test_large_bodies_have_so_much_room_together() -> None:
    intake = Intake(room=2 * LARGE)
    held = [read(intake, b" " * LARGE), read(intake, b" " * MAX_BODY, b" ")]
    assert refused(intake, b" " * LARGE) == refused(intake, b" " * MAX_BODY, b" ") == 503
    assert read(intake, b" " * MAX_BODY) == b" " * MAX_BODY  # the others don't need any
    for content in held:
        intake.let_go(content)
        assert len(read(intake, b" " * LARGE)) == LARGE


@pytest.mark.parametrize(
    ("pieces", "how"),
    [
        ((b" " * LARGE,), {"then": END}),
        ((b" " * LARGE, b" ", b" "), {"limit": LARGE + 1}),
        ((b" " * LARGE, b" " * LARGE, b" " * LARGE, b" "), {}),
        ((b" " * LARGE, *[b" "] * 100), {"pause": 0.01}),
    ],
    ids=["broken off", "too large", "no room", "trickles"],
)
def test_what_comes_to_nothing_gives_its_room_back(pieces: tuple[bytes, ...], how: Any) -> None:
    intake = Intake(within=0.2, room=2 * LARGE)
    for _ in range(3):
        refused(intake, *pieces, **how)
    assert len(read(intake, b" " * LARGE, b" " * LARGE)) == 2 * LARGE
