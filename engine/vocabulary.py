"""The names that a pack declares, and the checks that everything it names is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from engine.contract import Contract
from engine.diagnostics import Report
from engine.nodes import Map, Seq, Spot, entries, items, string
from engine.pack import Category, Fact, Field, Person, Scalar, Text
from engine.template import Template, TemplateError, compile_template

# How many names may stand in all templates of a pack.
MAX_EXPRESSIONS = 30_000


# The first steps of a path into a document.
Steps = tuple[str | int, ...]


class Choices:
    """The values that something can have. They are told apart by type as well: true is not 1."""

    def __init__(self, values: tuple[Scalar, ...]) -> None:
        self.values = values
        self._keys = frozenset((type(value), value) for value in values)

    def __contains__(self, value: Scalar) -> bool:
        return (type(value), value) in self._keys


class Vocabulary:
    """A pack's fields, categories, people and facts. Every method reports what it finds wrong."""

    def __init__(
        self, document: Map, contract: Contract, contract_fields: Iterable[str], wrong: Set[Steps], report: Report
    ) -> None:
        """`contract_fields` are those that the contract lists; `wrong` is what the schema refused."""
        self.report = report
        self.expressions = MAX_EXPRESSIONS
        self.task_ids = tuple(task.id for task in contract.tasks)
        self.fields: dict[str, Field] = self._fields(entries(document, "fields"), wrong)
        if document.get("pack") == contract.name:
            self._add_contract_fields(entries(document, "fields"), tuple(contract_fields))
        self.facts: dict[str, Fact] = {}
        # The values of each fact.
        self.choices: dict[str, Choices] = {}
        self._add_facts(entries(document, "facts"))
        self.categories = {
            name: Category(name, string(node, "description", name), self.names(node, "requires"))
            for name, node in _maps(entries(document, "categories"))
        }
        self.people = {name: self._person(name, node) for name, node in _maps(entries(document, "people"))}

    def _fields(self, nodes: Map, wrong: Set[Steps]) -> dict[str, Field]:
        fields = {}
        for name, node in nodes.items():
            if not isinstance(node, Map) or ("fields", name) in wrong:
                fields[name] = Field(name, name, {})
                continue
            sample = node.get("sample")
            drawn = tuple(sample) if isinstance(sample, Seq) else sample
            fields[name] = Field(name, string(node, "description", name), dict(entries(node, "schema")), drawn)
        return fields

    def _add_contract_fields(self, nodes: Map, contract_fields: tuple[str, ...]) -> None:
        """In the pack that the contract is about, the contract's own list of fields is the whole vocabulary."""
        for name in self.fields:
            if contract_fields and name not in contract_fields:
                message = f"field '{name}' is not one of the contract's, and this is the contract's own pack"
                expected = listed(contract_fields)
                self.report.add(
                    "PACK050", nodes.key_spot(name), message, expected=expected, meant=(name, contract_fields)
                )
        for name in contract_fields:
            self.fields.setdefault(name, Field(name, name, {}))

    def _add_facts(self, nodes: Map) -> None:
        for name, node in _maps(nodes):
            values = tuple(scalar(value) for value in items(node, "values"))
            spot = nodes.key_spot(name)
            if name in self.fields:
                self.report.add("PACK041", spot, f"'{name}' is a field already; a fact needs a name of its own")
            self.distinct(values, items(node, "values"))
            if len({type(value) for value in values}) > 1:
                self.report.add(
                    "PACK034", spot, f"the values of '{name}' are of more than one type; quote those that are texts"
                )
            initial = scalar(node.get("initial", values[0] if values else ""))
            self.facts[name] = Fact(name, values, initial)
            self.choices[name] = Choices(values)
            if "initial" in node and values:
                self.fact_value(name, initial, node.value_spot("initial"))

    def _person(self, name: str, node: Map) -> Person:
        stalls = node.get("stalls", 0)
        says = items(node, "says")
        texts = tuple(self.text(text, says.item_spot(index)) for index, text in enumerate(says))
        return Person(name, string(node, "description", name), stalls if isinstance(stalls, int) else 0, texts)

    def unknown_field(self, name: str, spot: Spot) -> None:
        self.unknown("PACK030", "field", name, self.fields, spot)

    def unknown(self, code: str, what: str, name: str, known: Iterable[str], spot: Spot) -> None:
        """Reports a name that isn't declared, with the nearest one that is."""
        if not spot.excused:
            self.report.add(code, spot, f"unknown {what} '{name}'", expected=listed(known), meant=(name, known))

    def distinct(self, values: tuple[Scalar, ...], nodes: Seq) -> None:
        """Reports values that are listed twice."""
        seen: set[tuple[type, Scalar]] = set()
        for index, value in enumerate(values):
            if (type(value), value) in seen:
                self.report.add("PACK040", nodes.item_spot(index), f"{shown(value)} is listed twice")
            seen.add((type(value), value))

    def names(self, node: Map, key: str) -> tuple[str, ...]:
        """A list of fields, each of them known, none twice."""
        found: dict[str, None] = {}
        nodes = items(node, key)
        for index, name in enumerate(nodes):
            if not isinstance(name, str):
                continue
            if name in found:
                self.report.add("PACK040", nodes.item_spot(index), f"'{name}' is listed twice")
            elif name in self.fields:
                found[name] = None
            else:
                self.unknown_field(name, nodes.item_spot(index))
        return tuple(found)

    def fact_value(self, name: str, value: Any, spot: Spot) -> None:
        """Whether a fact can have a value; the fact is known."""
        self.one_of(value, self.choices[name], "PACK034", f"the fact '{name}'", spot)

    def one_of(self, value: Any, choices: Choices, code: str, what: str, spot: Spot) -> None:
        """Reports a value that isn't one of a fact's or a parameter's."""
        if isinstance(value, str | int) and value not in choices and not spot.excused:
            texts = [one for one in choices.values if isinstance(one, str)]
            meant = (value, texts) if isinstance(value, str) else None
            expected = listed(shown(one) for one in choices.values)
            self.report.add(code, spot, f"{what} can't be {shown(value)}", expected=expected, meant=meant)

    def settings(self, node: Map, key: str) -> Mapping[str, Scalar]:
        """Facts with the values that they are to have."""
        nodes = entries(node, key)
        for name, value in nodes.items():
            if name in self.facts:
                self.fact_value(name, scalar(value), nodes.value_spot(name))
            else:
                self.unknown("PACK034", "fact", name, self.facts, nodes.key_spot(name))
        return {name: scalar(value) for name, value in nodes.items()}

    def text(self, node: Any, spot: Spot, extra: frozenset[str] = frozenset()) -> Text:
        """A text, or a template whose names are fields, facts or among `extra`."""
        if not isinstance(node, Map):
            return node if isinstance(node, str) else ""
        return self.template(
            string(node, "template"), node.value_spot("template") if "template" in node else spot, extra
        )

    def template(self, source: str, spot: Spot, extra: frozenset[str] = frozenset()) -> Template:
        self.expressions -= source.count("{{")
        if self.expressions < 0:
            self.report.add(
                "PACK012", spot, f"the pack is too large: {MAX_EXPRESSIONS:,} names in templates are the most"
            )
            return compile_template("")
        try:
            template = compile_template(source)
        except TemplateError as error:
            self.report.add("PACK045", spot, f"template: {error}")
            return compile_template("")
        for name in sorted(template.plain - self.fields.keys() - self.facts.keys() - extra):
            self.unknown("PACK030", "name in a template:", name, [*self.fields, *self.facts, *sorted(extra)], spot)
        for name in sorted(template.fields - self.fields.keys()):
            self.unknown_field(name, spot)
        return template


def scalar(value: Any) -> Scalar:
    """A value of a fact or parameter. A whole number may have been written 1.0."""
    if isinstance(value, float):
        return int(value)
    return value if isinstance(value, str | int) else ""


def shown(value: Any) -> str:
    """A value as YAML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}'" if isinstance(value, str) else str(value)


def listed(names: Iterable[str]) -> str | None:
    """The names as a list that can be read; None where there are none, or too many."""
    every = list(names)
    return ", ".join(every) if 0 < len(every) <= 12 and len(", ".join(every)) <= 200 else None


def _maps(nodes: Map) -> list[tuple[str, Map]]:
    return [(name, node) for name, node in nodes.items() if isinstance(node, Map)]
