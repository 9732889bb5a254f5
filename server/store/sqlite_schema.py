"""The tables of an episodes file, how older files become newer ones, and which files are none of ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from server.store import Unusable

APPLICATION = int.from_bytes(b"Desk")  # stands in the head of every file of ours

Script = tuple[str, ...]  # statements

# Each script makes the next version of the file; what was released is never changed.
# An id that is no valid UTF-8 (half of a surrogate pair) stands as a BLOB in the place of TEXT. Names of notes are
# always BLOBs, so that the names with a prefix are a range.
SCRIPTS: tuple[Script, ...] = (
    (
        """
        CREATE TABLE attempts (
            id INTEGER PRIMARY KEY,            -- in the order of creation
            episode_id TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            over_at REAL,                      -- its last change, once it is over
            step_count INTEGER NOT NULL DEFAULT 0,
            changed REAL NOT NULL,             -- times are in seconds since the epoch
            touched REAL,
            end_reason TEXT,
            start TEXT NOT NULL,               -- JSON: pack_digest, ticket_id, seed, options, request_id, at
            steps TEXT NOT NULL DEFAULT '',    -- a line of JSON each: action, request_id, at
            UNIQUE (episode_id, attempt)
        )
        """,
        # No index changes with a step: in this one all that are open are alike.
        "CREATE INDEX attempts_by_end ON attempts (over_at)",
        """
        CREATE TABLE requests (
            episode_id TEXT NOT NULL,
            request_id TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            step_count INTEGER NOT NULL,       -- of the attempt, right after the request
            PRIMARY KEY (episode_id, request_id)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE addresses (
            address TEXT PRIMARY KEY,
            episode_id TEXT NOT NULL,
            attempt INTEGER NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX addresses_by_episode ON addresses (episode_id)",
        """
        CREATE TRIGGER forget_attempt AFTER DELETE ON attempts BEGIN
            DELETE FROM requests WHERE episode_id = OLD.episode_id AND attempt = OLD.attempt;
            DELETE FROM addresses WHERE episode_id = OLD.episode_id
                AND NOT EXISTS (SELECT 1 FROM attempts WHERE episode_id = OLD.episode_id);
        END
        """,
        "CREATE TABLE packs (digest TEXT PRIMARY KEY, source TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE notes (name BLOB PRIMARY KEY, value TEXT NOT NULL, swapped REAL NOT NULL) WITHOUT ROWID",
        "CREATE TABLE checks (id INTEGER PRIMARY KEY, times INTEGER NOT NULL)",
        "INSERT INTO checks VALUES (1, 0)",
    ),
)


def prepare(connection: sqlite3.Connection, path: Path, scripts: tuple[Script, ...] = SCRIPTS) -> None:
    """Make the file's tables, or bring them up to date, in one transaction.

    `connection` commits by itself, outside of transactions. Raises Unusable where the file isn't ours, or is newer
    than `scripts`.
    """
    _refuse(connection, path, len(scripts))
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise Unusable(
            f"{path} is on a file system where processes can't share it safely: choose a path on a local disk."
        )
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version < len(scripts):
            for statement in (statement for script in scripts[version:] for statement in script):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(scripts)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_ours(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return bool(application == APPLICATION)


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _refuse(connection: sqlite3.Connection, path: Path, known: int) -> None:
    """Raises Unusable; the file is as it was then."""
    version, tables = _version(connection), connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not is_ours(connection) and (tables or version):
        raise Unusable(f"{path} is another program's database: choose another file.")
    if version > known:
        raise Unusable(
            f"{path} was made by a newer version of Deskproof (its format is {version}, this version knows {known}): "
            "upgrade Deskproof, or choose another file."
        )
