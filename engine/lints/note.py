"""What a lint finds: where, in what words, and what stands there instead."""

from __future__ import annotations

from typing import NamedTuple

from engine.diagnostics import Where
from engine.nodes import Spot


class Note(NamedTuple):
    where: Where
    message: str
    expected: str | None = None


def place_of(spot: Spot, seen_from: Spot) -> str:
    """A place, in few words where it is in the same file."""
    return f"line {spot.place.line}" if spot.file is seen_from.file else str(spot.place)
