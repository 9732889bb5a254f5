"""The filters of templates. Each says of what it takes whether it fits, so that this can be tried before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import StrictUndefined, Undefined
from jinja2.filters import do_capitalize, do_default, do_lower, do_title, do_trim, do_upper

# How many characters of a part of a template are enough to find it.
NEAR: Final = 30


class TemplateError(ValueError):
    """A template that can't be compiled, or doesn't fit its values; `near` is how the part that is meant begins."""

    def __init__(self, message: str, near: str | None = None) -> None:
        super().__init__(message)
        self.near = near and near[:NEAR]


def as_written(value: Any) -> Any:
    """True, false and lists as an author would write them."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(str(as_written(each)) for each in value) if isinstance(value, list | tuple) else value


def _of_text(name: str, change: Callable[..., str]) -> Callable[..., str]:
    def changed(value: Any, *arguments: Any) -> str:
        _something(name, value)
        if isinstance(value, list | tuple):
            raise TemplateError(f"'{name}' doesn't fit a list; join it first: | join(', ') | {name}")
        return change(str(as_written(value)), *arguments)

    return changed


def _something(name: str, value: Any) -> None:
    if isinstance(value, Undefined):
        raise TemplateError(f"'{name}' has nothing to work on; put | default('...') before it")


def _several(name: str, value: Any) -> None:
    _something(name, value)
    if not isinstance(value, str | list | tuple):
        what = "true or false" if isinstance(value, bool) else "a number"
        raise TemplateError(f"'{name}' doesn't fit {what}")


def _join(value: Any, between: str = "") -> str:
    _something("join", value)
    if not isinstance(value, list | tuple):
        raise TemplateError("'join' fits lists only, and this is one value")
    return between.join(str(as_written(each)) for each in value)


def _first(value: Any) -> Any:
    _several("first", value)
    return value[0] if value else StrictUndefined(name="first")


def _last(value: Any) -> Any:
    _several("last", value)
    return value[-1] if value else StrictUndefined(name="last")


def _length(value: Any) -> int:
    _several("length", value)
    return len(value)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "capitalize": _of_text("capitalize", do_capitalize),
    "default": do_default,
    "first": _first,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": _of_text("lower", do_lower),
    "title": _of_text("title", do_title),
    "trim": _of_text("trim", do_trim),
    "upper": _of_text("upper", do_upper),
}
# What stands in a filter's brackets; for those that aren't here, nothing.
ARGUMENTS: Mapping[str, tuple[type, ...]] = {"default": (str, bool), "join": (str,), "trim": (str,)}
