"""What libyaml's errors mean to someone who writes a pack, and what to do about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import yaml

# The line of the character with an index: what stands before it, and what from it on.
LineAt = Callable[[int], tuple[str, str]]


class At(NamedTuple):
    """A place, counted from 0, with what stands before it and from it on in its line."""

    offset: int
    line: int
    column: int
    before: str
    after: str

    @property
    def character(self) -> str:
        return self.after[:1]

    @property
    def indentation(self) -> int:
        whole = self.before + self.after
        return len(whole) - len(whole.lstrip())

    def backslash(self) -> At:
        """The place of the backslash here or before: libyaml points at it, or somewhere behind it."""
        steps = 0 if self.character == "\\" else len(self.before) - self.before.rfind("\\")
        return self._replace(offset=self.offset - steps, column=self.column - steps)


class Mistake(NamedTuple):
    """A syntax error in an author's words. `unclosed`: a comment may have swallowed the bracket."""

    at: At
    message: str
    code: str = "PACK004"
    unclosed: bool = False


_STARTS = {
    "@": "'@' can't start a plain text; quote the text",
    "`": "'`' can't start a plain text; quote the text",
    "%": "'%' can't start a plain text; quote the text",
    "\t": "a tab can't be used for indentation; use spaces",
    ",": "an empty item where text is meant; write '' for an empty text, or quote a text that begins with ','",
    "]": "']' closes a bracket that was never opened; quote a text that begins with ']'",
    "}": "'}' closes a bracket that was never opened; quote a text that begins with '}'",
}
PLAIN_COLON = "a plain text holds ': '; quote it"
UNCLOSED = "this quote is never closed"
BETWEEN = "',' or "
AFTER_QUOTE = "a text goes on after its closing quote; put the whole text in quotes"
# How a quote is written inside quotes of its own kind.
INSIDE = {"'": "''", '"': '\\"'}
_ESCAPE = (
    "this escape with '\\' has no meaning in double quotes; write '\\\\' for a backslash, or use single quotes, "
    "in which a backslash is a backslash"
)
INDENTATION = (
    "this line doesn't fit the ones above: is it indented wrongly, or was a quote or a bracket closed too early?"
)
_BLOCK = "'>' and '|' start a block of text, which goes on in the next line; quote a text that begins with one of them"
DOCUMENT = "nothing may stand here: the document has ended, or this line is indented less than the first one"
_DIRECTIVE = "'%' starts a directive, which packs don't need; quote the text, or write '#' for a comment"
_TAG = "'!' starts a tag, and packs don't allow tags; quote the text"
_LONG_KEY = "a key may have 1,024 characters at the most; quote the text, if this isn't a key"
LINE_ABOVE = (
    "this ':' doesn't fit the line above: the line is indented wrongly, the key above lacks ': ' (a colon and a "
    "space), or a plain text that goes on here holds ': ' (quote it)"
)
NO_COLON = (
    "a key needs ': ' after it (a colon and a space), and a text that goes on from the line above has to be indented "
    "deeper than its key"
)
_ANYTHING = "nothing may stand here; quote the text"
# Sentences about a place that may be far from the mistake.
VAGUE = frozenset({INDENTATION, LINE_ABOVE, NO_COLON, _ANYTHING})
_KEY_BEFORE = re.compile(r":[ \t]")


def explain(error: yaml.MarkedYAMLError, line_at: LineAt) -> Mistake:
    """The mistake behind an error of libyaml's scanner or parser."""
    problem, context = error.problem or "", error.context or ""
    here = _at(error.problem_mark or error.context_mark, line_at)
    start = _at(error.context_mark, line_at) if error.context_mark is not None else here
    if problem.startswith("mapping values"):
        return _colon(here)
    if "quoted scalar" in context:
        if "unexpected" not in problem:
            return Mistake(here.backslash(), _ESCAPE)
        return Mistake(start, f"{UNCLOSED}: {start.character} is missing at the end of the text")
    if "flow sequence" in context or "flow mapping" in context:
        return _bracket(start, here)
    if "scanning an alias" in context and not start.before.strip() and start.after[1:2] == " ":
        return Mistake(start, "'*' starts an alias; a list item needs '- ' before it (a hyphen and a space)")
    for words, at, message, code in (
        ("scanning an alias", start, "'*' starts an alias; quote the text", "PACK004"),
        ("scanning an anchor", start, "'&' starts an anchor; quote the text", "PACK004"),
        ("tab character", here, _STARTS["\t"], "PACK004"),
        ("block scalar", start, _BLOCK, "PACK004"),
        ("directive", start, _DIRECTIVE, "PACK004"),
        ("incompatible YAML", start, _DIRECTIVE, "PACK004"),
        ("tag", start, _TAG, "PACK007"),
        ("nesting depth", start, "nested too deep", "PACK012"),
        ("block sequence entries", here, "'- ' starts a list item, which can't stand here; quote the text", "PACK004"),
        ("mapping keys", here, "'? ' starts a key, which can't stand here; quote the text", "PACK004"),
        ("could not find expected ':'", start, NO_COLON, "PACK004"),
        ("found unexpected ':'", here, NO_COLON, "PACK004"),
        ("<document start>", here, DOCUMENT, "PACK004"),
    ):
        if words in problem or words in context:
            return Mistake(at, message, code)
    if here.character == "\t" and here.before.strip():
        return Mistake(here, "a tab can't stand here; type a space instead")
    if here.after.startswith("```"):
        return Mistake(here, "'```' belongs to Markdown, and not to the pack; take this line out")
    if here.character in _STARTS:
        return Mistake(here, _STARTS[here.character])
    if "did not find expected" in problem:
        return _leftover(here)
    return Mistake(here, f"this is not YAML: {problem}")


def _at(mark: yaml.Mark | None, line_at: LineAt) -> At:
    return At(0, 0, 0, "", "") if mark is None else At(mark.index, mark.line, mark.column, *line_at(mark.index))


def _colon(here: At) -> Mistake:
    """A ': ' where no key can end."""
    if here.before.rstrip()[-1:] in INSIDE:
        return Mistake(here, _after_quote(here))
    if _KEY_BEFORE.search(here.before):
        return Mistake(here, PLAIN_COLON)
    return Mistake(here, _LONG_KEY if here.column > 1024 else LINE_ABOVE)


def _bracket(start: At, here: At) -> Mistake:
    """Something inside brackets that isn't a comma or their end."""
    opening, closing = start.character, "]" if start.character == "[" else "}"
    # What stands no deeper than the bracket's own line is most likely not meant to be inside.
    if here.line > start.line and here.indentation <= start.indentation:
        return Mistake(start, f"'{opening}' is never closed: '{closing}' is missing", unclosed=True)
    if here.character == ":":
        return Mistake(here, PLAIN_COLON)
    if here.character in ("]", "}"):
        message = f"'{here.character}' can't close '{opening}': '{closing}' is missing before it"
        return Mistake(here, message, unclosed=True)
    if here.before.rstrip()[-1:] in INSIDE:
        return Mistake(here, _after_quote(here))
    message = f"{BETWEEN}'{closing}' is missing here; quote a text that holds commas, brackets or braces"
    return Mistake(here, message, unclosed=True)


def _leftover(here: At) -> Mistake:
    """Something after the end of a value, or a line that belongs to nothing."""
    last = here.before.rstrip()[-1:]
    if here.character == ":":
        message = "a key is missing before ':'; quote a text that begins with ':'"
    elif not last:
        message = INDENTATION
    elif last in INSIDE:
        message = _after_quote(here)
    elif last in "]}":
        message = "a text that begins with '[' or '{' must be quoted; nothing may stand after a closing bracket"
    else:
        message = _ANYTHING
    return Mistake(here, message)


def _after_quote(here: At) -> str:
    quote = here.before.rstrip()[-1]
    return f"{AFTER_QUOTE} ({quote} inside {quote}...{quote} is written {INSIDE[quote]})"
