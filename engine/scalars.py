"""What YAML 1.1 makes of a plain text: a truth, a number, a date, nothing at all, or itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

from engine.nodes import NotJson

# YAML's own ways to recognise and to make a number take much time and memory where the text is long.
LONGEST_NUMBER: Final = 100
_NUMERIC = re.compile(r"[-+]?[0-9][0-9_.:]*")
# Numbers that aren't what they look like to most: 010 is 8, 1:30 is 90, 0x10 is 16, and 1_000 may be meant as text.
_ODD = re.compile(r"[-+]?(?:0[0-9bx_]|.*[:_])")

# By the first character of a plain text: what it may be, and how that looks.
RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = yaml.resolver.Resolver.yaml_implicit_resolvers
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_CONSTRUCTORS: dict[str, Callable[[Any], Any]] = {
    "tag:yaml.org,2002:bool": _CONSTRUCTOR.construct_yaml_bool,
    "tag:yaml.org,2002:int": _CONSTRUCTOR.construct_yaml_int,
    "tag:yaml.org,2002:float": _CONSTRUCTOR.construct_yaml_float,
    "tag:yaml.org,2002:null": lambda node: None,
}


def resolve(text: str) -> Any:
    """What YAML 1.1 makes of a plain text: itself, a bool, an int, a finite float, None, or NotJson.

    A number is one of JSON's where it is written as one, in decimals; any other is NotJson.
    """
    if len(text) > LONGEST_NUMBER:
        return NotJson("a number") if _NUMERIC.fullmatch(text) else text
    for tag, pattern in RESOLVERS.get(text[:1], ()):
        if not pattern.match(text):
            continue
        if tag == "tag:yaml.org,2002:timestamp":
            return NotJson("a date")
        if tag not in _CONSTRUCTORS:
            return text
        try:
            value = _CONSTRUCTORS[tag](yaml.ScalarNode(tag, text))
        except (ValueError, OverflowError):
            return NotJson("a number that can't be read")
        # Only inf and nan differ from 0 when they are taken from themselves.
        if isinstance(value, float) and value - value != 0:
            return NotJson("a number without end")
        odd = type(value) in (int, float) and _ODD.match(text)
        return NotJson(f"the number {value}", value) if odd else value
    return text
