"""Rules: first match fires, scalars, lists and schemas match as the design says."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnostics import Place
from engine.pack import Effects, Rule
from engine.rules import Situation, compile_rules

SITUATION = Situation(
    need="required",
    value="none",
    reply="value",
    category="absent",
    classified="none",
    classifier="desk",
    missing=2,
    wrong=0,
    goal="met",
    facts={"paid": True, "age": "12 days"},
    parameters={"how": "mail"},
)


def rule(outcome: str, when: dict[str, Any]) -> Rule:
    return Rule(outcome, when, Effects(), Place("p.yaml", 1, 1))


def fires(when: dict[str, Any]) -> bool:
    return compile_rules([rule("x", when)])(SITUATION) is not None


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({}, True),
        ({"need": "required"}, True),
        ({"need": "optional"}, False),
        ({"need": ["optional", "required"]}, True),
        ({"need": []}, False),
        ({"missing": 2}, True),
        ({"missing": {"minimum": 1}}, True),
        ({"missing": {"minimum": 3}}, False),
        ({"need": "required", "wrong": 1}, False),
        ({"facts": {"paid": True}}, True),
        ({"facts": {"paid": 1}}, False),
        ({"facts": {"paid": "true"}}, False),
        ({"facts": {"paid": True, "age": ["80 days", "12 days"]}}, True),
        ({"facts": {"age": {"pattern": "^12"}}}, True),
        ({"parameters": {"how": "mail"}}, True),
        ({"parameters": {"other": "mail"}}, False),
        ({"parameters": {"other": {"not": {"const": "mail"}}}}, False),
    ],
)
def test_when(when: dict[str, Any], expected: bool) -> None:
    assert fires(when) is expected


def test_the_first_match_fires() -> None:
    first = compile_rules([rule("a", {"need": "none"}), rule("b", {"missing": 2}), rule("c", {})])(SITUATION)
    assert first is not None and first.outcome == "b"


def test_no_match() -> None:
    assert compile_rules([rule("a", {"need": "none"})])(SITUATION) is None
