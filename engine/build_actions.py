"""Actions and rules: the contract's and the pack's own, completed with the default rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod
from typing import Any, Literal

from engine.contract import ActionSpec
from engine.nodes import Map, Seq, Spot, entries, items, string
from engine.pack import Action, Effects, Parameter, Rule, Scalar, Speaker, Text
from engine.rules import NAMED
from engine.vocabulary import WORDS, Choices, Vocabulary, listed, scalar, shown

ParameterType = Literal["string", "integer", "boolean"]

# In how many ways the actions of a pack may be taken, with every combination of their parameters' values.
MAX_CHOICES = 50_000

# What the phrases are for that no outcome is called by.
TURN_PHRASES = frozenset({"stall", "refusal", "waive", "unanswered", "no_effect"})
# The phrases for mistakes, with the words that each knows besides the others.
MISTAKE_PHRASES: Mapping[str, frozenset[str]] = {
    "invalid.nothing": frozenset({"valid"}),
    "invalid.action": frozenset({"given", "valid"}),
    "invalid.missing": frozenset({"parameter", "valid"}),
    "invalid.value": frozenset({"given", "parameter", "valid"}),
    "invalid.parameter": frozenset({"parameter", "valid"}),
}
_PYTHON: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}


class ActionBuilder:
    """Builds a pack's actions. `defaults` is rules.yaml."""

    def __init__(self, document: Map, defaults: Map, vocabulary: Vocabulary) -> None:
        self.document, self.defaults, self.vocabulary = document, defaults, vocabulary
        self.report, self.refused = vocabulary.report, vocabulary.refused
        # All texts that an answer may be made of, with the words they may hold and where in the pack one finds them.
        self.said: list[tuple[Text, frozenset[str], Spot]] = []
        # Whether any rule names a phrase that there isn't.
        self.misspelt = False
        self.phrases = self._phrases()

    def _phrases(self) -> dict[str, Text]:
        """The default phrases with the pack's own over them."""
        phrases: dict[str, Text] = {}
        for document in (self.defaults, self.document):
            nodes = entries(document, "phrases")
            for name, node in nodes.items():
                extra = WORDS | MISTAKE_PHRASES.get(name, frozenset())
                phrases[name] = self._text(node, nodes.value_spot(name), extra)
        return phrases

    def _text(self, node: Any, spot: Spot, extra: frozenset[str]) -> Text:
        if isinstance(node, Map) and "template" in node:
            spot = node.value_spot("template")
        text = self.vocabulary.text(node, spot, extra)
        self.said.append((text, extra, self.document.spot if spot.file is self.defaults.file else spot))
        return text

    def actions(self, specs: tuple[ActionSpec, ...]) -> dict[str, Action]:
        """The contract's actions, then the pack's own."""
        actions = {spec.name: self._contract_action(spec) for spec in specs}
        own = entries(self.document, "actions")
        for name, node in own.items():
            spot = own.key_spot(name)
            if name in actions:
                self.report.add(
                    "PACK040", spot, f"'{name}' is the contract's own action; a pack can add rules to it only"
                )
            elif isinstance(node, Map):
                actions[name] = self._action(name, string(node, "description", name), node, entries(node, "parameters"))
                if not actions[name].rules and not self._was_refused("rules", name):
                    self.report.add("PACK048", spot, f"the action '{name}' has no rules")
        if sum(map(_ways, actions.values())) > MAX_CHOICES:
            most = max(actions, key=lambda name: _ways(actions[name]))
            spot = own.key_spot(most) if most in own else self.document.spot
            message = f"'{most}' and the other actions can be taken in too many ways: {MAX_CHOICES:,} are the most"
            self.report.add("PACK012", spot, message)
        rules = entries(self.document, "rules")
        known = [*actions, *self.refused.names("actions")]
        for name in rules:
            if name not in known:
                spot, message = rules.key_spot(name), f"rules for the unknown action '{name}'"
                if not self.refused.whole("actions"):
                    self.report.add("PACK035", spot, message, expected=listed(known), meant=(name, known))
        if not self.refused.sections & {"actions", "rules", "phrases"}:
            self._unused_phrases(actions)
            self._unsaid(actions)
        return actions

    def _was_refused(self, section: str, name: str) -> bool:
        """Whether something was refused under a name in a section, or the section as a whole."""
        return self.refused.whole(section) or name in self.refused.names(section)

    def _contract_action(self, spec: ActionSpec) -> Action:
        bound = entries(self.defaults, "actions").get(spec.name)
        node = bound if isinstance(bound, Map) else Map(self.defaults.file, self.defaults.mark)
        action = self._action(spec.name, spec.description, node, spec.parameters)
        if not action.rules:
            message = f"the contract's action '{spec.name}' has no rules, neither here nor among the default ones"
            self.report.add("PACK048", self.document.spot, message)
        return action

    def _action(self, name: str, description: str, node: Map, parameters: Mapping[str, Any]) -> Action:
        asks, classifies = string(node, "asks") or None, string(node, "classifies") or None
        if asks is not None and asks == classifies:
            message = f"'{asks}' can't name a field and a category at once; give each a parameter"
            self.report.add("PACK046", node.value_spot("classifies"), message)
        built = {key: self._parameter(name, key, value, key in (asks, classifies)) for key, value in parameters.items()}
        if asks is not None:
            built[asks] = self._filled(built.get(asks), asks, "What to ask for", tuple(self.vocabulary.fields), True)
        if classifies is not None:
            values = tuple(self.vocabulary.categories)
            built[classifies] = self._filled(built.get(classifies), classifies, "What it is about", values, False)
            if not values:
                del built[classifies]
        self._beside_the_point(name, asks, classifies)
        speaker: Speaker = "customer" if node.get("speaker") == "customer" else "desk"
        classifies = classifies if classifies in built else None
        rules = self._rules(name, built)
        return Action(name, description, tuple(built.values()), rules, speaker, asks, classifies)

    def _beside_the_point(self, action: str, asks: str | None, classifies: str | None) -> None:
        """Reports what the pack's rules say about a field asked for or a category, where there is no such thing."""
        rules = items(entries(self.document, "rules"), action)
        if self._was_refused("actions", action):
            return
        for rule in (rule for rule in rules if isinstance(rule, Map)):
            when, then = entries(rule, "when"), entries(rule, "then")
            for node, key in ((when, "need"), (when, "value"), (when, "reply"), (then, "learn")):
                if asks is None and node.get(key, False) is not False:
                    message = f"`{key}` is about the field that is asked for, and '{action}' asks for none (`asks`)"
                    self.report.add("PACK046", node.key_spot(key), message)
            if classifies is None and "category" in when:
                message = f"`category` is about the category chosen, and '{action}' chooses none (`classifies`)"
                self.report.add("PACK046", when.key_spot("category"), message)

    def _filled(
        self, given: Parameter | None, name: str, description: str, values: tuple[str, ...], required: bool
    ) -> Parameter:
        """A parameter whose values are the pack's fields or categories."""
        if given is None:
            return Parameter(name, description, "string", values, required)
        return Parameter(name, given.description, "string", values, given.required)

    def _parameter(self, action: str, name: str, node: Any, filled: bool) -> Parameter:
        node = node if isinstance(node, Map) else Map(self.document.file, self.document.mark)
        given = node.get("type")
        kind: ParameterType = given if given in ("integer", "boolean") else "string"
        values = tuple(scalar(value) for value in items(node, "enum"))
        if kind == "boolean" and not values:
            values = (False, True)
        if not values and not filled and not self._was_refused("actions", action):
            message = f"the parameter '{name}' of '{action}' needs its values in `enum`: there must be finitely many"
            self.report.add("PACK035", node.spot, message)
        for index, value in enumerate(values if "enum" in node else ()):
            if type(value) is not _PYTHON[kind]:
                spot = items(node, "enum").item_spot(index)
                self.report.add("PACK035", spot, f"{shown(value)} is not of the type '{kind}'", expected=kind)
        self.vocabulary.distinct(values, items(node, "enum"))
        return Parameter(name, string(node, "description"), kind, values, node.get("required") is not False)

    def _rules(self, action: str, parameters: Mapping[str, Parameter]) -> tuple[Rule, ...]:
        rules = []
        choices = {name: Choices(parameter.enum) for name, parameter in parameters.items()}
        for document in (self.document, self.defaults):
            nodes = items(entries(document, "rules"), action)
            for index, node in enumerate(nodes):
                if isinstance(node, Map):
                    rules.append(self._rule(action, node, nodes.item_spot(index), choices))
        return tuple(rules)

    def _rule(self, action: str, node: Map, spot: Spot, parameters: Mapping[str, Choices]) -> Rule:
        when = entries(node, "when")
        conditions = {
            name: self._named(action, name, entries(when, name), parameters) if name in NAMED else value
            for name, value in when.items()
        }
        then = entries(node, "then")
        effects = Effects(
            learn=then.get("learn") is True,
            classify=then.get("classify") is True,
            waste=then.get("waste") is True,
            point_out=then.get("point_out") is True,
            resolve=then.get("resolve") is True,
            set=self.vocabulary.settings(then, "set"),
            say=self._say(then),
        )
        return Rule(f"{action}.{string(node, 'outcome')}", conditions, effects, spot.place)

    def _say(self, then: Map) -> Text | None:
        if "say" not in then:
            return None
        node, spot = then["say"], then.value_spot("say")
        if not isinstance(node, Map) or "phrase" not in node:
            return self._text(node, spot, WORDS)
        name = string(node, "phrase")
        if name not in self.phrases:
            self.misspelt = True
            spot, message = node.value_spot("phrase"), f"unknown phrase '{name}'"
            if not self.report.repeats("PACK036", spot, message):
                expected = listed(self.phrases)
                self.report.add("PACK036", spot, message, expected=expected, meant=(name, self.phrases))
        return self.phrases.get(name, "")

    def _named(
        self, action: str, section: str, conditions: Map, parameters: Mapping[str, Choices]
    ) -> Mapping[str, Any]:
        """Conditions on facts or parameters: each name is declared, each value is one that it can have."""
        facts = section == "facts"
        if not facts and self._was_refused("actions", action):
            return conditions
        known, code, what = (
            (self.vocabulary.choices, "PACK034", "fact") if facts else (parameters, "PACK035", "parameter")
        )
        for name, condition in conditions.items():
            if name not in known:
                self.vocabulary.unknown(code, what, name, known, conditions.key_spot(name))
                continue
            for value, spot in each_value(condition, conditions.value_spot(name)):
                self.vocabulary.one_of(value, known[name], code, f"the {what} '{name}'", spot)
        return conditions

    def _unused_phrases(self, actions: Mapping[str, Action]) -> None:
        """A phrase that nothing is called by is a slip of the pen; so is, perhaps, the name in a rule."""
        if self.misspelt:
            return
        outcomes = {rule.outcome for action in actions.values() for rule in action.rules}
        used = {*outcomes, *TURN_PHRASES, *MISTAKE_PHRASES, *entries(self.defaults, "phrases"), *self.named_phrases()}
        nodes = entries(self.document, "phrases")
        for name in nodes:
            if name not in used:
                message = f"nothing says the phrase '{name}'"
                self.report.add("PACK036", nodes.key_spot(name), message, meant=(name, sorted(used)))

    def _unsaid(self, actions: Mapping[str, Action]) -> None:
        """Each of the pack's own rules has an answer: a turn that is played, a text, or the phrase of its outcome."""
        rules = entries(self.document, "rules")
        for action in rules.keys() & actions.keys():
            nodes = items(rules, action)
            for index, node in enumerate(nodes):
                then, outcome = entries(node, "then"), f"{action}.{string(node, 'outcome')}"
                if "say" not in then and then.get("learn") is not True and outcome not in self.phrases:
                    message = f"this rule has nothing to say: add `say`, or a phrase '{outcome}'"
                    self.report.add("PACK036", nodes.item_spot(index), message)

    def named_phrases(self) -> set[str]:
        """The phrases that rules of the pack name."""
        rules = entries(self.document, "rules")
        thens = (entries(rule, "then") for name in rules for rule in items(rules, name) if isinstance(rule, Map))
        return {string(entries(then, "say"), "phrase") for then in thens}


def each_value(condition: Any, spot: Spot) -> Iterator[tuple[Any, Spot]]:
    """Every value that a condition names, and where: a scalar, a list's items, those of `const`, `enum` and `not`."""
    if isinstance(condition, Map):
        for key, value in condition.items():
            if key in ("const", "enum", "not"):
                yield from each_value(value, condition.value_spot(key))
    elif isinstance(condition, Seq):
        for index, value in enumerate(condition):
            yield value, condition.item_spot(index)
    else:
        yield condition, spot


def word_lengths(actions: Mapping[str, Action], vocabulary: Vocabulary) -> Mapping[str, tuple[int, int]]:
    """How many characters each word that answers may hold has at the most, and of how many items it is a list."""
    parameters = [parameter for action in actions.values() for parameter in action.parameters]
    names = [[parameter.name for parameter in action.parameters] for action in actions.values()]
    valid = [_size(actions), *map(_size, names), *(_size(parameter.enum) for parameter in parameters)]
    quoted = 100  # more than is ever quoted of what an agent sent
    ones = {
        "action": _longest(actions),
        "field": _longest(vocabulary.fields),
        "category": _longest(vocabulary.categories),
        "given": quoted,
        "parameter": max(quoted, *map(_longest, names)),
    }
    lists = {"valid": max(valid), **dict.fromkeys(("required", "missing", "wrong"), _size(vocabulary.fields))}
    return {**{name: (length, 0) for name, length in ones.items()}, **lists}


def _longest(names: Iterable[Scalar]) -> int:
    return max((len(str(name)) for name in names), default=0)


def _size(names: Collection[Scalar]) -> tuple[int, int]:
    return sum(len(str(name)) for name in names), len(names)


def _ways(action: Action) -> int:
    """In how many ways an action can be taken, with all values of its parameters."""
    return prod(len(parameter.enum) + (not parameter.required) for parameter in action.parameters)
