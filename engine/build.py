"""A valid document, the contract and the default rules, made into a Pack."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jsonschema.protocols import Validator

from engine.build_actions import ActionBuilder, word_lengths
from engine.build_tests import build_tests
from engine.build_tickets import TicketBuilder
from engine.checks import TicketCheck
from engine.contract import Contract, TaskSpec, exact
from engine.contradictions import check_contradictions
from engine.diagnostics import PackError, Report
from engine.instructions import default_instructions
from engine.nodes import Map, entries, items, string
from engine.pack import REWARD_UNIT, Demands, Grader, Pack, Rewards, Task
from engine.schema import Refused, check, read_schema, validator_of
from engine.source import Budget, open_file, parse
from engine.values import ValueCheck
from engine.vocabulary import Vocabulary, listed

_HERE = Path(__file__).parent
_DEFAULTED = ("tasks", "rewards", "actions", "rules", "phrases")


@cache
def pack_schema() -> dict[str, Any]:
    """The JSON Schema of a pack, references resolved."""
    return read_schema(_HERE / "pack.schema.json")


@cache
def pack_validator() -> Validator:
    return validator_of(pack_schema())


@cache
def default_rules() -> Map:
    """rules.yaml: the default tasks, rewards, actions, rules and phrases.

    Raises:
        PackError: it can't be read, or isn't in the language of packs.
    """
    report, budget = Report(), Budget()
    file = open_file(_HERE / "rules.yaml", budget, report)
    document = parse(file, budget, report) if file is not None else None
    if document is not None:
        properties = {name: pack_schema()["properties"][name] for name in _DEFAULTED}
        schema = {"type": "object", "properties": properties, "required": [*_DEFAULTED], "additionalProperties": False}
        check(document, validator_of(schema), report)
    if document is None or report:
        raise PackError(report.findings())
    return document


def build(document: Map, contract: Contract, report: Report, refused: Refused) -> Pack | None:
    """The pack that a document describes; None, and findings, where something in it doesn't fit.

    `refused` is what the schema took out of it: nothing is said that may follow from that.
    """
    if report.full:
        return None
    defaults = default_rules()
    vocabulary = Vocabulary(document, contract, contract_fields(contract, defaults), refused, report)
    tasks = _tasks(document, defaults, contract, report)
    max_steps = document.get("max_steps", contract.max_steps)
    rewards = _rewards(document, defaults, contract, max_steps, report)
    builder = ActionBuilder(document, defaults, vocabulary)
    actions = builder.actions(contract.actions)
    tickets, sound = TicketBuilder(vocabulary).build(items(document, "tickets"))
    values = ValueCheck(vocabulary.fields, entries(document, "fields"), report)
    values.check_samples(refused.names("fields"))
    if not refused.sections & {"fields", "categories", "people"}:
        checks = TicketCheck(vocabulary, values, builder.said)
        for ticket, node, spot in sound:
            checks.check(ticket, node, spot)
            check_contradictions(ticket, node, vocabulary.fields, report)
        checks.check_lengths(word_lengths(actions, vocabulary))
    tests = build_tests(document, vocabulary, tickets)
    if report:
        return None
    description = string(document, "description")
    instructions = default_instructions(
        description, vocabulary.fields.values(), vocabulary.categories.values(), actions.values()
    )
    return Pack(
        name=document["pack"],
        version=document["version"],
        language=document.get("language", "en"),
        description=description,
        digest=_digest(document, contract, defaults, tasks, int(max_steps), rewards),
        instructions=document.get("instructions", instructions),
        max_steps=int(max_steps),
        rewards=rewards,
        fields=MappingProxyType(vocabulary.fields),
        categories=MappingProxyType(vocabulary.categories),
        people=MappingProxyType(vocabulary.people),
        noise=vocabulary.noise,
        facts=MappingProxyType(vocabulary.facts),
        actions=MappingProxyType(actions),
        tasks=MappingProxyType(tasks),
        phrases=MappingProxyType(builder.phrases),
        tickets=MappingProxyType(tickets),
        tests=tests,
        demands=_demands(document),
        source=_canonical(_in_order(document)),
        place=document.value_spot("pack").place,
        max_steps_place=document.value_spot("max_steps").place if "max_steps" in document else None,
    )


def contract_fields(contract: Contract, defaults: Map) -> list[str]:
    """The fields that the contract's asking action lists."""
    bindings = entries(defaults, "actions")
    for action in contract.actions:
        asks = string(entries(bindings, action.name), "asks")
        if asks in action.parameters:
            return list(action.parameters[asks].get("enum", ()))
    return []


def _tasks(document: Map, defaults: Map, contract: Contract, report: Report) -> dict[str, Task]:
    """The contract's tasks, each as rules.yaml and then the pack have it; desk and always where neither does."""
    own = entries(document, "tasks")
    ids = [spec.id for spec in contract.tasks]
    for name in own:
        if name not in ids:
            message = f"unknown task '{name}'"
            report.add("PACK032", own.key_spot(name), message, expected=listed(ids), meant=(name, ids))
    default = entries(defaults, "tasks")
    return {
        spec.id: _task(spec, {**entries(default, spec.id), **entries(own, spec.id)}, contract, report)
        for spec in contract.tasks
    }


def _task(spec: TaskSpec, settings: Mapping[str, Any], contract: Contract, report: Report) -> Task:
    grader = _grader(spec, contract, report)
    classifier, required = settings.get("classifier", "desk"), settings.get("required", "always")
    return Task(spec.id, spec.description, spec.difficulty, grader, classifier, required)


def _grader(spec: TaskSpec, contract: Contract, report: Report) -> Grader:
    module, _, name = spec.grader.rpartition(".")
    problem = "there is no such function"
    try:
        grader = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        grader, problem = None, str(error)
    if callable(grader):
        problem = _grader_problem(grader)
        if not problem:
            found: Grader = grader
            return found
    raw = contract.raw
    node = next(task for task in items(raw, "tasks") if task["id"] == spec.id) if isinstance(raw, Map) else None
    if node is not None:
        report.add("PACK051", node.value_spot("grader"), f"the grader '{spec.grader}' can't be used: {problem}")
    return float


def _grader_problem(grader: Callable[..., Any]) -> str:
    """What is wrong with a grader, tried on a record that shows nothing; empty where it is fine."""
    try:
        score = grader({})
    except Exception as error:
        return f"it raised {type(error).__name__} for an empty record"
    return "" if isinstance(score, float) and 0.0 <= score <= 1.0 else "it gave no float in [0, 1] for an empty record"


def _rewards(document: Map, defaults: Map, contract: Contract, max_steps: Any, report: Report) -> Rewards:
    own = entries(document, "rewards")
    parts: dict[str, int] = {}
    for name in ("fields", "classification", "waste"):
        value = own.get(name, entries(defaults, "rewards").get(name))
        scaled = exact(value) if isinstance(value, int | float) else None
        if scaled is None and name in own:
            report.add("PACK049", own.value_spot(name), f"{value} is not a whole number of ten-thousandths")
        if scaled is not None:
            parts[name] = scaled
    steps = int(max_steps) if isinstance(max_steps, int | float) and max_steps >= 1 else contract.max_steps
    # Rounded towards zero, so that max_steps wasted steps never cost more than the range's minimum.
    waste = parts.get("waste", -(-contract.reward_minimum // steps))
    rewards = Rewards(
        parts.get("fields", 0), parts.get("classification", 0), waste, contract.reward_minimum, contract.reward_maximum
    )
    place = own.spot if own else document.spot
    if rewards.fields + rewards.classification > rewards.maximum:
        most = rewards.maximum / REWARD_UNIT
        report.add("PACK049", place, f"fields and classification together are more than the range's maximum, {most}")
    if rewards.waste * steps < rewards.minimum:
        least = rewards.minimum / REWARD_UNIT
        report.add("PACK049", place, f"{steps} wasted steps cost more than the range's minimum, {least}")
    return rewards


def _demands(document: Map) -> Demands:
    """What the pack asks of the checks of its proof."""
    asked = {code: entries(entries(document, "proof"), code) for code in entries(document, "proof")}
    margins = {code: Fraction(str(each["margin"])) for code, each in asked.items() if "margin" in each}
    severities = {code: each["severity"] for code, each in asked.items() if "severity" in each}
    return Demands(MappingProxyType(margins), MappingProxyType(severities))


def _digest(
    document: Map, contract: Contract, defaults: Map, tasks: Mapping[str, Task], max_steps: int, rewards: Rewards
) -> str:
    """SHA-256 of everything that decides how the pack behaves, in the order written. Where it was written, in how many
    files and with which comments doesn't count."""
    specs = {spec.id: spec.grader for spec in contract.tasks}
    whole = {
        "document": _in_order(document),
        "max_steps": max_steps,
        "rewards": [rewards.fields, rewards.classification, rewards.waste, rewards.minimum, rewards.maximum],
        "tasks": [[t.id, t.description, t.difficulty, specs[t.id], t.classifier, t.required] for t in tasks.values()],
        "actions": [[spec.name, spec.description, spec.parameters] for spec in contract.actions],
        "defaults": {key: defaults[key] for key in ("actions", "rules", "phrases")},
    }
    return hashlib.sha256(_canonical(whole).encode()).hexdigest()


def _in_order(document: Map) -> dict[str, Any]:
    """The document's sections in the schema's order, whatever order they were written in."""
    return {key: document[key] for key in pack_schema()["properties"] if key in document}


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
