"""What others find by the name `deskproof`, each with its own extra installed.

verifiers finds `load_environment`: `verifiers.load_environment("deskproof")`. Gymnasium finds the environment that
importing this registers: `gymnasium.make("deskproof:Deskproof/Support-v0")`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

with suppress(ImportError):  # without the extra `train`
    import engine.training.env  # noqa: F401 - it registers itself


def __getattr__(name: str) -> Any:
    """`load_environment`, imported where it is asked for. Raises ImportError without the extra `verifiers`."""
    if name != "load_environment":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from engine.training.verifiers import load_environment

    return load_environment
