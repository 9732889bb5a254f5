"""The JSON Schema of a pack for those who write one: for a part of a pack, or with a pack's own names in it.

Whatever the loader takes, the schema with the names takes as well. A section that couldn't be read to its end proposes
its names, and any other is let through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from engine.action import ENVELOPE
from engine.declared import Names
from engine.pack import Action, Parameter, Scalar
from engine.vocabulary import shown

Schema = dict[str, Any]

# What only the rules of an action may look at that asks for a field, or that classifies.
_OF_ASKING, _OF_CLASSIFYING = ("need", "value", "reply"), ("category",)


def part_of(schema: Schema) -> Schema:
    """The schema of a file of a pack that is a folder: what is missing in it may stand in another."""
    part = {key: value for key, value in schema.items() if key != "required"}
    return part | {"title": "Part of a pack", "description": "A file of a pack that is a folder (docs/packs.md)"}


def with_names(schema: Schema, names: Names) -> Schema:
    """The schema with a pack's names as what can be chosen."""
    closed = deepcopy(schema)
    closed["title"] = f"{schema['title']}: {names.pack}" if names.pack else schema["title"]
    closed["description"] = "With the names that were in it when `deskproof schema --for` read it (docs/editor.md)"
    closing = _Closing(closed["properties"], closed["$defs"], names)
    closing.sections()
    closing.tickets()
    closing.rules()
    closing.tests()
    return closed


class _Closing:
    """Puts names into the parts of a schema: its `top`, the pack's sections, and its `kinds`, the definitions."""

    def __init__(self, top: Schema, kinds: Schema, names: Names) -> None:
        self.top, self.kinds, self.names = top, kinds, names
        self.fields = {name: {"description": words} for name, words in names.fields.items()}
        self.facts = {name: _one_of(values) for name, values in names.facts.items()}

    def kind(self, name: str) -> Schema:
        """The properties of a definition."""
        properties: Schema = self.kinds[name]["properties"]
        return properties

    def sections(self) -> None:
        names = self.names
        self._fields_in(self.kind("category")["requires"], self.kind("person")["fields"])
        _choose_or_list(self.kinds["who"], names.people, names.sure("people"))
        _propose(names.people, self.top["person"], self.kind("ticket")["person"])
        _choose_key(self.top["tasks"], {name: {"description": words} for name, words in names.tasks.items()}, True)
        phrases = {name: {"description": words} for name, words in names.phrases.items()}
        _choose_key(self.top["phrases"], phrases, names.sure("actions", "rules", "phrases"))

    def tickets(self) -> None:
        names, ticket = self.names, self.kind("ticket")
        _choose(ticket["task"], names.tasks, True)
        _choose(ticket["category"], names.categories, names.sure("categories"))
        self._fields_in(ticket["required"], ticket["optional"], self.kind("message")["known"])
        self._fields_under(ticket["known"], ticket["answers"])
        for turn in (self.kind("turn"), self.kind("answer")):
            self._fields_in(turn["gives_wrong"])
            self._fields_under(turn["gives"])
        for keyed in (ticket["facts"], ticket["goal"], self.kind("rule")["then"]["properties"]["set"]):
            _choose_key(keyed, self.facts, names.sure("facts"))

    def rules(self) -> None:
        names = self.names
        _choose(self.kind("then_say")["phrase"], names.sayable, names.sure("phrases"))
        facts = {name: _condition(values) for name, values in names.facts.items()}
        _choose_key(self.kind("rule")["when"]["properties"]["facts"], facts, names.sure("facts"))
        rules = {}
        for number, action in enumerate(names.actions.values()):
            self.kinds[f"rule_{number}"] = self._rule(action)
            rules[action.name] = {"description": action.description, "items": {"$ref": f"#/$defs/rule_{number}"}}
        _choose_key(self.top["rules"], rules, names.sure("actions"))

    def _rule(self, action: Action) -> Schema:
        """A rule of one action: with its parameters, and without what has nothing to do with it."""
        rule: Schema = deepcopy(self.kinds["rule"])
        when: Schema = rule["properties"]["when"]["properties"]
        sure = self.names.sure("actions", "fields", "categories")
        given = {one.name: {**_condition(one.enum), "description": one.description} for one in action.parameters}
        _choose_key(when["parameters"], given if sure else {}, sure)
        for key in (*_OF_ASKING, *_OF_CLASSIFYING) if sure else ():
            if action.name not in (self.names.asking if key in _OF_ASKING else self.names.classifying):
                del when[key]
        return rule

    def tests(self) -> None:
        names, expect = self.names, self.kind("expect")
        _choose(self.kind("test")["ticket"], names.tickets, names.sure("tickets"))
        # What is no valid action may be tested as well, so here all is let through.
        do = self.kind("do")
        _propose(names.actions, do["type"])
        for name, parameters in _by_name(names.actions.values()).items():
            do[name] = {"title": name, "description": " / ".join(dict.fromkeys(one.description for one in parameters))}
            _propose((value for parameter in parameters for value in parameter.enum), do[name])
        _choose_or_list(self.kinds["expected_name"], names.outcomes, names.sure("actions", "rules"))
        _propose(names.outcomes, expect["outcome"])
        listed, known = self.kinds["expected_names"], expect["known_info"]
        self._fields_in(listed, listed["properties"]["includes"], expect["required"], expect["missing_required"])
        self._fields_under(known["properties"]["includes"], known)

    def _fields_in(self, *parts: Schema) -> None:
        for part in parts:
            part.pop("examples", None)
            if "items" in part:
                _choose(part["items"], self.names.fields, self.names.sure("fields"))

    def _fields_under(self, *parts: Schema) -> None:
        for part in parts:
            _choose_key(part, self.fields, self.names.sure("fields"))


def _by_name(actions: Iterable[Action]) -> Mapping[str, list[Parameter]]:
    """The parameters that may stand beside an action's type."""
    found: dict[str, list[Parameter]] = {}
    for parameter in (parameter for action in actions for parameter in action.parameters):
        if parameter.name not in ENVELOPE:
            found.setdefault(parameter.name, []).append(parameter)
    return found


def _propose(values: Iterable[Scalar], *parts: Schema) -> None:
    listed = list({(type(value), value): value for value in values}.values())
    for part in parts:
        part["examples"] = listed


def _choose(part: Schema, values: Iterable[Scalar], closed: bool) -> None:
    """A text that is one of these; where it isn't `closed`, any other as well."""
    part.pop("examples", None)
    part["enum" if closed else "examples"] = list(values)


def _choose_or_list(part: Schema, values: Iterable[Scalar], closed: bool) -> None:
    """A text that is one of these, or a list of them."""
    listed = list(values)
    _choose(part["items"], listed, closed)
    if closed:
        part |= {"if": {"type": "string"}, "then": {"enum": listed}}


def _choose_key(part: Schema, described: Mapping[str, Schema], closed: bool) -> None:
    """A mapping whose keys are these, each with what it adds to the schema of the values."""
    values = part["additionalProperties"]
    keys = {name: {**values, "title": name, **more} for name, more in described.items()}
    part["properties"] = {**keys, **part.get("properties", {})}
    if closed:
        part["additionalProperties"] = False


def _one_of(values: tuple[Scalar, ...]) -> Schema:
    """One of a fact's values; any, where they aren't known."""
    return {"description": _listed(values), "enum": [*values]} if values else {}


def _condition(values: tuple[Scalar, ...]) -> Schema:
    """A condition on something that has these values: one of them, a list of them, or a mapping that names them."""
    if not values:
        return {}
    known = {"enum": [*values]}
    inner = {"enum": {"items": known}, "const": known}
    return {
        "description": _listed(values),
        "examples": [*values],
        "if": {"type": ["string", "integer", "boolean"]},
        "then": known,
        "items": known,
        "properties": {**inner, "not": {"properties": inner}},
    }


def _listed(values: Iterable[Scalar]) -> str:
    return ", ".join(map(shown, values))
