"""What a pack's own tests do can be done, and what they expect can happen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.action import ENVELOPE, TYPE_WORDS, Mistake, action_space
from engine.automaton import INVALID, NO_EFFECT
from engine.diagnostics import Report
from engine.nodes import Map, Spot, entries, items
from engine.pack import Pack
from engine.vocabulary import listed, shown


def check_tests(pack: Pack, document: Map, report: Report) -> None:
    """Reports actions that aren't valid, unless a test is about that, and outcomes that no rule has."""
    outcomes = {INVALID: None, **{rule.outcome: None for action in pack.actions.values() for rule in action.rules}}
    outcomes |= {f"{name}.{NO_EFFECT}": None for name in pack.actions}
    for node in items(document, "tests"):
        for step in items(node, "steps"):
            for each in (step, *items(step, "any_order")):
                expected = entries(each, "expect")
                _check_outcome(expected, outcomes, report)
                if "do" in each and expected.get("outcome") != INVALID:
                    _check_action(pack, each, report)
        _check_outcome(entries(node, "final"), outcomes, report)


def _check_outcome(expected: Map, outcomes: Mapping[str, None], report: Report) -> None:
    several = items(expected, "outcome")
    given = [(name, several.item_spot(index)) for index, name in enumerate(several)]
    if isinstance(expected.get("outcome"), str):
        given = [(expected["outcome"], expected.value_spot("outcome"))]
    for outcome, spot in given:
        if outcome not in outcomes:
            message = f"no rule has the outcome '{outcome}'"
            report.add("PACK035", spot, message, expected=listed(outcomes), meant=(outcome, outcomes))


def _check_action(pack: Pack, step: Map, report: Report) -> None:
    do = entries(step, "do")
    understood = action_space(pack).understand(do)
    if not isinstance(understood.meaning, Mistake):
        return
    mistake, words = understood.meaning.phrase, understood.meaning.words
    valid = [value for value in words["valid"] if isinstance(value, str)]
    expected = listed(map(shown, words["valid"]))
    if mistake == "invalid.nothing":
        report.add("PACK035", step.value_spot("do"), "no action is named here", expected=expected)
    elif mistake == "invalid.missing":
        message = f"'{words['action']}' needs '{words['parameter']}'"
        report.add("PACK035", step.value_spot("do"), message, expected=expected)
    elif mistake == "invalid.action":
        name = understood.canonical["type"]
        spot = next((each[1] for key, *each in _parts(do) if key in TYPE_WORDS), step.value_spot("do"))
        report.add("PACK035", spot, f"there is no action {words['given']}", expected=expected, meant=(str(name), valid))
    elif mistake == "invalid.value":
        spot, value = next(each for key, _, *each in _parts(do) if key == words["parameter"])
        message = f"'{words['parameter']}' of '{words['action']}' can't be {words['given']}"
        report.add("PACK035", spot, message, expected=expected, meant=(str(value), valid))
    else:
        names = [(key, spot) for key, spot, *_ in _parts(do) if key not in ENVELOPE and key not in valid]
        name, spot = names[0] if names else ("", step.value_spot("do"))
        message = f"'{words['action']}' takes no parameter {words['parameter']}"
        report.add("PACK035", spot, message, expected=expected, meant=(name, valid))


def _parts(do: Map) -> Iterator[tuple[str, Spot, Spot, Any]]:
    """Each key of an action as it is written, and of the mappings in it, with its place, its value's, and its value."""
    for key, value in do.items():
        if isinstance(value, Map):
            yield from _parts(value)
        yield key, do.key_spot(key), do.value_spot(key), value
