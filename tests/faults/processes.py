"""Finds the worker processes of a server that a test has started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LISTENING = "0A"  # as /proc/net/tcp has it


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def workers_of(port: int) -> list[int]:
    """The workers of the server that listens on a port: they have its socket from the process that started them."""
    sockets = set(listening(port))
    having = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and has_any(entry, sockets)}
    return [child for pid in sorted(having) for child in children(pid) if child in having]


def listening(port: int) -> Iterator[str]:
    """What the descriptors are called of sockets that listen on a port."""
    for table in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                _, local, _, state, *_, inode = line.split()[:10]
                if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
                    yield f"socket:[{inode}]"


def has_any(process: Path, sockets: set[str]) -> bool:
    with suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()) in sockets:
                    return True
    return False
