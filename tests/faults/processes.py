"""Finds the worker processes of a server that a test has started."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def workers_of(port: int) -> list[int]:
    """The workers of the server that has the port in its environment as DESKPROOF_TEST_PORT."""
    for entry in Path("/proc").iterdir():
        try:
            environ = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if b"DESKPROOF_TEST_PORT=%d\0" % port in environ and children(int(entry.name)):
            return children(int(entry.name))
    return []
