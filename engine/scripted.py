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
        message = f"no rule has the outcome '{outcome}'"
        if outcome not in outcomes and not report.repeats("PACK035", spot, message):
            report.add("PACK035", spot, message, expected=listed(outcomes), meant=(outcome, outcomes))


def _check_action(pack: Pack, step: Map, report: Report) -> None:
    do = entries(step, "do")
    understood = action_space(pack).understand(do)
    if not isinstance(understood.meaning, Mistake):
        return
    mistake, words = understood.meaning.phrase, understood.meaning.words
    valid = [value for value in words["valid"] if isinstance(value, str)]
    expected = listed(map(shown, words["valid"]))
    spot, meant = step.value_spot("do"), None
    if mistake == "invalid.nothing":
        message = "no action is named here"
    elif mistake == "invalid.missing":
        message = f"'{words['action']}' needs '{words['parameter']}'"
    elif mistake == "invalid.action":
        message, meant = f"there is no action {words['given']}", (str(understood.canonical["type"]), valid)
        spot = next((each[1] for key, *each in _parts(do) if key in TYPE_WORDS), spot)
    elif mistake == "invalid.value":
        spot, value = next(each for key, _, *each in _parts(do) if key == words["parameter"])
        message, meant = f"'{words['parameter']}' of '{words['action']}' can't be {words['given']}", (str(value), valid)
    else:
        names = [(key, spot) for key, spot, *_ in _parts(do) if key not in ENVELOPE and key not in valid]
        name, spot = names[0] if names else ("", spot)
        message, meant = f"'{words['action']}' takes no parameter {words['parameter']}", (name, valid)
    if not report.repeats("PACK035", spot, message):
        report.add("PACK035", spot, message, expected=expected, meant=meant)


def _parts(do: Map) -> Iterator[tuple[str, Spot, Spot, Any]]:
    """Each key of an action as it is written, and of the mappings in it, with its place, its value's, and its value."""
    for key, value in do.items():
        if isinstance(value, Map):
            yield from _parts(value)
        yield key, do.key_spot(key), do.value_spot(key), value
