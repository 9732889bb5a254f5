"""What a lint finds: where, in what words, and what stands there instead."""

from __future__ import annotations

from typing import NamedTuple

from engine.diagnostics import Where


class Note(NamedTuple):
    where: Where
    message: str
    expected: str | None = None
