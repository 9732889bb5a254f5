"""A pack's own tests: the ticket and the seeds that each plays, its steps, and what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial, prod
from typing import Any

from engine.diagnostics import Place
from engine.expected import INCLUDES
from engine.nodes import Map, NotJson, Seq, Spot, entries, items, reading, string
from engine.pack import AnyOrder, Expectation, ScriptedStep, ScriptedTest, Text, Ticket
from engine.template import Template
from engine.vocabulary import Vocabulary, part_of

# How many seeds a test may have, and how many orders its steps.
MAX_SEEDS, MAX_ORDERS = 100, 120
# How many episodes all tests of a pack may come to.
MAX_EPISODES = 20_000

_TEMPLATE = "template"
# The parts of an answer that hold names of fields: lists of them, and the values by name.
_LISTS, _VALUES = ("required", "missing_required"), "known_info"


def build_tests(document: Map, vocabulary: Vocabulary, tickets: Mapping[str, Ticket]) -> tuple[ScriptedTest, ...]:
    """The tests, with findings about what they name and nothing has, and about those that come to too much."""
    builder, nodes = _Builder(vocabulary, tickets), items(document, "tests")
    return tuple(
        builder.test(node, nodes.item_spot(index)) for index, node in enumerate(nodes) if isinstance(node, Map)
    )


class _Builder:
    def __init__(self, vocabulary: Vocabulary, tickets: Mapping[str, Ticket]) -> None:
        self._vocabulary, self._tickets, self._report = vocabulary, tickets, vocabulary.report
        self._first: dict[str, Spot] = {}
        self._episodes = 0

    def test(self, node: Map, spot: Spot) -> ScriptedTest:
        name, ticket = string(node, "name"), string(node, "ticket")
        unknown = "ticket" in node and ticket not in self._tickets
        if unknown and "tickets" not in self._vocabulary.refused.sections:
            self._vocabulary.unknown("PACK037", "ticket", ticket, self._tickets, node.value_spot("ticket"))
        if name in self._first:
            first = self._first[name].place.seen_from(spot.place)
            self._report.add("PACK040", spot, f"test name '{name}' is taken (first at {first})")
        self._first.setdefault(name, spot)
        seeds = self._seeds(node)
        steps = self._steps(items(node, "steps"), ticket)
        self._count(len(seeds), steps, spot)
        return ScriptedTest(name, ticket, seeds, steps, self._expectation(node, "final", ticket), spot.place)

    def _seeds(self, node: Map) -> tuple[int, ...]:
        if "seeds" not in node:
            return (int(node.get("seed", 0)),)
        if "seed" in node:
            self._report.add("PACK046", node.key_spot("seeds"), "a test has `seed` or `seeds`, not both")
        seeds, spot = node["seeds"], node.value_spot("seeds")
        if isinstance(seeds, Seq):
            several = tuple(map(int, seeds))
            self._vocabulary.distinct(several, seeds)
            return several
        if not (isinstance(seeds, Map) and "from" in seeds and "to" in seeds):
            return (0,)
        first, many = int(seeds["from"]), int(seeds["to"]) - int(seeds["from"]) + 1
        if many < 1:
            self._report.add("PACK024", seeds.value_spot("to"), f"{first} is the least that can stand here")
        if many > MAX_SEEDS:
            self._report.add("PACK024", spot, f"{many} seeds: {MAX_SEEDS} are the most that a test can have")
        return tuple(range(first, first + min(many, MAX_SEEDS)))

    def _steps(self, nodes: Seq, ticket: str) -> tuple[ScriptedStep | AnyOrder, ...]:
        steps: list[ScriptedStep | AnyOrder] = []
        for index, node in enumerate(nodes):
            if isinstance(node, Map):
                place, group = nodes.item_spot(index).place, items(node, "any_order")
                if "any_order" not in node:
                    steps.append(self._step(node, ticket, place))
                    continue
                if "do" in node:
                    message = "a step has `do` or `any_order`, not both"
                    self._report.add("PACK046", node.key_spot("do"), message)
                inner = tuple(
                    self._step(step, ticket, group.item_spot(number).place)
                    for number, step in enumerate(group)
                    if isinstance(step, Map)
                )
                steps.append(AnyOrder(inner, self._expectation(node, "expect", ticket), place))
        return tuple(steps)

    def _step(self, node: Map, ticket: str, place: Place) -> ScriptedStep:
        do = entries(node, "do")
        return ScriptedStep(self._json(do, do.spot), self._expectation(node, "expect", ticket), place)

    def _count(self, seeds: int, steps: tuple[ScriptedStep | AnyOrder, ...], spot: Spot) -> None:
        """Reports a test whose steps have too many orders, and the one with which all tests come to too much."""
        orders = prod(factorial(len(step.steps)) for step in steps if isinstance(step, AnyOrder))
        if orders > MAX_ORDERS:
            self._report.add("PACK012", spot, f"its steps have {orders:,} orders: {MAX_ORDERS} are the most")
        before, self._episodes = self._episodes, self._episodes + seeds * orders
        if before <= MAX_EPISODES < self._episodes:
            message = f"the pack is too large: its tests come to {MAX_EPISODES:,} episodes at the most"
            self._report.add("PACK012", spot, f"{message}, one for each seed and each order")

    def _expectation(self, node: Map, key: str, ticket: str) -> Expectation:
        nodes = entries(node, key)
        parts = {}
        for name, value in nodes.items():
            spot = nodes.value_spot(name)
            if name in _LISTS:
                self._names(value, spot)
            elif name == _VALUES:
                self._keys(value)
            parts[name] = self._expected(value, spot, ticket, of_fields=name == _VALUES)
        return Expectation(parts, {name: nodes.value_spot(name).place for name in nodes})

    def _names(self, value: Any, spot: Spot) -> None:
        listed = items(value, INCLUDES) if isinstance(value, Map) else value
        for index, name in enumerate(listed if isinstance(listed, Seq) else ()):
            if isinstance(name, str) and name not in self._vocabulary.fields:
                self._vocabulary.unknown_field(name, listed.item_spot(index))

    def _keys(self, value: Any) -> None:
        inner = value.get(INCLUDES) if isinstance(value, Map) else None
        values = inner if isinstance(inner, Map) else value
        for name in values if isinstance(values, Map) else ():
            if name not in self._vocabulary.fields:
                self._vocabulary.unknown_field(name, values.key_spot(name))

    def _expected(self, value: Any, spot: Spot, ticket: str, of_fields: bool = False) -> Any:
        """What is expected, as plain JSON with templates in it. The keys of a mapping `of_fields` are fields' names."""
        if isinstance(value, Map):
            if value.keys() == {_TEMPLATE} and not of_fields:
                return self._template(value, ticket)
            operator = of_fields and isinstance(value.get(INCLUDES), Map)
            return {
                name: self._expected(inner, value.value_spot(name), ticket, operator) for name, inner in value.items()
            }
        if isinstance(value, Seq):
            return [self._expected(inner, value.item_spot(index), ticket) for index, inner in enumerate(value)]
        return self._json(value, spot)

    def _template(self, node: Map, ticket: str) -> Text:
        """A template; the fields in it have a value in the ticket."""
        text = self._vocabulary.text(node, node.spot)
        known = self._tickets.get(ticket)
        if known is None or not isinstance(text, Template) or "fields" in self._vocabulary.refused.sections:
            return text
        fields, rights = self._vocabulary.fields, known.right_values()
        for name in sorted(text.names & fields.keys() - rights.keys()):
            if fields[name].sample is None:
                spot = part_of(node.value_spot(_TEMPLATE), name)
                self._report.add("PACK043", spot, f"'{name}' has no right value in the ticket '{ticket}'")
        return text

    def _json(self, value: Any, spot: Spot) -> Any:
        """A value of any kind as plain JSON; what YAML makes of it that JSON doesn't know is reported."""
        if isinstance(value, Map):
            return {key: self._json(inner, value.value_spot(key)) for key, inner in value.items()}
        if isinstance(value, Seq):
            return [self._json(inner, value.item_spot(index)) for index, inner in enumerate(value)]
        if isinstance(value, NotJson):
            self._report.add("PACK020", spot, f"{reading(value, spot.raw)}; quote it")
        return value
