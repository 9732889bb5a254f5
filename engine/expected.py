"""What a pack's test expects of a part of an answer, compared with what it got.

What is written is what has to be there: numbers by value, texts to the last character, lists item by item. Besides
that, for a text or a number a list means one of these; `{template: ...}` is the text with its names filled in,
`{minimum:, maximum:}` bounds a number, and `{includes: ...}` asks for a piece of a text, some items of a list or some
entries of a mapping, at every level.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from engine.rules import same
from engine.template import Template

# What stands where there is nothing: null is something.
NOTHING: Any = object()
# How much of a value is told.
LONGEST = 200

INCLUDES, MINIMUM, MAXIMUM = "includes", "minimum", "maximum"
Fill = Callable[[Template], str]


class Difference(NamedTuple):
    """A part that isn't as expected, by its path (`known_info.email`, `history[2].text`); either may be NOTHING."""

    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        got = "is missing" if self.got is NOTHING else f"is {told(self.got)}"
        return f"{self.path} {got}, expected {wanted(self.expected, self.got)}"


def differences(path: str, expected: Any, got: Any, fill: Fill, whole: bool = True) -> Iterator[Difference]:
    """Where a part isn't as expected. `whole`: a mapping has no other entries than those that are expected."""
    expected = fill(expected) if isinstance(expected, Template) else expected
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        inner = expected.get(INCLUDES)
        if isinstance(inner, Mapping):
            expected, whole = inner, False
        for name in (*expected, *(name for name in got if whole and name not in expected)):
            pair = expected.get(name, NOTHING), got.get(name, NOTHING)
            yield from differences(f"{path}.{name}", *pair, fill, whole)
    elif isinstance(got, list) and isinstance(expected, list) and len(expected) == len(got):
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from differences(f"{path}[{index}]", one, other, fill, whole)
    elif isinstance(got, list) and isinstance(expected, Mapping) and isinstance(expected.get(INCLUDES), list):
        some = [one for one in expected[INCLUDES] if not any(matches(one, other, fill, False) for other in got)]
        if some:
            yield Difference(path, {INCLUDES: _filled(some, fill)}, got)
    elif not _is_so(expected, got, fill):
        yield Difference(path, _filled(expected, fill), got)


def matches(expected: Any, got: Any, fill: Fill, whole: bool = True) -> bool:
    return next(differences("", expected, got, fill, whole), None) is None


def _is_so(expected: Any, got: Any, fill: Fill) -> bool:
    """Whether a text, a number, a truth or null is as expected; anything else that gets here isn't."""
    if isinstance(got, list | Mapping) or NOTHING in (expected, got):
        return False
    if isinstance(expected, list):
        return any(matches(one, got, fill) for one in expected)
    if isinstance(expected, Mapping):
        return bool(expected) and all(_holds(name, bound, got) for name, bound in expected.items())
    return _equal(expected, got)


def _holds(name: str, bound: Any, got: Any) -> bool:
    if name == INCLUDES:
        return isinstance(bound, str) and isinstance(got, str) and bound in got
    if not _is_number(bound) or not _is_number(got):
        return False
    return bool(got >= bound if name == MINIMUM else got <= bound)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(expected: Any, got: Any) -> bool:
    """Numbers by value (0 and 0.0 are one number); all else with its type."""
    return bool(expected == got) if _is_number(expected) and _is_number(got) else same(expected, got)


def _filled(expected: Any, fill: Fill) -> Any:
    """What is expected as plain JSON, templates filled in."""
    if isinstance(expected, Template):
        return fill(expected)
    if isinstance(expected, Mapping):
        return {name: _filled(inner, fill) for name, inner in expected.items()}
    return [_filled(inner, fill) for inner in expected] if isinstance(expected, list) else expected


def told(value: Any) -> str:
    """A value in the words of JSON, as a test may have it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def wanted(expected: Any, got: Any) -> str:
    """What is expected, in words; what it means depends on what there is."""
    if expected is NOTHING:
        return "nothing"
    if isinstance(expected, list) and not isinstance(got, list):
        return "one of " + ", ".join(wanted(one, got) for one in expected)
    if isinstance(expected, Mapping) and INCLUDES in expected:
        inner = expected[INCLUDES]
        return ", ".join(map(told, inner if isinstance(inner, list) else [inner])) + " in it"
    if isinstance(expected, Mapping) and expected.keys() & {MINIMUM, MAXIMUM} and not isinstance(got, Mapping):
        bounds = [f"{words} {expected[name]}" for name, words in _BOUNDS.items() if name in expected]
        return " and ".join(bounds)
    return told(expected)


_BOUNDS = {MINIMUM: "at least", MAXIMUM: "at most"}
