"""What a line fits by its indentation: which of the lines above it may go on with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# How much of the text before a line is looked at, and how much of a line.
_FAR, _LONG = 100_000, 2_000
_BREAK = re.compile(r"\r\n|[\r\n]")
_LINE = re.compile(r"(?P<indent>[ ]*)(?P<dashes>(?:-(?:[ ]+|$))*)(?P<rest>.*)")
_KEY = re.compile(r"""(?:[^\s#'"\[{&*!|>%@`-][^:#]*|(['"]).+?\1[ ]*):(?:[ ]|$)""")


class Line(NamedTuple):
    """A line: its number, from 1, the index of its first character, and its text."""

    number: int
    start: int
    text: str

    @property
    def indent(self) -> int:
        """How many spaces stand before it."""
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def content(self) -> int:
        """The column, from 0, of what stands behind its spaces and dashes."""
        found = _LINE.match(self.text)
        return found.start("rest") if found is not None else 0

    def from_here(self, column: int) -> str:
        """What stands from a column on, but for a comment and the blanks at the end."""
        return re.split(r"\s#", self.text[column:], maxsplit=1)[0].rstrip()


class Level(NamedTuple):
    """Where something may stand: the column, from 0, whether a list item begins there, and the line, from 1."""

    column: int
    item: bool
    line: int

    def __str__(self) -> str:
        spaces = "no space" if not self.column else "1 space" if self.column == 1 else f"{self.column} spaces"
        return f"{spaces} before it, as on line {self.line}"


def line_of(text: str, index: int, number: int) -> Line:
    """The line that a character stands in; the caller knows its number."""
    start = max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
    return Line(number, start, _BREAK.split(text[start : start + _LONG], maxsplit=1)[0])


def above(text: str, line: Line) -> list[Line]:
    """The lines above, upwards, but for empty ones and comments."""
    first = max(0, line.start - _FAR)
    breaks = [(each.start(), each.end()) for each in _BREAK.finditer(text, first, line.start)]
    starts = [end for _, end in ((0, first), *breaks)][first > 0 : -1]  # the first of them may be cut in two
    ends = [start for start, _ in breaks][first > 0 :]
    found = []
    for distance, (start, end) in enumerate(zip(reversed(starts), reversed(ends), strict=True), 1):
        written = text[start : min(end, start + _LONG)]
        if written.strip() and not written.lstrip().startswith("#"):
            found.append(Line(line.number - distance, start, written))
    return found


def key_beside(text: str, index: int, column: int) -> str | None:
    """The key that begins at the same column as the one at an index, on a line below; None where there is none."""
    deeper = rf"(?:[\r\n]+[ ]{{{column}}}(?:[ ]|-[ ])[^\r\n]*+)*+"
    found = re.compile(rf"[^\r\n]*+{deeper}[\r\n]+[ ]{{{column}}}([^\s#'\":-][^\s:]*):\s").match(text, index)
    return found[1] if found is not None else None


def fitting(line: Line, lines: Sequence[Line]) -> str | None:
    """What an ill-indented line needs to go on with one of the lines above; None where that can't be told."""
    if lines and lines[0].text.rstrip()[-1:] in tuple("]}'\"") and line.indent > lines[0].indent:
        return None  # a bracket or a quote may have been closed too early
    item, levels = line.content > line.indent, [*_levels(lines)]
    near = sorted((each for each in levels if each.item == item), key=lambda each: abs(each.column - line.indent))
    wanted = [str(each) for each in near if each.column != line.indent][:2]
    dash = next((each for each in levels if each.item and each.column == line.indent), None)
    if dash is not None and not item:
        wanted = [f"'- ' before it, as on line {dash.line}", *wanted[:1]]
    return "; or ".join(wanted) or None


def too_far_left(line: Line, lines: Sequence[Line]) -> Line | None:
    """The line above that may be the one that is indented wrongly: without it, an ill-indented line would go on with
    one of the lines above it."""
    at = next((index for index, each in enumerate(lines) if each.indent <= line.indent), len(lines))
    if at < len(lines) and lines[at].indent == line.indent:
        return None
    for each in lines[at + 1 :]:
        if each.indent == line.indent:
            return lines[at]
        if each.indent <= lines[at].indent:
            break
    return None


def _levels(lines: Sequence[Line]) -> Iterator[Level]:
    """The levels that are open below these lines, the innermost first."""
    least = _LONG
    for line in lines:
        for column, item in _columns(line):
            if column < least:
                least = column
                yield Level(column, item, line.number)


def _columns(line: Line) -> Iterator[tuple[int, bool]]:
    """The columns at which a line begins keys and items, from right to left."""
    if _KEY.match(line.text, line.content):
        yield line.content, False
    for column in range(line.content - 1, line.indent - 1, -1):
        if line.text[column] == "-":
            yield column, True
