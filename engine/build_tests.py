"""A pack's own tests: the ticket that each plays, its steps, and what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.contract import Contract
from engine.diagnostics import Report
from engine.nodes import Map, NotJson, Seq, Spot, entries, items, reading, string
from engine.pack import ScriptedStep, ScriptedTest, Ticket
from engine.schema import Refused
from engine.vocabulary import listed

# What a test may expect besides the observation's keys.
EXPECTED = ("outcome", "reward", "says", "done", "terminated", "truncated")
EXPECTED_AT_THE_END = (*EXPECTED, "return", "score")


def build_tests(
    document: Map, contract: Contract, tickets: Mapping[str, Ticket], refused: Refused, report: Report
) -> tuple[ScriptedTest, ...]:
    """The tests, with findings about the tickets that they name and the keys that they expect."""
    keys = tuple(contract.observation_space.get("properties", ()))
    nodes = items(document, "tests")
    tests = []
    first: dict[str, Spot] = {}
    for index, node in enumerate(nodes):
        if not isinstance(node, Map):
            continue
        name, ticket = string(node, "name"), string(node, "ticket")
        spot = nodes.item_spot(index)
        if "ticket" in node and ticket not in tickets and "tickets" not in refused.sections:
            where = node.value_spot("ticket")
            report.add(
                "PACK037", where, f"unknown ticket '{ticket}'", expected=listed(tickets), meant=(ticket, tickets)
            )
        if name in first:
            report.add("PACK040", spot, f"test name '{name}' is taken (first at line {first[name].place.line})")
        first.setdefault(name, spot)
        steps = []
        step_nodes = items(node, "steps")
        for number, step in enumerate(step_nodes):
            if isinstance(step, Map):
                expected = _expected(step, "expect", (*EXPECTED, *keys), report)
                do, place = _json(entries(step, "do"), step.spot, report), step_nodes.item_spot(number).place
                steps.append(ScriptedStep(do, expected, place))
        final = _expected(node, "final", (*EXPECTED_AT_THE_END, *keys), report)
        tests.append(ScriptedTest(name, ticket, int(node.get("seed", 0)), tuple(steps), final, spot.place))
    return tuple(tests)


def _expected(node: Map, key: str, known: tuple[str, ...], report: Report) -> Mapping[str, Any]:
    expected = entries(node, key)
    for name in expected:
        if name not in known:
            message = f"'{name}' is nothing that can be expected here"
            report.add("PACK022", expected.key_spot(name), message, expected=", ".join(known), meant=(name, known))
    result: Mapping[str, Any] = _json(expected, expected.spot, report)
    return result


def _json(value: Any, spot: Spot, report: Report) -> Any:
    """A value of any kind as plain JSON; what YAML makes of it that JSON doesn't know is reported."""
    if isinstance(value, Map):
        return {key: _json(inner, value.value_spot(key), report) for key, inner in value.items()}
    if isinstance(value, Seq):
        return [_json(inner, value.item_spot(index), report) for index, inner in enumerate(value)]
    if isinstance(value, NotJson):
        report.add("PACK020", spot, f"{reading(value, spot.raw)}; quote it")
    return value
