"""What is said of a file and of its rows, as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.cells import cell_len

from engine.diagnostics import Finding, Place, excerpt
from engine.importing.columns import FIELD, LISTED, Plan
from engine.importing.desk import TODO, missing, needs
from engine.importing.dialect import DELIMITERS, QUOTES, Dialect
from engine.importing.encoding import Decoded
from engine.importing.guessing import command
from engine.importing.rows import Broken, Rows
from engine.importing.tickets import Account
from engine.proof.told import count
from engine.terminal import printable

# How many values of a column are shown, and how much of each.
_SAMPLES, _SHOWN = 3, 30
# From how many categories, and from how many characters of one's name on a word is said about it.
_MANY, _LONG = 100, 200


def found(name: str, decoded: Decoded, dialect: Dialect) -> str:
    """How a file is written, in a sentence."""
    text = decoded.text
    both, newlines, returns = (text.count(end) for end in ("\r\n", "\n", "\r"))
    ends = {"CRLF": both, "LF": newlines - both, "CR": returns - both}
    used = [end for end, number in ends.items() if number]
    lines = " and ".join(f"{end} ({ends[end]:,})" for end in used) if len(used) > 1 else "".join(used)
    between = DELIMITERS.get(dialect.delimiter, f"'{printable(dialect.delimiter)}'")
    quoted = QUOTES.get(dialect.quote, f"'{printable(dialect.quote)}'")
    how = f"lines end in {lines}" if used else "one line"
    return f"{name}: {decoded.encoding}, {between} between cells, {quoted} around them, {how}"


def skipped(name: str, account: Account) -> Iterator[Finding]:
    """A line for every row that was left out, and one for rows that go on for very long."""
    for row in account.left:
        more = f": {row.detail}" if row.detail else ""
        up_to = f" (up to line {row.last})" if row.last > row.line else ""
        source, caret = excerpt(row.spot.before, row.spot.after) if row.spot is not None else (None, 0)
        place = Place(name, row.spot.line, row.spot.column) if row.spot is not None else Place(name, row.line, 1)
        yield Finding("skipped", printable(f"{row.why}{more}{up_to}"), place, source=source, caret=caret)
    for line, last in account.long:
        message = f"this row goes on to line {last}; is a quote missing at the end of one of its cells?"
        yield Finding("note", message, Place(name, line, 1), "warning")


def counted(account: Account) -> Iterator[str]:
    """The account, in which everything adds up."""
    read, made, left = account.rows, len(account.tickets), len(account.left)
    blank = f"; {_rows(account.blank, 'blank ')} left out" if account.blank else ""
    yield f"{_rows(read)} read: {made:,} {'ticket' if made == 1 else 'tickets'}, {_rows(left)} skipped{blank}"
    width = max((len(f"{number:,}") for number in account.reasons().values()), default=0)
    for why, number in account.reasons().most_common():
        yield f"  {number:>{width},} {why}"


def unwritten(account: Account, columns: Plan) -> Iterator[str]:
    """What is still to be written by hand, or hardly meant."""
    playbook = needs(account.tickets, columns.names)
    number = sum(len(missing(ticket, playbook[ticket.category])) for ticket in account.tickets)
    if number:
        yield f"{count(number, 'answer')} to be written: {TODO} stands where a cell is empty that a category needs"
    without = sum(ticket.category is None for ticket in account.tickets)
    if without and "category" in columns.once:
        yield f"{count(without, 'ticket')} without a category"
    alike = [name for names in _alike(playbook) for name in names]
    if alike:
        listed = ", ".join(f"'{_cut(name)}'" for name in alike[:LISTED]) + (", ..." if len(alike) > LISTED else "")
        yield f"{len(alike):,} categories differ only in capitals and blanks from another one: {listed}"
    if len(playbook) > _MANY:
        yield f"{len(playbook):,} categories are a lot to choose from: is it the right column?"
    long = max((len(name) for name in playbook if name is not None), default=0)
    if long > _LONG:
        yield f"A category with a name of {long:,} characters: is it the right column?"


def _alike(names: Iterable[str | None]) -> list[list[str]]:
    """The names that are the same but for capitals and blanks, those together that are."""
    together: dict[str, list[str]] = {}
    for name in names:
        if name is not None:
            together.setdefault("".join(name.split()).casefold(), []).append(name)
    return [names for names in together.values() if len(names) > 1]


def _rows(number: int, what: str = "") -> str:
    return f"{number:,} {what}row{'' if number == 1 else 's'}"


def overview(name: str, given: Mapping[str, str | None], rows: Rows) -> Iterator[str]:
    """The columns of a file, with samples, and the command to begin with; `given` are the options that it needs."""
    samples: list[dict[str, None]] = [{} for _ in rows.header]
    filled, lengths = [0] * len(rows.header), [0] * len(rows.header)
    number = broken = 0
    for row in rows:
        if isinstance(row, Broken):
            broken += 1
        elif not row.empty:
            number += 1
            for index, cell in enumerate(row.cells):
                if cell.strip():
                    filled[index] += 1
                    lengths[index] += len(cell)
                    if len(samples[index]) < _SAMPLES:
                        samples[index][_cut(cell)] = None
    unread = f", and {broken:,} that can't be read" if broken else ""
    yield f"{count(len(rows.header), 'column')}, {_rows(number)}{unread}"
    yield ""
    titles = [_cut(title) for title in rows.header]
    wide = max(map(cell_len, [*titles, "column"]))
    yield f"  {'#':>3}  {'column':<{wide}}  {'filled':>7}  samples"
    for index, title in enumerate(titles):
        shown = " | ".join(samples[index])
        blank = " " * (wide - cell_len(title))
        yield f"  {index + 1:>3}  {title}{blank}  {filled[index]:>7,}  {shown}".rstrip()
    yield ""
    yield "Say which column is what. To begin with:"
    yield f"  {command(name, given, rows.header, lengths)}"
    yield f"Each thing that customers are asked for is one more: --map {FIELD}NAME=COLUMN"


def _cut(text: str) -> str:
    return printable(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
