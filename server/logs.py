"""What the log looks like: one line an event, as JSON or for people. Whatever stands in it, it is safe to read.

Members go to the log as `logger.info("episode ended", extra={"episode_id": ..., "pack": ...})`. No secret comes out, no
text of a client's can look like another event or steer a terminal, and nothing here ever raises into who logged.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TextIO

FORMS: Final = ("json", "text")
LEVELS: Final = ("debug", "info", "warning", "error")

REDACTED: Final = "[redacted]"
LONGEST: Final = 8_192  # characters of one text; the middle of a longer one is left out
DEEPEST: Final = 5  # mappings and lists in one another

# Names of members and headers whose values are secrets.
_SECRET = re.compile(r"(authorization|api[-_]?key|cookie|token|password|secret)s?$", re.IGNORECASE)
# The same inside a text, as a header, an assignment, or one of the ways in which Python shows a pair. A cookie may have
# several values, and an authorization several words: where no quote ends them, they go on to the end of the line.
_BETWEEN = r"([\\\"']*\s*[:=]\s*\\*|[\"'],\s*)"
_QUOTED = r"b?\"(?:\\.|[^\"\\])*\"?|b?'(?:\\.|[^'\\])*'?"
_LOOKS_SECRET = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(authorization|cookie){_BETWEEN}(?:{_QUOTED}|[^\r\n]+)",
        rf"(api[-_]?key|tokens?|password|secret){_BETWEEN}(?:{_QUOTED}|[^\s\"',;&]+)",
        r"\b(bearer)(\s+)[^\s\"',;]+",
    )
)
# A text that, in lower case, has none of these words has no secret.
_HINT = re.compile(r"bearer|authorization|cookie|key|token|password|secret")

# What every record has; anything else in it is a member. Python 3.12 adds taskName, uvicorn color_message.
_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}


def set_up(form: str | None = None, level: str = "info", stream: TextIO | None = None) -> None:
    """Let everything that this process logs, its server's own loggers too, come out in one form.

    `form` is one of FORMS; by default text on a terminal, else JSON. `level` is one of LEVELS, `stream` by default
    stderr. gunicorn wants it called in its configuration, with errorlog = None, before its first line; uvicorn while
    the application is loaded. May be called again. Raises ValueError, with a sentence, where `form` or `level` is none
    of those.
    """
    stream = sys.stderr if stream is None else stream
    form = form or ("text" if stream.isatty() else "json")
    for what, value, known in (("form", form, FORMS), ("level", level.lower(), LEVELS)):
        if value not in known:
            raise ValueError(f"a log's {what} is one of {', '.join(known)}, not '{value[:80]}'")
    handler = _Handler(stream)
    handler.setFormatter(Json() if form == "json" else Text())
    for logger in (logging.getLogger(), logging.getLogger("gunicorn.error")):
        for earlier in [one for one in logger.handlers if isinstance(one, _Handler)]:
            logger.removeHandler(earlier)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
    # gunicorn sees to that too, which is why its logger has to have the handler for itself.
    logging.getLogger("gunicorn.error").propagate = False
    _take_over_uvicorn()
    logging.captureWarnings(True)


def _take_over_uvicorn() -> None:
    """uvicorn has set itself up by the time it loads the application. A configuration of the operator's own stays."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        theirs = [one for one in logger.handlers if type(one.formatter).__module__ == "uvicorn.logging"]
        for handler in theirs:
            logger.removeHandler(handler)
        if theirs and name == "uvicorn":
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
            logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)
    # Without a handler uvicorn makes up no access lines; what there is to know of a request is logged by the server.


class _Handler(logging.StreamHandler[TextIO]):
    """The handler that `set_up` puts in, told apart from others'."""


class Json(logging.Formatter):
    """An object on one line, in ASCII: `time` (UTC), `level`, `logger`, `message`, the members, and `error`."""

    def format(self, record: logging.LogRecord) -> str:
        event = {"time": _time(record), "level": record.levelname, "logger": record.name, "message": _message(record)}
        event |= {name: value for name, value in _members(record).items() if name not in event}
        error = _error(self, record)
        if error:
            event["error"] = error
        return json.dumps(event)


class Text(logging.Formatter):
    """A line for people: time, level, message, members. An error's traceback stands below it, indented."""

    def format(self, record: logging.LogRecord) -> str:
        members = (f" {_shown(name)}={_shown(value)}" for name, value in _members(record).items())
        line = f"{_time(record)} {record.levelname:<7} {_escaped(_message(record))}{''.join(members)}"
        return line + "".join(f"\n    {_escaped(one)}" for one in _error(self, record).split("\n") if one)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    try:
        return _text(record.getMessage())
    except Exception:  # the arguments don't fit the message
        return f"{_plain(record.msg)} {_plain(record.args)}"


def _members(record: logging.LogRecord) -> dict[str, Any]:
    given = [pair for pair in vars(record).items() if pair[0] not in _OWN]
    return {_text(str(name)): _plain(value, str(name)) for name, value in given}


def _error(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """The traceback and the stack, as far as there are any."""
    texts = []
    if record.exc_info and record.exc_info[0] is not None:
        try:
            texts.append(formatter.formatException(record.exc_info))
        except Exception:
            texts.append(record.exc_info[0].__name__)
    if record.stack_info:
        texts.append(record.stack_info)
    return _text("\n".join(texts))


def _plain(value: Any, name: str = "", depth: int = 0) -> Any:
    """What JSON can hold of any value, without secrets."""
    try:
        if name and _is_secret(name):
            return REDACTED
        if isinstance(value, str):
            return _text(str(value))
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if abs(value) < 2**63 else _text(f"{value:#x}")
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            return "..." if depth == DEEPEST else _several(value, depth + 1)
        return _text(_decoded(value))
    except Exception:
        return f"<{type(value).__name__}>"


@lru_cache(1_024)
def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def _several(values: Mapping[Any, Any] | Iterable[Any], depth: int) -> Any:
    if isinstance(values, Mapping):
        return {_text(_decoded(key)): _plain(value, _decoded(key), depth) for key, value in values.items()}
    if isinstance(values, list | tuple) and len(values) == 2 and isinstance(values[0], str | bytes):
        return [_plain(values[0], depth=depth), _plain(values[1], _decoded(values[0]), depth)]  # a header, perhaps
    return [_plain(value, depth=depth) for value in values]


def _decoded(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _text(text: str) -> str:
    """The text without secrets and lone surrogates, and not too much of it."""
    if _HINT.search(text.lower()):
        for secret in _LOOKS_SECRET:
            text = secret.sub(rf"\1\2{REDACTED}", text)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def _shown(value: Any) -> str:
    """A member's name or value on a line: quoted where it couldn't be told from what is beside it."""
    if isinstance(value, str) and re.fullmatch(r'[^\s"=\\]+', value):
        return _escaped(value)
    return _escaped(json.dumps(value, ensure_ascii=False))


def _escaped(text: str) -> str:
    """The text with escapes for everything that a terminal doesn't print as a character."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
