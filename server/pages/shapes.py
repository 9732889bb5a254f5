"""JSON Schemas in words, as a page shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]


class Shape(NamedTuple):
    """What a schema says of a value.

    `words` are its types, `link` the name of the schema that it refers to (then nothing else is said), `limits` what
    else must hold, `values` the only values, as JSON, `item` what each of an array's items is, and `choices` the
    alternatives after `choose`.
    """

    words: str
    link: str | None = None
    title: str = ""
    description: str = ""
    limits: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    item: Shape | None = None
    choose: str = ""
    choices: tuple[Shape, ...] = ()


class Member(NamedTuple):
    name: str
    required: bool
    shape: Shape


_CHOOSE = {"anyOf": "any of", "oneOf": "one of", "allOf": "all of"}
_SAID = frozenset(
    ("$ref", "type", "title", "description", "enum", "const", "properties", "required", "items", *_CHOOSE)
)
# Two bounds of one thing, and what they count.
_RANGES = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " members"),
)
_BOUNDS = frozenset(bound for low, high, _ in _RANGES for bound in (low, high))


def shape(schema: Schema | bool) -> Shape:
    """Nothing that the schema says is left out."""
    if isinstance(schema, bool):
        return Shape("anything" if schema else "nothing")
    if "$ref" in schema:
        return Shape("", link=schema["$ref"].rpartition("/")[2], description=schema.get("description", ""))
    choose = next((word for word in _CHOOSE if word in schema), None)
    members = schema.get("properties", {})
    needed = schema.get("required", ())
    return Shape(
        words=_words(schema),
        title=schema.get("title", ""),
        description=schema.get("description", ""),
        limits=tuple(_limits(schema, [name for name in needed if name not in members])),
        values=tuple(map(_json, [schema["const"]] if "const" in schema else schema.get("enum", ()))),
        members=tuple(Member(name, name in needed, shape(member)) for name, member in members.items()),
        item=shape(schema["items"]) if "items" in schema else None,
        choose=_CHOOSE[choose] if choose else "",
        choices=tuple(map(shape, schema[choose])) if choose else (),
    )


def _words(schema: Schema) -> str:
    kinds = schema.get("type")
    if kinds is not None:
        return " or ".join([kinds] if isinstance(kinds, str) else kinds)
    # What only narrows down, or names its values, needs no type.
    return "" if schema.keys() - {"title", "description"} else "anything"


def _limits(schema: Schema, needed: list[str]) -> list[str]:
    limits = [f"with {', '.join(needed)}"] if needed else []
    for low, high, what in _RANGES:
        match schema.get(low), schema.get(high):
            case None, None:
                continue
            case None, most:
                limits.append(f"at most {most}{what}")
            case least, None:
                limits.append(f"at least {least}{what}")
            case least, most:
                limits.append(f"{least} to {most}{what}")
    for word, value in schema.items():
        if word in _SAID or word in _BOUNDS:
            continue
        if word == "additionalProperties" and isinstance(value, bool):
            limits.append("and any others" if value else "and no others")
        elif word == "pattern":
            limits.append(f"matches {value}")
        else:
            limits.append(f"{word}: {_json(value)}")
    return limits


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
