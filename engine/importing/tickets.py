"""Rows to tickets: what each says, and an exact account of what became of every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from engine.importing.columns import Plan
from engine.importing.rows import Broken, Row, Spot
from engine.nearest import nearest
from engine.split import SPLITS

# Why a row that can be read is left out.
NO_ID: Final = "the id is empty"
ID_TAKEN: Final = "the id is taken"
NO_MESSAGE: Final = "the message is empty"
NO_SUCH: Final = "a {} that there isn't"
TWO_VALUES: Final = "two values of a field"

# From how many lines on a row is worth a word: a quote may be missing somewhere.
LONG: Final = 200
# How much of a cell is shown.
_SHOWN: Final = 60
# What joins the columns of one message.
BETWEEN: Final = "\n\n"


@dataclass(slots=True)
class Ticket:
    """What a row says. A field without a value isn't there."""

    id: str
    task: str
    messages: list[str]
    category: str | None = None
    split: str | None = None
    known: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


class Left(NamedTuple):
    """A row that is left out, and what is wrong where, if that is known."""

    line: int
    last: int
    why: str
    detail: str
    spot: Spot | None


@dataclass(slots=True)
class Account:
    """What became of every row. `long`: rows that were read, from line to line, and may be several."""

    tickets: list[Ticket] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    blank: int = 0
    long: list[tuple[int, int]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows were read; blank ones aside."""
        return len(self.tickets) + len(self.left)

    def reasons(self) -> Counter[str]:
        """How many rows were left out, by why."""
        return Counter(one.why for one in self.left)


class Unfit(Exception):
    """A row that makes no ticket: why, and in detail."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.why, self.detail = why, detail


def read(rows: Iterable[Row | Broken], plan: Plan, tasks: Sequence[str], task: str) -> Account:
    """Makes tickets of rows. `tasks` are those that there are, and `task` is that of tickets that name none."""
    account = Account()
    lines: dict[str, int] = {}  # of each id
    for row in rows:
        if isinstance(row, Broken):
            account.left.append(Left(row.line, row.last, row.why, row.detail, row.spot))
        elif row.empty:
            account.blank += 1
        else:
            try:
                ticket = _ticket(row, plan, account.rows + 1, tasks, task)
                if ticket.id in lines:
                    raise Unfit(ID_TAKEN, f"'{_cut(ticket.id)}' is that of line {lines[ticket.id]}")
            except Unfit as unfit:
                account.left.append(Left(row.line, row.last, unfit.why, unfit.detail, None))
            else:
                lines[ticket.id] = row.line
                account.tickets.append(ticket)
                if row.last - row.line >= LONG:
                    account.long.append((row.line, row.last))
    return account


def _ticket(row: Row, plan: Plan, number: int, tasks: Sequence[str], task: str) -> Ticket:
    """What a row says; it is the file's nth. Raises Unfit."""
    cells = row.cells
    said = {what: cells[column] for what, column in plan.once.items()}
    if "id" in said and not said["id"].strip():
        raise Unfit(NO_ID)
    joined = (BETWEEN.join(cells[one] for one in columns if cells[one].strip()) for columns in plan.messages)
    messages = list(dict.fromkeys(message for message in joined if message))
    if not messages:
        raise Unfit(NO_MESSAGE)
    for what, names in (("task", tasks), ("split", SPLITS)):
        _one_of(what, said.get(what, ""), names)
    ticket = Ticket(said.get("id", f"row-{number}"), _filled(said, "task") or task, messages)
    ticket.category, ticket.split = _filled(said, "category"), _filled(said, "split")
    ticket.known = {name: cells[column] for name, column in plan.known.items() if cells[column].strip()}
    ticket.answers = {name: cells[column] for name, column in plan.fields.items() if cells[column].strip()}
    for name, value in ticket.known.items():
        answer = ticket.answers.get(name, value)
        if answer != value:
            raise Unfit(TWO_VALUES, f"'{name}' is '{_cut(value)}' on file, and '{_cut(answer)}' when asked")
    return ticket


def _filled(said: dict[str, str], what: str) -> str | None:
    """What a cell says, if it says anything."""
    return said[what] if said.get(what, "").strip() else None


def _one_of(what: str, said: str, names: Sequence[str]) -> None:
    if not said.strip() or said in names:
        return
    near = nearest(said, names)
    hint = f"did you mean '{near}'?" if near is not None else f"there are: {', '.join(names)}"
    raise Unfit(NO_SUCH.format(what), f"'{_cut(said)}'; {hint}")


def _cut(cell: str) -> str:
    return cell if len(cell) <= _SHOWN else cell[:_SHOWN] + "…"
