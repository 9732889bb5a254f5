"""Runs a program until it ends or whoever asked for it does: `python keeper.py LIFELINE PROGRAM [ARGUMENT...]`.

LIFELINE is the reading end of a pipe whose other end nobody else holds: it closes even where that process is killed.
The program and all that it started are told to end then, and killed if they don't. On Linux that is whatever descends
from it, elsewhere its group of processes. It is run by its path, and imports nothing of ours.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

NOT_FOUND = 127
# How long a program may take to end by itself, and all that it left behind to be killed, in seconds.
GRACE, SWEEP = 1.0, 5.0
# Of Linux: whoever descends from this process, and whose parent ends, becomes its child.
PR_SET_CHILD_SUBREAPER = 36


def main(lifeline: int, command: list[str]) -> int:
    """The exit code of the program; 128 and the number of the signal that ended it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        program = subprocess.Popen(command, process_group=0)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)  # they are the program's alone: whoever asks sees when it closes them
    threading.Thread(target=_guard, args=(lifeline, program.pid), daemon=True).start()
    code = _ended(program.pid)
    _signal(program.pid, signal.SIGKILL)  # what it left behind
    _sweep()
    return code if code >= 0 else 128 - code


def _ended(program: int) -> int:
    """Waits for the program; what else ends meanwhile is let go of."""
    while True:
        number, status = os.wait()
        if number == program:
            return os.waitstatus_to_exitcode(status)


def _sweep() -> None:
    """Kills whatever descends from this process: those that end leave it their children, until there is none."""
    end = time.monotonic() + SWEEP
    while time.monotonic() < end:
        for child in _children():
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            number, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if number == 0:
            time.sleep(0.01)


def _children() -> Iterator[int]:
    """Those of this process, where the system tells them in files."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text("utf-8", "replace").rpartition(")")[2].split()[1]) == os.getpid():
                yield int(path.parent.name)


def _guard(lifeline: int, group: int) -> None:
    os.read(lifeline, 1)  # nothing ever comes
    _signal(group, signal.SIGTERM)
    time.sleep(GRACE)
    _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
