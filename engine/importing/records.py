"""A text cut into records and cells, as RFC 4180 has it; what is written otherwise is a fault with a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LINE_END = re.compile(r"\r\n|[\r\n]")


class Fault(NamedTuple):
    """`unclosed`: a quote that isn't closed where its cell ends; else one inside a quoted cell that isn't doubled."""

    unclosed: bool
    at: int


class Record(NamedTuple):
    """`end` is the index at which the next record begins; after a fault, the next line."""

    cells: list[str]
    end: int
    fault: Fault | None = None


class Records:
    """Reads records at any place of a text. Lines end in CRLF, LF or CR; inside quotes all of them are text."""

    def __init__(self, text: str, delimiter: str, quote: str) -> None:
        self.text, self.delimiter, self.quote = text, delimiter, quote
        cut, mark = re.escape(delimiter), re.escape(quote)
        blank = " " if delimiter == "\t" else "[ \t]"
        inside = f"[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+"
        after = rf"{blank}*(?={cut}|[\r\n]|\Z)"
        self._plain = re.compile(rf"[^{cut}\r\n]*+")
        self._quoted = re.compile(f"{mark}({inside}){mark}{after}")
        self._opened = re.compile(f"{mark}{inside}")
        # Blanks before a quote belong to no cell, if what is quoted is all that there is, and in one line.
        self._spaced = re.compile(rf"{blank}+{mark}((?:[^{mark}\r\n]|{mark}{mark})*+){mark}{after}")

    def all(self, start: int = 0) -> Iterator[Record]:
        """Every record from a place on."""
        while start < len(self.text):
            record = self.at(start)
            yield record
            start = record.end

    def next_line(self, start: int) -> int:
        """Where the line after that of a place begins; the text's end, where there is none."""
        found = LINE_END.search(self.text, start)
        return found.end() if found else len(self.text)

    def at(self, start: int) -> Record:
        """The record that begins at a place."""
        text, quote = self.text, self.quote
        found = LINE_END.search(text, start)
        end, following = (found.start(), found.end()) if found else (len(text), len(text))
        line = text[start:end]
        if quote not in line:
            return Record(line.split(self.delimiter), following)
        cells: list[str] = []
        at = start
        while True:
            if text.startswith(quote, at):
                cell = self._quoted.match(text, at)
                if cell is None:
                    return Record(cells, following, self._fault(at))
            else:
                cell = self._spaced.match(text, at)
            if cell is not None:
                cells.append(cell[1].replace(quote * 2, quote))
            else:
                cell = self._plain.match(text, at)
                assert cell is not None  # nothing at all is a plain cell
                cells.append(cell[0])
            at = cell.end()
            if not text.startswith(self.delimiter, at):
                return Record(cells, self._after(at))
            at += 1

    def _after(self, at: int) -> int:
        found = LINE_END.match(self.text, at)
        return found.end() if found else at

    def _fault(self, at: int) -> Fault:
        """What is wrong with a quoted cell. Whatever closes it on a later line was hardly meant to."""
        opened = self._opened.match(self.text, at)
        assert opened is not None  # a quote stands there
        closed = opened.end()
        if closed == len(self.text) or LINE_END.search(self.text, at, closed):
            return Fault(True, at)
        return Fault(False, closed)
