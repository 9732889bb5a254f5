"""A closer look at a syntax error: what an author can hardly see, and what began long before the place of the error."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import yaml
from yaml._yaml import CParser

from engine.syntax import AFTER_QUOTE, VAGUE, Mistake

# Blanks that look like a space and aren't one for YAML.
_BLANKS = "\u00a0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff"
_ODD = re.compile(rf"^[ ]*(?:- )*(?P<indent>[{_BLANKS}])|:(?P<after>[{_BLANKS}])|^[ ]*-(?P<dash>[{_BLANKS}])")
_ITEM = re.compile(r"^[ ]*(?P<dash>[\u2010-\u2015\u2212\u2022])[ ]|^[ ]*(?P<hyphen>-)[^\s\-]")
# How much of a line is looked at.
_LONG = 2_000

_DASH = "a list item needs '- ' before it (a hyphen and a space)"


def look_closer(mistake: Mistake, text: str, bracket: int | None) -> tuple[int, str] | None:
    """Where a mistake probably is, and a sentence about it; None where `mistake` says it already.

    `bracket` is the index of the innermost bracket that is open where the error was noticed.
    """
    at = mistake.at.offset
    if bracket is not None and not text[at:].strip():
        closing = "]" if text[bracket] == "[" else "}"
        return bracket, f"'{text[bracket]}' is never closed: '{closing}' is missing"
    if mistake.message.startswith(AFTER_QUOTE):
        return _quote(text, at)
    return _line(text, at) if mistake.message in VAGUE else None


def _quote(text: str, at: int) -> tuple[int, str] | None:
    """The quote that was opened on an earlier line than the one on which it seems to be closed."""
    parser: Any = CParser(text)
    try:
        while (event := parser.get_event()) is not None:
            if not isinstance(event, yaml.ScalarEvent) or event.style not in ("'", '"'):
                continue
            start: Any = event.start_mark
            end: Any = event.end_mark
            if start.line < end.line and end.index <= at and not text[end.index : at].strip():
                inside = "''" if event.style == "'" else '\\"'
                message = f"this quote is closed on line {end.line + 1} only: {event.style} is missing at the end of"
                return start.index, f"{message} the text, or one inside it isn't written {inside}"
    except yaml.YAMLError:
        pass  # the error that is being explained
    return None


def _line(text: str, at: int) -> tuple[int, str] | None:
    """A blank that isn't a space, or a dash that starts no item: in the line before, or in this one."""
    start = _start(text, at)
    before = len(text[:start].rstrip())
    for begin in (_start(text, before), start):
        line = re.split(r"[\r\n]", text[begin : begin + _LONG], maxsplit=1)[0]
        if found := _ODD.search(line):
            index = begin + found.start(found.lastgroup or 0)
            return index, f"this is {named(text[index])}, which isn't a space; type a space instead"
        if found := _ITEM.search(line):
            index = begin + found.start(found.lastgroup or 0)
            return index, _DASH if text[index] == "-" else f"{_DASH}; this is {named(text[index])}"
    return None


def _start(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def named(character: str) -> str:
    """A character's code point and name."""
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'no name').lower()})"
