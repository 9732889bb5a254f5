"""Texts that may be said, and what is odd about how they are written: quotes that are none, sentences cut at a comma,
messages without words, characters that nobody sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from engine.lints.note import Note
from engine.nodes import Map, Seq, Spot, entries, items, string
from engine.pack import Pack
from engine.suspects import named

_TYPOGRAPHIC: Final = re.compile("[“„”«»]([^“„”«»]*)[“”«»]|[‘‚]([^‘‚’]*)[’‘]")
# Under these keys stands no text that is said.
_NOT_SAID: Final = frozenset(
    {"id", "task", "category", "schema", "tests", "instructions", "outcome", "pack", "version"}
)
# With what a sentence ends.
_ENDS: Final = tuple(".!?…。！？:;\"'”’»)]")
# Characters without a shape of their own: those that turn a line around, and format and control characters but for line
# breaks, tabs, and what scripts and emoji are joined with. The flags of England, Scotland and Wales are made of tags.
_FLAG: Final = "\U0001f3f4[\U000e0020-\U000e007f]+"
_UNSEEN: Final = re.compile(
    f"{_FLAG}|(?P<one>[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f])"
)


class Said(NamedTuple):
    """A text that may be said, and where it stands."""

    text: str
    spot: Spot
    is_template: bool


def said(document: Map) -> Iterator[Said]:
    yield from _said(document, document.spot, False)


def _said(value: Any, spot: Spot, is_template: bool) -> Iterator[Said]:
    if isinstance(value, str):
        yield Said(value, spot, is_template)
    elif isinstance(value, Map):
        for key, inner in value.items():
            if key not in _NOT_SAID:
                yield from _said(inner, value.value_spot(key), key == "template")
    elif isinstance(value, Seq):
        for index, inner in enumerate(value):
            yield from _said(inner, value.item_spot(index), False)


def typographic(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each text that stands in typographic quotes as a whole."""
    for one in said(document):
        if _TYPOGRAPHIC.fullmatch(one.text):
            yield Note(one.spot, "these quotes are part of the text; YAML knows ' and \" only")


def unseen(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for the first character in each text of the pack that nobody sees."""
    for text, spot in _unprintable(document, lambda: document.spot):
        found = next((each for each in _UNSEEN.finditer(text) if each["one"]), None)
        if found is not None:
            yield Note(_where(spot, text, found["one"]), f"nobody sees {named(found['one'])}; take it out")


def _unprintable(value: Any, spot: Callable[[], Spot]) -> Iterator[tuple[str, Spot]]:
    """Every text that isn't printable as it is, keys among them, and where it stands. Most are: no place is looked up
    before it is needed."""
    if isinstance(value, str):
        if not value.isprintable():
            yield value, spot()
    elif isinstance(value, Map):
        for key, inner in value.items():
            yield from _unprintable(key, partial(value.key_spot, key))
            yield from _unprintable(inner, partial(value.value_spot, key))
    elif isinstance(value, Seq):
        for index, inner in enumerate(value):
            yield from _unprintable(inner, partial(value.item_spot, index))


def _where(spot: Spot, text: str, character: str) -> Spot:
    """Where a character of a text stands; the text's beginning, where it is written as an escape."""
    at = spot.file.text.find(character, spot.offset, spot.offset + 2 * len(text) + 2)
    return spot.file.spot(at) if at >= 0 else spot


def wordless(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each opening message that says nothing."""
    for node in items(document, "tickets"):
        nodes = items(node, "messages")
        for index, message in enumerate(nodes):
            text = message if isinstance(message, str) else string(message, "text", string(message, "template"))
            if not any(each.isprintable() and not each.isspace() for each in text):
                yield Note(nodes.item_spot(index), "this message says nothing, and an episode may open with it")


# -- Cut at a comma


def cut_at_commas(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each list in brackets whose plain texts read like one sentence that its commas cut."""
    for nodes in _lists(document):
        cut = next((index for index in range(1, len(nodes)) if _goes_on(nodes, index)), None)
        if cut is not None:
            text = (
                f"a comma begins the next text in a list, so there are {len(nodes)}; put a text with a comma in quotes"
            )
            yield Note(nodes.item_spot(cut), f"{text}, or each of the {len(nodes)} if they are meant")


def _lists(document: Map) -> Iterator[Seq]:
    """The lists of texts of which one is said at a time."""
    for node in items(document, "tickets"):
        yield items(node, "messages")
    people = entries(document, "people")
    for owner in (document, *(entries(people, name) for name in people)):
        noise = entries(owner, "noise")
        yield from (items(owner, key) for key in ("says", "refuses_with", "noise"))
        yield from (items(noise, key) for key in ("before", "after"))


def _goes_on(nodes: Seq, index: int) -> bool:
    """Whether a plain text in brackets reads as if it went on with the one before it, which doesn't end as a sentence
    does: it begins with a small letter where that one has a capital, or the list's last text does end as one."""
    before, here, last = nodes[index - 1], nodes[index], nodes[-1]
    if not nodes.spot.starts("[") or not all(isinstance(each, str) and each for each in (before, here, last)):
        return False
    if any(nodes.item_spot(each).starts(quote) for each in (index - 1, index) for quote in ("'", '"')):
        return False
    return not before.endswith(_ENDS) and ((before[0].isupper() and here[0].islower()) or last.endswith(_ENDS))
