"""Plain values that know where they stand: mappings and lists with the place of each key, value and item."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from engine.diagnostics import Place

# How many values a pack may hold, keys among them.
MAX_NODES: Final = 250_000

# The key with which YAML merges mappings.
MERGE: Final = "<<"

# libyaml counts lines by these, so the lines that are shown are cut by them as well.
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
# How much of a line is looked at, before and after a place.
_WINDOW = 500


@dataclass(frozen=True, slots=True)
class NotJson:
    """What YAML makes of a plain text where JSON has no such thing: `what` is 'a date', for example.

    `number` is what it stands for where it is a number, written in a way that JSON doesn't know.
    """

    what: str
    number: int | float | None = None


class File:
    """A file's text. `raw` holds the text of each value that YAML turned into something else, by its mark."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.raw: dict[int, str] = {}
        # Marks where something was already reported: what follows from it is not reported as well.
        self.excused: set[int] = set()
        # By a mapping's mark: its keys that were given again, whose second values are left out.
        self.again: dict[int, set[str]] = {}

    def spot(self, index: int) -> Spot:
        """The spot of a character of the text."""
        before = _LINE_BREAK.split(self.text[:index])
        return Spot(self, mark_of(index, len(before) - 1, len(before[-1])))

    def find(self, place: Place) -> Spot:
        """The spot of a place in this file."""
        breaks = islice(_LINE_BREAK.finditer(self.text), max(0, place.line - 2), None)
        start = next((found.end() for found in breaks), 0) if place.line > 1 else 0
        return Spot(self, mark_of(start + place.column - 1, place.line - 1, place.column - 1))

    def line(self, index: int) -> tuple[str, str]:
        """What stands before and from a character on in its line, each cut at 500 characters."""
        before = _LINE_BREAK.split(self.text[max(0, index - _WINDOW) : index])[-1]
        return before, _LINE_BREAK.split(self.text[index : index + _WINDOW], maxsplit=1)[0]


def mark_of(index: int, line: int, column: int) -> int:
    """A place in one int, because a pack has a great many: the character's index, its line and column, all from 0."""
    return index << 48 | line << 24 | column


class Spot(NamedTuple):
    """A place in a file."""

    file: File
    mark: int

    @property
    def offset(self) -> int:
        return self.mark >> 48

    @property
    def place(self) -> Place:
        return Place(self.file.name, (self.mark >> 24 & 0xFFFFFF) + 1, (self.mark & 0xFFFFFF) + 1)

    @property
    def line(self) -> tuple[str, str]:
        """The line that it stands in, up to the place and from there on."""
        return self.file.line(self.offset)

    @property
    def raw(self) -> str | None:
        """The text that stands there, if YAML turned it into something else."""
        return self.file.raw.get(self.mark)

    @property
    def excused(self) -> bool:
        return self.mark in self.file.excused

    def excuse(self) -> None:
        self.file.excused.add(self.mark)

    def starts(self, text: str) -> bool:
        """Whether `text` stands there."""
        return self.file.text.startswith(text, self.offset)


class Map(dict[str, Any]):
    """A mapping. `marks` holds a key's mark and its value's, in turn."""

    __slots__ = ("_index", "file", "files", "mark", "marks")

    def __init__(self, file: File, mark: int) -> None:
        self.file, self.mark = file, mark
        self.marks: list[int] = []
        # Where entries come from several files: one for each.
        self.files: list[File] | None = None
        self._index: dict[str, int] | None = None

    @property
    def spot(self) -> Spot:
        return Spot(self.file, self.mark)

    def key_spot(self, key: str) -> Spot:
        return self._entry(key, 0)

    def value_spot(self, key: str) -> Spot:
        return self._entry(key, 1)

    def _entry(self, key: str, which: int) -> Spot:
        if self._index is None or len(self._index) != len(self):
            self._index = {name: number for number, name in enumerate(self)}
        index = self._index[key]
        return Spot(self.files[index] if self.files else self.file, self.marks[2 * index + which])

    @property
    def again(self) -> set[str]:
        """The keys that were given again. What they were to declare the second time isn't there."""
        return self.file.again.setdefault(self.mark, set())

    def add(self, key: str, value: Any, key_spot: Spot, value_spot: Spot) -> None:
        """An entry that may stand in another file."""
        self.files = self.files or [self.file] * len(self)
        self.files.append(value_spot.file)
        self.marks += (key_spot.mark, value_spot.mark)
        self[key] = value

    def drop(self, names: Container[str]) -> None:
        """Takes entries out."""
        kept = [(number, name) for number, name in enumerate(self) if name not in names]
        values = [(name, self[name]) for _, name in kept]
        self.marks = [mark for number, _ in kept for mark in self.marks[2 * number : 2 * number + 2]]
        self.files = [self.files[number] for number, _ in kept] if self.files else None
        self._index = None
        self.clear()
        self.update(values)


def placeless(value: Any, file: File) -> Any:
    """Plain JSON as nodes, for a document that was written by no person: everything stands at the file's start."""
    if isinstance(value, dict):
        made = Map(file, 0)
        for name, inner in value.items():
            made[name] = placeless(inner, file)
        made.marks = [0] * (2 * len(made))
        return made
    if isinstance(value, list):
        items = Seq(file, 0)
        items.extend(placeless(inner, file) for inner in value)
        items.marks = [0] * len(items)
        return items
    return value


class Seq(list[Any]):
    """A list. `marks` holds each item's mark."""

    __slots__ = ("file", "files", "mark", "marks")

    def __init__(self, file: File, mark: int) -> None:
        self.file, self.mark = file, mark
        self.marks: list[int] = []
        self.files: list[File] | None = None

    @property
    def spot(self) -> Spot:
        return Spot(self.file, self.mark)

    def item_spot(self, index: int) -> Spot:
        return Spot(self.files[index] if self.files else self.file, self.marks[index])

    def add(self, value: Any, spot: Spot) -> None:
        """An item that may stand in another file."""
        self.files = self.files or [self.file] * len(self)
        self.files.append(spot.file)
        self.marks.append(spot.mark)
        self.append(value)

    def drop(self, indices: Container[int]) -> None:
        """Takes items out."""
        kept = [index for index in range(len(self)) if index not in indices]
        self.marks = [self.marks[index] for index in kept]
        self.files = [self.files[index] for index in kept] if self.files else None
        self[:] = [self[index] for index in kept]


def reading(value: Any, raw: str | None) -> str:
    """How YAML reads a value, as a clause: "YAML reads 0314 as the number 204"."""
    match value:
        case None if not raw:
            return "nothing stands here"
        case None:
            return f"YAML reads {raw} as nothing at all"
        case bool():
            return f"YAML reads {raw} as {'true' if value else 'false'}"
        case int() | float():
            return f"YAML reads {raw} as " + ("a number" if str(value) == raw else f"the number {value}")
        case NotJson():
            return f"YAML reads {raw} as {value.what}"
        case str():
            return "this is a text"
        case dict():
            return "this is a mapping (key: value)"
        case _:
            return "this is a list"


_NOWHERE = File("", "")


def entries(node: Map, key: str) -> Map:
    """The mapping under a key; an empty one where there is none, or something else."""
    value = node.get(key)
    return value if isinstance(value, Map) else Map(_NOWHERE, 0)


def items(node: Map, key: str) -> Seq:
    """The list under a key; an empty one where there is none, or something else."""
    value = node.get(key)
    return value if isinstance(value, Seq) else Seq(_NOWHERE, 0)


def string(node: Map, key: str, default: str = "") -> str:
    """The text under a key; the default where there is none, or something else."""
    value = node.get(key)
    return value if isinstance(value, str) else default
