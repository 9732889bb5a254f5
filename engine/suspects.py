"""A closer look at a syntax error: what an author can hardly see, and what began long before the place of the error."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser

from engine.indentation import Line, above, fitting, line_of, too_far_left
from engine.syntax import (
    AFTER_QUOTE,
    BETWEEN,
    DOCUMENT,
    INDENTATION,
    INSIDE,
    LINE_ABOVE,
    NO_COLON,
    PLAIN_COLON,
    UNCLOSED,
    VAGUE,
    Mistake,
)

# Blanks that look like a space and aren't one for YAML.
_BLANKS = "\u00a0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff"
_ODD = re.compile(rf"^[ ]*(?:- )*(?P<indent>[{_BLANKS}])|:(?P<after>[{_BLANKS}])|^[ ]*-(?P<dash>[{_BLANKS}])")
_ITEM = re.compile(r"^[ ]*(?P<dash>[\u2010-\u2015\u2212\u2022])[ ]|^[ ]*(?P<hyphen>-)[^\s\-]")
_COLON = re.compile(r"^[ ]*(?:- +)*[\w-]+[ ]*(?P<colon>[\uff1a\ufe55\ufe13])")
_NO_SPACE = re.compile(r"^[ ]*(?:- +)*[^\W\d][\w-]*:(?P<behind>[^\s/])(?!.*: )")
_WORD = re.compile(r"^[ ]*(?:- +)*[\w.-]+$")
_SLASHES = re.compile(r"^\s*//")
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})(?: |$)")
_BLOCK = re.compile(r"(?:^|[:-])[ ]+(?P<sign>[|>])[-+0-9]*[ ]*(?:#.*)?$")
# What stands for a quote in texts from elsewhere, and where a text begins with one.
TYPOGRAPHIC = "“”„«»‘’‚"
_BEGINS = re.compile(rf"(?:^|[:,\[{{-])[ ]*(?P<quote>[{TYPOGRAPHIC}])")

_DASH = "a list item needs '- ' before it (a hyphen and a space)"


class Closer(NamedTuple):
    """Where a mistake probably is, the character's index, a sentence about it, and what was expected."""

    at: int
    message: str
    expected: str | None = None


class Around(NamedTuple):
    """What was read last, by index: the innermost open bracket, and a value with its key, if it has one."""

    bracket: int | None = None
    key: int | None = None
    value: int | None = None


def look_closer(mistake: Mistake, text: str, around: Around) -> Closer | None:
    """Where a mistake probably is, and a sentence about it; None where `mistake` says it already."""
    at, bracket = mistake.at, around.bracket
    if bracket is not None and not text[at.offset :].strip():
        closing = "]" if text[bracket] == "[" else "}"
        return Closer(bracket, f"'{text[bracket]}' is never closed: '{closing}' is missing")
    line = line_of(text, at.offset, at.line + 1)
    if mistake.message.startswith(UNCLOSED):
        return Closer(at.offset, mistake.message + _typographic(line.from_here(at.column + 1)))
    if mistake.message.startswith(AFTER_QUOTE):
        return _quote(text, at.offset)
    if mistake.message == PLAIN_COLON or mistake.message.startswith(BETWEEN):
        return _slashes(line) or _begins(line, at.column)
    if mistake.message == DOCUMENT:
        end = next((each for each in above(text, line) if each.text.rstrip() == "..."), None)
        message = "'...' ends the document, and nothing may follow it; take this line out"
        return Closer(end.start, message) if end is not None else None
    return _vague(mistake, text, line, around) if mistake.message in VAGUE else None


def _vague(mistake: Mistake, text: str, line: Line, around: Around) -> Closer | None:
    lines = above(text, line)
    found = next(filter(None, (_line(each) for each in (*lines[:1], line))), None)
    if found is not None or not lines:
        return found
    start = line.start + line.content
    block = _BLOCK.search(lines[0].text)
    if block is not None and mistake.message != LINE_ABOVE:
        return Closer(start, f"the text that '{block['sign']}' starts has to be indented deeper than the line above")
    if mistake.message == LINE_ABOVE:
        return _goes_on(mistake, line, lines, around)
    if mistake.message != INDENTATION:
        return None
    wanted, other = fitting(line, lines), too_far_left(line, lines)
    message = "this line doesn't fit the ones above: it is indented wrongly"
    if other is not None:
        message += f", or '{_cut(other.text[other.content :].split(':')[0])}' on line {other.number} is"
    return Closer(mistake.at.offset, message, wanted) if wanted is not None or other is not None else None


def _goes_on(mistake: Mistake, line: Line, lines: Sequence[Line], around: Around) -> Closer | None:
    """A ': ' in a line with which the text that was read last seems to go on."""
    value = around.value if around.value is not None else lines[-1].start + lines[-1].content
    first = next((each for each in lines if each.start <= value), lines[-1])
    beside = around.key is not None and first.start <= around.key
    if not _WORD.match(mistake.at.before):
        return Closer(mistake.at.offset, "a text goes on in this line, and holds ': '; put the whole text in quotes")
    if beside and first is lines[0]:
        key = _cut(first.text[first.content :].split(":")[0])
        message = f"this line is indented deeper than '{key}' on line {first.number}, which has its text already: "
        return Closer(line.start + line.indent, f"{message}one of the two is indented wrongly")
    if ":" not in first.text and first.content <= line.indent:
        return Closer(value, NO_COLON)
    return None


def _quote(text: str, at: int) -> Closer | None:
    """The quote that was opened on an earlier line than the one on which it seems to be closed."""
    parser: Any = CParser(text)
    try:
        while (event := parser.get_event()) is not None:
            if not isinstance(event, yaml.ScalarEvent) or event.style not in ("'", '"'):
                continue
            start: Any = event.start_mark
            end: Any = event.end_mark
            if start.line < end.line and end.index <= at and not text[end.index : at].strip():
                quote, line = event.style, line_of(text, start.index, start.line + 1)
                missing = f"{quote} is missing at the end of the text{_typographic(line.from_here(start.column + 1))}"
                message = f"this quote is closed on line {end.line + 1} only: {missing}"
                return Closer(start.index, f"{message}, or one inside it isn't written {INSIDE[quote]}")
    except yaml.YAMLError:
        pass  # the error that is being explained
    return None


def _typographic(text: str) -> str:
    """A note about the last typographic quote in a text whose quote isn't closed."""
    found = re.findall(f"[{TYPOGRAPHIC}]", text)
    return f" ({found[-1]} is no quote in YAML)" if found else ""


def _begins(line: Line, column: int) -> Closer | None:
    """A text that begins with a typographic quote, before a place at which it ought to go on."""
    found = [*_BEGINS.finditer(line.text, 0, column)]
    if not found:
        return None
    return Closer(line.start + found[-1].start("quote"), is_no_quote(found[-1]["quote"]))


def is_no_quote(character: str) -> str:
    """About a typographic quote with which a text begins."""
    return f"{character} is no quote in YAML; type ' or \""


def _slashes(line: Line) -> Closer | None:
    found = _SLASHES.match(line.text)
    return Closer(line.start + found.end() - 2, "'//' starts no comment; '#' does") if found else None


def _line(line: Line) -> Closer | None:
    """What can hardly be seen in a line: a blank that is no space, a dash that starts no item, a colon that is none."""
    if found := _ODD.search(line.text):
        index = line.start + found.start(found.lastgroup or 0)
        what = named(line.text[index - line.start])
        return Closer(index, f"this is {what}, which isn't a space; type a space instead")
    if found := _ITEM.search(line.text):
        return Closer(line.start + found.start(found.lastgroup or 0), no_dash(line.text.lstrip()) or _DASH)
    if found := _COLON.search(line.text):
        message = f"this is {named(found['colon'])}, and a key needs ': ' after it (a colon and a space)"
        return Closer(line.start + found.start("colon"), message)
    if found := _NO_SPACE.search(line.text):
        return Closer(line.start + found.start("behind"), "a space is missing here: a key needs ': ' after it")
    if _CONFLICT.match(line.text):
        return Closer(line.start, "two versions of this file were merged here and weren't agreed on; keep one of them")
    return _slashes(line)


def no_dash(text: str) -> str | None:
    """About a text that begins with what looks like the dash of a list item; None where it doesn't."""
    odd = re.match(rf"-(?P<blank>[{_BLANKS}])|(?P<dash>[\u2010-\u2015\u2212\u2022])[ ]", text)
    if odd is not None:
        return f"{_DASH}; this is {named(odd[odd.lastgroup or 0])}"
    return _DASH if text.startswith("-") else None


def _cut(name: str) -> str:
    name = name.strip()
    return name if len(name) <= 40 else name[:40] + "…"


def named(character: str) -> str:
    """A character's code point and name."""
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'no name').lower()})"
