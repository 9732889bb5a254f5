"""How much memory processes take up, and whether it stays at that."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable, Iterable
from pathlib import Path

MB = 1024 * 1024
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pids: Iterable[int | str] = ("self",)) -> int:
    """The memory that processes have in RAM, in bytes."""
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * _PAGE


def own() -> int:
    """This process's memory, without what nobody uses any more."""
    gc.collect()
    return resident()


def limit() -> None:
    """From now on this process gets no more than 2 GB, and a MemoryError instead."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * 1024 * MB, 2 * 1024 * MB))


class Growth:
    """What memory grew by from the first tenth of `count` examples on, in bytes. `look` measures it."""

    def __init__(self, count: int, look: Callable[[], int]) -> None:
        self._first, self._look = max(1, count // 10), look
        self._seen = 0
        self._start: int | None = None

    def example(self) -> None:
        """Another example is done."""
        self._seen += 1
        if self._seen == self._first:
            self._start = self._look()

    def bytes(self) -> int:
        assert self._start is not None, "there were too few examples"
        return self._look() - self._start
