"""Episodes in Redis, shared by any number of machines.

What a method changes is changed by one script, so it is atomic and takes one round trip. All keys have one hash tag: in
a cluster they live in one slot. What survives a crash of Redis is up to its `appendonly` and `appendfsync`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ConnectionError,
    InvalidResponse,
    RedisError,
    TimeoutError,
)
from redis.retry import Retry

from server.store import Append, Conflict, Key, Record, Repeated, Start, Step, Unavailable, Unusable, redis_scripts
from server.store.encoding import decode_start, decode_steps, encode_start, encode_step, from_bytes, to_bytes

FORMAT = 1  # of the keys
SECONDS = 2.0  # to connect, and to wait for an answer
PAGE = 100  # attempts that are read or changed at once
NAMES = 500  # notes that are looked at at once


class RedisStore:
    """An EpisodeStore in the Redis at `url`, under keys that begin with `{prefix}:`. Raises Unusable.

    An append whose answer was lost raises Unavailable, and may have happened: repeated with the same request id it
    raises Repeated then.
    """

    durable = True

    def __init__(self, url: str, prefix: str = "deskproof") -> None:
        if not prefix:
            raise Unusable("The keys in Redis need a prefix: leave it out, or name one.")
        self._tag = b"{%b}:" % to_bytes(prefix)
        names = (b"open", b"over", b"created", b"counter", b"addresses")
        self._shared = [self._tag + name for name in names]
        self._notes = [self._tag + b"notes", self._tag + b"names"]
        # A write that may have happened isn't repeated: the client doesn't know a read from a write, and repeats none.
        options = {"socket_timeout": SECONDS, "socket_connect_timeout": SECONDS, "protocol": 2}
        try:
            self._redis: Any = redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **options)
            self._check_format()
        except ValueError as error:  # its text may have a part of the password
            raise Unusable(
                "The address of Redis can't be read: write it as redis://USER:PASSWORD@HOST:6379/0, with %2F and %23 "
                "for / and # in a password."
            ) from error
        except TypeError as error:
            option = str(error).rpartition(" ")[2]
            raise Unusable(f"The address of Redis has an option that isn't known: {option}. Leave it out.") from error
        except RedisError as error:
            raise Unusable(f"{_where(self._redis)} can't be used. {_sentence(error)}") from error
        self._scripts = {script: self._redis.register_script(script) for script in redis_scripts.ALL}

    def create(self, episode_id: str, start: Start) -> Record:
        request = _maybe(start.request_id)
        done, value = self._write(redis_scripts.CREATE, episode_id, encode_start(start), request, _time(start.at))
        if done == b"repeated":
            raise Repeated(_record(episode_id, value))
        return Record(Key(episode_id, value), start, (), None, start.at)

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        values = (key.attempt, index, *_taken(step, end_reason))
        done, *value = self._write(redis_scripts.APPEND, key.episode_id, *values)
        if done == b"repeated":
            raise Repeated(_record(key.episode_id, value[0]))
        if done == b"conflict":
            raise Conflict(_record(key.episode_id, value[0]) if value[0] else None)

    def append_all(self, appends: Sequence[Append]) -> bool:
        keys, values = self._shared[:], list[Any]()
        for key, index, step, end_reason in appends:
            name = to_bytes(key.episode_id)
            keys.append(self._tag + b"episode:" + name)
            values += (name, key.attempt, index, *_taken(step, end_reason))
        return bool(self._once(self._scripts[redis_scripts.APPEND_ALL], keys, values))

    def get(self, episode_id: str) -> Record | None:
        found = self._read(redis_scripts.GET, episode_id)
        return _record(episode_id, found) if found else None

    def find(self, episode_id: str, request_id: str) -> Record | None:
        found = self._read(redis_scripts.FIND, episode_id, _maybe(request_id))
        return _record(episode_id, found) if found else None

    def end(self, key: Key, reason: str, at: float) -> bool:
        return bool(self._write(redis_scripts.END, key.episode_id, key.attempt, to_bytes(reason), _time(at), b""))

    def touch(self, key: Key, at: float) -> None:
        self._write(redis_scripts.TOUCH, key.episode_id, key.attempt, _time(at))

    def expire(self, before: float, at: float) -> int:
        end = (b"expired", _time(at), b"=" + _time(before))
        ended = left = 0
        while members := self._members(b"open", before, left):
            page = self._once(self._each, redis_scripts.END, members, *end)
            ended += sum(page)
            left += len(page) - sum(page)  # these changed meanwhile
        return ended

    def prune(self, before: float) -> int:
        pruned = left = 0
        while members := self._members(b"over", before, left):
            page = self._once(self._each, redis_scripts.PRUNE, members, _time(before))
            pruned += sum(gone for gone, _ in page)
            left += sum(stays for _, stays in page)
        return pruned

    def open_count(self) -> int:
        return int(self._ask(self._redis.zcard, self._tag + b"open"))

    def records(self) -> Iterator[Record]:
        page = {"start": 0, "num": PAGE, "withscores": True}
        last = b"-inf"
        while found := self._ask(self._redis.zrangebyscore, self._tag + b"created", last, b"+inf", **page):
            last = b"(%d" % found[-1][1]
            members = [member for member, _ in found]
            for member, record in zip(members, self._ask(self._each, redis_scripts.RECORD, members), strict=True):
                if record:
                    yield _record(from_bytes(_key(member)[0]), record)

    def bind(self, address: str, key: Key) -> Key | None:
        before = self._write(redis_scripts.BIND, key.episode_id, key.attempt, to_bytes(address))
        if before is None:
            return None
        name, attempt = _key(before)
        return Key(from_bytes(name), attempt)

    def bound(self, address: str) -> str | None:
        member = self._ask(self._redis.hget, self._tag + b"addresses", to_bytes(address))
        return from_bytes(_key(member)[0]) if member is not None else None

    def keep_pack(self, digest: str, source: str) -> None:
        self._ask(self._redis.hsetnx, self._tag + b"packs", to_bytes(digest), to_bytes(source))

    def pack(self, digest: str) -> str | None:
        source = self._ask(self._redis.hget, self._tag + b"packs", to_bytes(digest))
        return from_bytes(source) if source is not None else None

    def recall(self, name: str) -> str | None:
        note = self._ask(self._redis.hget, self._notes[0], to_bytes(name))
        return from_bytes(note.partition(b" ")[2]) if note is not None else None

    def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
        values = (to_bytes(name), _maybe(old), _maybe(new), _time(at))
        return bool(self._once(self._scripts[redis_scripts.SWAP], self._notes, values))

    def forget(self, prefix: str, before: float) -> int:
        script = self._scripts[redis_scripts.FORGET]
        first, last = _range(prefix)
        dropped = 0
        while True:
            page, name = self._once(script, self._notes, (first, last, _time(before), NAMES))
            dropped += int(page)
            if name is None:
                return dropped
            first = b"(" + name

    def count(self, prefix: str) -> int:
        return int(self._ask(self._redis.zlexcount, self._notes[1], *_range(prefix)))

    def check(self) -> None:
        self._ask(self._redis.incr, self._tag + b"checks")

    def close(self) -> None:
        self._redis.close()

    def _check_format(self) -> None:
        """Raises Unusable where a newer version keeps its episodes here."""
        self._redis.setnx(self._tag + b"format", FORMAT)
        found = int(self._redis.get(self._tag + b"format"))
        if found > FORMAT:
            raise Unusable(
                f"The episodes at {_where(self._redis)} were kept by a newer version of Deskproof (their format is "
                f"{found}, this version knows {FORMAT}): upgrade Deskproof, or add ?prefix=NAME for keys of its own."
            )

    def _write(self, script: str, episode_id: str, *values: Any) -> Any:
        return self._once(self._run, script, to_bytes(episode_id), *values)

    def _read(self, script: str, episode_id: str, *values: Any) -> Any:
        return self._ask(self._run, script, to_bytes(episode_id), *values)

    def _run(self, script: str, name: bytes, *values: Any, client: Any = None) -> Any:
        keys = [*self._shared, self._tag + b"episode:" + name]
        return self._scripts[script](keys, (name, *values), client)

    def _each(self, script: str, members: Sequence[bytes], *values: Any) -> Any:
        """What the script returns for each of these attempts, in one round trip; it isn't one transaction."""
        with self._redis.pipeline(transaction=False) as pipeline:
            for name, attempt in map(_key, members):
                self._run(script, name, attempt, *values, client=pipeline)
            return pipeline.execute()

    def _members(self, index: bytes, before: float, left: int) -> Any:
        """Attempts whose time in an index is before `before`, the earliest first, but for the first `left`."""
        page = {"start": left, "num": PAGE}
        return self._ask(self._redis.zrangebyscore, self._tag + index, b"-inf", b"(" + _time(before), **page)

    def _ask(self, call: Callable[..., Any], *values: Any, **options: Any) -> Any:
        """What a call returns that does no harm twice: it is done again after a connection broke."""
        try:
            return self._once(call, *values, **options)
        except Unavailable as error:
            if not isinstance(error.__cause__, ConnectionError | TimeoutError):
                raise
            return self._once(call, *values, **options)

    def _once(self, call: Callable[..., Any], *values: Any, **options: Any) -> Any:
        try:
            return call(*values, **options)
        except RedisError as error:
            raise Unavailable(_sentence(error)) from error


def _time(at: float) -> bytes:
    return repr(at).encode()


def _maybe(text: str | None) -> bytes:
    return b"=" + to_bytes(text) if text is not None else b""


def _taken(step: Step, end_reason: str | None) -> tuple[bytes, ...]:
    return encode_step(step), _maybe(step.request_id), _time(step.at), _maybe(end_reason)


def _key(member: bytes) -> tuple[bytes, int]:
    attempt, _, name = member.partition(b":")
    return name, int(attempt)


def _range(prefix: str) -> tuple[bytes, bytes]:
    """Where the names with a prefix begin, and what comes after them: no character's first byte is 0xFF."""
    return b"[" + to_bytes(prefix), b"(" + to_bytes(prefix) + b"\xff"


def _record(episode_id: str, found: Sequence[Any]) -> Record:
    attempt, start, end_reason, changed, touched, *steps = found
    return Record(
        Key(episode_id, int(attempt)),
        decode_start(start),
        decode_steps(steps),
        from_bytes(end_reason) if end_reason is not None else None,
        float(changed),
        float(touched) if touched is not None else None,
    )


def _where(client: Any) -> str:
    """The server's address, without the password."""
    options = client.connection_pool.connection_kwargs
    return f"Redis at {options['path']}" if "path" in options else f"Redis at {options['host']}:{options['port']}"


# What the server says, as it is or from inside a script; what is wrong, and what to do.
_SAID = {
    "OOM": "Redis has no memory left: raise its maxmemory, or let it keep less.",
    "READONLY": "This Redis is a replica that can't be written: name its primary.",
    "MISCONF": "Redis can't write to its disk, and takes nothing until it can: see to its disk.",
    "NOREPLICAS": "Redis has too few replicas to take anything: see to them.",
    "MOVED": "This Redis is a part of a cluster, and the episodes belong on another part: name that one.",
    "CLUSTERDOWN": "The cluster that this Redis is a part of is down: see to it.",
    "NOPERM": "The user that is named for Redis may not do what is needed: let it use all keys of the prefix.",
    "WRONGTYPE": "Another program uses the same keys in Redis: add ?prefix=NAME to the address for keys of its own.",
    "BUSY": "Redis is busy with another program's script: wait until it is done, or end it.",
}


def _sentence(error: RedisError) -> str:
    match error:
        case AuthenticationError() | AuthorizationError():
            return "Redis doesn't take the user and password: write them as redis://USER:PASSWORD@HOST:6379/0."
        case BusyLoadingError():
            return "Redis is still loading its data: wait until it is done."
        case TimeoutError():
            return f"Redis didn't answer within {SECONDS:g} seconds: see whether it is overloaded or out of reach."
        case ConnectionError():
            return f"There is no connection to Redis ({error}): start it, or correct its address."
        case InvalidResponse():
            return "What answers there is no Redis: correct the address."
    code = getattr(error, "status_code", None)
    said = f"{code} {error}"
    for word, sentence in _SAID.items():
        if f"{word} " in said:
            return sentence
    return f"Redis refused ({error})."
