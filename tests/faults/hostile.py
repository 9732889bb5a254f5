"""What a stranger may write: values, and edits of documents and of texts, for hypothesis to choose from."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

# What a JSON document may hold where it shouldn't; some is only JSON for readers that are too kind.
SCALARS: list[Any] = [
    None, True, False, 0, -1, 1, 7.0, 0.1, -0.0, 1e308, float("nan"), float("inf"),
    2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**80, 10**400,
    "", " ", "\0", "\n", "\r\n", "\x1b[2J", "\u202e", "\ud800", "\ufeff", "é", "e\u0301", "\U0001f600", "x" * 300,
    "null", "NaN", "-1", "0x10", "1_000", "(" * 2_000, "__proto__", "__class__", "constructor", "a/b", "%2e%2e",
    "{{ order }}", "{{ ((((order)))) }}", "{% raw %}", "${7*7}", "<script>", "' OR 1=1 --", "*", "~1~0", "#", "../",
]  # fmt: skip


def one_of(texts: Sequence[str]) -> st.SearchStrategy[str]:
    """As `sampled_from`, but for texts that are too long to be shown whenever hypothesis shows its strategies."""
    return st.integers(0, len(texts) - 1).map(texts.__getitem__)


TEXTS = st.text(max_size=8) | one_of([one for one in SCALARS if isinstance(one, str)])
VALUES = st.recursive(
    st.sampled_from(SCALARS) | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


class Change(NamedTuple):
    """An edit of a document: what is done, at which of its places, and with which value."""

    kind: str
    where: int
    value: Any


CHANGES = st.builds(
    Change,
    st.sampled_from(["replace", "replace", "remove", "rename", "add", "twice", "deepen", "swap"]),
    st.integers(0, 10_000),
    VALUES,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a document with every key or index in it."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def changed(document: Any, changes: list[Change]) -> Any:
    """A copy of a document with each of the changes made in turn."""
    document = copy.deepcopy(document)
    for change in changes:
        every = list(places(document))
        if not every:
            return change.value
        _make(change, *every[change.where % len(every)], every)
    return document


def _make(change: Change, container: Any, key: Any, every: list[tuple[Any, Any]]) -> None:
    name = change.value if isinstance(change.value, str) else str(change.value)
    if change.kind == "remove":
        del container[key]
    elif change.kind == "rename" and isinstance(container, dict):
        container[name] = container.pop(key)
    elif change.kind == "add" and isinstance(container, dict):
        container[name] = change.value
    elif change.kind == "twice" and isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif change.kind == "deepen":
        for _ in range(change.where % 120):
            container[key] = [container[key]] if change.where % 2 else {name: container[key]}
    elif change.kind == "swap":
        other, there = every[change.where // 2 % len(every)]
        container[key], other[there] = copy.deepcopy(other[there]), copy.deepcopy(container[key])
    else:
        container[key] = change.value


class Edit(NamedTuple):
    """An edit of a text: what is done, where in the text (0 to 1), how far, and which piece is put in."""

    kind: str
    where: float
    far: int
    piece: str


def edits(pieces: list[str]) -> st.SearchStrategy[Edit]:
    kinds = [
        "insert",
        "insert",
        "overwrite",
        "value",
        "cut",
        "drop line",
        "repeat line",
        "swap lines",
        "indent",
        "letter",
        "bracket",
    ]
    return st.builds(Edit, st.sampled_from(kinds), st.floats(0, 1), st.integers(0, 40), one_of(pieces))


def edited(text: str, made: list[Edit]) -> str:
    """The text after each of the edits in turn."""
    for edit in made:
        text = _in_lines(text, edit) if edit.kind in _OF_LINES else _inside(text, edit)
    return text


_OF_LINES = ("drop line", "repeat line", "swap lines", "indent")


def _in_lines(text: str, edit: Edit) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = int(edit.where * (len(lines) - 1))
    other = (at + edit.far) % len(lines)
    if edit.kind == "drop line":
        del lines[at]
    elif edit.kind == "repeat line":
        lines.insert(at, lines[at])
    elif edit.kind == "swap lines":
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = " " * (edit.far % 7) + (lines[at].lstrip(" ") if edit.far % 2 else lines[at])
    return "".join(lines)


def _inside(text: str, edit: Edit) -> str:
    at = int(edit.where * len(text))
    if edit.kind == "overwrite":
        return text[:at] + edit.piece + text[at + edit.far :]
    if edit.kind == "cut":
        return text[:at]
    if edit.kind == "letter":  # a name that isn't quite what it was
        return text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :]
    if edit.kind == "value":  # the next scalar after a colon
        found = re.compile(r"(?<=: )[^\n,\]}]+|(?<=:)\"[^\"]*\"|(?<=:)\w+").search(text, at)
        return text if found is None else text[: found.start()] + edit.piece + text[found.end() :]
    if edit.kind == "bracket":
        found = re.compile(r"[][{}\"']").search(text, at)
        return text if found is None else text[: found.start()] + text[found.end() :]
    return text[:at] + edit.piece + text[at:]


def as_json(document: Any) -> str:
    """As the kindest of writers would: NaN, halves of surrogate pairs and all."""
    return json.dumps(document, ensure_ascii=True)
