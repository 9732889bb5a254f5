"""A mutant: a small change of a pack's document, with the place that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.diagnostics import Place
from engine.pack import Scalar

At = tuple[str | int, ...]

# What each kind of mutant does, in the order in which they are counted.
KINDS: Mapping[str, str] = {
    "category": "files a ticket under the category whose requirements are most like its own's",
    "task": "gives a ticket the task that is most like its own",
    "goal": "drops a fact from a ticket's goal, or asks for its next value",
    "fact": "lets a fact begin with its next value, in a ticket or in the pack",
    "required": "adds a field to what a ticket or a category requires, or drops one",
    "optional": "makes a field optional in a ticket, or one that was optional needless",
    "known": "hides a value that is known from the start, or shows one that has to be asked for",
    "turn": "drops an answer turn, a value that a turn gives for another field, or a person's stall or refusal",
    "order": "swaps two answer turns that follow each other",
    "value": "makes a right value of an answer wrong, or a wrong one right",
    "reply": "lets a turn neither refuse nor waive: it stalls",
    "rule": "drops a rule that the pack adds",
    "condition": "drops a condition of such a rule, or one of the values in it; moves a bound by one",
    "effect": "drops what such a rule does, or lets it set a fact to the next value",
    "reward": "lets such a rule waste the step, or no longer; swaps what fields and the classification pay",
    "view": "shows a task's requirements at another time, or lets somebody else classify",
}


class _Gone:
    """What stands for a value that is taken out."""


GONE = _Gone()


@dataclass(frozen=True, slots=True)
class Mutant:
    """What stands at `at` in the document is replaced by `value`.

    `what` goes on from "a pack that": "drops the rule classify.late". `ticket` is the only ticket it is about; None
    where it is about the whole pack.
    """

    kind: str
    what: str
    place: Place
    at: At
    value: Any
    ticket: str | None = None


def changed(document: Any, at: At, value: Any) -> Any:
    """A document with another value in one place, as plain mappings and lists; what it shares with the old one is left
    alone."""
    if not at:
        return value
    head, rest = at[0], at[1:]
    if isinstance(head, int):
        return [changed(inner, rest, value) if index == head else inner for index, inner in enumerate(document)]
    new = changed(document.get(head, {}), rest, value)
    return {**{name: inner for name, inner in document.items() if name != head or new is not GONE}, **_entry(head, new)}


def _entry(name: str, value: Any) -> dict[str, Any]:
    return {} if value is GONE else {name: value}


def following(values: tuple[Scalar, ...], value: Scalar) -> Scalar:
    """The value after another in a fact's list, the first after the last."""
    index = next(number for number, one in enumerate(values) if type(one) is type(value) and one == value)
    return values[(index + 1) % len(values)]
