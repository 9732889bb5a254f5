"""The rows under a header. What is broken is told, and reading goes on at the next line that is a row again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from engine.importing.dialect import Dialect
from engine.importing.encoding import UNREADABLE
from engine.importing.records import LINE_END, Record, Records

# Why a row is left out.
OPEN_QUOTE: Final = "a quote isn't closed"
STRAY_QUOTE: Final = "a quote inside a quoted cell isn't doubled"
TOO_FEW: Final = "too few cells"
TOO_MANY: Final = "too many cells"
NUL: Final = "a NUL byte"
BYTES: Final = "bytes that can't be read"
AGAIN: Final = "the header once more"
# What may have made one row of several.
_SWALLOWING = frozenset({OPEN_QUOTE, STRAY_QUOTE, TOO_FEW, TOO_MANY})

# From how many rows it is learnt how rows begin, how many of them begin alike where that says anything, and how much of
# a beginning is looked at.
_SAMPLE, _ALIKE, _BEGINNING = 5_000, 3, 40
# How much of a line is kept, before and after what is wrong in it.
_SHOWN = 500
_DIGITS, _LETTERS = re.compile(r"[0-9]+"), re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Row:
    """A row that is whole: its cells, and its first and last line, from 1. `empty`: nothing but blanks is in it."""

    line: int
    last: int
    cells: list[str]
    empty: bool = False


class Spot(NamedTuple):
    """A place: its line and column, from 1, and that line up to there and from there on, each cut short."""

    line: int
    column: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that can't be read, with what it has swallowed, and what is wrong where, if that is known."""

    line: int
    last: int
    why: str
    detail: str = ""
    spot: Spot | None = None


class NoHeader(ValueError):
    """There is no row of column names to begin with; the text says why."""


class Rows:
    """The header of a file, and the rows under it."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        """Raises NoHeader."""
        self._text, self._delimiter, self._quote = text, dialect.delimiter, dialect.quote
        self._records = Records(text, dialect.delimiter, dialect.quote)
        self._lines = len(LINE_END.findall(text, 0, dialect.start)) + 1
        at = dialect.start
        while True:
            if at >= len(text):
                raise NoHeader("the file is empty")
            record = self._records.at(at)
            if record.fault is not None:
                raise NoHeader(f"line {self._lines}, the row of column names: {_why(record.fault.unclosed)}")
            if any(UNREADABLE in cell for cell in record.cells):
                raise NoHeader(f"line {self._lines}, the row of column names: {BYTES}")
            self._count(at, record.end)
            at = record.end
            if any(map(str.strip, record.cells)):
                break
        self.header = record.cells
        self.read = at  # up to which index rows were read
        self._beginnings = self._learnt()

    def __iter__(self) -> Iterator[Row | Broken]:
        while self.read < len(self._text):
            start, first = self.read, self._lines
            record = self._records.at(start)
            found = self._fault(start, record)
            self.read = self._resume(start, record) if found is not None and found[0] in _SWALLOWING else record.end
            self._count(start, self.read)
            last = self._lines - (self._text[self.read - 1] in "\r\n")
            if found is not None:
                why, detail, at = found
                if record.fault is None and self.read < record.end:
                    why, detail = OPEN_QUOTE, "it goes on over rows"
                yield Broken(first, last, why, detail, self._spot(start, first, at) if at is not None else None)
            else:
                empty = not any(map(str.strip, record.cells))
                yield Row(first, last, record.cells[: len(self.header)], empty)

    def _spot(self, start: int, line: int, at: int) -> Spot:
        """A place in the record that begins at `start`, in a line of which the number is known."""
        ends = list(LINE_END.finditer(self._text, start, at))
        begin = ends[-1].end() if ends else start
        after = LINE_END.split(self._text[at : at + _SHOWN], maxsplit=1)[0]
        return Spot(line + len(ends), at - begin + 1, self._text[max(begin, at - _SHOWN) : at], after)

    def _learnt(self) -> frozenset[str]:
        """How the first cells of rows look, where that tells a row from a line of text; else nothing."""
        if len(self.header) < 2:
            return frozenset()
        sample = islice(self._records.all(self.read), _SAMPLE)
        kinds = [_kind(row.cells[0]) for row in sample if row.fault is None and self._may_be_row(row)]
        found = frozenset(kinds)
        return found if len(found) * _ALIKE <= len(kinds) else frozenset()

    def _may_be_row(self, record: Record) -> bool:
        return self._is_wide(record.cells) and any(map(str.strip, record.cells))

    def _is_wide(self, cells: list[str]) -> bool:
        """Whether there are as many cells as in the header. Some programs end each row with one more, or with many, in
        which there is nothing."""
        width = len(self.header)
        return len(cells) == width or (len(cells) > width and not any(map(str.strip, cells[width:])))

    def _count(self, start: int, end: int) -> None:
        """Counts the lines between two places. A CRLF is never cut in two."""
        text = self._text
        self._lines += text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)

    def _fault(self, start: int, record: Record) -> tuple[str, str, int | None] | None:
        """What is wrong with a record: why, in detail, and where."""
        if record.fault is not None:
            return _why(record.fault.unclosed), "", record.fault.at
        cells, width = record.cells, len(self.header)
        if not any(map(str.strip, cells)):
            return None
        if not self._is_wide(cells):
            return TOO_FEW if len(cells) < width else TOO_MANY, f"{len(cells)} where the header has {width}", None
        if self._swallowed(start, record):
            return OPEN_QUOTE, "it goes on over rows", None
        for sign, why in (("\0", NUL), (UNREADABLE, BYTES)):
            at = self._text.find(sign, start, record.end)
            if at >= 0:
                return why, "", at
        return (AGAIN, "", None) if cells[:width] == self.header else None

    def _swallowed(self, start: int, record: Record) -> bool:
        """Whether a quote that was never closed made one row of several.

        What closes it is then a quote at the end of some later cell. Each line has as many cells as the header, quotes
        aside, and begins as the first one does.
        """
        lines = LINE_END.split(self._text[start : record.end])
        if not lines[-1]:
            lines.pop()
        if len(lines) < 2 or len(self.header) < 2:
            return False
        if not all(self._is_wide(line.split(self._delimiter)) for line in lines):
            return False
        return len({_kind(line.split(self._delimiter, 1)[0].strip(self._quote)) for line in lines}) == 1

    def _resume(self, start: int, record: Record) -> int:
        """Where the next row begins after a broken one; blank ones between the two are left to be counted.

        Where a quote isn't at fault, that is inside the record, if it has swallowed rows; else right behind it.
        """
        end = len(self._text) if record.fault is not None else record.end
        first = at = self._records.next_line(start)
        while at < end and not self._is_next(at, record.fault is not None):
            at = self._records.next_line(at)
        is_blank = not self._text[first:at].strip(f" \t\r\n{self._delimiter}{self._quote}")
        return first if record.fault is not None and is_blank else at

    def _is_next(self, at: int, broken_quote: bool) -> bool:
        """Whether a row begins at a line: it begins as rows do, if that says anything; else, or where the line may as
        well be text that belongs to the record before, it has the right number of cells."""
        line = self._text[at : self._records.next_line(at)]
        beginning, cut, _ = line.partition(self._delimiter)
        if self._beginnings and not (cut and _kind(beginning.strip(self._quote)) in self._beginnings):
            return False
        if self._beginnings and broken_quote:
            return True
        record = self._records.at(at)
        if broken_quote and record.fault is not None and self._is_wide(line.split(self._delimiter)):
            # It is broken by a quote as well, and a row but for that, if the quote begins a cell.
            return line.partition(self._quote)[0].rstrip(" ")[-1:] in ("", self._delimiter)
        # A quote without its other half closes a text that began before this line.
        closes = not self._beginnings and self._text.count(self._quote, at, record.end) % 2
        return record.fault is None and self._may_be_row(record) and not closes


def _why(unclosed: bool) -> str:
    return OPEN_QUOTE if unclosed else STRAY_QUOTE


def _kind(cell: str) -> str:
    """How a cell looks: digits in a row are one, and letters."""
    return _LETTERS.sub("a", _DIGITS.sub("0", cell[:_BEGINNING]))
