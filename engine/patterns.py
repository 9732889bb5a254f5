"""Regular expressions that can't hang: what a pattern may cost is bounded before it is ever run.

Python's matcher backtracks. The ways in which it can go about a text are at most the product, over the repeats of
varying length, of how often each may repeat. Repeats inside repeats make that exponential: they are refused, unless
the inner ones leave only one way to go, or the outer one is short.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any, Final

# The most ways for one text; a pattern that may have more is not run on it.
MAX_COST: Final = 500_000
_LIMIT: Final = 10**9
# How often something with repeats in it may repeat.
_SHORT: Final = 8

# Python's own reading of a pattern: a tree of (operator, operand).
_parser: Any = import_module("re._parser")
op: Any = import_module("re._constants")

_STARTS = ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY, op.AT)
_CLASSES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


class PatternError(ValueError):
    """A pattern that can't be used, with the reason."""


class Pattern:
    """A compiled pattern.

    Raises:
        PatternError: it isn't a regular expression, or could take forever.
    """

    def __init__(self, source: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self._tree = list(_parser.parse(source))
                self._compiled = re.compile(source)
        except (re.error, OverflowError, RecursionError, Warning) as error:
            raise PatternError(f"this is not a regular expression: {error}") from None
        if self._compiled.flags != re.UNICODE:
            raise PatternError("flags are not allowed in a pattern")
        self._anchored = bool(self._tree) and self._tree[0] in _STARTS
        self.cost(1)

    def cost(self, length: int) -> int:
        """In how many ways a text of this length may be gone about, at most."""
        ways = _sequence(self._tree, length)
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
    kind, operand = part[0], part[1]
    if kind in _SINGLE:
        return 1
    if kind is op.SUBPATTERN:
        if operand[1] or operand[2]:
            raise PatternError("flags are not allowed in a pattern")
        return _sequence(list(operand[-1]), length)
    if kind is op.BRANCH:
        return min(_LIMIT, sum(_sequence(list(branch), length) for branch in operand[1]))
    if kind in _REPEATS:
        return _repeat(int(operand[0]), int(operand[1]), list(operand[2]), following, length)
    raise PatternError(f"{str(kind).lower().replace('_', ' ')} is not allowed in a pattern")


def _repeat(least: int, most: int, body: list[Any], following: Any, length: int) -> int:
    ways = _sequence(body, length)
    if most > 1 and not _one_way(body):
        if most > _SHORT:
            raise PatternError("a repeat or alternatives inside a repeat are not allowed in a pattern")
        return int(min(_LIMIT, (ways + 1) ** most))
    if _excludes(body, following):
        return 1
    return min(_LIMIT, max(min(most, length) - least, 0) * ways + 1)


def _one_way(parts: list[Any]) -> bool:
    """Whether there is only one way to go through what is repeated."""
    return all(_is_one_way(part[0], part[1]) for part in parts)


def _is_one_way(kind: Any, operand: Any) -> bool:
    if kind is op.SUBPATTERN:
        return _one_way(list(operand[-1]))
    if kind in _REPEATS:
        return bool(operand[0] == operand[1]) and _one_way(list(operand[2]))
    if kind is op.BRANCH:
        branches = [list(branch) for branch in operand[1]]
        starts = [branch[0] if branch else None for branch in branches]
        differ = all(start is not None and start[0] is op.LITERAL for start in starts)
        return differ and len(set(starts)) == len(starts) and all(_one_way(branch) for branch in branches)
    return True


def _excludes(body: list[Any], following: Any) -> bool:
    """Whether a repeated character can't be the literal that follows, so that the repeat has one place to end."""
    if following is None or following[0] is not op.LITERAL or len(body) != 1:
        return False
    kind, operand, literal = body[0][0], body[0][1], following[1]
    if kind is op.LITERAL:
        return bool(operand != literal)
    if kind is op.NOT_LITERAL:
        return bool(operand == literal)
    return kind is op.IN and not _in_set(operand, literal)


def _in_set(members: list[Any], literal: int) -> bool:
    negated = members[0][0] is op.NEGATE
    found = any(_is_member(kind, operand, literal) for kind, operand in members if kind is not op.NEGATE)
    return found != negated


def _is_member(kind: Any, operand: Any, literal: int) -> bool:
    if kind is op.LITERAL:
        return bool(operand == literal)
    if kind is op.RANGE:
        return bool(operand[0] <= literal <= operand[1])
    return re.match(_CLASSES[operand], chr(literal)) is not None
