"""The log: one line an event, whatever clients send, and no secrets in it."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from server import logs
from server.logs import LONGEST, REDACTED, Json, Text

SECRET = "s3cr3t.Value-99"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def record(message: Any = "an event", members: Mapping[Any, Any] | None = None, **more: Any) -> logging.LogRecord:
    one = logging.makeLogRecord({"name": "server", "levelno": 20, "levelname": "INFO", "msg": message, **more})
    vars(one).update(members or {})
    return one


def as_json(message: Any = "an event", members: Mapping[Any, Any] | None = None, **more: Any) -> dict[str, Any]:
    line = Json().format(record(message, members, **more))
    assert line.isascii() and line.isprintable()
    event: dict[str, Any] = json.loads(line)
    return event


def as_text(message: Any = "an event", members: Mapping[Any, Any] | None = None, **more: Any) -> str:
    """A line without its time."""
    line = Text().format(record(message, members, **more))
    found = re.fullmatch(rf"{TIME} (.*)", line, re.DOTALL)
    assert found, line
    return found[1]


def failure(error: Exception) -> Any:
    """What logging makes of an exception that is being handled."""
    try:
        raise error
    except type(error):
        return sys.exc_info()


# -- What an event looks like


def test_json() -> None:
    created = datetime(2026, 7, 1, 12, 34, 56, 789_000, UTC).timestamp()
    members = {"episode_id": "e-1", "pack": "lamps", "status": 200, "seconds": 0.25, "done": True, "seed": None}
    line = Json().format(record("episode ended", members, created=created))
    assert line == (
        '{"time": "2026-07-01T12:34:56.789Z", "level": "INFO", "logger": "server", "message": "episode ended", '
        '"episode_id": "e-1", "pack": "lamps", "status": 200, "seconds": 0.25, "done": true, "seed": null}'
    )


def test_text() -> None:
    created = datetime(2026, 7, 1, 12, 34, 56, 789_000, UTC).timestamp()
    members = {"episode_id": "e-1", "pack": "⚠️ 版本?", "empty": "", "status": 200, "seed": None, "list": ["a", 1]}
    line = Text().format(record("episode ended", members, created=created))
    assert line == (
        "2026-07-01T12:34:56.789Z INFO    episode ended "
        'episode_id=e-1 pack="⚠️ 版本?" empty="" status=200 seed=null list=["a", 1]'
    )


def test_members_are_what_extra_says() -> None:
    stream = io.StringIO()
    logger = logging.Logger("server")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Json())
    logger.addHandler(handler)
    logger.info("step %d of %s", 3, "e-1", extra={"pack": "lamps", "time": "mine", "error": "none"})
    event = json.loads(stream.getvalue())
    assert event.keys() == {"time", "level", "logger", "message", "pack", "error"}
    assert (event["message"], event["pack"], event["error"]) == ("step 3 of e-1", "lamps", "none")
    assert re.fullmatch(TIME, event["time"])


def test_an_error_has_its_traceback() -> None:
    info = failure(ValueError("no such lamp"))
    error = as_json("a request failed", exc_info=info)["error"]
    assert error.startswith("Traceback (most recent call last):\n")
    assert error.endswith("\nValueError: no such lamp")
    first, *rest = as_text("a request failed", exc_info=info).split("\n")
    assert first == "INFO    a request failed"
    assert [line.removeprefix("    ") for line in rest] == error.split("\n")


# -- Any text


@given(st.text(), st.text(), st.text())
def test_any_text_is_one_line_that_reads_back(message: str, name: str, value: str) -> None:
    assume(not name.lower().endswith(("key", "token", "password", "secret", "cookie", "authorization", "s")))
    event = as_json(message.replace("%", ""), {f"member {name}": value})
    assert event["message"] == message.replace("%", "")
    assert event[f"member {name}"] == value
    line = as_text(message, {f"member {name}": value})
    assert line.isprintable()


@example("\x7f")
@given(st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Lu"])))
def test_no_text_steers_a_terminal_or_a_reader(text: str) -> None:
    event = as_json(text, {"value": text, "list": [text, {text: text.encode("utf-8", "surrogatepass")}]})
    json.dumps(event, ensure_ascii=False).encode()  # no lone surrogate is left
    line = as_text(text, {"value": text, text: text})
    assert line.isprintable()
    assert line.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_client_cannot_write_an_event_of_its_own(end: str) -> None:
    forged = f"x{end}2026-07-01T12:34:56.789Z ERROR   the store is lost"
    info = failure(ValueError(forged))
    for line in Json().format(record(forged, {"episode_id": forged}, exc_info=info)).splitlines():
        assert json.loads(line)["level"] == "INFO"
    first, *rest = Text().format(record(forged, {"episode_id": forged}, exc_info=info)).splitlines()
    assert "INFO" in first and rest
    assert all(line.startswith("    ") for line in rest)  # the traceback; nothing else may stand on its own line


def test_escapes_are_shown_as_such() -> None:
    line = as_text("\x1b[31mred\x07 \x9b2J \u202etxt.exe", {"id": "\x1b]0;title\x07", "two words": 'say "hi"'})
    assert line == (r"INFO    \x1b[31mred\x07 \x9b2J \u202etxt.exe" r' id=\x1b]0;title\x07 "two words"="say \"hi\""')


def test_a_value_cannot_look_like_another_member() -> None:
    assert as_text("x", {"id": "1 pack=lamps", "a=b": "c"}) == 'INFO    x id="1 pack=lamps" "a=b"=c'


def test_a_long_text_keeps_its_ends() -> None:
    message = as_json("a" * 10_000 + "b" * 1_000_000 + "c" * 10_000)["message"]
    assert LONGEST <= len(message) < LONGEST + 10
    assert message.startswith("aaa") and message.endswith("ccc")


# -- Nothing raises


class Evil:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Unspeakable(Exception):
    __str__ = Evil.__str__


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**64, "0x1" + "0" * 16),
        ([-(10**5000)], None),
        (b"\xff bytes", "\\xff bytes"),
        (Path("a/b"), "a/b"),
        (datetime(2026, 7, 1, tzinfo=UTC), "2026-07-01 00:00:00+00:00"),
        ({"a": {1: {2.5}}}, {"a": {"1": [2.5]}}),
        (ValueError("wrong"), "wrong"),
        (Evil(), "<Evil>"),
        ([1, Evil()], [1, "<Evil>"]),
        ({Evil(): 1}, "<dict>"),
        (ENDLESS, [[[[["..."]]]]]),
        (True, True),
    ],
)
def test_any_value(value: Any, shown: Any) -> None:
    event = as_json("x", {"value": value})
    if shown is not None:
        assert event["value"] == shown
    assert "\n" not in as_text("x", {"value": value})


@pytest.mark.parametrize(
    ("message", "args"),
    [("%d steps", ("no",)), ("%s %s", ("one",)), ("none", ("one",)), ("%s", (Evil(),)), (Evil(), ()), ("100%", ({},))],
)
def test_arguments_that_do_not_fit(message: Any, args: tuple[Any, ...]) -> None:
    assert isinstance(as_json(message, args=args)["message"], str)
    assert as_text(message, args=args)


def test_an_exception_without_text() -> None:
    assert "Unspeakable" in as_json(exc_info=failure(Unspeakable()))["error"]
    assert "error" not in as_json(exc_info=(None, None, None))
    assert as_json("x", {1: 2})["1"] == 2


# -- No secrets


@pytest.mark.parametrize(
    "message",
    [
        f"Bearer {SECRET}",
        f"got bearer\t{SECRET}, and refused it",
        f"Authorization: Bearer {SECRET}",
        f"authorization: Basic {SECRET}",
        f'{{"Authorization": "Digest user, {SECRET}"}}',
        f"X-API-Key: {SECRET}",
        f"/state?token={SECRET}&episode_id=e",
        f"api_key='{SECRET}'",
        f"Cookie: deskproof=e; other={SECRET}",
        f'cookie: a="b"; other={SECRET}',
        f"Set-Cookie: a=b; {SECRET}",
        f"headers were { ({'cookie': SECRET, 'host': 'h'}) }",
        f"headers were {[(b'x-api-key', SECRET.encode()), (b'authorization', b'Basic ' + SECRET.encode())]}",
        json.dumps({"body": json.dumps({"token": SECRET})}),
        f"access_token: {SECRET}\nnext line",
    ],
)
def test_a_secret_in_a_text(message: str) -> None:
    for member in ({}, {"detail": message}, {"list": [{"text": message}]}):
        lines = (Json().format(record(message, member)), Text().format(record(message, member)))
        assert all(SECRET not in line and REDACTED in line for line in lines)
    info = failure(ValueError(message))
    assert SECRET not in Json().format(record(exc_info=info)) + Text().format(record(exc_info=info))


@pytest.mark.parametrize(
    "members",
    [
        {"authorization": SECRET},
        {"Cookie": SECRET},
        {"token": SECRET},
        {"x_api_key": [SECRET]},
        {"headers": {"X-API-Key": SECRET, "set-cookie": SECRET, b"cookie": SECRET}},
        {"headers": [("authorization", SECRET), ("host", "h")]},
        {"scope": {"headers": [[b"x-api-key", SECRET.encode()], [b"host", b"h"]]}},
        {"access_token": SECRET.encode()},
        {"tokens": {"a": SECRET}},
    ],
)
def test_a_secret_in_a_member(members: dict[str, Any]) -> None:
    for line in (Json().format(record("x", members)), Text().format(record("x", members))):
        assert SECRET not in line
        assert REDACTED in line


@given(st.from_regex(r"[A-Za-z0-9._~+/-]{8,40}=*", fullmatch=True), st.text(max_size=5), st.text(max_size=5))
def test_any_bearer_token(token: str, before: str, after: str) -> None:
    assume(token not in REDACTED)
    message = f"{before} Bearer {token} {after}"
    event = as_json(message.replace("%", ""))
    assert token not in event["message"]
    assert token not in as_text("x", {"detail": message})


def test_what_is_no_secret_stays() -> None:
    message = "no episode by that cookie, token or address: POST /reset starts one; the tokenizer has 3 words"
    assert as_json(message)["message"] == message


# -- Setting it up


@pytest.fixture
def untouched() -> Iterator[None]:
    """Leaves the process's logging as it was."""
    loggers = [logging.getLogger(name) for name in ("", "gunicorn.error", "uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(one, list(one.handlers), one.level, one.propagate) for one in loggers]
    yield
    logging.captureWarnings(False)
    for one, handlers, level, propagate in before:
        one.handlers[:] = handlers
        one.setLevel(level)
        one.propagate = propagate


@pytest.mark.usefixtures("untouched")
def test_json_where_nobody_watches_and_text_on_a_terminal() -> None:
    stream = io.StringIO()
    logs.set_up(stream=stream)
    logging.getLogger("server").info("hello")
    assert json.loads(stream.getvalue())["message"] == "hello"
    ours, theirs = os.openpty()
    with open(theirs, "w") as terminal:  # noqa: PTH123 - it has no path
        logs.set_up(stream=terminal)
        logging.getLogger("server").info("hello")
        assert re.fullmatch(rf"{TIME} INFO    hello\r\n", os.read(ours, 1_000).decode())
        logs.set_up("json", stream=terminal)
        logging.getLogger("server").info("hello")
        assert json.loads(os.read(ours, 1_000))["message"] == "hello"
    os.close(ours)
    logs.set_up(stream=io.StringIO())


@pytest.mark.usefixtures("untouched")
def test_levels_and_setting_up_again() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.set_up("text", "DEBUG", first)
    logging.getLogger("server").debug("seen")
    logs.set_up("text", "warning", second)
    for name in ("server", "gunicorn.error"):
        logging.getLogger(name).info("unseen")
        logging.getLogger(name).warning("seen")
    assert first.getvalue().count("\n") == 1
    assert [line.split()[1:] for line in second.getvalue().splitlines()] == [["WARNING", "seen"]] * 2


@pytest.mark.parametrize(
    ("form", "level", "sentence"),
    [
        ("xml", "info", "a log's form is one of json, text, not 'xml'"),
        ("json", "loud", "a log's level is one of debug, info, warning, error, not 'loud'"),
    ],
)
def test_what_makes_no_sense(form: str, level: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        logs.set_up(form, level)


@pytest.mark.usefixtures("untouched")
def test_warnings_are_events() -> None:
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logs.set_up("json", stream=stream)
        warnings.warn("old\nlamp", stacklevel=1)
        logging.captureWarnings(False)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["logger"] == "py.warnings"
    assert "UserWarning: old\nlamp" in json.loads(line)["message"]
