"""Where a run isn't what playing it again gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from engine.evaluation.agents import shortened
from engine.evaluation.record import Key

# What stands where one of the two has no such member.
_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a file of a run, named as from its folder. `text` is a sentence without its end.

    `line` counts from 1, `step` too; `key` is the episode's, `field` the member's name or path. `written` and `again`
    are JSON values as text, what stands there and what it ought to be. Each is None where there is none.
    """

    file: str
    text: str
    line: int | None = None
    key: Key | None = None
    step: int | None = None
    field: str | None = None
    written: str | None = None
    again: str | None = None


@dataclass(frozen=True, slots=True)
class Apart:
    """A member that has two values, as JSON texts; `step` where it is a list that has one of everything for each."""

    field: str
    step: int | None
    written: str
    again: str

    @property
    def text(self) -> str:
        where = f"step {self.step}, {self.field}" if self.step is not None else self.field
        return f"{where}: {shortened(self.written)} is written, {shortened(self.again)} comes of it"


def apart(written: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[Apart]:
    """The members of two flat documents that differ; of a list its first item that does."""
    for name in dict.fromkeys((*again, *written)):
        one, other = _member(written, name), _member(again, name)
        if one == other:
            continue
        items, others = written.get(name), again.get(name)
        if isinstance(items, list) and isinstance(others, list):
            pairs = zip_longest(map(as_text, items), map(as_text, others), fillvalue=_NOTHING)
            step, (one, other) = next((at, pair) for at, pair in enumerate(pairs, 1) if pair[0] != pair[1])
            yield Apart(name, step, one, other)
        else:
            yield Apart(name, None, one, other)


def first_apart(written: Any, again: Any, path: str = "") -> Apart | None:
    """The first place where two nested documents differ; None where they don't."""
    if isinstance(written, dict) and isinstance(again, dict):
        for name in dict.fromkeys((*again, *written)):
            inner = f"{path}.{name}" if path else name
            if name not in written or name not in again:
                return Apart(inner, None, _member(written, name), _member(again, name))
            below = first_apart(written[name], again[name], inner)
            if below is not None:
                return below
        return None
    if isinstance(written, list) and isinstance(again, list) and len(written) == len(again):
        each = (first_apart(*pair, f"{path}[{at}]") for at, pair in enumerate(zip(written, again, strict=True)))
        return next((found for found in each if found is not None), None)
    one, other = as_text(written), as_text(again)
    return Apart(path, None, one, other) if one != other else None


def as_text(value: Any) -> str:
    """A value as JSON: what is the same there is the same, and 1 isn't 1.0."""
    return json.dumps(value, ensure_ascii=False)


def _member(document: Mapping[str, Any], name: str) -> str:
    return as_text(document[name]) if name in document else _NOTHING
