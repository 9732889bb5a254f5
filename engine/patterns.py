"""Regular expressions that can't hang: what a pattern may cost is bounded before it is ever run.

Python's matcher backtracks. The number of ways in which it can go about a text is at most the product, over the
repeats of varying length, of how often each may repeat; repeats inside repeats would make that exponential, so they
are refused unless there is only one way to go through them.
"""

from __future__ import annotations

import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

MAX_COST: Final = 500_000
_LIMIT: Final = 10**9

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY, op.AT)


class PatternError(ValueError):
    """A pattern that can't be used, with the reason."""


class Pattern:
    """A compiled pattern. `cost(length)` bounds the ways in which a text of that length is gone about."""

    def __init__(self, source: str) -> None:
        """Raises: PatternError."""
        try:
            self._tree: Any = _parser.parse(source)
            self._compiled = re.compile(source)
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternError(f"this is not a regular expression: {error}") from None
        self._anchored = bool(self._tree) and self._tree[0] in (
            (op.AT, op.AT_BEGINNING),
            (op.AT, op.AT_BEGINNING_STRING),
        )
        self.cost(1)

    def cost(self, length: int) -> int:
        ways = _sequence(list(self._tree), length)
        return min(_LIMIT, ways if self._anchored else ways * (length + 1))

    def found_in(self, text: str) -> bool:
        return self._compiled.search(text) is not None


def _sequence(parts: list[Any], length: int) -> int:
    ways = 1
    for index, part in enumerate(parts):
        following = parts[index + 1] if index + 1 < len(parts) else None
        ways = min(_LIMIT, ways * _part(part, following, length))
    return ways


def _part(part: Any, following: Any, length: int) -> int:
    kind, value = part[0], part[1]
    if kind in _SINGLE:
        return 1
    if kind is op.SUBPATTERN:
        return _sequence(list(value[-1]), length)
    if kind is op.BRANCH:
        return min(_LIMIT, sum(_sequence(list(branch), length) for branch in value[1]))
    if kind in _REPEATS:
        least, most, body = value
        most = min(int(most), length)
        inner = list(body)
        if int(value[1]) > 1:
            _one_way(inner)
        if least >= most and int(value[1]) > 1:
            return 1
        if _excludes(inner, following):
            return 1
        return min(_LIMIT, max(most - least, 0) * _sequence(inner, length) + 1)
    raise PatternError(f"{str(kind).lower().replace('_', ' ')} is not allowed in a pattern")


def _one_way(parts: list[Any]) -> None:
    """Raises PatternError where there is more than one way to go through what is repeated."""
    for kind, value in parts:
        if kind is op.SUBPATTERN:
            _one_way(list(value[-1]))
        elif kind in _REPEATS:
            if value[0] != value[1]:
                raise PatternError("a repeat inside a repeat is not allowed in a pattern")
            _one_way(list(value[2]))
        elif kind is op.BRANCH:
            starts = [list(branch)[0] if list(branch) else None for branch in value[1]]
            if any(start is None or start[0] is not op.LITERAL for start in starts) or len(set(starts)) < len(starts):
                raise PatternError("alternatives inside a repeat must begin with different characters")
            for branch in value[1]:
                _one_way(list(branch))


def _excludes(body: list[Any], following: Any) -> bool:
    """Whether a repeated character can't be the literal that follows, so that the repeat has one place to end."""
    if following is None or following[0] is not op.LITERAL or len(body) != 1:
        return False
    kind, value = body[0]
    literal = following[1]
    if kind is op.LITERAL:
        return bool(value != literal)
    if kind is op.NOT_LITERAL:
        return bool(value == literal)
    return kind is op.IN and not _in_set(value, literal)


def _in_set(members: list[Any], literal: int) -> bool:
    negated = bool(members) and members[0][0] is op.NEGATE
    found = any(_is_member(kind, value, literal) for kind, value in members if kind is not op.NEGATE)
    return found != negated


def _is_member(kind: Any, value: Any, literal: int) -> bool:
    if kind is op.LITERAL:
        return bool(value == literal)
    if kind is op.RANGE:
        return bool(value[0] <= literal <= value[1])
    # A class such as \d: asked of the matcher itself.
    name = {op.CATEGORY_DIGIT: r"\d", op.CATEGORY_SPACE: r"\s", op.CATEGORY_WORD: r"\w"}
    other = {op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_NOT_WORD: r"\W"}
    return re.match({**name, **other}[value], chr(literal)) is not None
