"""The schema with a pack's own names: it proposes them where they fit, takes what the loader takes, and marks what the
loader doesn't know; and the names of a draft."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.build import build, pack_validator
from engine.contract import load_contract
from engine.declared import names_in
from engine.diagnostics import Finding, Report
from engine.editor import part_of, with_names
from engine.encoding import decode
from engine.load import merge, read_unfinished, shipped_packs
from engine.new import EXAMPLE
from engine.nodes import Map
from engine.pack_tests import run_tests
from engine.schema import check
from engine.source import Budget, parse
from engine.unfinished import sections
from tests.test_schema import SCHEMA, inner

PACKS = Path(__file__).parent / "packs"
CONTRACT = load_contract()
TASKS = [task.id for task in CONTRACT.tasks]


def node_of(document: Any) -> Map:
    """The document as the loader has it: read from JSON, which is YAML as well."""
    file = decode("p.yaml", json.dumps(document, ensure_ascii=False).encode(), Report())
    node = parse(file, Budget(), Report()) if file is not None else None
    assert node is not None
    return node


def schema_for(document: Any, *unread: str) -> dict[str, Any]:
    return with_names(SCHEMA, names_in(node_of(document), unread, CONTRACT))


def findings(document: Any) -> tuple[Finding, ...]:
    """What is wrong with a pack: with its structure, its names and its tests."""
    report, node = Report(), node_of(document)
    pack = build(node, CONTRACT, report, check(node, pack_validator(), report))
    return report.findings() if pack is None else tuple(run_tests(pack))


def plain(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    return document


# -- What is proposed, and where

LAMPS = plain(PACKS / "lamps.yaml")
FIELDS, PEOPLE = ["order", "email", "colour"], ["slow"]
# By hand, from tests/packs/lamps.yaml, openenv.yaml and engine/rules.yaml.
OUTCOMES = {
    *(f"ask_info.{name}" for name in "unneeded known answered mistaken stalled refused waived unanswered".split()),
    *(f"classify.{name}" for name in "needless wrong corrected right shown".split()),
    *(f"resolve.{name}" for name in "done mistaken premature unmet".split()),
    *(f"{action}.no_effect" for action in "ask_info classify resolve tell".split()),
    *("tell.done", "tell.idle", "invalid"),
}


def at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """A part of a schema: a section, or `kind` and what is in it."""
    start, *rest = path.split(".")
    part = (
        schema["properties"][start] if start in schema["properties"] and rest[:1] != ["of"] else schema["$defs"][start]
    )
    for step in rest[1:] if rest[:1] == ["of"] else rest:
        part = part["items"] if step == "[]" else part["properties"][step]
    found: dict[str, Any] = part
    return found


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("category.requires.[]", FIELDS),
        ("person.of.fields.[]", FIELDS),
        ("who.[]", PEOPLE),
        ("ticket.task", TASKS),
        ("ticket.category", ["late", "swap"]),
        ("ticket.required.[]", FIELDS),
        ("ticket.optional.[]", FIELDS),
        ("message.known.[]", FIELDS),
        ("turn.gives_wrong.[]", FIELDS),
        ("answer.gives_wrong.[]", FIELDS),
        ("test.ticket", ["t-1", "t-2"]),
        ("expected_names.[]", FIELDS),
        ("expected_names.includes.[]", FIELDS),
    ],
)
def test_a_value_is_one_of_the_names(path: str, names: list[str]) -> None:
    part = at(schema_for(LAMPS), path)
    assert part["enum"] == names
    assert "examples" not in part


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("tasks", TASKS),
        ("rules", ["ask_info", "classify", "resolve", "tell"]),
        ("ticket.known", FIELDS),
        ("ticket.answers", FIELDS),
        ("turn.gives", FIELDS),
        ("answer.gives", FIELDS),
        ("ticket.facts", ["told", "age"]),
        ("ticket.goal", ["told", "age"]),
        ("rule.then.set", ["told", "age"]),
        ("rule.when.facts", ["told", "age"]),
        ("rule_3.when.parameters", ["how"]),
        ("expect.known_info", [*FIELDS, "includes"]),
    ],
)
def test_a_key_is_one_of_the_names(path: str, names: list[str]) -> None:
    part = at(schema_for(LAMPS), path)
    assert list(part["properties"]) == names
    assert part["additionalProperties"] is False


def test_what_is_said_of_a_name_is_the_pack_s() -> None:
    schema = schema_for(LAMPS)
    assert at(schema, "ticket.answers.order") == {
        "title": "order",
        "description": "Order number",
        "$ref": "#/$defs/answer",
    }
    assert at(schema, "rules.tell")["description"] == "Tell what comes next"
    assert at(schema, "tasks.hard-efficient-resolution")["description"] == CONTRACT.tasks[2].description
    assert (at(schema, "ticket.facts.age")["description"], at(schema, "ticket.facts.age")["enum"]) == (
        "'new', 'old'",
        ["new", "old"],
    )
    assert at(schema, "phrases.stall")["description"].startswith("Default: Let me see.")
    assert schema["title"] == "Pack: lamps"


def test_outcomes_phrases_and_actions() -> None:
    schema = schema_for(LAMPS)
    outcome = schema["$defs"]["expected_name"]
    assert set(outcome["items"]["enum"]) == set(outcome["then"]["enum"]) == OUTCOMES
    assert set(at(schema, "expect.outcome")["examples"]) == OUTCOMES
    sayable = set(at(schema, "then_say.phrase")["enum"])
    assert {"idle", "stall", "no_effect", "classify.right", "invalid.action"} <= sayable
    assert "tell.done" not in sayable, "it has no words"
    assert {"idle", "tell.done", "refusal"} <= at(schema, "phrases")["properties"].keys()
    # What is no valid action may be tested as well: these are proposed, and any other is let through.
    do = schema["$defs"]["do"]["properties"]
    assert {name: part["examples"] for name, part in do.items()} == {
        "type": ["ask_info", "classify", "resolve", "tell"],
        "field": FIELDS,
        "category": ["late", "swap"],
        "how": ["mail", "phone"],
    }


def test_a_rule_knows_what_its_action_has_to_do_with() -> None:
    """ask_info asks and doesn't classify; classify the other way round; tell does neither."""
    schema = schema_for(LAMPS)
    whole = set(SCHEMA["$defs"]["rule"]["properties"]["when"]["properties"])
    for number, left_out in enumerate(
        ({"category"}, {"need", "value", "reply"}, *(2 * [{"need", "value", "reply", "category"}]))
    ):
        assert whole - at(schema, f"rule_{number}.when")["properties"].keys() == left_out


def test_what_is_proposed_is_valid_where_it_is_proposed() -> None:
    schema = schema_for(LAMPS)
    for path, part in inner(schema, ""):
        validator = Draft202012Validator({"$defs": schema["$defs"], **part})
        for value in part.get("examples", ()):
            assert validator.is_valid(value), (path, value)


# -- What is let through and what isn't, against the loader


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def slips(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with one value, or one key, that is another: each in turn."""
    for number in range(len(list(places(document)))):
        for other in ("zzz", True, 7):
            changed = copy.deepcopy(document)
            container, key = list(places(changed))[number]
            if not isinstance(container[key], dict | list):
                container[key] = other
                yield changed
        changed = copy.deepcopy(document)
        container, key = list(places(changed))[number]
        if isinstance(container, dict):
            entries = list(container.items())
            container.clear()
            container.update(("zzz" if name == key else name, value) for name, value in entries)
            yield changed


def is_unknown(finding: Finding) -> bool:
    """Whether the loader complains about a name that nobody declared, or a value that something can't have."""
    of_names = finding.code in ("PACK030", "PACK031", "PACK032", "PACK033", "PACK034", "PACK035", "PACK036", "PACK037")
    says = ("unknown ", "rules for the unknown action", "nothing says the phrase")
    said = finding.message.startswith(says) or " can't be " in finding.message
    return of_names and said and "in a template" not in finding.message


@pytest.mark.parametrize("name", ["lamps", "desk"])
def test_the_schema_refuses_unknown_names_and_nothing_that_the_loader_takes(name: str) -> None:
    """What a fact's declaration says of itself is left to the loader: its values are what changes there."""
    taken = refused = 0
    pack = plain(PACKS / f"{name}.yaml")
    for document in slips(pack):
        found = findings(document)
        valid = Draft202012Validator(schema_for(document)).is_valid(document)
        if not found:
            taken += 1
            assert valid, document
        elif any(map(is_unknown, found)) and document.get("facts") == pack.get("facts"):
            refused += 1
            assert not valid, found
    assert taken > 30
    assert refused > 40


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_a_pack_that_ships_is_valid_under_its_own_schema(path: Path) -> None:
    document: dict[str, Any] = {}
    for file in sorted(path.glob("*.yaml")):
        document |= {
            key: document.get(key, []) + value if isinstance(value, list) else value
            for key, value in plain(file).items()
        }
    report = Report()
    found, unread = read_unfinished(path, report)
    assert found is not None
    assert (found, unread, report.findings()) == (document, frozenset(), ())
    schema = with_names(part_of(SCHEMA), names_in(found, unread, CONTRACT))
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(document)


# -- Drafts


def read(text: str) -> tuple[Map, frozenset[str]]:
    """What of a text can be read, and the sections in which there may be more."""
    file = decode("p.yaml", text.encode(), Report())
    assert file is not None
    merged, unread = Map(file, 0), set()
    for name, part, whole in sections(file, Budget()):
        if part is not None:
            merge(merged, part, Report())
        if not whole:
            unread.add(name)
    return merged, frozenset(unread)


DRAFT = """\
pack: draft
fields:
  order: {description: Its number}
  colour
categories: {late: {requires: [order]}
people: {slow: {}}
tickets:
- id: t-1
  category: late
- {id: t-2, messages: [Hi], answers: {order: [}
- id: t-3
tests: # none yet
"""


def test_a_draft_is_read_section_by_section() -> None:
    document, unread = read(DRAFT)
    assert document["pack"] == "draft"
    assert dict(document["fields"]) == {"order": {"description": "Its number"}}
    assert document["people"] == {"slow": {}}
    assert [ticket["id"] for ticket in document["tickets"]] == ["t-1"]
    assert "categories" not in document
    assert unread == {"fields", "categories", "tickets"}


def test_what_could_not_be_read_is_let_through() -> None:
    document, unread = read(DRAFT)
    schema = with_names(SCHEMA, names_in(document, unread, CONTRACT))
    assert at(schema, "ticket.category") == {**SCHEMA["$defs"]["ticket"]["properties"]["category"], "examples": []}
    assert at(schema, "ticket.required.[]") == {"type": "string", "examples": ["order"]}
    assert at(schema, "test.ticket")["examples"] == ["t-1"]
    assert at(schema, "ticket.answers")["additionalProperties"] == {"$ref": "#/$defs/answer"}
    assert at(schema, "who.[]")["enum"] == ["slow"]
    assert at(schema, "ticket.task")["enum"] == TASKS


def test_a_draft_may_hold_any_mistake() -> None:
    """Nothing stands under `colour`, `email` is a list, a ticket is a text, one has no id and an unknown category."""
    document = {
        **LAMPS,
        "fields": {**LAMPS["fields"], "colour": None, "email": [], "size": {"unknown": 1}},
        "facts": {"told": {}, "age": 5, "old": {"values": []}},
        "rules": {"tell": [{"when": {"facts": 3}}, "x", {"outcome": "late"}], "tel": []},
        "tickets": ["x", {"task": "easy"}, {"id": 14}, {"id": "t-9", "category": "lat"}, None],
    }
    schema = schema_for(document)
    assert at(schema, "ticket.required.[]")["enum"] == ["colour", "email", "size", "order"]
    assert set(at(schema, "ticket.facts")["properties"]) == {"told", "age", "old"}
    assert "tell.late" in at(schema, "expect.outcome")["examples"]
    assert at(schema, "test.ticket")["enum"] == ["14", "t-9"], "14 was meant as text"


def test_a_section_of_another_kind_or_name_declares_anything() -> None:
    schema = schema_for({**LAMPS, "fields": ["order"], "people": None, "facts": None})
    assert "enum" not in at(schema, "ticket.required.[]")
    assert "if" not in schema["$defs"]["who"]
    misspelt = {key.replace("categories", "categoris"): value for key, value in LAMPS.items()}
    assert "enum" not in at(schema_for(misspelt), "ticket.category")


@pytest.mark.parametrize("cut", range(0, len(EXAMPLE), 23))
def test_a_draft_is_read_wherever_it_ends(cut: int) -> None:
    """What stands whole before the last line is known."""
    document, unread = read(EXAMPLE[:cut])
    before = EXAMPLE[:cut].rpartition("\n")[0]
    whole = yaml.safe_load(before[: before.rfind("\n\n")]) or {}
    names = names_in(document, unread, CONTRACT)
    assert names.fields.keys() >= (whole.get("fields") or {}).keys()
    assert names.categories.keys() >= (whole.get("categories") or {}).keys()
    assert set(names.tickets) >= {ticket["id"] for ticket in whole.get("tickets") or ()}
    assert with_names(SCHEMA, names)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from("{}[]:#-*&!|>'\"%@`, \n\té")),
        min_size=1,
        max_size=5,
    )
)
def test_no_text_makes_it_fail(edits: list[tuple[float, int, str]]) -> None:
    text = EXAMPLE
    for where, length, fragment in edits:
        start = int(where * len(text))
        text = text[:start] + fragment + text[start + length :]
    document, unread = read(text)
    assert with_names(SCHEMA, names_in(document, unread, CONTRACT))["$defs"]


def test_of_a_folder_the_files_that_can_be_read_are(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text("pack: p\nfields: {a: {}}\n", "utf-8")
    (tmp_path / "tickets.yaml").write_text("tickets:\n- id: t-1\n- id: [\n", "utf-8")
    document, unread = read_unfinished(tmp_path, Report())
    assert document is not None
    assert (document["fields"], document["tickets"]) == ({"a": {}}, [{"id": "t-1"}])
    assert unread == {"tickets"}
    (tmp_path / "more.yaml").write_bytes(b"fields: {b: {}}\n\xff")
    document, unread = read_unfinished(tmp_path, Report())
    assert document is not None
    assert document["fields"] == {"a": {}}
    assert unread == SCHEMA["properties"].keys(), "anything may stand in the file that can't be read"
