"""Values that YAML reads otherwise than they were meant: what stands there instead, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Sequence
from typing import Any, NamedTuple

from engine.diagnostics import CODES
from engine.nodes import Map, NotJson, Seq, Spot, reading
from engine.suspects import TYPOGRAPHIC, is_no_quote, no_dash

_TYPES = {
    "string": "a text",
    "object": "a mapping",
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}
# Texts that are names with commas between them, a number with a comma, and a number in quotes.
_NAMES = re.compile(r"[\w.-]+(,[ ]*[\w.-]+)*")
_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")


_CHECK = re.compile(r"P[0-9]{1,2}")


class Misread(NamedTuple):
    """A finding about a value: its code, where it is, a sentence, and what was expected."""

    code: str
    spot: Spot
    message: str
    expected: str | None = None


def wrong_type(types: Sequence[str], value: Any, spot: Spot) -> Misread:
    """A value of another type than these."""
    names = [_TYPES[name] for name in types]
    expected = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    is_reading, nothing = reading(value, spot.raw), value is None and not spot.raw
    if "string" in types:
        if nothing:
            message = "an empty item where text is meant; write '' for an empty text"
        elif not isinstance(value, Map | Seq):
            number = _of_number(value, spot) if "integer" in types else None
            message = f"{is_reading}; {number}, or quote it if it is text" if number else f"{is_reading}; quote it"
        elif spot.starts("["):
            message = f"{is_reading}; drop the brackets, or quote a text that begins with '['"
        elif spot.starts("{"):
            message = f"{is_reading}; quote a text that begins with '{{'"
        elif isinstance(value, Map):
            message = "': ' makes this a mapping (key: value); quote a text with ': ' in it"
        else:
            message = f"{is_reading}; quote a text that begins with '- '"
        return Misread("PACK020", spot, message, expected)
    expected = "a mapping (key: value)" if expected == "a mapping" else expected
    message = f"{expected} is meant here, and {is_reading}"
    remedy = "what belongs to it is indented deeper" if nothing else _remedy(types, value, spot)
    return Misread("PACK021", spot, f"{message}; {remedy}" if remedy else message)


def _remedy(types: Container[str], value: Any, spot: Spot) -> str | None:
    if "number" in types or "integer" in types:
        found = _of_number(value, spot)
        if found is not None:
            return found
    if "array" in types and isinstance(value, str):
        dash = no_dash(value)
        if dash is not None:
            return dash
        if _NAMES.fullmatch(value):
            return f"write [{value}]"
        return "write each item on a line of its own, after '- ' (a hyphen and a space)"
    if "array" in types and spot.starts("{"):
        return "a list is written in brackets: [...]"
    if "object" in types and isinstance(value, Seq):
        return "leave out the '- ' before its keys" if spot.starts("-") else "a mapping is written in braces: {...}"
    return None


def _of_number(value: Any, spot: Spot) -> str | None:
    """How the number is written that was most likely meant."""
    if isinstance(value, NotJson) and value.number is not None and spot.raw is not None:
        plain = spot.raw.replace("_", "")  # 1_000, and 010, which nobody takes for 8
        return f"write {_plain(plain) if _NUMBER.fullmatch(plain) else value.number}"
    if not isinstance(value, str):
        return None
    if _COMMA.fullmatch(value):
        return "write a number with a point"
    if not _NUMBER.fullmatch(value):
        return None
    return "leave out the quotes" if spot.starts("'") or spot.starts('"') else f"write {_plain(value)}"


def _plain(number: str) -> str:
    """A number without needless zeros at its beginning."""
    return re.sub(r"^[+]?(-?)0+(?=[0-9])", r"\1", number)


def stray_key(node: Map, key: str, before: str | None) -> Misread | None:
    """A key of a mapping in braces that was most likely meant to be a part of the text before it."""
    spot = node.key_spot(key)
    written = node.file.text[spot.offset : node.value_spot(key).offset]
    if before is None or node[key] is not None or not node.spot.starts("{") or written.rstrip().endswith(":"):
        return None
    text = node.value_spot(before)
    if any(text.starts(quote) for quote in TYPOGRAPHIC):
        return Misread("PACK022", text, is_no_quote(text.file.text[text.offset]))
    message = f"a comma begins the next key here, and there is no key '{key}'; quote a text with commas in it"
    return Misread("PACK022", spot, message)


def text_with_colon(node: Map, key: str, known: str | None) -> Misread:
    """A mapping where a text may stand, and with no key that is known."""
    if node.spot.starts("? "):
        return Misread("PACK020", node.spot, "'? ' starts a key; quote a text that begins with '?'")
    message = f"': ' makes '{key}' a key, and there is none like it here; if this is a text, quote it"
    return Misread("PACK022", node.key_spot(key), message, known)


def not_a_lint(code: str) -> str | None:
    """Why a code can't be made more or less grave under `lints`; None where there is no such code."""
    if _CHECK.fullmatch(code):
        return f"{code} is a check of the proof: how grave it is, is said under `proof`"
    if code == "PACK099":
        return "PACK099 counts the findings that aren't listed: it is as grave as they are"
    return f"{code} is an error whatever is asked for: only warnings can be ignored" if code in CODES else None


def not_a_check(code: str) -> str | None:
    """Why a code can't stand under `proof`; None where there is no such code."""
    return f"{code} is no check of the proof: how grave lints are, is said under `lints`" if code in CODES else None


def torn_apart(items: Seq, lacking: Container[int], required: Collection[str]) -> Iterator[range]:
    """The items, as ranges of their numbers, that are one in pieces: a '- ' stands before each of its keys.

    `lacking` are the items that lack one of the `required` keys.
    """
    start, keys = 0, set[str]()
    for index, item in enumerate([*items, None]):
        fits = isinstance(item, Map) and index in lacking and not item.spot.starts("{") and not keys & item.keys()
        if fits and index > start:
            keys |= item.keys()
            continue
        if index - start > 1 and keys.issuperset(required):
            yield range(start, index)
        start, keys = index, {*item} if isinstance(item, Map) else set(required)
