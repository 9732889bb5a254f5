"""How a file of cells is written: what stands between cells, and what they are quoted with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from engine.importing.records import Records

# What may stand between cells, and how it is called; of two that do as well, the first is taken.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
QUOTES = {'"': "double quotes", "'": "single quotes"}
# How much is looked at: so many characters, and of them so many rows.
_SAMPLE, _ROWS = 1_000_000, 200
# The share of rows that have to be as wide as a header of two cells.
_MOST = 0.5
# Excel's own way to say what stands between cells.
_SAID = re.compile(r"sep=([^\r\n\"'])(?:\r\n|[\r\n])")


@dataclass(frozen=True, slots=True)
class Dialect:
    """`start` is the index of the header's line: a line `sep=;` may stand before it."""

    delimiter: str
    quote: str
    start: int = 0


class OneSign(ValueError):
    """What is to quote cells stands between them as well."""


def find_dialect(text: str, delimiter: str | None = None, quote: str | None = None) -> Dialect:
    """The dialect in which most of the first rows have as many cells as the header, and the header has most cells.

    Raises:
        OneSign: the quote that is given is the delimiter.
    """
    said = _SAID.match(text)
    start = said.end() if said else 0
    if said and delimiter is None:
        delimiter = said[1]
    if delimiter is None and quote in DELIMITERS:
        delimiter = find_dialect(text).delimiter
    if delimiter is not None and delimiter == quote:
        raise OneSign(quote)
    delimiters = [delimiter] if delimiter is not None else list(DELIMITERS)
    quotes = [quote] if quote is not None else _quotes(text[:_SAMPLE])
    if quote is None and delimiter in quotes:
        quotes = [mark for mark in QUOTES if mark != delimiter]
    choices = [Dialect(one, mark, start) for mark in quotes for one in delimiters if one != mark]
    return max(choices, key=lambda dialect: _fits(text[:_SAMPLE], dialect))


def _quotes(text: str) -> list[str]:
    """Double quotes; single ones too where more cells begin with one: most often they are apostrophes."""
    double, single = (len(re.findall(rf"(?:^|[,;\t|\r\n]){mark}", text)) for mark in QUOTES)
    return list(QUOTES) if single > double else list(QUOTES)[:1]


def _fits(text: str, dialect: Dialect) -> tuple[bool, float, int, bool]:
    """How well a dialect fits: the share of rows that are as wide as the header, and how wide it is.

    What makes one column is the last choice, and so is a header of two cells that few rows have. Of two that fit as
    well, the one is taken whose quote the header begins with.
    """
    rows = Records(text, dialect.delimiter, dialect.quote).all(dialect.start)
    filled = [row for row in islice(rows, _ROWS) if row.fault is not None or any(map(str.strip, row.cells))]
    if not filled or filled[0].fault is not None:
        return False, 0.0, 0, False
    width = len(filled[0].cells)
    share = sum(row.fault is None and len(row.cells) == width for row in filled) / len(filled)
    columns = width > 2 or (width > 1 and share >= _MOST)
    return columns, share, width, text.startswith(dialect.quote, dialect.start)
