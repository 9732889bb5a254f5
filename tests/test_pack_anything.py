"""Whatever stands in a pack, the loader finds what is wrong with it and never fails itself."""

from __future__ import annotations

import copy
import datetime as dt
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.build import build, pack_validator
from engine.contract import load_contract
from engine.diagnostics import CODES, Report, render
from engine.encoding import decode
from engine.schema import check
from engine.scripted import check_tests
from engine.source import Budget, parse

CONTRACT = load_contract()
BASE = (Path(__file__).parent / "packs" / "lamps.yaml").read_text(encoding="utf-8")

MARKS = "{ } [ ] : # - * & ! | > ' \" % @ ` , ? \\ é 中 ~ 7 no {{ }} --- <<: 2022-01-01 0x1"
FRAGMENTS = [*MARKS.split(" "), "\t", "\n", "\r", "\x00", "\x85", "\u2028", "\ufeff", " ", "\n  ", " #x", "- ", ": "]
# A value of every kind, some of them as deep as what they may stand for.
VALUES: list[Any] = [
    None, True, 0, -1, 2.5, 10**80, "", "x", dt.date(2022, 8, 1), float("inf"), [], {}, [None], [1], ["x"], [[]],
    [["x"]], [{}], {"a": 1}, {"a": "b"}, {"a": {}}, {"a": []}, {"forgetful": 1}, {"template": 5}, {"say": []},
    {"type": ["string"]},
]  # fmt: skip
# In a soak every value stands at every place; otherwise each at every fourth, others at the places between.
SOME = 1 if os.environ.get("SOAK") else 4
# All that a pack may hold and BASE doesn't.
MORE = """
language: en
max_steps: 10
rewards: {fields: 0.5, classification: 0.5, waste: -0.1}
tasks: {easy-info-collection: {classifier: agent, required: always}}
instructions: Be kind.
"""


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60), st.sampled_from(FRAGMENTS)), min_size=1, max_size=4))
def test_no_text_makes_the_loader_fail(edits: list[tuple[float, int, str]]) -> None:
    text = BASE
    for where, length, fragment in edits:
        start = int(where * len(text))
        text = text[:start] + fragment + text[start + length % 7 * length :]
    report_is_sound(text)


def full_document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(BASE + MORE, yaml.CSafeLoader)
    document["people"]["slow"]["says"].append({"template": "{{ order }}?"})
    document["fields"]["email"]["sample"] = ["a@example.org", "b@example.org"]
    document["fields"]["colour"]["schema"] |= {"type": "string", "const": "dark green", "minLength": 1, "maxLength": 99}
    document["actions"]["tell"] |= {"asks": "what", "classifies": "pile", "speaker": "desk"}
    document["actions"]["tell"]["parameters"]["how"] |= {"type": "string", "required": True}
    when = {"reply": ["stall"], "need": {"not": {"enum": ["none"]}}, "missing": {"minimum": 1}, "wrong": 0}
    document["rules"]["tell"][0]["when"] |= when
    first, second = document["tickets"]
    first |= {"person": ["slow"], "split": "train", "required": ["email"], "known": {"email": {"template": "a@b"}}}
    second["answers"]["colour"][0] |= {"gives": {"order": "L-001"}, "gives_wrong": ["order"]}
    second["messages"].append({"text": "Hm.", "known": ["colour"]})
    document["tests"][0]["final"] = {"return": 0.5, "required": ["colour"]}
    inner = {"order": {"template": "{{ order }}"}, "email": {"includes": "@"}}
    each = {
        "says": ["a", {"template": "b"}],
        "known_info": {"includes": inner},
        "reward": {"minimum": 0},
        "error": None,
    }
    after = {"history": {"includes": [{"role": "desk", "text": "x"}]}, "missing_required": {"includes": ["email"]}}
    steps = [
        {"any_order": [{"do": {"type": "classify"}, "expect": each}, {"do": {"type": "resolve"}}], "expect": after}
    ]
    for name, seeds in (("several", [1, 2]), ("from to", {"from": 0, "to": 9})):
        document["tests"].append({"name": name, "ticket": "t-1", "seeds": seeds, "steps": steps})
    return document


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(VALUES)), ids=[repr(value) for value in VALUES])
def test_no_value_of_any_kind_anywhere_makes_the_loader_fail(number: int) -> None:
    whole, value = full_document(), VALUES[number]
    for container, key in [*inner_places(whole)][number % SOME :: SOME]:
        kept = container[key]
        container[key] = copy.deepcopy(value)
        report_is_sound(written(whole))
        container[key] = kept


def test_nothing_that_is_left_out_makes_the_loader_fail() -> None:
    for number in range(len(list(inner_places(full_document())))):
        document = full_document()
        container, key = list(inner_places(document))[number]
        del container[key]
        report_is_sound(written(document))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(VALUES)), min_size=2, max_size=4))
def test_no_document_makes_the_loader_fail(edits: list[tuple[int, Any]]) -> None:
    document = full_document()
    for where, value in edits:
        places = list(inner_places(document))
        container, key = places[where % len(places)]
        container[key] = copy.deepcopy(value)
    report_is_sound(written(document))


def written(document: Any) -> str:
    """As JSON, which is YAML as well and much faster to write; dates and infinite numbers as YAML has them."""
    text = json.dumps(document, ensure_ascii=False, default=lambda day: f"\0{day}")
    return re.sub(r'"\\u0000(.*?)"', r"\1", text).replace("Infinity", ".inf")


def inner_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key or index in it."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from inner_places(value[key])


def report_is_sound(text: str) -> None:
    """Reads and builds a pack, and looks at what is found on the way."""
    report, pack = Report(), None
    file = decode("p.yaml", text.encode(), report)
    document = parse(file, Budget(), report) if file is not None else None
    if document is not None:
        pack = build(document, CONTRACT, report, check(document, pack_validator(), report))
    if pack is not None and document is not None:
        check_tests(pack, document, report)
        pack = None if report else pack
    found = report.findings()
    assert (pack is None) == bool(found)
    for finding in found:
        assert finding.code in CODES
        assert finding.place.line >= 1
        assert finding.place.column >= 1
        assert render(finding)
