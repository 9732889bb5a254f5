"""Starts and steps, as the stores' tests make them, and a store that forgets."""

from __future__ import annotations

from server.store import Start, Step
from server.store.memory import MemoryStore


def start(at: float = 1.0, request_id: str | None = None) -> Start:
    return Start("digest", "t-1", 7, {"seed": 7}, request_id, at)


def step(number: int, request_id: str | None = None) -> Step:
    """The step at 10 seconds and `number` more."""
    return Step({"type": "x", "number": number}, request_id, 10.0 + number)


class Forgetful(MemoryStore):
    """Keeps no packs."""

    def pack(self, digest: str) -> str | None:
        return None
