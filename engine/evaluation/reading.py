"""How the files of a run's folder are read: whoever made it may have put anything there."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader, FileIO
from pathlib import Path
from typing import BinaryIO

from engine.terminal import printable


def opened(path: Path) -> BinaryIO:
    """A file to be read. Raises OSError, also where it is no regular one: a pipe would be waited for."""
    file = FileIO(str(path), "rb", opener=_at_once)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "It is no regular file", str(path))
    return BufferedReader(file)


def content(path: Path) -> bytes:
    """All of a file. Raises OSError as `opened` does."""
    with opened(path) as file:
        return file.read()


def unreadable(error: OSError, folder: Path) -> str:
    """A sentence: which file of a run's folder can't be read, and why."""
    return f"{printable(str(error.filename or folder))} can't be read: {error.strerror}."


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
