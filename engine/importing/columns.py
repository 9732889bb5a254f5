"""Which column of a file is what, as its owner says it: `id=Ticket`, `message=Subject+Body`, `field.NAME=Order`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from engine.nearest import nearest
from engine.vocabulary import MAX_FIELDS

# What a column can be, by name; what follows a dot is a field's name.
ONCE: Final = ("id", "category", "task", "split")
MESSAGE: Final = "message"
FIELD, KNOWN = "field.", "known."
KINDS: Final = (ONCE[0], MESSAGE, *ONCE[1:], f"{FIELD}NAME", f"{KNOWN}NAME")
JOIN: Final = "+"
# How many columns are listed where one isn't found.
LISTED: Final = 12


class Pair(NamedTuple):
    """What is which column; `where` is its number among what was said."""

    what: str
    column: str
    where: int


class Mistake(NamedTuple):
    """What is wrong with a pair; `meant`: a name and the valid ones, of which the nearest is shown."""

    where: int
    message: str
    meant: tuple[str, tuple[str, ...]] | None = None
    of_what: bool = False

    def expected(self) -> str | None:
        """The valid names, as far as they are few enough to be read."""
        if self.meant is None or not self.meant[1]:
            return None
        return ", ".join(self.meant[1][:LISTED]) + (", ..." if len(self.meant[1]) > LISTED else "")

    def sentence(self) -> str:
        """The mistake in one sentence, for those who have no place to point at."""
        near = nearest(*self.meant) if self.meant is not None else None
        if near is not None:
            return f"{self.message}; did you mean '{near}'?"
        return self.message if self.expected() is None else f"{self.message}; there are: {self.expected()}"


@dataclass(slots=True)
class Plan:
    """The columns, by their index. A message is made of one or more of them."""

    once: dict[str, int] = field(default_factory=dict)
    messages: list[tuple[int, ...]] = field(default_factory=list)
    fields: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The fields, in the order in which they were named first."""
        return list(self.fields | self.known)


def plan(pairs: Iterable[Pair], header: Sequence[str]) -> tuple[Plan, list[Mistake]]:
    """What the pairs say, and everything that is wrong with them."""
    made, mistakes = Plan(), list[Mistake]()
    for pair in pairs:
        found = _columns(pair, header)
        if isinstance(found, Mistake):
            mistakes.append(found)
            continue
        wrong = _put(made, pair, found)
        if wrong is not None:
            mistakes.append(wrong)
    if len(made.names) > MAX_FIELDS:
        mistakes.append(Mistake(-1, f"{MAX_FIELDS} fields are the most, and these are {len(made.names)}"))
    if not made.messages and not mistakes:
        mistakes.append(Mistake(-1, f"nothing says which column is the {MESSAGE}: {MESSAGE}=COLUMN is missing"))
    return made, mistakes


def _put(made: Plan, pair: Pair, columns: tuple[int, ...]) -> Mistake | None:
    if pair.what == MESSAGE:
        made.messages.append(columns)
        return None
    if pair.what in ONCE:
        into, name = made.once, pair.what
    else:
        prefix = FIELD if pair.what.startswith(FIELD) else KNOWN
        into, name = (made.fields if prefix == FIELD else made.known), pair.what.removeprefix(prefix)
    if name in into:
        return Mistake(pair.where, f"'{pair.what}' is given twice")
    into[name] = columns[0]
    return None


def _columns(pair: Pair, header: Sequence[str]) -> tuple[int, ...] | Mistake:
    """The columns that a pair names."""
    named = next((prefix for prefix in (FIELD, KNOWN) if pair.what.startswith(prefix)), None)
    if named is not None and pair.what == named:
        return Mistake(pair.where, f"a field's name is missing after '{named}'", of_what=True)
    if named is None and pair.what != MESSAGE and pair.what not in ONCE:
        return Mistake(pair.where, f"a column can't be '{pair.what}'", (pair.what, KINDS), True)
    found = _column(pair.column, header)
    if isinstance(found, int):
        return (found,)
    parts = pair.column.split(JOIN)
    if pair.what != MESSAGE or len(parts) < 2:
        return Mistake(pair.where, found, _meant(pair.column, header, found))
    columns = []
    for part in parts:
        one = _column(part, header)
        if isinstance(one, str):
            return Mistake(pair.where, one, _meant(part, header, one))
        columns.append(one)
    return tuple(columns)


def _column(name: str, header: Sequence[str]) -> int | str:
    """A column's index, or why there is none: by its exact name, its name without regard to capitals and blanks at its
    ends, or its number (#3)."""
    for same in (str, _roughly):
        found = [index for index, one in enumerate(header) if same(one) == same(name)]
        if len(found) == 1:
            return found[0]
        if found:
            numbers = ", ".join(f"#{index + 1}" for index in found)
            return f"{len(found)} columns are called '{name}'; say which by its number ({numbers})"
    number = name.removeprefix("#")
    if name.startswith("#") and number.isdecimal() and len(number) < 6 and 0 < int(number) <= len(header):
        return int(number) - 1
    return f"there is no column '{name}'"


def _meant(name: str, header: Sequence[str], why: str) -> tuple[str, tuple[str, ...]] | None:
    return (name, tuple(one for one in header if one.strip())) if why.startswith("there is no") else None


def _roughly(name: str) -> str:
    return name.strip().casefold()
