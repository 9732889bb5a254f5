"""Rules: for each action an ordered list, the first match fires. Compiled once to closures.

`when` is matched property by property: a scalar means equal, a list one of, a mapping is a JSON Schema. `facts` and
`parameters` hold names, each matched in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from engine.pack import Pack, Rule, Scalar, once

Test = Callable[[Any], bool]
FirstMatch = Callable[["Situation"], Rule | None]

# The facts that hold names instead of one value.
NAMED = ("facts", "parameters")


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a rule may look at. The table of values stands in docs/packs.md."""

    need: str
    value: str
    reply: str
    category: str
    classified: str
    classifier: str
    missing: int
    wrong: int
    goal: str
    facts: Mapping[str, Scalar]
    parameters: Mapping[str, Scalar]


def same(left: object, right: object) -> bool:
    """Equality that keeps `true`, `1` and `"1"` apart."""
    return type(left) is type(right) and left == right


def _value_test(expected: Any) -> Test:
    if isinstance(expected, Mapping):
        return Draft202012Validator(dict(expected)).is_valid
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        allowed = tuple(expected)
        return lambda value: any(same(value, one) for one in allowed)
    return lambda value: same(value, expected)


def _named_tests(expected: Mapping[str, Any]) -> tuple[tuple[str, Test], ...]:
    return tuple((name, _value_test(value)) for name, value in expected.items())


def _named_test(expected: Mapping[str, Any]) -> Test:
    tests = _named_tests(expected)
    return lambda values: all(name in values and test(values[name]) for name, test in tests)


def fact_tests(rule: Rule) -> tuple[tuple[str, Test], ...]:
    """What a rule asks of each of the pack's own facts that it names, whatever else it asks."""
    return _named_tests(rule.when.get("facts", {}))


def parameter_tests(rule: Rule) -> tuple[tuple[str, Test], ...]:
    """What a rule asks of each of the parameters that it names, whatever else it asks."""
    return _named_tests(rule.when.get("parameters", {}))


def _rule_test(rule: Rule) -> Callable[[Situation], bool]:
    tests = tuple(
        (name, _named_test(expected) if name in NAMED else _value_test(expected))
        for name, expected in rule.when.items()
    )
    return lambda situation: all(test(getattr(situation, name)) for name, test in tests)


@once
def pack_rules(pack: Pack) -> Mapping[str, FirstMatch]:
    """The compiled rules of each of a pack's actions, by name."""
    return {name: compile_rules(action.rules) for name, action in pack.actions.items()}


def compile_rules(rules: Sequence[Rule]) -> FirstMatch:
    """The function that finds the rule that fires, or None where no rule matches."""
    compiled = tuple((rule, _rule_test(rule)) for rule in rules)

    def first_match(situation: Situation) -> Rule | None:
        return next((rule for rule, test in compiled if test(situation)), None)

    return first_match
