"""What an agent's own code prints goes to standard error: standard output is for the numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

OUTPUT, ERRORS = 1, 2


@contextmanager
def printing_aside() -> Iterator[None]:
    """Within it this process's standard output is its standard error, for Python, for libraries in C, and for whatever
    is started meanwhile."""
    if sys.stdout is not None:
        sys.stdout.flush()
    kept = _turned(ERRORS)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            os.dup2(kept, OUTPUT)
            os.close(kept)


def _turned(there: int) -> int | None:
    """Turns standard output to another descriptor, and gives a copy of it; None where one of the two is closed."""
    with suppress(OSError):
        os.fstat(there)
        kept = os.dup(OUTPUT)
        os.dup2(there, OUTPUT)
        return kept
    return None
