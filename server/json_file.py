"""JSON files that processes hand each other: a reader sees all of one or nothing, whenever the writer is killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, value: Any) -> None:
    """Put `value` in the place of what is there. Raises OSError, and leaves what was there."""
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(value), encoding="utf-8")
    beside.replace(path)


def read(path: Path) -> Any:
    """What was written; None where nothing was, or somebody else wrote something that isn't JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
