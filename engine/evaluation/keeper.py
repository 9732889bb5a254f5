"""Runs a program until it ends or whoever asked for it does: `python keeper.py LIFELINE PROGRAM [ARGUMENT...]`.

LIFELINE is the reading end of a pipe whose other end nobody else holds: it closes even where that process is killed.
The program and all that it started are told to end then, and killed if they don't. It is run by its path, and imports
nothing of ours.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

NOT_FOUND = 127
# How long a program may take to end by itself, in seconds.
GRACE = 1.0


def main(lifeline: int, command: list[str]) -> int:
    """The exit code of the program; 128 and the number of the signal that ended it."""
    try:
        program = subprocess.Popen(command, process_group=0)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)  # they are the program's alone: whoever asks sees when it closes them
    threading.Thread(target=_guard, args=(lifeline, program.pid), daemon=True).start()
    code = program.wait()
    _signal(program.pid, signal.SIGKILL)  # what it left behind
    return code if code >= 0 else 128 - code


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
