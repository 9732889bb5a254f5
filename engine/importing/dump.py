"""A pack's document as YAML, as a pack is written by hand: in blocks, and plain where that is safe."""

from __future__ import annotations

import re
from functools import lru_cache
from io import StringIO
from typing import Any, Final

from yaml import events
from yaml.emitter import Emitter

from engine.scalars import resolve
from engine.source import COSTLY

WIDTH: Final = 110
# Line ends for some readers of YAML and not for others; they are written as escapes.
_BREAKS = re.compile("[\x85\u2028\u2029]")
# What other readers of YAML, or other versions of it, take for a number.
_NUMERIC = re.compile(r"[-+]?(?:0o[0-7]+|(?=\.?[0-9])[0-9_,]*\.?[0-9_]*(?:[eE][-+]?[0-9]+)?)")
# What YAML 1.1 has a meaning for that this engine's reader doesn't know.
_SIGNS = ("=", "<<", "y", "Y", "n", "N")
# What begins with a letter and has nothing in it that YAML may read as anything else: most texts, so they are written
# without a closer look, as long as they stay in one line.
_EASY = re.compile(r"[^\W\d_](?:[\w.,;!?()/@+*$&'=<>~^-]| (?=[^\s#])|:(?=[^\s]))*+")
# Keys that are longer stand in a line of their own.
_LONGEST_KEY: Final = 127
_DEEPER: Final = 2


def dump(document: dict[str, Any]) -> str:
    """The YAML of mappings, lists, texts and whole numbers; the same document gives the same text."""
    writer = _Writer()
    writer.block(document, 0)
    return writer.stream.getvalue()


def values(node: Any) -> int:
    """How many values a node comes to, as the loader counts them against its limit."""
    if isinstance(node, dict):
        return 2 + sum(1 + values(inner) for inner in node.values())
    if isinstance(node, list):
        return 2 + sum(map(values, node))
    return 1 if isinstance(node, str) else 1 + COSTLY


def characters(node: Any) -> int:
    """How many characters the texts of a node have, and so how many bytes its YAML has at the least."""
    if isinstance(node, dict):
        return sum(len(key) + characters(inner) for key, inner in node.items())
    if isinstance(node, list):
        return sum(map(characters, node))
    return len(node) if isinstance(node, str) else 0


class _Writer(Emitter):
    """Writes mappings and lists; how a text is quoted and folded is PyYAML's, where it isn't easy.

    `indent` is how far in something stands, in characters; lists stand deeper than the key that they belong to.
    """

    stream: StringIO

    def __init__(self) -> None:
        super().__init__(StringIO(), width=WIDTH, allow_unicode=True)

    def block(self, node: dict[str, Any] | list[Any], indent: int, begun: bool = False) -> None:
        """The lines of a mapping or a list with something in it. `begun`: what its first line begins with is there."""
        for inner in node:
            if not begun:
                self.stream.write(" " * indent)
            begun = False
            if isinstance(node, dict):
                self._entry(inner, node[inner], indent)
                continue
            self.stream.write("- ")
            if isinstance(inner, dict | list) and inner:
                self.block(inner, indent + _DEEPER, begun=True)
            else:
                self._leaf(inner, indent + _DEEPER, indent + _DEEPER)

    def _entry(self, key: str, value: Any, indent: int) -> None:
        name = _key(key)
        if name is None:
            self.stream.write("? ")
            self._leaf(key, indent + _DEEPER, indent + _DEEPER)
            self.stream.write(" " * indent)
        self.stream.write(f"{name or ''}:")
        if isinstance(value, dict | list) and value:
            self.stream.write(" " if name is None else "\n")
            self.block(value, indent + _DEEPER, begun=name is None)
        else:
            self.stream.write(" ")
            self._leaf(value, indent + _DEEPER, indent + len(name or "") + len(": "))

    def _leaf(self, node: Any, indent: int, column: int) -> None:
        """What has nothing in it, to the end of its last line; it begins at a column, and goes on at `indent`."""
        if not isinstance(node, str) or ((column + len(node) <= WIDTH or " " not in node) and _is_easy(node)):
            self.stream.write(f"{node}\n")
        else:
            self.indent, self.column, self.whitespace, self.simple_key_context = indent, column, True, False
            self.event = _text(node)
            self.process_scalar()
            if self.column > 0:
                self.write_line_break()

    def key(self, text: str) -> str | None:
        """A key as it is written before its colon; None where it needs lines of its own."""
        self.simple_key_context, self.whitespace = True, True
        self.event = _text(text)
        if not self.check_simple_key():
            return None
        self.process_scalar()
        return self.stream.getvalue()


@lru_cache(maxsize=1000)
def _key(text: str) -> str | None:
    return text if len(text) <= _LONGEST_KEY and _is_easy(text) else _Writer().key(text)


def _is_easy(text: str) -> bool:
    return _EASY.fullmatch(text) is not None and resolve(text) is text and text not in _SIGNS


def _text(text: str) -> events.ScalarEvent:
    """A text in the plainest style in which it stays what it is; where that one can't hold it, the emitter says so
    itself, and takes double quotes."""
    style = None
    if _BREAKS.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    elif resolve(text) is not text or text in _SIGNS or _NUMERIC.fullmatch(text):
        style = "'"
    return events.ScalarEvent(None, None, (True, True), text, style=style)
