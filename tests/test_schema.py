"""The pack's JSON Schema, as editors read it: it explains every key, and what it says of defaults is so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields as parts_of
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from engine.build import build, pack_validator
from engine.cli import MAX_SEED
from engine.contract import load_contract
from engine.diagnostics import Report, render
from engine.editor import part_of
from engine.lints.lint import GRADED
from engine.nodes import File, Map, placeless
from engine.proof.result import KINDS
from engine.schema import check

ROOT = Path(__file__).resolve().parent.parent
SCHEMA: dict[str, Any] = json.loads((ROOT / "engine" / "pack.schema.json").read_text("utf-8"))
CONTRACT = load_contract()
Part = tuple[str, dict[str, Any]]


def inner(part: Any, path: str, named: bool = False) -> Iterator[Part]:
    """Every schema inside one, by its path; `named` says that `part` holds schemas by name and is none itself."""
    if isinstance(part, list):
        for index, each in enumerate(part):
            yield from inner(each, f"{path}/{index}")
    elif isinstance(part, dict):
        if not named:
            yield path, part
        for key, each in part.items():
            if named or key not in ("examples", "default", "enum", "const"):
                yield from inner(each, f"{path}/{key}", not named and key in ("properties", "$defs"))


def resolved(part: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with what it refers to; what stands beside the reference comes first, as editors have it."""
    kind = SCHEMA["$defs"][part["$ref"].removeprefix("#/$defs/")] if "$ref" in part else {}
    return {**kind, **part}


PARTS = dict(inner(SCHEMA, ""))
KEYS = {
    f"{path}/{name}": resolved(each)
    for path, part in PARTS.items()
    for name, each in part.get("properties", {}).items()
}


def test_the_schema_is_one_and_knows_no_alternatives(root: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for path, part in PARTS.items():
        assert not part.keys() & {"anyOf", "oneOf"}, path
    pack = (root / "tests" / "packs" / "lamps.yaml").read_text("utf-8")
    assert Draft202012Validator(SCHEMA).is_valid(yaml.load(pack, yaml.CSafeLoader))


@pytest.mark.parametrize("path", KEYS)
def test_a_key_is_explained(path: str) -> None:
    for word in ("title", "description"):
        text = KEYS[path].get(word, "")
        assert re.match(r"\S.*\S$", text), f"{word} of {path}"
        assert not text.endswith("."), "the words stand alone, as a heading and a line do"
    assert KEYS[path]["title"] != KEYS[path]["description"]


@pytest.mark.parametrize("path", [path for path, part in PARTS.items() if part.keys() & {"examples", "default"}])
def test_examples_and_defaults_are_valid_where_they_stand(path: str) -> None:
    part = PARTS[path]
    validator = Draft202012Validator({"$defs": SCHEMA["$defs"], **part})
    for value in [*part.get("examples", ()), *([part["default"]] if "default" in part else [])]:
        assert validator.is_valid(value), value
        # Of a mapping that is proposed editors show no more than that it is one.
        assert not isinstance(value, dict), value


def test_the_contract_s_names_are_the_contract_s() -> None:
    assert SCHEMA["$defs"]["ticket"]["properties"]["task"]["examples"] == [task.id for task in CONTRACT.tasks]
    assert SCHEMA["$defs"]["do"]["properties"]["type"]["examples"] == [action.name for action in CONTRACT.actions]


def test_a_part_of_a_pack_may_hold_what_a_pack_may(root: Path) -> None:
    """engine/part.schema.json refers to the whole, for the packs that ship: it lacks no section, and requires none."""
    part = json.loads((root / "engine" / "part.schema.json").read_text("utf-8"))
    sections = part.pop("properties")
    assert sections == {name: {"$ref": f"pack.schema.json#/properties/{name}"} for name in SCHEMA["properties"]}
    without = {key: value for key, value in part_of(SCHEMA).items() if key not in ("properties", "$defs")}
    assert part == without
    assert "required" not in part


# -- Defaults: what the schema says, what docs/packs.md says, and what is so

DEFAULTS = {
    path.replace("/properties", "").removeprefix("/").removeprefix("$defs/").replace("/", "."): part["default"]
    for path, part in PARTS.items()
    if "default" in part
}
# How descriptions and the page write what isn't a value.
WORDS: Mapping[str, Any] = {"none": [], "nobody in particular": []}


def test_what_a_description_says_of_a_default_is_so() -> None:
    said = 0
    for path, part in PARTS.items():
        words = re.search(r"Default: (.*)$", resolved(part).get("description", ""))
        if words is not None and "default" in part:
            said += 1
            value = WORDS[words[1]] if words[1] in WORDS else yaml.safe_load(words[1])
            assert (type(value), value) == (type(part["default"]), part["default"]), path
    assert said == len(DEFAULTS)


def test_the_page_lists_all_defaults(root: Path) -> None:
    page = (root / "docs" / "packs.md").read_text("utf-8")
    table = re.search(r"(?ms)^## Defaults$.*?^\|---\|---\|\n(.*?)\n\n", page)
    assert table is not None
    listed: dict[str, Any] = {}
    for row in table[1].splitlines():
        keys, value = (cell.strip() for cell in row.strip("|").split("|"))
        listed |= dict.fromkeys(re.findall(r"`([^`]+)`", keys), yaml.safe_load(value.strip("`")))
    assert listed == DEFAULTS


def test_what_the_page_says_elsewhere_of_a_default_is_so(root: Path) -> None:
    """A row of one of its tables that ends with `default`, and a number."""
    page = (root / "docs" / "packs.md").read_text("utf-8")
    found = re.findall(r"(?m)^\| `(\w+)` \|.*[;:] default ([0-9.]+) \|$", page)
    assert len(found) >= 2
    for key, value in found:
        named = {str(default) for path, default in DEFAULTS.items() if path.split(".")[-1] == key}
        assert named == {value}, key
    assert re.search(r"(?m)^language: en +# default: en$", page)
    assert DEFAULTS["language"] == "en"


def test_checks_and_lints_are_as_grave_and_margins_as_wide_as_it_says() -> None:
    proof = SCHEMA["properties"]["proof"]["properties"]
    assert {KINDS[code].severity for code in proof} == {DEFAULTS["severity"]}
    margins = {code: margin for code in proof if (margin := KINDS[code].margin) is not None}
    assert margins == {code: DEFAULTS[f"proof.{code}.margin"] for code in ("P04", "P07")}
    assert {DEFAULTS["lint"]} == {"warning"}
    assert set(GRADED) == SCHEMA["properties"]["lints"]["properties"].keys()


def test_a_seed_is_one_that_the_command_line_and_the_server_take() -> None:
    test = SCHEMA["$defs"]["test"]["properties"]
    seeds = test["seeds"]["properties"]
    every = (test["seed"], test["seeds"]["items"], seeds["from"], seeds["to"])
    assert {(one["minimum"], one["maximum"]) for one in every} == {(0, MAX_SEED)}


# A pack that writes no default anywhere.
BARE = """
pack: bare
version: 1.0.0
fields: {order: {sample: 'L-###'}, colour: {sample: [red]}}
categories: {late: {}, swap: {requires: [colour]}}
people: {slow: {}, loud: {noise: {}}}
noise: {}
rewards: {}
facts: {told: {values: [false, true]}}
actions:
  tell: {parameters: {how: {enum: [mail, phone]}}}
rules:
  tell: [{outcome: done, then: {say: Told.}}]
tickets:
  - {id: t-1, task: easy-info-collection, category: swap, messages: [Hi]}
tests:
  - {name: one, ticket: t-1, steps: [{do: {type: classify}}]}
"""
# Where each default is left out in it, and a value that makes another pack of it; None: no other is valid there.
PLACES: Mapping[str, tuple[tuple[str | int, ...], Any]] = {
    "language": ((), "de"),
    "person": ((), ["slow"]),
    "rewards.fields": (("rewards",), 0.25),
    "rewards.classification": (("rewards",), 0.25),
    "category.requires": (("categories", "late"), ["order"]),
    "person.stalls": (("people", "slow"), 1),
    "person.refuses": (("people", "slow"), 1),
    "noise.before": (("people", "loud", "noise"), ["Hm."]),
    "noise.after": (("noise",), ["Hm."]),
    "noise.one_in": (("noise",), 2),
    "parameter.type": (("actions", "tell", "parameters", "how"), None),
    "parameter.required": (("actions", "tell", "parameters", "how"), False),
    "action.speaker": (("actions", "tell"), "customer"),
    "ticket.optional": (("tickets", 0), ["order"]),
    "test.seed": (("tests", 0), 1),
}


def content(path: str = "", value: Any = None) -> dict[str, str]:
    """All that the bare pack is, but for how it was written; with a value at the place of a default."""
    document = yaml.safe_load(BARE)
    if path:
        holder = document
        for step in PLACES[path][0]:
            holder = holder[step]
        key = path.rpartition(".")[2]
        assert key not in holder
        holder[key] = value
    report, node = Report(), placeless(document, File("bare", ""))
    assert isinstance(node, Map)
    pack = build(node, CONTRACT, report, check(node, pack_validator(), report))
    assert pack is not None, "\n".join(map(render, report.findings()))
    names = {part.name for part in parts_of(pack)} - {"digest", "source", "place", "kept"}
    return {name: repr(getattr(pack, name)) for name in names}


@pytest.mark.parametrize("path", PLACES)
def test_a_default_is_what_is_so_where_the_key_is_left_out(path: str) -> None:
    assert content(path, DEFAULTS[path]) == content()
    other = PLACES[path][1]
    assert other is None or content(path, other) != content()


def test_all_defaults_are_tried() -> None:
    elsewhere = {"severity", "lint", "proof.P04.margin", "proof.P07.margin"}
    assert PLACES.keys() == DEFAULTS.keys() - elsewhere
