"""Interrupting what an agent does, once its time is up: by an alarm, in the main thread of a process.

What waits in Python, or for a system call, is interrupted. What isn't: an agent in another thread, and code in C that
doesn't come back to Python meanwhile.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

# An agent that doesn't let itself be interrupted is interrupted again.
AGAIN = 0.5
_DEBUGGERS = frozenset(("bdb", "pdb", "_pydevd_bundle"))


class Cut(BaseException):
    """A limit was reached. No Exception: an agent that catches those doesn't catch this."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Interruptible:
    """Within it, the alarm raises Cut; outside it waits."""

    def __init__(self, cause: str) -> None:
        self._cause = cause
        self._inside = False
        self._rang = False

    def __enter__(self) -> None:
        if self._rang:
            raise Cut(self._cause)
        self._inside = True

    def __exit__(self, *_: object) -> None:
        self._inside = False

    def ring(self, _signal: int, _frame: FrameType | None) -> None:
        if _is_debugged():  # somebody reads it line by line
            signal.setitimer(signal.ITIMER_REAL, 0)
            return
        self._rang = True
        if self._inside:
            raise Cut(self._cause)


@contextmanager
def interrupted(ends: float | None, cause: str) -> Iterator[Interruptible]:
    """Has an alarm ring at a time of `time.monotonic`, in a process's main thread; elsewhere nothing does.

    An alarm of somebody else's that rings earlier is left alone, and one that rings later is set again afterwards.
    """
    interruptible = Interruptible(cause)
    began, (theirs, interval) = monotonic(), signal.getitimer(signal.ITIMER_REAL)
    elsewhere = threading.current_thread() is not threading.main_thread()
    if ends is None or elsewhere or 0 < theirs <= ends - began:
        yield interruptible
        return
    before = signal.signal(signal.SIGALRM, interruptible.ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(ends - began, 1e-6), AGAIN)
        yield interruptible
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if theirs:
            signal.setitimer(signal.ITIMER_REAL, max(theirs - (monotonic() - began), 1e-6), interval)


def _is_debugged() -> bool:
    return str(getattr(sys.gettrace(), "__module__", "")).partition(".")[0] in _DEBUGGERS
