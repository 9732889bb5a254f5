"""Regular expressions that can't hang: what a pattern may cost is bounded before it is ever run.

Python's matcher backtracks. The ways in which it can go about a text are at most the product, over the repeats of
varying length, of how often each may repeat. Repeats inside repeats make that exponential: they are refused, unless
the inner ones leave only one way to go, or the outer one is short. A part of the pattern is gone through once for each
way through what stands before it, and all of it from each place of the text, unless the pattern is tied to its start.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any, Final, NamedTuple

# The most steps for one text, some 50 ms; a pattern that may take more is not run on it.
MAX_COST: Final = 2_000_000
_LIMIT: Final = 10**9
# How often something with repeats in it may repeat.
MAX_REPEATS: Final = 8
# How deep brackets may nest.
MAX_BRACKETS: Final = 30

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
        """How many steps it may take to look for the pattern in a text of this length, at most."""
        steps = _sequence(self._tree, length).steps
        # Where it is tied to the start, every other place takes the one step that finds that out.
        return min(_LIMIT, steps + length if self._anchored else steps * (length + 1))

    def found_in(self, text: str) -> bool:
        return self._compiled.search(text) is not None


class _Cost(NamedTuple):
    """In how many ways a part can match at one place, and how many steps all of them take; at most, and at least 1."""

    ways: int
    steps: int


def _sequence(parts: list[Any], length: int, depth: int = 0) -> _Cost:
    if depth > MAX_BRACKETS:
        raise PatternError(f"brackets nest too deep in a pattern: {MAX_BRACKETS} levels are the most")
    ways, steps = 1, 0
    for index, part in enumerate(parts):
        following = parts[index + 1] if index + 1 < len(parts) else None
        cost = _part(part, following, length, depth)
        ways, steps = min(_LIMIT, ways * cost.ways), min(_LIMIT, steps + ways * cost.steps)
    return _Cost(ways, max(steps, 1))


def _part(part: Any, following: Any, length: int, depth: int) -> _Cost:
    kind, operand = part[0], part[1]
    if kind in _SINGLE:
        return _Cost(1, 1)
    if kind is op.SUBPATTERN:
        if operand[1] or operand[2]:
            raise PatternError("flags are not allowed in a pattern")
        return _sequence(list(operand[-1]), length, depth + 1)
    if kind is op.BRANCH:
        branches = [_sequence(list(branch), length, depth + 1) for branch in operand[1]]
        return _Cost(*(min(_LIMIT, sum(counts)) for counts in zip(*branches, strict=True)))
    if kind in _REPEATS:
        return _repeat(operand, following, length, depth)
    raise PatternError(f"{str(kind).lower().replace('_', ' ')} is not allowed in a pattern")


def _repeat(operand: Any, following: Any, length: int, depth: int) -> _Cost:
    least, most, body = int(operand[0]), int(operand[1]), list(operand[2])
    ways, steps = _sequence(body, length, depth + 1)
    if most > 1 and not _one_way(body):
        if most > MAX_REPEATS:
            raise PatternError("a repeat or alternatives inside a repeat are not allowed in a pattern")
        ways = (ways + 1) ** most
        return _Cost(min(_LIMIT, ways), min(_LIMIT, ways * (steps + 1)))
    width = operand[2].getwidth()[0]
    # What takes up no text is repeated as often as it has to be, and no more.
    rounds = min(most, length // width if width else max(least, 1))
    steps = min(_LIMIT, (rounds + 1) * steps)  # the last round is the one that fails
    if _excludes(body, following):
        return _Cost(1, 2 * steps)  # at each place where it may end it is seen that it doesn't
    return _Cost(min(_LIMIT, max(rounds - least, 0) * (ways if most == 1 else 1) + 1), steps)


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
