"""What clients send: bytes to JSON, and JSON to what a route takes."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

import orjson

from engine.nearest import nearest
from server.problems import Problem, quoted

MAX_BODY = 64 * 1024  # bytes
PATIENCE = 1024 * 1024  # bytes of a body that is too large and read all the same, so that its sender hears of it
MAX_BATCH = 4 * 1024 * 1024  # bytes of a body with many items
MAX_ITEMS = 4_096
MAX_DEPTH = 64  # objects and arrays inside each other
MAX_PARTS = 131_072  # objects and arrays in all
MAX_ID = 255  # characters of an episode id or a request id
MAX_SEED = 2**63 - 1
MAX_REPORTED = 8  # of the members that aren't known

# An action that stands alone in a body is known by one of these, and gives these others up.
ACTION_NAMES = ("type", "name", "action_type")
ENVELOPE = ("episode_id", "request_id", "timeout_s")


@dataclass(frozen=True, slots=True)
class ResetBody:
    """What POST /reset takes; None stands for what wasn't given."""

    seed: int | None = None
    episode_id: str | None = None
    task_id: str | None = None
    ticket_id: str | None = None
    pack: str | None = None
    split: str | None = None
    index: int | None = None
    request_id: str | None = None


class StepBody(NamedTuple):
    """What POST /step takes: an action in any form that the engine understands."""

    action: Mapping[str, Any]
    episode_id: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class CreateBody:
    """What POST /create takes: a ticket, or a split and an index."""

    env_name: str | None = None
    ticket_id: str | None = None
    task_id: str | None = None
    seed: int | None = None
    split: str | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class CallBody:
    """What POST /{env}/call takes; `task_id` asks for the answer to an earlier call."""

    name: str
    input: Mapping[str, Any]
    task_id: str | None = None


def decode(raw: bytes, limit: int = MAX_BODY) -> Any:
    """Strict JSON in UTF-8; None for an empty body. Raises Problem 400, and 413 beyond `limit` bytes."""
    if len(raw) > limit:
        raise too_large(limit)
    # Everybody waits for what is done here: none of it may take longer than in proportion to the body.
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if len(raw) > 2 * MAX_DEPTH:  # what is shorter has no room for more
        _check_shape(raw)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return _refused(raw, error)
    # orjson takes a key given twice, and rounds integers beyond 64 bits. It did neither if it writes, blanks aside, the
    # same again; else there is an escape, say, and closer looks are needed.
    written = orjson.dumps(value)
    if written == raw or written.translate(None, b" ") == raw.translate(None, _BLANKS):
        return value
    if _strings(raw) > _strings(written):
        raise _malformed("an object has the same key twice")
    return value if _LONG.search(raw) is None else json.loads(raw)


_BLANKS = b" \t\r\n"
_LONG = re.compile(rb"[0-9]{19}")  # a number that orjson may round; a string may hold one too, and does no harm


def _refused(raw: bytes, error: orjson.JSONDecodeError) -> None:
    """None where there is nothing at all. Raises Problem 400, which says what is wrong."""
    if not raw.strip(_BLANKS):
        return
    # What is JSON to kinder readers.
    if "infinity" in error.msg:
        raise _malformed(f"a number is too large (line {error.lineno}, column {error.colno})")
    if "surrogate in string" in error.msg:
        raise _malformed("it has half of a surrogate pair, \\ud800 to \\udfff, without the other half")
    try:
        json.loads(raw.decode("utf-8"), parse_constant=_constant)
    except UnicodeDecodeError as wrong:
        raise _malformed(f"it is not UTF-8 (byte {wrong.start})") from None
    except json.JSONDecodeError as wrong:
        raise _malformed(f"{wrong.msg} (line {wrong.lineno}, column {wrong.colno})") from None
    raise _malformed(f"{error.msg} (line {error.lineno}, column {error.colno})")


def _strings(raw: bytes) -> int:
    """How many quotes there are around strings, where it is JSON."""
    plain = raw.replace(b"\\\\", b"")
    return plain.count(b'"') - plain.count(b'\\"')


_UP_AND_DOWN = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_ALL_BUT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _check_shape(raw: bytes) -> None:
    """Raises Problem 400 where it nests too deep, or has too many objects and arrays; what isn't JSON may pass."""
    wrong = _too_much(raw)
    if wrong is not None:
        # Brackets in strings were counted as well: once more without strings.
        wrong = _too_much(b"".join(raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]))
        if wrong is not None:
            raise _malformed(wrong)


def _too_much(raw: bytes) -> str | None:
    steps = raw.translate(_UP_AND_DOWN, _ALL_BUT_BRACKETS)
    if len(steps) > 2 * MAX_PARTS:
        return f"it has more than {MAX_PARTS} objects and arrays"
    inner = steps
    for _ in range(4):  # most bodies have no more levels, and this is quickest for them
        inner = inner.replace(b"\x01\xff", b"")
    if inner and max(accumulate(memoryview(steps).cast("b"))) > MAX_DEPTH:
        return f"it nests deeper than {MAX_DEPTH} levels"
    return None


def too_large(limit: int = MAX_BODY) -> Problem:
    return Problem(413, f"The body is larger than {limit} bytes.")


def _malformed(reason: str) -> Problem:
    return Problem(400, f"The body is not valid JSON: {reason}.", [{"pointer": "", "detail": reason}])


def _constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not a JSON value")


class _Reader:
    """Takes members out of an object and gathers what is wrong with them, so that all of it is reported at once."""

    def __init__(self, body: Mapping[str, Any], at: str = "") -> None:
        self.body = body
        self.at = at
        self.errors: list[dict[str, str]] = []

    def wrong(self, name: str, detail: str) -> None:
        escaped = name.replace("~", "~0").replace("/", "~1")
        self.errors.append({"pointer": f"{self.at}/{escaped}", "detail": detail})

    def only(self, *known: str) -> None:
        """Nothing else may be there."""
        for name in [name for name in self.body if name not in known][:MAX_REPORTED]:
            near = nearest(name, known) if len(name) <= MAX_ID else None
            self.wrong(name, f"{quoted(name)} is not known here" + (f"; did you mean {near}?" if near else ""))

    def needed(self, *names: str) -> None:
        for name in names:
            if self.body.get(name) is None:
                self.wrong(name, f"{name} is missing")

    def name(self, key: str) -> str | None:
        value = self.body.get(key)
        if value is None or isinstance(value, str):
            return value
        self.wrong(key, f"{key} must be a string, not {_kind(value)}")
        return None

    def id(self, key: str) -> str | None:
        value = self.name(key)
        if value is not None and not 1 <= len(value) <= MAX_ID:
            self.wrong(key, f"{key} must have 1 to {MAX_ID} characters, not {len(value)}")
        return value

    def integer(self, key: str) -> int | None:
        value = self.body.get(key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number: 7.0 is 7
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(key, f"{key} must be an integer, not {_kind(value)}")
            return None
        return value

    def seed(self) -> int | None:
        value = self.integer("seed")
        if value is not None and not 0 <= value <= MAX_SEED:
            self.wrong("seed", f"seed must be from 0 to {MAX_SEED}")
        return value

    def object(self, key: str) -> Mapping[str, Any]:
        value = self.body.get(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self.wrong(key, f"{key} must be an object, not {_kind(value)}")
        return {}

    def finish(self, what: str = "body") -> None:
        if self.errors:
            details = "; ".join(error["detail"] for error in self.errors)
            raise Problem(422, f"The {what} is not what this route takes: {details}.", self.errors)


def reset_body(body: Any) -> ResetBody:
    """Raises Problem 422. Members that aren't known are ignored; null is like leaving a member out."""
    read = _Reader({} if body is None else _as_object(body))
    asked = ResetBody(
        seed=read.seed(),
        episode_id=read.id("episode_id"),
        task_id=read.name("task_id"),
        ticket_id=read.name("ticket_id"),
        pack=read.name("pack"),
        split=read.name("split"),
        index=read.integer("index"),
        request_id=read.id("request_id"),
    )
    read.finish()
    return asked


def step_body(body: Any) -> tuple[Mapping[str, Any], str | None, str | None]:
    """What makes a StepBody. Raises Problem 422. `{"type": ...}` without an envelope is an action too."""
    if type(body) is dict and "request_id" not in body:
        usual, named = body.get("action"), body.get("episode_id")
        if type(usual) is dict and ((type(named) is str and 0 < len(named) <= MAX_ID) or named is None):
            return usual, named, None  # it needs no reader
    body = {} if body is None else _as_object(body)
    read = _Reader(body)
    action: Any = body.get("action")
    if "action" not in body and any(name in body for name in ACTION_NAMES):
        action = {name: value for name, value in body.items() if name not in ENVELOPE}
    elif "action" not in body:
        read.wrong("action", 'there is no action: send {"action": {"type": ...}}')
    elif not isinstance(action, dict):
        read.wrong("action", f'action must be an object such as {{"type": ...}}, not {_kind(action)}')
    asked = StepBody(action=action, episode_id=read.id("episode_id"), request_id=read.id("request_id"))
    read.finish()
    return asked


def split_body(body: Any) -> str:
    """A split, by the name that it was given. Raises Problem 422, also for members that aren't known."""
    read = _strict(body, "split")
    split = read.name("split")
    read.finish()
    return split or ""


def task_body(body: Any) -> tuple[str, int]:
    """A split and an index. Raises Problem 422."""
    read = _strict(body, "split", "index")
    split, index = read.name("split"), read.integer("index")
    read.finish()
    return split or "", index or 0


def range_body(body: Any) -> tuple[str, slice]:
    """A split and which part of it, as Python slices. Raises Problem 422."""
    read = _strict(body, "split", optional=("start", "stop"))
    split, part = read.name("split"), slice(read.integer("start"), read.integer("stop"))
    read.finish()
    return split or "", part


def create_body(body: Any) -> CreateBody:
    """Raises Problem 422. A task's own members are `ticket_id` (or `id`), `task_id`, `pack` and `seed`."""
    read = _strict(body, optional=("env_name", "task_spec", "split", "index", "secrets"))
    task = _Reader(read.object("task_spec"), "/task_spec")
    env_name, pack = read.name("env_name"), task.name("pack")
    ticket_id, own_id = task.name("ticket_id"), task.name("id")
    asked = CreateBody(
        env_name=env_name or pack,
        ticket_id=own_id if ticket_id is None else ticket_id,
        task_id=task.name("task_id"),
        seed=task.seed(),
        split=read.name("split"),
        index=read.integer("index"),
    )
    by_task, by_index = (read.body.get(name) is not None for name in ("task_spec", "index"))
    if by_index:
        read.needed("split")
    if by_task == by_index or (by_task and asked.split is not None):
        read.wrong("task_spec", "either task_spec is needed, or both split and index")
    elif by_task and asked.ticket_id is None:
        task.needed("ticket_id")
    read.errors += task.errors
    read.finish()
    return asked


def call_body(body: Any) -> CallBody:
    """Raises Problem 422."""
    read = _strict(body, "name", "input", optional=("task_id",))
    asked = CallBody(name=read.name("name") or "", input=read.object("input"), task_id=read.id("task_id"))
    read.finish()
    return asked


def query_id(value: str | None) -> str | None:
    """An episode id from a query string. Raises Problem 422."""
    read = _Reader({"episode_id": value})
    read.id("episode_id")
    read.finish("query")
    return value


def _strict(body: Any, *needed: str, optional: tuple[str, ...] = ()) -> _Reader:
    """A reader of an object that has all of `needed` and nothing but these and `optional`."""
    read = _Reader({} if body is None else _as_object(body))
    read.needed(*needed)
    read.only(*needed, *optional)
    return read


def _as_object(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        detail = f"the body must be a JSON object, not {_kind(body)}"
        raise Problem(422, f"The body is not what this route takes: {detail}.", [{"pointer": "", "detail": detail}])
    return body


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
