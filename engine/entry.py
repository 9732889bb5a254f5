"""Where the command starts, and how its process ends: no traceback where output can't be written, or at Ctrl-C.

Exit codes beside the commands' own: 2 where the output can't be written, 130 after Ctrl-C, 141 where the reader of the
output has gone. Little is imported here: Ctrl-C may come before the rest is there.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TROUBLE = 2
INTERRUPTED = 130
CLOSED = 141  # 128 and SIGPIPE, as a shell has it


class Unwritten(OSError):
    """Standard output or standard error took nothing more. It has no errno: click and rich make 1 of a closed pipe."""

    def __init__(self, why: OSError) -> None:
        super().__init__(str(why))
        self.why = why


class _Standard(io.FileIO):
    """Standard output or standard error, whose failures can't be taken for those of another file."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise Unwritten(error) from None


def run() -> NoReturn:
    """Runs the command that the arguments name, and ends the process."""
    try:
        sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)
        try:
            code = _command()
        finally:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()  # here, as Python's own flush at the end would tell of it in its own words
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Unwritten as error:
        code = _told(error.why)
    sys.exit(code)


def _guarded(stream: object) -> io.TextIOWrapper | None:
    """A stream as it was, but for its failures."""
    if not isinstance(stream, io.TextIOWrapper):
        return None  # it was closed before the program began
    raw = _Standard(stream.fileno(), "w", closefd=False)
    unbuffered = isinstance(stream.buffer, io.RawIOBase)  # as with PYTHONUNBUFFERED
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        stream.encoding,
        "backslashreplace" if stream.errors == "strict" else stream.errors,  # whatever the terminal can't show
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _command() -> int:
    from click import Abort, ClickException

    from engine.cli import main

    try:
        return main(standalone_mode=False) or 0
    except ClickException as error:
        error.show()
        return error.exit_code
    except Abort:  # what click makes of Ctrl-C
        return INTERRUPTED


def _told(why: OSError) -> int:
    """The exit code. Says what is wrong where that can be said; what is still to be written goes nowhere."""
    closed = isinstance(why, BrokenPipeError)
    if not closed:
        with suppress(OSError):
            print(f"The output can't be written: {why.strerror}.", file=sys.stderr, flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
    return CLOSED if closed else TROUBLE


if __name__ == "__main__":
    run()
