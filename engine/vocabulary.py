"""The names that a pack declares, and the checks that everything it names is declared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engine.contract import Contract
from engine.diagnostics import Place, Report
from engine.filters import TemplateError
from engine.nodes import Map, Seq, Spot, entries, items, reading, string
from engine.pack import Category, Fact, Field, Noise, Person, Scalar, Text
from engine.schema import Refused
from engine.template import Template, compile_template

# How far into a text a part of it is looked for.
FAR = 20_000
# How many names may stand in all templates of a pack.
MAX_EXPRESSIONS = 30_000
# How many fields a pack may have: each state of each ticket knows of all of them.
MAX_FIELDS = 200

# The words that an answer's text may hold besides fields and facts; the second set's only in answers to mistakes.
WORDS = frozenset({"action", "field", "category", "required", "missing", "wrong"})
MISTAKE_WORDS = frozenset({"given", "parameter", "valid"})
# Those of them that are lists.
LISTS = frozenset({"required", "missing", "wrong", "valid"})


# Which sections declare the names of which a code says that one is unknown.
_DECLARING: Mapping[str, tuple[str, ...]] = {
    "PACK030": ("fields", "facts"),
    "PACK031": ("categories",),
    "PACK032": (),
    "PACK033": ("people",),
    "PACK034": ("facts",),
    "PACK035": ("actions",),
    "PACK036": ("phrases",),
    "PACK037": ("tickets",),
}


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
        self, document: Map, contract: Contract, contract_fields: Iterable[str], refused: Refused, report: Report
    ) -> None:
        """`contract_fields` are those that the contract lists; `refused` is what the schema refused."""
        self.report, self.refused = report, refused
        self.expressions = MAX_EXPRESSIONS
        # What people say, with no words besides fields and facts in it, and where; and what all customers say besides.
        self.said: list[tuple[Text, frozenset[str], Spot]] = []
        self.noises: list[tuple[Text, frozenset[str], Spot]] = []
        self.task_ids = tuple(task.id for task in contract.tasks)
        self.fields: dict[str, Field] = self._fields(entries(document, "fields"))
        if document.get("pack") == contract.name:
            self._add_contract_fields(entries(document, "fields"), tuple(contract_fields))
        self.facts: dict[str, Fact] = {}
        # The values of each fact.
        self.choices: dict[str, Choices] = {}
        self._add_facts(entries(document, "facts"))
        self.categories = {name: Category(name, name, ()) for name in refused.names("categories")} | {
            name: Category(name, string(node, "description", name), self.names(node, "requires"), place)
            for name, node, place in _maps(entries(document, "categories"))
        }
        self.people = {name: Person(name, name) for name in refused.names("people")} | {
            name: self._person(name, node, place) for name, node, place in _maps(entries(document, "people"))
        }
        self.noise = self._noise(document, self.noises) if "noise" in document else Noise()
        # Who the customers of tickets are that name nobody.
        self.anybody = self.named_people(document) if "person" in document else ()

    def _fields(self, nodes: Map) -> dict[str, Field]:
        if len(nodes) > MAX_FIELDS:
            spot = nodes.key_spot(list(nodes)[MAX_FIELDS])
            self.report.add("PACK012", spot, f"the pack is too large: {MAX_FIELDS} fields are the most")
        fields = {name: Field(name, name, {}) for name in self.refused.names("fields")}
        for name, node, place in _maps(nodes):
            if name in fields:
                continue
            sample = node.get("sample")
            drawn = tuple(sample) if isinstance(sample, Seq) else sample
            fields[name] = Field(name, string(node, "description", name), dict(entries(node, "schema")), drawn, place)
        return fields

    def _add_contract_fields(self, nodes: Map, contract_fields: tuple[str, ...]) -> None:
        """In the pack that the contract is about, the contract's own list of fields is the whole vocabulary."""
        for name in self.fields:
            if contract_fields and name not in contract_fields and name in nodes:
                message = f"field '{name}' is not one of the contract's, and this is the contract's own pack"
                expected = listed(contract_fields)
                self.report.add(
                    "PACK050", nodes.key_spot(name), message, expected=expected, meant=(name, contract_fields)
                )
        for name in contract_fields:
            self.fields.setdefault(name, Field(name, name, {}))

    def _add_facts(self, nodes: Map) -> None:
        for name in self.refused.names("facts"):
            self.facts[name], self.choices[name] = Fact(name, (), ""), Choices(())
        for name, node, _ in _maps(nodes):
            spot = nodes.key_spot(name)
            if name in self.fields:
                self.report.add("PACK041", spot, f"'{name}' is a field already; a fact needs a name of its own")
            if name in WORDS | MISTAKE_WORDS:
                message = f"'{name}' is a word that answers may hold already; a fact needs a name of its own"
                self.report.add("PACK041", spot, message)
            if name not in self.facts:
                self._add_fact(name, node, spot)

    def _add_fact(self, name: str, node: Map, spot: Spot) -> None:
        values = tuple(scalar(value) for value in items(node, "values"))
        self.distinct(values, items(node, "values"))
        if len({type(value) for value in values}) > 1:
            self._mixed(name, items(node, "values"), spot)
        initial = scalar(node.get("initial", values[0]))
        self.facts[name] = Fact(name, values, initial)
        self.choices[name] = Choices(values)
        if "initial" in node:
            self.fact_value(name, initial, node.value_spot("initial"))

    def _mixed(self, name: str, nodes: Seq, spot: Spot) -> None:
        """Reports a fact with values of more than one type: at those that aren't text, where others are."""
        message = f"the values of '{name}' are of more than one type"
        odd = [index for index, value in enumerate(nodes) if not isinstance(value, str)]
        if len(odd) == len(nodes):
            self.report.add("PACK034", spot, message)
            return
        for index in odd:
            where = nodes.item_spot(index)
            message_here = f"{message}, as {reading(nodes[index], where.raw)}; quote it if it is text"
            self.report.add("PACK034", where, message_here)

    def _person(self, name: str, node: Map, place: Place) -> Person:
        return Person(
            name,
            string(node, "description", name),
            stalls=_count(node, "stalls", 0),
            says=self._texts(node, "says", self.said),
            refuses=_count(node, "refuses", 0),
            refuses_with=self._texts(node, "refuses_with", self.said),
            fields=self.names(node, "fields") if "fields" in node else None,
            noise=self._noise(node, self.said) if "noise" in node else None,
            place=place,
        )

    def _noise(self, node: Map, said: list[tuple[Text, frozenset[str], Spot]]) -> Noise:
        place, parts = node.key_spot("noise").place, entries(node, "noise")
        if isinstance(node["noise"], Seq):
            return Noise(after=self._texts(node, "noise", said), place=place)
        before, after = self._texts(parts, "before", said), self._texts(parts, "after", said)
        return Noise(before, after, _count(parts, "one_in", 1), place)

    def _texts(self, node: Map, key: str, said: list[tuple[Text, frozenset[str], Spot]]) -> tuple[Text, ...]:
        """A list of texts that may be said; they are added to `said`."""
        nodes = items(node, key)
        texts = tuple(self.text(text, nodes.item_spot(index)) for index, text in enumerate(nodes))
        said += [(text, frozenset(), nodes.item_spot(index)) for index, text in enumerate(texts)]
        return texts

    def named_people(self, node: Map) -> tuple[str, ...]:
        """Those that `person` names, each of them known, none twice."""
        written = [(node["person"], node.value_spot("person"))]
        if isinstance(node["person"], Seq):
            written = [(name, node["person"].item_spot(index)) for index, name in enumerate(node["person"])]
        found: dict[str, None] = {}
        for name, spot in written:
            if not isinstance(name, str):
                continue
            if name in found:
                self.report.add("PACK040", spot, f"'{name}' is listed twice")
            elif name in self.people:
                found[name] = None
            else:
                self.unknown("PACK033", "person", name, self.people, spot)
        return tuple(found)

    def unknown_field(self, name: str, spot: Spot) -> None:
        self.unknown("PACK030", "field", name, self.fields, spot)

    def unknown(self, code: str, what: str, name: str, known: Collection[str], spot: Spot) -> None:
        """Reports a name that isn't declared, with the nearest one that is: once, wherever it is named again."""
        sections = _DECLARING[code]
        if not any(self.refused.whole(section) for section in sections):
            none = "" if known else f": there is none, as nothing stands under `{sections[0]}`"
            message = f"unknown {what} '{name}'{none}"
            if not self.report.repeats(code, spot, message):
                self.report.add(code, spot, message, expected=listed(known), meant=(name, known))

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
        if isinstance(value, str | int) and choices.values and value not in choices:
            message = f"{what} can't be {shown(value)}"
            if self.report.repeats(code, spot, message):
                return
            texts = [one for one in choices.values if isinstance(one, str)]
            meant = (value, texts) if isinstance(value, str) else None
            self.report.add(code, spot, message, expected=listed(map(shown, choices.values)), meant=meant)

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
            template.fit(lambda name: self._examples(name, extra))
        except TemplateError as error:
            self.report.add("PACK045", part_of(spot, error.near or "{{"), f"template: {error}")
            return compile_template("")
        for name in sorted(template.plain - self.fields.keys() - self.facts.keys() - extra):
            known = [*self.fields, *self.facts, *sorted(extra)]
            self.unknown("PACK030", "name in a template:", name, known, part_of(spot, name))
        for name in sorted(template.fields - self.fields.keys()):
            self.unknown_field(name, part_of(spot, name))
        return template

    def _examples(self, name: str, extra: frozenset[str]) -> tuple[Any, ...]:
        """Values that a name in a template may have, as different as they can be."""
        if name in extra and name in LISTS:
            return [], [""], ["a", "b"]
        if name in self.facts and name not in extra:
            values = self.facts[name].values
            texts = [value for value in values if isinstance(value, str)]
            return (min(texts, key=len), max(texts, key=len)) if texts else values[:1]
        return ("", "a b") if name in extra or name in self.fields else ()


def part_of(spot: Spot, words: str | None) -> Spot:
    """Where words stand in the text that begins at a spot; that spot itself, where they can't be found."""
    if not words or "\n" in words or len(words) > FAR:
        return spot
    text, offset = spot.file.text, spot.offset
    written = words.replace("'", "''") if text[offset : offset + 1] == "'" else words
    start = text.find("{{", offset, offset + FAR)
    found = re.compile(rf"(?<!\w){re.escape(written)}").search(text, start, offset + FAR) if start >= 0 else None
    return spot.file.spot(found.start()) if found else spot


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


def _count(node: Map, key: str, default: int) -> int:
    value = node.get(key, default)
    return int(value) if isinstance(value, int | float) else default


def _maps(nodes: Map) -> list[tuple[str, Map, Place]]:
    """The mappings by name, and where each is written."""
    return [(name, node, nodes.key_spot(name).place) for name, node in nodes.items() if isinstance(node, Map)]
