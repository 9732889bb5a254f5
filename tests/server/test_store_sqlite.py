"""The SQLite store's file: what can be opened, what happens when something is wrong with it, and how it grows older."""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from server.store import Conflict, Key, Record, Start, Step, Unavailable, Unusable, sqlite_file
from server.store.opening import open_store
from server.store.sqlite import SqliteStore
from server.store.sqlite_schema import SCRIPTS, prepare
from tests.server.store_calls import start, step
from tests.server.store_process import finished, started

NOBODY = 65534

# A file as version 1 of the tables had it, written by hand.
VERSION_1 = """
PRAGMA application_id = 0x4465736B;
PRAGMA user_version = 1;
CREATE TABLE attempts (id INTEGER PRIMARY KEY, episode_id TEXT NOT NULL, attempt INTEGER NOT NULL,
    over_at REAL, step_count INTEGER NOT NULL DEFAULT 0, changed REAL NOT NULL, touched REAL, end_reason TEXT,
    start TEXT NOT NULL, steps TEXT NOT NULL DEFAULT '', UNIQUE (episode_id, attempt));
CREATE INDEX attempts_by_end ON attempts (over_at);
CREATE TABLE requests (episode_id TEXT NOT NULL, request_id TEXT NOT NULL, attempt INTEGER NOT NULL,
    step_count INTEGER NOT NULL, PRIMARY KEY (episode_id, request_id)) WITHOUT ROWID;
CREATE TABLE addresses (address TEXT PRIMARY KEY, episode_id TEXT NOT NULL, attempt INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX addresses_by_episode ON addresses (episode_id);
CREATE TRIGGER forget_attempt AFTER DELETE ON attempts BEGIN
    DELETE FROM requests WHERE episode_id = OLD.episode_id AND attempt = OLD.attempt;
    DELETE FROM addresses WHERE episode_id = OLD.episode_id
        AND NOT EXISTS (SELECT 1 FROM attempts WHERE episode_id = OLD.episode_id);
END;
CREATE TABLE packs (digest TEXT PRIMARY KEY, source TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (name BLOB PRIMARY KEY, value TEXT NOT NULL, swapped REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE checks (id INTEGER PRIMARY KEY, times INTEGER NOT NULL);
INSERT INTO checks VALUES (1, 0);
INSERT INTO attempts VALUES (1, 'e', 1, 12.0, 2, 12.0, 13.0, 'resolved',
    '{"pack_digest":"digest","ticket_id":"t-1","seed":7,"options":{"seed":7},"request_id":"r","at":1.0}',
    '{"action":{"type":"x","number":1},"request_id":"s","at":11.0}
{"action":{"type":"x","number":2},"request_id":null,"at":12.0}
');
INSERT INTO requests VALUES ('e', 'r', 1, 0), ('e', 's', 1, 1);
"""
KEPT = Record(Key("e", 1), start(1.0, "r"), (step(1, "s"), step(2)), "resolved", 12.0, 13.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "episodes.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, patience=0.2)
    yield store
    store.close()


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def refusal(path: Path) -> str:
    """Why a file isn't opened, which is left as it is."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(Unusable) as caught:
        open_store(f"sqlite:{path}")
    assert str(caught.value).startswith(str(path))
    assert (path.read_bytes() if path.is_file() else None) == before
    return str(caught.value).removeprefix(f"{path} ")


def unavailable(call: Callable[..., object], *given: object) -> str:
    """Why a store can't do something now."""
    with pytest.raises(Unavailable) as caught:
        call(*given)
    return str(caught.value)


# -- Opening


@pytest.mark.parametrize("content", [b"hello\n" * 1_000, b"hi", b"\0" * 8_192], ids=["text", "short text", "zeros"])
def test_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert refusal(path) == "is no SQLite database: choose another file."


@pytest.mark.parametrize(
    "script", ["CREATE TABLE t (x)", "PRAGMA user_version = 3", "PRAGMA application_id = 5; CREATE TABLE t (x)"]
)
def test_another_database(path: Path, script: str) -> None:
    database(path, script)
    assert refusal(path) == "is another program's database: choose another file."


def test_an_empty_file_and_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "touched.db").touch()
    database(tmp_path / "empty.db", "PRAGMA journal_mode = DELETE")
    for name in ("touched.db", "empty.db"):
        store = open_store(str(tmp_path / name))
        assert store.create("e", start()).key == Key("e", 1)
        store.close()


def test_no_file_at_all(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path) == "is a directory: name a file in it."
    for folder in ("missing", "file"):
        path = tmp_path / folder / "episodes.db"
        assert refusal(path) == f"can't be made: there is no directory {path.parent}."
    with pytest.raises(Unusable, match=r"xxx can't be opened \(File name too long\): choose another file\."):
        open_store(f"sqlite:{tmp_path}/{'x' * 300}")


def test_a_file_that_was_cut_off(path: Path, tmp_path: Path) -> None:
    store = open_store(str(path))
    for number in range(100):
        store.create(f"e-{number}", start())
    store.close()
    whole = path.read_bytes()
    assert len(whole) > 10 * 4_096
    for length in (99, 100, 512, 4_095, 4_096, 5_000, 5 * 4_096, len(whole) - 4_096):
        cut = tmp_path / f"{length}.db"
        cut.write_bytes(whole[:length])
        assert refusal(cut) == "is damaged, perhaps cut off: put back a copy of it, or choose another file."


def test_a_newer_file(path: Path) -> None:
    database(path, VERSION_1 + "PRAGMA user_version = 9")
    said = "was made by a newer version of Deskproof (its format is 9, this version knows 1): upgrade Deskproof, or "
    assert refusal(path) == f"{said}choose another file."


@pytest.mark.slow
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    # Root may write everything: somebody else tries then.
    user = (NOBODY,) if os.getuid() == 0 else ()
    folder = Path("/tmp") / f"deskproof-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        path = database(folder / "episodes.db", VERSION_1)
        path.chmod(0o444)
        folder.chmod(0o555)
        for name in ("episodes.db", "new.db"):
            said = finished(started("opening", f"sqlite:{folder}/{name}", *user))
            assert said == (
                f"{folder}/{name} can't be written: see to the permissions of it and its directory, or choose another "
                "file."
            )
        folder.chmod(0o000)
        said = finished(started("opening", f"sqlite:{path}", *user))
        assert said == f"{path} can't be opened (Permission denied): choose another file."
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_file_that_another_process_keeps_locked(path: Path) -> None:
    database(path, VERSION_1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unusable, match="kept locked by another process: wait until it is done, or end it"):
            SqliteStore(path, patience=0.05)
    SqliteStore(path, patience=0.05).close()


# -- Versions


def test_a_file_of_the_first_version(path: Path) -> None:
    store = open_store(str(database(path, VERSION_1)))
    assert list(store.records()) == [KEPT]
    assert store.find("e", "s") == KEPT._replace(steps=KEPT.steps[:1], end_reason=None)
    assert store.create("e", start()).key == Key("e", 2)
    store.close()
    # The tables that this version makes are the same.
    open_store(f"{path}-new.db").close()
    query = "SELECT type, name, tbl_name FROM sqlite_master ORDER BY name"
    columns = "SELECT m.name, p.* FROM sqlite_master AS m, pragma_table_info(m.name) AS p ORDER BY m.name, p.cid"
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(f"{path}-new.db")) as new:
        for statement in (query, columns, "PRAGMA user_version", "PRAGMA application_id"):
            assert old.execute(statement).fetchall() == new.execute(statement).fetchall()


def test_a_file_becomes_a_newer_one(path: Path) -> None:
    later = (
        *SCRIPTS,
        ("ALTER TABLE attempts ADD COLUMN colour TEXT", "UPDATE attempts SET colour = 'red'"),
        ("CREATE TABLE colours (name TEXT)", "INSERT INTO colours SELECT colour FROM attempts"),
    )
    with closing(sqlite3.connect(database(path, VERSION_1), isolation_level=None)) as connection:
        # In one go: what fails in the middle leaves the file as it was.
        with pytest.raises(sqlite3.OperationalError, match="nonsense"):
            prepare(connection, path, (*later, ("nonsense",)))
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        open_store(str(path)).close()
        prepare(connection, path, later)
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        assert connection.execute("SELECT * FROM colours").fetchall() == [("red",)]
        prepare(connection, path, later)
        assert connection.execute("SELECT episode_id, colour FROM attempts").fetchall() == [("e", "red")]
    with pytest.raises(Unusable, match="format is 3, this version knows 1"):
        open_store(str(path))


def test_a_new_file_becomes_the_newest(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path, (*SCRIPTS, ("CREATE TABLE colours (name TEXT)",)))
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM attempts, colours").fetchone() == (0,)


# -- While it runs


def test_others_can_read_it(store: SqliteStore, path: Path) -> None:
    store.create("e", start(1.0, "r"))
    store.append(Key("e", 1), 0, step(1), None)
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT start ->> 'ticket_id', steps FROM attempts WHERE episode_id = 'e'").fetchone()
    assert row[0] == "t-1"
    assert [json.loads(line)["action"] for line in row[1].splitlines()] == [{"type": "x", "number": 1}]


def test_a_writer_is_waited_for_and_no_reader_waits(store: SqliteStore, path: Path) -> None:
    store.create("e", start())
    patient = SqliteStore(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert (
            unavailable(store.append, Key("e", 1), 0, step(1), None)
            == unavailable(store.check)
            == ("Another process keeps the file that holds the episodes locked: wait until it is done, or end it.")
        )
        assert store.get("e") == Record(Key("e", 1), start(), (), None, 1.0)
        assert store.open_count() == len(list(store.records())) == 1
        writer = threading.Thread(target=patient.append, args=(Key("e", 1), 0, step(1), None))
        writer.start()
        time.sleep(0.1)
        other.execute("COMMIT")
        writer.join()
    patient.close()
    assert store.get("e") == Record(Key("e", 1), start(), (step(1),), None, 11.0)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill(store: SqliteStore) -> tuple[int, str]:
    """How many episodes were begun, each with a step, until the store took no more; and what it said then."""
    for number in itertools.count():
        try:
            store.create(f"e-{number}", start())
            store.append(Key(f"e-{number}", 1), 0, Step({"text": "long " * 200}, None, 1.0), "resolved")
        except Unavailable as error:
            return number, str(error)
    raise AssertionError


def test_a_file_that_can_grow_no_more(store: SqliteStore) -> None:
    with largest_file(400_000):
        begun, _ = fill(store)
    assert begun > 10
    # Nothing is lost, and it goes on as if nothing had happened.
    store.check()
    assert [record.end_reason for record in store.records()][:begun] == ["resolved"] * begun
    store.create("again", start())
    store.append(Key("again", 1), 0, step(1), "resolved")


def test_a_full_disk(store: SqliteStore) -> None:
    """SQLite that may use no more pages answers as on a full disk; tests/faults/test_disk.py has a disk."""
    store._file.run(lambda connection: connection.execute("PRAGMA max_page_count = 60"))
    begun, said = fill(store)
    assert begun > 10
    assert said == "The disk that holds the episodes is full: make room on it."
    # It goes on with another connection, which knows of no limit.
    assert store.get("e-0") is not None
    store.check()
    assert [record.end_reason for record in store.records()][:begun] == ["resolved"] * begun
    store.create("again", start())
    store.append(Key("again", 1), 0, step(1), "resolved")


def test_a_file_that_is_damaged(store: SqliteStore, path: Path) -> None:
    for number in range(100):
        store.create(f"e-{number}", start())
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4_096] + b"damaged!" * 512 + whole[8_192:])
    said = "The file that holds the episodes is damaged: stop the server and put back a copy of it."
    assert unavailable(store.append, Key("e-1", 1), 0, step(1), None) == said
    assert unavailable(list, store.records()) == said
    path.write_bytes(whole)
    store.append(Key("e-1", 1), 0, step(1), None)


def test_a_file_that_goes_or_is_replaced(store: SqliteStore, path: Path) -> None:
    store.create("e", start())
    store.close()
    path.rename(f"{path}-moved")
    said = "The file that holds the episodes can't be opened any more: put it back, or see to its permissions."
    assert unavailable(store.get, "e") == unavailable(store.check) == said
    assert not path.exists()
    database(path, "CREATE TABLE t (x)")
    assert unavailable(store.check) == "The file that holds the episodes was replaced by another: put it back."
    path.write_bytes(b"hello\n" * 1_000)
    assert "is damaged" in unavailable(store.check)
    Path(f"{path}-moved").rename(path)
    store.append(Key("e", 1), 0, step(1), None)
    with pytest.raises(Conflict):
        store.append(Key("e", 1), 0, step(1), None)


@pytest.mark.parametrize("by", ["a thread", "a commit"])
def test_the_log_beside_the_file_is_kept_short(path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(sqlite_file, "FLUSH_EVERY", 20)
    monkeypatch.setattr(sqlite_file, "LONGEST_LOG", 100)
    store = SqliteStore(path)
    flushing = store._file._flushing  # held while a thread brings pages away, so that there is one at the most
    with flushing if by == "a commit" else nullcontext():
        for number in range(1_000):
            store.create(f"e-{number}", start())
            with flushing if by == "a thread" else nullcontext():
                pass  # no thread is at it any more
    # Each has changed three pages or more; kept are those of 20 commits, or 100, and those of the last one.
    assert Path(f"{path}-wal").stat().st_size < 200 * 4_120
    store.close()
    assert not Path(f"{path}-wal").exists()


def test_how_safe_it_is(path: Path) -> None:
    for url, synchronous in ((str(path), 1), (f"sqlite:{path}?synchronous=full", 2)):
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        assert store._file.run(lambda c: c.execute("PRAGMA synchronous").fetchone()) == (synchronous,)
        assert store._file.run(lambda c: c.execute("PRAGMA journal_mode").fetchone()) == (b"wal",)
        store.close()


def test_what_is_counted_every_second_is_on_few_pages(store: SqliteStore) -> None:
    with store._file._lock:
        connection = store._file._connect()
    plan = connection.execute("EXPLAIN QUERY PLAN SELECT count(*) FROM attempts WHERE over_at IS NULL").fetchall()
    assert [b"USING COVERING INDEX attempts_by_end" in line[-1] for line in plan] == [True]


def test_a_start_is_kept_as_it_was_given(store: SqliteStore) -> None:
    begun = Start("digest", "t-1", 2**70, {"seed": 2**70}, None, 1.0)
    store.create("e", begun)
    assert list(store.records()) == [Record(Key("e", 1), begun, (), None, 1.0)]
