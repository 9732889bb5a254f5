"""What libyaml's errors mean to someone who writes a pack, and what to do about them."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml


class Mistake(NamedTuple):
    """A syntax error in an author's words; line and column count from 0. `unclosed`: a bracket was never closed."""

    line: int
    column: int
    message: str
    code: str = "PACK004"
    expected: str | None = None
    unclosed: bool = False


# A mark of the mapping or list syntax that stands before the place on the same line.
_KEY_BEFORE = re.compile(r":[ \t]")

_STARTS = {
    "@": "'@' can't start a plain text; quote the text",
    "`": "'`' can't start a plain text; quote the text",
    "%": "'%' can't start a plain text; quote the text",
    "\t": "a tab can't be used for indentation; use spaces",
    ",": "an empty item where text is meant; write '' for an empty text, or quote a text that begins with ','",
    "]": "']' closes a bracket that was never opened; quote a text that begins with ']'",
    "}": "'}' closes a bracket that was never opened; quote a text that begins with '}'",
}
_ESCAPES = (
    "this escape with '\\' has no meaning in double quotes; write '\\\\' for a backslash, or use single quotes, "
    "in which a backslash is a backslash"
)
_INDENTATION = (
    "this line doesn't fit the ones above: is it indented wrongly, or was a quote or a bracket closed too early?"
)
_BLOCK = "'>' and '|' start a block of text, which goes on in the next line; quote a text that begins with one of them"
_DOCUMENT = "nothing may stand here: the document has ended, or this line is indented less than the first one"


def explain(error: yaml.MarkedYAMLError, lines: list[str]) -> Mistake:
    """The mistake behind an error of libyaml's scanner or parser."""
    problem, context = error.problem or "", error.context or ""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Mistake(0, 0, f"this is not YAML: {problem}")
    line, column = mark.line, mark.column
    start = (error.context_mark.line, error.context_mark.column) if error.context_mark else (line, column)
    here = lines[line] if line < len(lines) else ""
    character = here[column : column + 1]

    if problem.startswith("mapping values"):
        return _colon(lines, line, column)
    if "scanning an alias" in context:
        return Mistake(*start, "'*' starts an alias; quote the text")
    if "scanning an anchor" in context:
        return Mistake(*start, "'&' starts an anchor; quote the text")
    if "tag" in context or "tag" in problem:
        return Mistake(*start, "'!' starts a tag, and packs don't allow tags; quote the text", "PACK007")
    if "block scalar" in context:
        tab = "tab" in problem
        return Mistake(line, column, _STARTS["\t"]) if tab else Mistake(*start, _BLOCK)
    if "tab character" in problem:
        return Mistake(line, column, _STARTS["\t"])
    if "directive" in context or "directive" in problem or "incompatible" in problem:
        return Mistake(*start, "'%' starts a directive, which packs don't need; quote the text")
    if "quoted scalar" in context:
        if "unexpected" in problem:
            return Mistake(
                *start, f"this quote is never closed: {_quote(lines, start)} is missing at the end of the text"
            )
        return Mistake(line, max(column - 1, 0), _ESCAPES)
    if "nesting depth" in problem:
        return Mistake(*start, "nested too deep", "PACK012")
    if problem.startswith("block sequence entries"):
        return Mistake(line, column, "'- ' starts a list item, which can't stand here; quote the text")
    if problem.startswith("mapping keys"):
        return Mistake(line, column, "'? ' starts a key, which can't stand here; quote the text")
    if problem.startswith("could not find expected ':'"):
        return Mistake(*start, "a key needs ': ' after it (a colon and a space); quote a text that goes on over lines")
    if "<document start>" in problem:
        return Mistake(line, column, _DOCUMENT)
    if "flow sequence" in context or "flow mapping" in context:
        return _bracket(lines, start, line, column)
    if character in _STARTS and (character != "\t" or not here[:column].strip()):
        return Mistake(line, column, _STARTS[character])
    if "did not find expected" in problem:
        return _leftover(here, line, column)
    return Mistake(line, column, f"this is not YAML: {problem}")


def _colon(lines: list[str], line: int, column: int) -> Mistake:
    """A ': ' where no key can end."""
    before = lines[line][:column]
    if len(before) > 1024:
        return Mistake(line, column, "a key may have 1,024 characters at the most; quote the text, if this isn't a key")
    if _KEY_BEFORE.search(before):
        return Mistake(line, column, "a plain text holds ': '; quote it")
    return Mistake(
        line,
        column,
        "this ':' doesn't fit the line above: the line is indented wrongly, the key above lacks ': ' (a colon and a "
        "space), or a plain text that goes on here holds ': ' (quote it)",
    )


def _quote(lines: list[str], start: tuple[int, int]) -> str:
    return lines[start[0]][start[1] : start[1] + 1]


def _bracket(lines: list[str], start: tuple[int, int], line: int, column: int) -> Mistake:
    """Something inside brackets that isn't a comma or the end."""
    opening = _quote(lines, start)
    closing = "]" if opening == "[" else "}"
    here = lines[line] if line < len(lines) else ""
    if line > start[0] and opening in "[{":
        return Mistake(*start, f"'{opening}' is never closed: '{closing}' is missing", unclosed=True)
    character = here[column : column + 1]
    if character == ":":
        return Mistake(line, column, "a plain text holds ': '; quote it")
    if here[:column].rstrip()[-1:] in ("'", '"'):
        return Mistake(line, column, "a text goes on after its closing quote; put the whole text in quotes")
    return Mistake(
        line,
        column,
        f"',' or '{closing}' is missing here; quote a text that holds commas, brackets or braces",
        unclosed=True,
    )


def _leftover(here: str, line: int, column: int) -> Mistake:
    """Something after the end of a value, or a line that belongs to nothing."""
    before = here[:column].rstrip()
    if not before:
        return Mistake(line, column, _INDENTATION)
    if before[-1] in "'\"":
        message = (
            "a text goes on after its closing quote; put the whole text in quotes (a quote inside single quotes is '')"
        )
    elif before[-1] in "]}":
        message = (
            "a text that begins with '[' or '{' must be quoted; otherwise nothing may stand after the closing bracket"
        )
    elif here[column : column + 1] == ":":
        message = "a key is missing before ':'; quote a text that begins with ':'"
    else:
        message = "nothing may stand here; quote the text"
    return Mistake(line, column, message)
