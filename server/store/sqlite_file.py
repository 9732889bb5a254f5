"""One SQLite file that threads and processes share: opened, asked again while others write, and let go at a fork."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from server.store import Unavailable, Unusable
from server.store.sqlite_schema import is_ours, prepare

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
SHORTEST, LONGEST = 0.0002, 0.02  # seconds to wait before another try
CACHE = 16 * 1024  # KiB of pages at hand
# Commits until what was written is brought into the file proper, by a thread, as that waits for the disk. While steps
# never pause that can't begin the log anew; so at this many pages (of 4 KiB) a commit does the rest itself.
FLUSH_EVERY, LONGEST_LOG = 1_000, 8_000


class SqliteFile:
    """Work on the file, for any thread; the process has one connection, and one thread at a time uses it.

    `full` waits for the disk at each commit; `patience` is for how many seconds other processes are waited for. Raises
    Unusable where the file can't be used, or made.
    """

    def __init__(self, path: Path, full: bool, patience: float) -> None:
        self.path = path.absolute()
        self._synchronous = "FULL" if full else "NORMAL"
        self._patience = patience
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._cursor: sqlite3.Cursor | None = None  # a new one each time costs more
        self._commits = 0
        self._flushing = threading.Lock()
        self._open()
        _files.add(self)

    def execute(self, statement: str, values: Sequence[Any]) -> int:
        """How many rows a statement changes, which is a transaction of its own. Raises Unavailable."""
        try:
            with self._lock:
                changed = (self._cursor or self._connect().cursor()).execute(statement, values).rowcount
        except sqlite3.Error:  # nothing was changed: `run` waits, or knows what it means
            changed = self.run(lambda connection: connection.execute(statement, values).rowcount)
        self._count_commit()
        return changed

    def run(self, work: Work[T]) -> T:
        """What `work` returns. It is done again while other processes hold a lock. Raises Unavailable."""
        end, pause = 0.0, SHORTEST
        while True:
            try:
                with self._lock:
                    return work(self._connection or self._connect())
            except sqlite3.Error as error:
                if not is_busy(error):
                    self.close()  # the next call begins anew
                    raise Unavailable(_sentence(error)) from error
                now = time.monotonic()
                end = end or now + self._patience
                if now > end:
                    raise Unavailable(_sentence(error)) from error
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, LONGEST)

    def change(self, work: Work[T]) -> T:
        """What `work` returns, which is one transaction; nothing is changed where it raises. Raises Unavailable."""

        def transaction(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            try:
                done = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")  # a full disk has done so already
                raise
            return done

        done = self.run(transaction)
        self._count_commit()
        return done

    def close(self) -> None:
        with self._flushing, self._lock:
            self._disconnect()

    def _count_commit(self) -> None:
        self._commits += 1
        if self._commits >= FLUSH_EVERY and self._flushing.acquire(blocking=False):
            self._commits = 0
            try:
                threading.Thread(target=self._flush, name="flush-episodes").start()
            except RuntimeError:  # no thread can be had
                self._flushing.release()

    def _flush(self) -> None:
        try:
            # On a connection of its own, so that nobody waits. What is wrong with the disk the next commit says.
            with suppress(sqlite3.Error), closing(self._connected("rw")) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            self._flushing.release()

    def _connect(self) -> sqlite3.Connection:
        with ExitStack() as failed:
            connection = failed.enter_context(closing(self._connected("rw")))
            connection.text_factory = bytes
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA cache_size = -{CACHE}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LONGEST_LOG}")
            if not is_ours(connection):
                raise Unavailable("The file that holds the episodes was replaced by another: put it back.")
            failed.pop_all()
        self._connection, self._cursor = connection, connection.cursor()
        return connection

    def _connected(self, mode: str) -> sqlite3.Connection:
        address = f"file:{quote(os.fsencode(self.path))}?mode={mode}"
        return sqlite3.connect(address, 0, isolation_level=None, check_same_thread=False, uri=True)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._cursor = None

    def _open(self) -> None:
        try:
            if self.path.is_dir():
                raise Unusable(f"{self.path} is a directory: name a file in it.")
            if not self.path.parent.is_dir():
                raise Unusable(f"{self.path} can't be made: there is no directory {self.path.parent}.")
        except OSError as error:  # its directory can't be looked into, its name is too long
            raise Unusable(f"{self.path} can't be opened ({error.strerror}): choose another file.") from error
        end = time.monotonic() + 2 * self._patience
        while True:
            try:
                with closing(self._connected("rwc")) as connection:
                    prepare(connection, self.path)
                return
            except sqlite3.Error as error:
                # Several processes that open a new file at once get in each other's way, whatever the time-out.
                if not is_busy(error) or time.monotonic() > end:
                    raise Unusable(_refusal(self.path, error)) from error
            time.sleep(LONGEST * random.random())


def is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in BUSY


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _sentence(error: sqlite3.Error) -> str:
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return "Another process keeps the file that holds the episodes locked: wait until it is done, or end it."
        case sqlite3.SQLITE_FULL:
            return "The disk that holds the episodes is full: make room on it."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return "The file that holds the episodes can't be written any more: see to its permissions and its disk."
        case sqlite3.SQLITE_CANTOPEN:
            return "The file that holds the episodes can't be opened any more: put it back, or see to its permissions."
        case sqlite3.SQLITE_IOERR:
            return "The disk that holds the episodes fails to read or to write: see to it."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return "The file that holds the episodes is damaged: stop the server and put back a copy of it."
    return f"The file that holds the episodes can't be used: {error}."


def _refusal(path: Path, error: sqlite3.Error) -> str:
    match _code(error):
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is no SQLite database: choose another file."
        case sqlite3.SQLITE_CORRUPT:
            return f"{path} is damaged, perhaps cut off: put back a copy of it, or choose another file."
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return f"{path} can't be written: see to the permissions of it and its directory, or choose another file."
        case sqlite3.SQLITE_FULL:
            return f"{path} can't be made, as its disk is full: make room on it, or choose another file."
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return f"{path} is kept locked by another process: wait until it is done, or end it."
    return f"{path} can't be used: {error}."


# An open file must not cross a fork: the child would take the parent's locks for its own, and what it writes would be
# lost when the parent closes the file. So before one every connection is closed; the next call opens another.
_files: weakref.WeakSet[SqliteFile] = weakref.WeakSet()
_held: list[SqliteFile] = []


def _before_fork() -> None:
    for file in list(_files):
        file._flushing.acquire()
        file._lock.acquire()
        file._disconnect()
        _held.append(file)


def _after_fork() -> None:
    while _held:
        file = _held.pop()
        file._lock.release()
        file._flushing.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
