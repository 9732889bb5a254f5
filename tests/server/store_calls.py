"""Starts and steps, as the stores' tests make them."""

from __future__ import annotations

from server.store import Start, Step


def start(at: float = 1.0, request_id: str | None = None) -> Start:
    return Start("digest", "t-1", 7, {"seed": 7}, request_id, at)


def step(number: int, request_id: str | None = None) -> Step:
    """The step at 10 seconds and `number` more."""
    return Step({"type": "x", "number": number}, request_id, 10.0 + number)
