"""A pack's document as YAML, as a pack is written by hand: in blocks, and plain where that is safe."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml
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


class _Emitter(Emitter):
    """Lists stand deeper than the key that they belong to."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def dump(document: dict[str, Any]) -> str:
    """The YAML of mappings, lists, texts and whole numbers; the same document gives the same text."""
    written: str = yaml.emit(_stream(document), Dumper=_Emitter, width=WIDTH, allow_unicode=True)
    return written


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


def _stream(document: dict[str, Any]) -> list[events.Event]:
    found: list[events.Event] = [events.StreamStartEvent(), events.DocumentStartEvent()]
    _add(document, found)
    return [*found, events.DocumentEndEvent(), events.StreamEndEvent()]


def _add(node: Any, found: list[events.Event]) -> None:
    """Adds the events of a node."""
    if isinstance(node, dict):
        found.append(events.MappingStartEvent(None, None, True, flow_style=False))
        for key, inner in node.items():
            found.append(_text(key))
            _add(inner, found)
        found.append(events.MappingEndEvent())
    elif isinstance(node, list):
        found.append(events.SequenceStartEvent(None, None, True, flow_style=False))
        for inner in node:
            _add(inner, found)
        found.append(events.SequenceEndEvent())
    elif isinstance(node, str):
        found.append(_text(node))
    else:
        found.append(events.ScalarEvent(None, None, (True, True), str(node)))


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
