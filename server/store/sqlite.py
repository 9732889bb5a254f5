"""Episodes in one SQLite file, shared by all processes of a machine: what was answered survives `kill -9`.

In its usual mode a power cut may lose the last moments, and never damages the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from server.store import Append, Conflict, Key, Record, Repeated, Start, Step
from server.store.encoding import decode_start, decode_steps, encode_start, encode_step, from_bytes, to_bytes
from server.store.sqlite_file import SqliteFile

Connection = sqlite3.Connection

PAGE = 100  # attempts that are read or changed at once, so that nobody waits
LOOKED_AT = 1_000

# The hot one: a transaction of its own, on one page of the file.
APPEND = (
    "UPDATE attempts SET steps = steps || ?, step_count = step_count + 1, changed = ? "
    "WHERE episode_id = ? AND attempt = ? AND step_count = ? AND over_at IS NULL"
)
END = "UPDATE attempts SET end_reason = ?1, changed = ?2, over_at = ?2 WHERE episode_id = ?3 AND attempt = ?4"
ANSWER = "INSERT OR IGNORE INTO requests (episode_id, request_id, attempt, step_count) VALUES (?, ?, ?, ?)"
COLUMNS = "episode_id, attempt, start, steps, end_reason, changed, touched"
NEWEST = f"SELECT {COLUMNS} FROM attempts WHERE episode_id = ? ORDER BY attempt DESC LIMIT 1"
FOUND = (
    f"SELECT {COLUMNS}, requests.step_count FROM requests JOIN attempts USING (episode_id, attempt) "
    "WHERE episode_id = ? AND request_id = ?"
)
STALE = "changed < ?1 AND coalesce(touched < ?1, 1)"
OLDEST = (
    "NOT EXISTS (SELECT 1 FROM attempts AS older "
    "WHERE older.episode_id = attempts.episode_id AND older.attempt < attempts.attempt)"
)


class _Refused(Exception):
    """One of several appends can't be."""


class SqliteStore:
    """An EpisodeStore in the file at `path`, which is made where there is none.

    `full` waits for the disk at each change, so that a power cut loses nothing either; `patience` is for how many
    seconds other processes are waited for. Raises Unusable.
    """

    durable = True

    def __init__(self, path: Path, *, full: bool = False, patience: float = 5.0) -> None:
        self._file = SqliteFile(path, full, patience)

    def create(self, episode_id: str, start: Start) -> Record:
        name = _text(episode_id)

        def begin(connection: Connection) -> int:
            query = "SELECT attempt FROM attempts WHERE episode_id = ? ORDER BY attempt DESC LIMIT 1"
            (newest,) = connection.execute(query, (name,)).fetchone() or (0,)
            attempt: int = newest + 1
            if start.request_id is not None:
                _answer(connection, name, start.request_id, attempt, 0)
            if newest:
                close = "UPDATE attempts SET over_at = changed WHERE episode_id = ? AND attempt = ? AND over_at IS NULL"
                connection.execute(close, (name, newest))
            insert = "INSERT INTO attempts (episode_id, attempt, changed, start) VALUES (?, ?, ?, CAST(? AS TEXT))"
            connection.execute(insert, (name, attempt, start.at, encode_start(start)))
            return attempt

        return Record(Key(episode_id, self._file.change(begin)), start, (), None, start.at)

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        name = _text(key.episode_id)
        values = (encode_step(step) + b"\n", step.at, name, key.attempt, index)
        if step.request_id is None and end_reason is None:
            if not self._file.execute(APPEND, values):
                raise Conflict(self.get(key.episode_id))
            return

        def extend(connection: Connection) -> None:
            if step.request_id is not None:
                _answer(connection, name, step.request_id, key.attempt, index + 1)
            if not connection.execute(APPEND, values).rowcount:
                raise Conflict(_newest(connection, name))
            if end_reason is not None:
                connection.execute(END, (_text(end_reason), step.at, name, key.attempt))

        self._file.change(extend)

    def append_all(self, appends: Sequence[Append]) -> bool:
        answers, steps, ends = [], [], []
        for key, index, step, end_reason in appends:
            name = _text(key.episode_id)
            steps.append((encode_step(step) + b"\n", step.at, name, key.attempt, index))
            if step.request_id is not None:
                answers.append((name, _text(step.request_id), key.attempt, index + 1))
            if end_reason is not None:
                ends.append((_text(end_reason), step.at, name, key.attempt))

        def extend(connection: Connection) -> None:
            for statement, values in ((ANSWER, answers), (APPEND, steps), (END, ends)):
                if values and connection.executemany(statement, values).rowcount < len(values):
                    raise _Refused

        try:
            self._file.change(extend)
        except _Refused:
            return False
        return True

    def get(self, episode_id: str) -> Record | None:
        return self._file.run(lambda connection: _newest(connection, _text(episode_id)))

    def find(self, episode_id: str, request_id: str) -> Record | None:
        return self._file.run(lambda connection: _found(connection, _text(episode_id), _text(request_id)))

    def end(self, key: Key, reason: str, at: float) -> bool:
        end = f"{END} AND end_reason IS NULL"
        return self._execute(end, _text(reason), at, _text(key.episode_id), key.attempt) == 1

    def touch(self, key: Key, at: float) -> None:
        touch = "UPDATE attempts SET touched = ? WHERE episode_id = ? AND attempt = ?"
        self._execute(touch, at, _text(key.episode_id), key.attempt)

    def expire(self, before: float, at: float) -> int:
        # Looking locks nobody out; each is looked at again when it is ended.
        look = f"SELECT id, {STALE} FROM attempts WHERE over_at IS NULL AND id > ?2 ORDER BY id LIMIT {LOOKED_AT}"
        end = (
            "UPDATE attempts SET end_reason = 'expired', changed = ?3, over_at = ?3 "
            f"WHERE id = ?2 AND over_at IS NULL AND {STALE}"
        )
        ended, last = 0, 0
        while rows := self._rows(look, before, last):
            last = rows[-1][0]
            ended += self._execute_many(end, [(before, id_, at) for id_, stale in rows if stale])
        return ended

    def prune(self, before: float) -> int:
        # In the order of their creation: the older attempts at an episode are gone before the newer ones' turn.
        over = self._rows("SELECT id FROM attempts WHERE over_at < ? ORDER BY id", before)
        forget = f"DELETE FROM attempts WHERE id = ? AND over_at < ? AND {OLDEST}"
        return self._execute_many(forget, [(id_, before) for (id_,) in over])

    def open_count(self) -> int:
        return self._number("SELECT count(*) FROM attempts WHERE over_at IS NULL")

    def records(self) -> Iterator[Record]:
        query = f"SELECT {COLUMNS}, id FROM attempts WHERE id > ? ORDER BY id LIMIT {PAGE}"
        last = 0
        while rows := self._rows(query, last):
            last = rows[-1][-1]
            for row in rows:
                yield _record(*row[:-1])

    def bind(self, address: str, key: Key) -> Key | None:
        def rebind(connection: Connection) -> Any:
            query = "SELECT episode_id, attempt FROM addresses WHERE address = ?"
            before = connection.execute(query, (_text(address),)).fetchone()
            values = (_text(address), _text(key.episode_id), key.attempt)
            connection.execute("REPLACE INTO addresses (address, episode_id, attempt) VALUES (?, ?, ?)", values)
            return before

        before = self._file.change(rebind)
        return Key(from_bytes(before[0]), before[1]) if before else None

    def bound(self, address: str) -> str | None:
        return self._word("SELECT episode_id FROM addresses WHERE address = ?", _text(address))

    def keep_pack(self, digest: str, source: str) -> None:
        self._execute("INSERT OR IGNORE INTO packs (digest, source) VALUES (?, ?)", _text(digest), _text(source))

    def pack(self, digest: str) -> str | None:
        return self._word("SELECT source FROM packs WHERE digest = ?", _text(digest))

    def recall(self, name: str) -> str | None:
        return self._word("SELECT value FROM notes WHERE name = ?", to_bytes(name))

    def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
        key = to_bytes(name)
        if new is None:
            if old is None:
                return self.recall(name) is None
            return self._execute("DELETE FROM notes WHERE name = ? AND value = ?", key, _text(old)) == 1
        if old is None:
            insert = "INSERT OR IGNORE INTO notes (name, value, swapped) VALUES (?, ?, ?)"
            return self._execute(insert, key, _text(new), at) == 1
        update = "UPDATE notes SET value = ?, swapped = ? WHERE name = ? AND value = ?"
        return self._execute(update, _text(new), at, key, _text(old)) == 1

    def forget(self, prefix: str, before: float) -> int:
        return self._execute("DELETE FROM notes WHERE name >= ? AND name < ? AND swapped < ?", *_range(prefix), before)

    def count(self, prefix: str) -> int:
        return self._number("SELECT count(*) FROM notes WHERE name >= ? AND name < ?", *_range(prefix))

    def check(self) -> None:
        self._execute("UPDATE checks SET times = times + 1")

    def close(self) -> None:
        self._file.close()

    def _execute(self, statement: str, *values: Any) -> int:
        """How many rows a statement changed that is a transaction of its own."""
        return self._file.execute(statement, values)

    def _execute_many(self, statement: str, values: list[tuple[Any, ...]]) -> int:
        """How many rows a statement changed, in short transactions."""
        changed = 0
        for first in range(0, len(values), PAGE):

            def change(connection: Connection, page: list[Any] = values[first : first + PAGE]) -> int:
                return connection.executemany(statement, page).rowcount

            changed += self._file.change(change)
        return changed

    def _rows(self, query: str, *values: Any) -> list[Any]:
        return self._file.run(lambda connection: connection.execute(query, values).fetchall())

    def _number(self, query: str, *values: Any) -> int:
        return int(self._rows(query, *values)[0][0])

    def _word(self, query: str, *values: Any) -> str | None:
        rows = self._rows(query, *values)
        return from_bytes(rows[0][0]) if rows else None


def _text(text: str) -> str | bytes:
    """A value that SQLite takes; what UTF-8 can't hold becomes a BLOB, which equals no text."""
    if text.isascii():
        return text
    raw = to_bytes(text)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw
    return text


def _range(prefix: str) -> tuple[bytes, bytes]:
    """Where the names with a prefix begin, and what comes after them: no character's first byte is 0xFF."""
    return to_bytes(prefix), to_bytes(prefix) + b"\xff"


def _answer(connection: Connection, name: str | bytes, request_id: str, attempt: int, step_count: int) -> None:
    """Note where a request is answered. Raises Repeated."""
    if not connection.execute(ANSWER, (name, _text(request_id), attempt, step_count)).rowcount:
        earlier = _found(connection, name, _text(request_id))
        assert earlier is not None  # a request's row goes with its attempt's
        raise Repeated(earlier)


def _newest(connection: Connection, name: str | bytes) -> Record | None:
    row = connection.execute(NEWEST, (name,)).fetchone()
    return _record(*row) if row else None


def _found(connection: Connection, name: str | bytes, request_id: str | bytes) -> Record | None:
    row = connection.execute(FOUND, (name, request_id)).fetchone()
    if row is None:
        return None
    record = _record(*row[:-1])
    return record._replace(steps=record.steps[: row[-1]], end_reason=None)


def _record(
    episode_id: bytes,
    attempt: int,
    start: bytes,
    steps: bytes,
    end_reason: bytes | None,
    changed: float,
    touched: float | None,
) -> Record:
    """A row as a record: its columns are COLUMNS."""
    return Record(
        Key(from_bytes(episode_id), attempt),
        decode_start(start),
        decode_steps(steps.splitlines()),
        from_bytes(end_reason) if end_reason is not None else None,
        changed,
        touched,
    )
