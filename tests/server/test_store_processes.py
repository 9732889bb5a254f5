"""The stores that outlive a process: several at once, one that is killed, one that is forked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.store import Key, Record, Step
from server.store.opening import open_store
from tests.server.redis_server import redis_server
from tests.server.store_calls import start, step
from tests.server.store_process import START, finished, newest, started

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server() as server:
        yield server.url


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/episodes.db"
    return f"{request.getfixturevalue('redis_url')}?prefix={request.node.name}"


def test_everything_is_there_again(url: str) -> None:
    store = open_store(url)
    store.create("e", start(1.0, "r"))
    store.append(Key("e", 1), 0, step(1, "s"), "resolved")
    store.create("e", start(2.0))
    store.touch(Key("e", 2), 3.0)
    store.bind("10.0.0.1", Key("e", 2))
    store.keep_pack("digest", "pack: x")
    store.swap("note", None, "text", 4.0)
    store.close()
    store = open_store(url)
    assert store.durable
    first = Record(Key("e", 1), start(1.0, "r"), (step(1, "s"),), "resolved", 11.0)
    second = Record(Key("e", 2), start(2.0), (), None, 2.0, 3.0)
    assert list(store.records()) == [first, second]
    assert (store.find("e", "s"), store.open_count()) == (first._replace(end_reason=None), 1)
    assert (store.bound("10.0.0.1"), store.pack("digest"), store.recall("note")) == ("e", "pack: x", "text")
    store.close()


def test_many_processes(url: str) -> None:
    store = open_store(url)
    store.create("race", START)
    told = [finished(process) for process in [started("race", url, writer) for writer in range(4)]]
    winners = {taken: writer for writer, said in enumerate(told) for taken in said["won"]}
    assert sorted(taken for said in told for taken in said["won"]) == list(range(100))
    record = newest(store, "race")
    assert [step.action for step in record.steps] == [{"writer": winners[taken]} for taken in range(100)]
    assert sorted(attempt for said in told for attempt in said["attempts"]) == list(range(1, 81))
    assert store.open_count() == 2
    store.close()


def test_many_processes_open_it_first(url: str) -> None:
    assert [finished(process) for process in [started("opening", url) for _ in range(6)]] == ["ready"] * 6


def test_what_a_killed_process_was_told_is_kept(url: str) -> None:
    process = started("write", url, "killed")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(100)]
    process.kill()
    lines += process.communicate()[0].splitlines()
    told = max(int(line) for line in lines if line.strip().isdigit())
    store = open_store(url)
    record = newest(store, "killed")
    # One more may be kept than was told.
    assert len(record.steps) in (told, told + 1)
    assert record.steps == tuple(Step({"number": n}, f"r-{n}", 1.0) for n in range(len(record.steps)))
    # It can be gone on with, and a request of the last moment is known.
    assert store.find("killed", f"r-{told - 1}") == record._replace(steps=record.steps[:told])
    store.append(record.key, len(record.steps), step(1), "resolved")
    store.close()


def test_a_store_goes_with_a_fork(url: str) -> None:
    assert finished(started("fork", url)) == [0, 0, 0]
    store = open_store(url)
    names = ["parent", "child-0", "child-1", "child-2"]
    assert {name: len(newest(store, name).steps) for name in names} == dict.fromkeys(names, 2)
    store.close()
