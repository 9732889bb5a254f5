"""Keys that a schema doesn't know: what was meant by each, as far as its name, its place and what stands there tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from engine.diagnostics import Report
from engine.misread import Misread, not_a_check, not_a_lint, stray_key, text_with_colon
from engine.nearest import nearest
from engine.nodes import Map, Seq

Path_ = tuple[str | int, ...]

# How many keys a text with colons in it may have become, and how many say that a document is none of ours.
_FEW = 3
# By the path to a mapping of codes: why a code that may be meant can't stand there.
_ELSEWHERE: Mapping[Path_, Callable[[str], str | None]] = {("lints",): not_a_lint, ("proof",): not_a_check}


def listed(value: Any) -> list[Any]:
    """What a keyword has, be it one or a list."""
    return value if isinstance(value, list) else [value]


def known_keys(schema: Any) -> Mapping[str, Any]:
    return schema.get("properties", {}) if isinstance(schema, Mapping) else {}


def one_of(names: Iterable[str]) -> str | None:
    """The names, as far as they are few enough to be read."""
    few = list(islice(names, 13))
    if not few:
        return None
    return ", ".join(few[:12]) + (", ..." if len(few) > 12 else "")


class Guesses(NamedTuple):
    """What unknown keys explain: the known keys that they were most likely meant to be, or that are missing because of
    them, and the sections that may lack what they hold."""

    keys: set[str]
    sections: set[str]


def unknown_keys(schema: Any, path: Path_, node: Map, report: Report) -> Guesses:
    """Reports the keys that a schema doesn't know, of a mapping at a path."""
    known, types = known_keys(schema), listed(schema.get("type")) if isinstance(schema, Mapping) else []
    strange = [key for key in node if key not in known and not node.key_spot(key).excused]
    if "string" in types and _is_text(node, strange, known):
        _report(text_with_colon(node, strange[0], one_of(known)), report)
        node.spot.excuse()
        return Guesses({*schema.get("required", ())}, set())
    elsewhere = _ELSEWHERE.get(path, _nowhere)
    guesses = Guesses(set(), set())
    for before, key in _not_inside(node, {*strange}, known):
        if report.full:
            break
        why = elsewhere(key)
        if why is not None:
            report.add("PACK022", node.key_spot(key), why)
            continue
        misplaced = _misplaced(key, node, path, schema)
        if misplaced is not None:
            section, remedy = misplaced
            guesses.sections.add(section)
            report.add("PACK022", node.key_spot(key), f"unknown key '{key}'; if it belongs to `{section}`, {remedy}")
            continue
        near = _meant(key, node, known) if report.lists_more else None
        stray = stray_key(node, key, before) if near is None else None
        if near is None and not path:
            guesses.sections.update(_perhaps(node, key, known))
        if stray is not None:
            _report(stray, report)
            continue
        if near is not None and near not in node:
            guesses.keys.add(near)
        message = f"unknown key '{key}'" if known else f"'{key}' can't stand here"
        report.add("PACK022", node.key_spot(key), message, expected=one_of(known), meant=(key, ()), near=near)
    return guesses


def _nowhere(key: str) -> None:
    """No key is told to stand elsewhere."""


def _report(misread: Misread, report: Report) -> None:
    report.add(misread.code, misread.spot, misread.message, expected=misread.expected)


def _meant(key: str, node: Map, known: Mapping[str, Any]) -> str | None:
    """The known key that an unknown one was most likely meant to be: one that is nearly called so and takes what stands
    there, else the only one that takes it, else one that is nearly called so."""
    value = node[key]
    near = nearest(key, [name for name, schema in known.items() if _may_be(schema, value)])
    inner = value.values() if isinstance(value, Map) else value if isinstance(value, Seq) else ()
    if near is None and inner and all(isinstance(each, Map) and each for each in inner):
        absent = ((name, schema) for name, schema in known.items() if name not in node)
        takes = [name for name, schema in absent if Draft202012Validator(schema).is_valid(value)]
        near = takes[0] if len(takes) == 1 else None
    return near or nearest(key, known)


def _may_be(schema: Any, value: Any) -> bool:
    """Whether a schema takes a mapping, or a list, where the value is one."""
    kind = "object" if isinstance(value, Map) else "array" if isinstance(value, Seq) else None
    return kind is None or "type" not in schema or kind in listed(schema["type"])


def _misplaced(key: str, node: Map, path: Path_, schema: Any) -> tuple[str, str] | None:
    """The section to which an unknown key most likely belongs as one of its names, and how it has to be indented; None
    where what stands there isn't what the section holds."""
    if not path:
        above = next((name for name in _above(key, node) if name in known_keys(schema)), None)
        section = known_keys(schema)[above] if above is not None else {}
        entry, remedy = section.get("additionalProperties"), "indent it deeper"
    elif len(path) == 2 and isinstance(path[1], str):
        above, entry, remedy = str(path[0]), schema, f"indent it like '{path[1]}'"
    else:
        return None
    if above is None or not isinstance(entry, Mapping) or not isinstance(node[key], Map) or not node[key]:
        return None
    return (above, remedy) if Draft202012Validator(entry).is_valid(node[key]) else None


def _above(key: str, node: Map) -> list[str]:
    """The keys above one, upwards."""
    names = [*node]
    return names[: names.index(key)][::-1]


def _perhaps(node: Map, key: str, known: Mapping[str, Any]) -> Iterator[str]:
    """The known keys that aren't there, and that an unknown one may have been meant to be, whatever it is called."""
    if isinstance(node[key], Map | Seq):
        yield from (name for name, schema in known.items() if name not in node and _may_be(schema, node[key]))


def something_else(root: Map, sections: Mapping[str, Any]) -> str | None:
    """A key that tells that a document is none of ours: it lacks what each pack has, and holds what none has and nobody
    mistypes. None where it may be a pack."""
    strange = [name for name in root if name not in sections]
    if "pack" not in sections or root.keys() & {"pack", "tickets"} or root.again:
        return None
    alien = all(nearest(name, sections) is None for name in strange[:_FEW])
    return strange[0] if strange and alien else None


def of_the_one_above(node: Map, key: str, entry: Any) -> set[str]:
    """The keys right behind a key without a value that belong to what it was to hold: they are indented too little."""
    names = [*node]
    return {*takewhile(lambda name: name in known_keys(entry), names[names.index(key) + 1 :])}


def _is_text(node: Map, strange: Collection[str], known: Iterable[str]) -> bool:
    """Whether a mapping that isn't in braces has only keys that are like none that is known, and few of them."""
    few = 0 < len(strange) == len(node) <= _FEW and not node.spot.starts("{")
    return few and all(nearest(key, known) is None for key in strange)


def _not_inside(node: Map, strange: Container[str], known: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The strange keys, each with the one before it, but for those right behind a key without a value: they belong to
    it, and are indented too little, which is said of it."""
    before, empty = None, False
    for key, value in node.items():
        if key not in strange:
            types = listed(known[key].get("type", "string")) if key in known else ["string"]
            empty = value is None and not node.value_spot(key).raw and "string" not in types and "null" not in types
        elif not empty or node.spot.starts("{"):
            yield before, key
        before = key
