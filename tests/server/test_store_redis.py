"""The Redis store and its server: what can be opened, and what happens when the server goes, stops or refuses."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice

import pytest
import redis
from redis.crc import key_slot

from server.store import Key, Repeated, Step, Unavailable, Unusable
from server.store import redis as redis_store
from server.store.opening import open_store
from server.store.redis import RedisStore
from tests.server.redis_server import RedisServer, redis_server
from tests.server.redis_wire import Wire, command
from tests.server.store_calls import start, step
from tests.serving import free_port


@pytest.fixture(scope="module")
def running() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def server(running: RedisServer) -> RedisServer:
    with running.client() as client:
        client.flushall()
    return running


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, a server that runs is waited for."""
    monkeypatch.setattr(redis_store, "SECONDS", 30.0)


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisStore]:
    store = RedisStore(server.url)
    yield store
    store.close()


def refusal(url: str) -> str:
    with pytest.raises(Unusable) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    return str(caught.value)


def unavailable(call: Callable[..., object], *given: object) -> str:
    with pytest.raises(Unavailable) as caught:
        call(*given)
    return str(caught.value)


def once(call: Callable[[], object]) -> None:
    """Repeat a request until it is answered, as a client does; the first answer counts."""
    end = time.monotonic() + 60
    while True:
        try:
            call()
            return
        except Repeated:
            return
        except Unavailable:
            assert time.monotonic() < end
            time.sleep(0.01)


def until_busy(client: redis.Redis) -> None:
    """Wait until somebody's script keeps the server from answering anything else."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            client.ping()
        except redis.ResponseError:
            return
    raise AssertionError("the server is never busy")


# -- A server that goes


def test_nothing_is_lost_when_redis_is_killed() -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        store = open_store(server.url)
        once(lambda: store.create("e", start(request_id="r")))
        done = threading.Event()

        def write() -> None:
            for number in range(400):
                once(lambda number=number: store.append(Key("e", 1), number, step(number, f"r-{number}"), None))  # type: ignore[misc]
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(3):
            done.wait(0.05)
            server.kill()
            server.start()
        writer.join()  # it gives up by itself
        assert done.is_set()
        record = store.get("e")
        assert record is not None
        assert record.steps == tuple(step(number, f"r-{number}") for number in range(400))
        store.close()


def test_the_same_store_goes_on_after_a_restart() -> None:
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        store = open_store(server.url)
        store.create("e", start())
        server.kill()
        lost = unavailable(store.append, Key("e", 1), 0, step(1), None)
        assert lost.startswith("There is no connection to Redis") and lost.endswith("start it, or correct its address.")
        assert unavailable(store.get, "e").startswith("There is no connection to Redis")
        assert unavailable(list, store.records()).startswith("There is no connection to Redis")
        server.start()
        # The connection broke, and the scripts are gone: neither is to be seen.
        store.append(Key("e", 1), 0, step(1), None)
        store.check()
        assert [len(record.steps) for record in store.records()] == [1]
        store.close()


def test_connections_and_scripts_that_are_gone(server: RedisServer, store: RedisStore) -> None:
    store.create("e", start())
    with server.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)
        assert store.get("e") is not None
        client.script_flush()
        store.append(Key("e", 1), 0, step(1), None)
        client.script_flush()
        assert store.expire(50.0, 60.0) == 1


def test_a_read_is_repeated_and_a_write_is_not(server: RedisServer) -> None:
    with closing(Wire(server.socket)) as wire, closing(open_store(wire.url)) as store:
        store.create("e", start())
        store.append(Key("e", 1), 0, step(1), None)
        wire.cuts = 1
        assert len(next(store.records()).steps) == 1
        wire.cuts = 2
        assert "no connection to Redis" in unavailable(store.get, "e")
        # It happened, but nobody heard of it; with a request id the repeat says so, without one the step is there.
        wire.cuts = 1
        assert "no connection to Redis" in unavailable(store.append, Key("e", 1), 1, step(2, "r"), None)
        assert wire.cuts == 0
        with pytest.raises(Repeated) as caught:
            store.append(Key("e", 1), 1, step(2, "r"), None)
        assert caught.value.record.steps == (step(1), step(2, "r"))
        wire.cuts = 1
        assert "no connection to Redis" in unavailable(store.create, "e", start(2.0))
        assert [record.key.attempt for record in store.records()] == [1, 2]


def test_a_server_that_answers_no_more(store: RedisStore, server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create("e", start())
    monkeypatch.setattr(redis_store, "SECONDS", 0.8)
    with closing(RedisStore(server.url)) as hasty:
        with server.client() as client:
            pid = int(client.info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            said = "Redis didn't answer within 0.8 seconds: see whether it is overloaded or out of reach."
            assert unavailable(hasty.append, Key("e", 1), 0, step(1, "r"), None) == said
            assert unavailable(hasty.get, "e") == said
        finally:
            os.kill(pid, signal.SIGCONT)
    # The server had it all the same: the repeat finds out.
    with pytest.raises(Repeated) as caught:
        store.append(Key("e", 1), 0, step(1, "r"), None)
    assert caught.value.record.steps == (step(1, "r"),)


# -- A server that refuses


def test_a_server_without_memory(store: RedisStore, server: RedisServer) -> None:
    store.create("e", start(1.0, "r"))
    store.create("f", start())
    before = list(store.records())
    with server.client() as client:
        client.config_set("maxmemory", 1)
        said = "Redis has no memory left: raise its maxmemory, or let it keep less."
        assert unavailable(store.append, Key("e", 1), 0, step(1, "s"), "resolved") == said
        assert unavailable(store.create, "e", start()) == said
        assert unavailable(store.swap, "n", None, "x", 1.0) == said
        assert unavailable(store.check) == said
        assert list(store.records()) == before
        client.config_set("maxmemory", 0)
    store.append(Key("e", 1), 0, step(1, "s"), "resolved")
    assert store.open_count() == 1


def test_a_server_that_is_a_replica_now(store: RedisStore, server: RedisServer) -> None:
    store.create("e", start())
    with server.client() as client:
        client.replicaof("127.0.0.1", free_port())
        said = "This Redis is a replica that can't be written: name its primary."
        assert unavailable(store.append, Key("e", 1), 0, step(1), None) == said
        assert unavailable(store.check) == said
        assert refusal(server.url) == f"Redis at {server.socket} can't be used. {said}"
        client.replicaof("NO", "ONE")
    store.append(Key("e", 1), 0, step(1), None)


def test_a_busy_server(store: RedisStore, server: RedisServer) -> None:
    with server.client(socket_timeout=10) as client, server.client() as other:
        client.config_set("lua-time-limit", 10)
        looping = threading.Thread(target=pytest.raises, args=(redis.RedisError, client.eval, "while true do end", 0))
        looping.start()
        until_busy(other)
        said = "Redis is busy with another program's script: wait until it is done, or end it."
        try:
            assert unavailable(store.check) == said
        finally:
            other.script_kill()
        looping.join()
    store.check()


def test_keys_of_another_program(server: RedisServer, store: RedisStore) -> None:
    with server.client() as client:
        client.set("{deskproof}:episode:e", "x")
    said = "Another program uses the same keys in Redis: add ?prefix=NAME to the address for keys of its own."
    assert unavailable(store.create, "e", start()) == said


# -- Opening


def test_passwords() -> None:
    with redis_server("--requirepass", "secret") as server:
        said = f"Redis at {server.socket} can't be used. Redis doesn't take the user and password: write them as "
        for password in ("", "?password=secret1"):
            assert refusal(server.url + password) == f"{said}redis://USER:PASSWORD@HOST:6379/0."
        store = open_store(f"{server.url}?password=secret")
        store.check()
        store.close()


@contextmanager
def answering(line: bytes) -> Iterator[int]:
    """Something that isn't Redis, or isn't ready: it answers `line` to whatever it is told; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as asked:
                    while line and command(asked):
                        connection.sendall(line)
                        if not line.startswith(b"-"):
                            break

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "What answers there is no Redis: correct the address."),
        (b"-LOADING Redis is loading\r\n", "Redis is still loading its data: wait until it is done."),
        (
            b"-MISCONF Errors writing to the AOF file\r\n",
            "Redis can't write to its disk, and takes nothing until it can",
        ),
        (b"-MOVED 5 10.0.0.1:6379\r\n", "This Redis is a part of a cluster, and the episodes belong on another part"),
        (b"-CLUSTERDOWN Hash slot not served\r\n", "The cluster that this Redis is a part of is down: see to it."),
        (b"-NOPERM this user has no permissions\r\n", "The user that is named for Redis may not do what is needed"),
        (b"-ERR something else\r\n", "Redis refused (something else)."),
    ],
)
def test_what_answers_there(line: bytes, sentence: str) -> None:
    with answering(line) as port:
        said = refusal(f"redis://user:secret@127.0.0.1:{port}/0")
    assert said.startswith(f"Redis at 127.0.0.1:{port} can't be used. {sentence}")


def test_nothing_answers_there() -> None:
    port = free_port()
    said = refusal(f"redis://:secret@127.0.0.1:{port}/0")
    assert said.startswith(f"Redis at 127.0.0.1:{port} can't be used. There is no connection to Redis (")
    assert "Connection refused" in said
    assert "no connection to Redis" in refusal("unix:///nowhere/socket")


def test_an_address_that_makes_no_sense(server: RedisServer) -> None:
    for url in ("redis://localhost:port/0", "redis://:secret#1@localhost/0", f"{server.url}?db=x"):
        assert refusal(url) == (
            "The address of Redis can't be read: write it as redis://USER:PASSWORD@HOST:6379/0, with %2F and %23 for / "
            "and # in a password."
        )
    colour = "The address of Redis has an option that isn't known: 'colour'. Leave it out."
    assert refusal(f"{server.url}?colour=red") == colour
    assert "can't be used. Redis refused (DB index is out of range)" in refusal(f"{server.url}?db=99")
    assert refusal(f"{server.url}?prefix=") == "The keys in Redis need a prefix: leave it out, or name one."


def test_episodes_of_a_newer_version(server: RedisServer, store: RedisStore) -> None:
    with server.client() as client:
        client.set("{deskproof}:format", 2)
    said = refusal(server.url)
    assert said.startswith(f"The episodes at Redis at {server.socket} were kept by a newer version of Deskproof")
    assert "?prefix=NAME" in said


def test_prefixes(server: RedisServer) -> None:
    names = ["deskproof", "a", "{a}", "é b"]
    stores = [open_store(url) for url in (server.url, *(f"{server.url}?db=0&prefix={name}" for name in names[1:]))]
    for number, store in enumerate(stores):
        store.create(f"e-{number}", start(request_id="r"))
        store.append(Key(f"e-{number}", 1), 0, step(1), "resolved")
        store.bind("10.0.0.1", Key(f"e-{number}", 1))
        store.keep_pack("digest", "pack: x")
        store.swap("note", None, "text", 1.0)
        store.check()
    with server.client() as client:
        for number, (name, store) in enumerate(zip(names, stores, strict=True)):
            assert [record.key.episode_id for record in store.records()] == [f"e-{number}"]
            keys = client.keys("{" + name.replace("{", "[{]") + "}:*")
            # A cluster keeps them together, so that a script may use them all.
            assert len(keys) == 10 and len({key_slot(key) for key in keys}) == 1
        assert client.dbsize() == 10 * len(names)
        for store in stores:
            assert store.prune(50.0) == 1
            store.close()
        assert client.keys("*episode*") == []


def test_a_call_is_one_round_trip(server: RedisServer, store: RedisStore) -> None:
    def calls(name: str) -> None:
        store.create(name, start(request_id="r"))
        store.append(Key(name, 1), 0, Step({}, "s", 1.0), "resolved")
        with pytest.raises(Repeated):
            store.append(Key(name, 1), 0, Step({}, "s", 1.0), "resolved")
        store.get(name)
        store.find(name, "s")

    calls("e")  # the scripts are there now
    with server.client() as client, client.monitor() as monitor:
        calls("f")
        store.check()
        sent = (said["command"].split()[0] for said in monitor.listen() if said["client_type"] != "lua")
        assert list(islice(sent, 6)) == ["EVALSHA"] * 5 + ["INCRBY"]
