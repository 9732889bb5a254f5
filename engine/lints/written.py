"""What is still to be written: tests, and the texts that say TODO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.build import pack_schema
from engine.lints.note import Note
from engine.nodes import Map, Seq, Spot
from engine.pack import Pack, Text

# A text that is this, or begins with it and a colon, is one that somebody has yet to write.
OPEN: Final = "TODO"
# What a mapping in a list is called by.
_NAMES = ("id", "name", "outcome")


def is_open(text: Text) -> bool:
    """Whether a text is still to be written."""
    source = text if isinstance(text, str) else text.source
    return OPEN in source and (source.strip() == OPEN or source.lstrip().startswith(f"{OPEN}:"))


def untested(pack: Pack, document: Map) -> Iterator[Note]:
    if not pack.tests:
        where = document.key_spot("tests") if "tests" in document else document.value_spot("pack")
        what = "this pack has no tests, so nothing notices when a change breaks one of its tickets"
        yield Note(where, f"{what}: say under `tests` how an episode must go")


def unwritten(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each text of the document, keys among them, that is still to be written."""
    sections = pack_schema()["properties"]
    for name, inner in document.items():
        if isinstance(inner, Map | Seq):
            yield from _open(inner, sections[name], (name,))
        elif isinstance(inner, str) and is_open(inner):
            yield _still(inner, document.value_spot(name), sections[name], ())


def _open(node: Map | Seq, schema: Mapping[str, Any], owner: tuple[str, ...]) -> Iterator[Note]:
    """`owner` is what the node belongs to, from the outside in: tickets, t-101, order_id."""
    if isinstance(node, Seq):
        items = _schema(schema, "items")
        for index, inner in enumerate(node):
            if isinstance(inner, Map | Seq):
                yield from _open(inner, items, owner)
            elif isinstance(inner, str) and is_open(inner):
                yield _still(inner, node.item_spot(index), items, owner)
        return
    known, others = schema.get("properties", {}), _schema(schema, "additionalProperties")
    called = next((node[key] for key in _NAMES if key in known and isinstance(node.get(key), str)), OPEN)
    within = owner if is_open(called) else (*owner, called)
    for key, inner in node.items():
        below, about = (within, known[key]) if key in known else ((*within, key), others)
        if is_open(key):
            yield _still(key, node.key_spot(key), schema, within)
        if isinstance(inner, Map | Seq):
            yield from _open(inner, about, below)
        elif isinstance(inner, str) and is_open(inner):
            yield _still(inner, node.value_spot(key), about, below)


def _schema(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, Mapping) else {}


def _still(text: str, spot: Spot, schema: Mapping[str, Any], owner: tuple[str, ...]) -> Note:
    said = text.strip()[len(OPEN) + 1 :].strip()
    title = str(schema.get("title", ""))
    expected = ": ".join(filter(None, (" / ".join(owner), title[:1].lower() + title[1:])))
    return Note(spot, f"this is still to be written{': ' if said else ''}{said}", expected or None)
