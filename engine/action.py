"""Actions: the forms in which they arrive, what is valid, and the schema that says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from engine.pack import Action, Pack, Parameter, Scalar, once
from engine.terminal import encodable

# The words of the envelope. A pack's parameter called like one of them stands under `parameters`.
TYPE_WORDS = ("type", "action_type", "name")
NESTED_WORDS = ("parameters", "arguments")
ENVELOPE = frozenset((*TYPE_WORDS, *NESTED_WORDS, "metadata"))
# An MCP tool call; `_meta` is the protocol's own.
CALL = frozenset(("method", "params"))
CALL_META = "_meta"

# How much of what an agent sent is quoted back at it.
QUOTED = 80


class Choice(NamedTuple):
    """A valid action with its parameters, in the order of the declaration; hashable."""

    type: str
    parameters: tuple[tuple[str, Scalar], ...]

    def canonical(self) -> dict[str, Any]:
        """The form that the history shows."""
        return _canonical({"type": self.type}, dict(self.parameters))


@dataclass(frozen=True, slots=True)
class Mistake:
    """An action that isn't valid: the phrase that says so, and its words."""

    phrase: str
    words: Mapping[str, Any]


class Understood(NamedTuple):
    """An action as it was understood: its canonical form, what it means, and of which kind it is."""

    canonical: Mapping[str, Any]
    meaning: Choice | Mistake
    asks: bool
    classifies: bool


def _canonical(head: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    # Whatever would be read in another way if it stood flat stays nested, so that a canonical form means itself.
    kept = ENVELOPE | CALL if _is_call(parameters) else ENVELOPE
    flat = {name: value for name, value in parameters.items() if name not in kept}
    nested = {name: value for name, value in parameters.items() if name in kept}
    return {**head, **flat, "parameters": nested} if nested else {**head, **flat}


def normalise(body: Mapping[str, Any]) -> dict[str, Any]:
    """Any understood form of an action as `{"type": ..., parameter: value, ...}`.

    Understood: `name` or `action_type` for `type`; parameters flat or under `parameters` or `arguments`; an MCP tool
    call (`{"method": "tools/call", "params": {...}}`). A parameter that is null counts as not given. Nothing is
    checked here: what isn't an action comes out as it came in.
    """
    if _is_call(body):
        body = {name: value for name, value in body["params"].items() if name != CALL_META}
    given_types = [body[word] for word in TYPE_WORDS if body.get(word) is not None]
    head = {"type": given_types[0]} if given_types else {}
    parameters = {name: value for name, value in body.items() if name not in ENVELOPE}
    for word in NESTED_WORDS:
        nested = body.get(word)
        if isinstance(nested, Mapping):
            parameters.update((name, value) for name, value in nested.items() if value is not None)
        elif nested is not None:
            parameters[word] = nested
    return _canonical(head, {name: value for name, value in parameters.items() if value is not None})


def _is_call(body: Mapping[str, Any]) -> bool:
    return body.get("method") == "tools/call" and isinstance(body.get("params"), Mapping)


class ActionSpace:
    """The actions of a pack. `choices` is every valid one with every combination of its parameters, as declared."""

    def __init__(self, pack: Pack) -> None:
        self.actions: Mapping[str, Action] = pack.actions
        self._values = {
            (action.name, parameter.name): {(type(value), value) for value in parameter.enum}
            for action in pack.actions.values()
            for parameter in action.parameters
        }
        self.choices = tuple(
            Choice(action.name, tuple(pair for pair in pairs if pair is not None))
            for action in pack.actions.values()
            for pairs in product(*(_options(parameter) for parameter in action.parameters))
        )

        # Most actions arrive in canonical form, all texts: these are looked up by their members.
        canonical = [choice.canonical() for choice in self.choices]
        self.known = {frozenset(form.items()): self._understood(form) for form in canonical if _all_texts(form)}

    def understand(self, body: Mapping[str, Any]) -> Understood:
        """What an action means, in whichever form it comes (`normalise`)."""
        try:
            known = self.known.get(frozenset(body.items()))
        except TypeError:  # a value that can't be looked up
            known = None
        return self._understood(normalise(body)) if known is None else known

    def _understood(self, canonical: Mapping[str, Any]) -> Understood:
        name = canonical.get("type")
        action = self.actions.get(name) if isinstance(name, str) else None
        asks = action is not None and action.asks is not None
        classifies = action is not None and action.classifies is not None
        return Understood(canonical, self.choice(canonical), asks, classifies)

    def choice(self, canonical: Mapping[str, Any]) -> Choice | Mistake:
        """The valid action that a canonical form means, or what is wrong with it."""
        name = canonical.get("type")
        action = self.actions.get(name) if isinstance(name, str) else None
        if action is None and name is None:
            return Mistake("invalid.nothing", {"valid": list(self.actions)})
        if action is None:
            return Mistake("invalid.action", {"given": _quoted(name), "valid": list(self.actions)})
        given = {key: value for key, value in canonical.items() if key not in ENVELOPE}
        nested = canonical.get("parameters")
        if isinstance(nested, Mapping):
            given.update(nested)
        elif nested is not None:
            given["parameters"] = nested
        return self._checked(action, given)

    def _checked(self, action: Action, given: Mapping[str, Any]) -> Choice | Mistake:
        declared = [parameter.name for parameter in action.parameters]
        for name in given:
            if name not in declared:
                return Mistake(
                    "invalid.parameter", {"action": action.name, "parameter": _quoted(name), "valid": declared}
                )
        chosen: list[tuple[str, Scalar]] = []
        for parameter in action.parameters:
            valid: list[Scalar] = list(parameter.enum)
            words = {"action": action.name, "parameter": parameter.name, "valid": valid}
            if parameter.name not in given:
                if parameter.required:
                    return Mistake("invalid.missing", words)
                continue
            value = given[parameter.name]
            if not self._allows(action.name, parameter.name, value):
                return Mistake("invalid.value", {**words, "given": _quoted(value)})
            chosen.append((parameter.name, value))
        return Choice(action.name, tuple(chosen))

    def _allows(self, action: str, parameter: str, value: Any) -> bool:
        return isinstance(value, str | int) and (type(value), value) in self._values[action, parameter]


def _all_texts(form: Mapping[str, Any]) -> bool:
    return all(type(value) is str for value in form.values())


def _options(parameter: Parameter) -> list[tuple[str, Scalar] | None]:
    given: list[tuple[str, Scalar] | None] = [(parameter.name, value) for value in parameter.enum]
    return given if parameter.required else [None, *given]


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    shown = encodable(text[:QUOTED])
    return f"'{shown}…'" if len(text) > QUOTED else f"'{shown}'"


@once
def action_space(pack: Pack) -> ActionSpace:
    return ActionSpace(pack)


def parameter_schema(action: Action) -> dict[str, Any]:
    """The JSON Schema of an action's parameters, as a tool description shows it."""
    return {
        "type": "object",
        "properties": {
            parameter.name: {
                "type": parameter.type,
                **({"description": parameter.description} if parameter.description else {}),
                "enum": list(parameter.enum),
            }
            for parameter in action.parameters
        },
        "required": [parameter.name for parameter in action.parameters if parameter.required],
        "additionalProperties": False,
    }


def action_schema(pack: Pack) -> dict[str, Any]:
    """The JSON Schema of a pack's actions in canonical form, enums filled in."""
    return {
        "type": "object",
        "properties": {"type": {"type": "string", "enum": list(pack.actions)}},
        "required": ["type"],
        "oneOf": [_canonical_schema(action) for action in pack.actions.values()],
    }


def _canonical_schema(action: Action) -> dict[str, Any]:
    schema = parameter_schema(action)
    flat = {name: value for name, value in schema["properties"].items() if name not in ENVELOPE}
    properties: dict[str, Any] = {"type": {"const": action.name}, **flat}
    required = ["type", *(name for name in schema["required"] if name in flat)]
    nested = {name: value for name, value in schema["properties"].items() if name in ENVELOPE}
    if nested:
        needed = [name for name in schema["required"] if name in nested]
        properties["parameters"] = {"type": "object", "properties": nested, "required": needed}
        required += ["parameters"] if needed else []
    return {
        "title": action.name,
        "description": action.description,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
