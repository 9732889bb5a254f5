"""What tools and instructions say of a desk, for agents that don't understand language: its actions, and keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import log, sqrt
from typing import Any

from engine.action import Choice
from engine.build import default_rules
from engine.evaluation.agents import Action, Tools
from engine.nodes import entries, items

# A word's first letters stand for the word; shorter words are left out.
STEM = 4
# How many desks are kept: those of a run's packs.
KEPT = 32

_WORD = re.compile(r"[^\W_]+")
# Between two items of a list or two paragraphs, and what a numbered item begins with.
_BETWEEN = re.compile(r"\n\s*\n|\n\s*(?=(?:[-*•]|[0-9]+[.)])\s)")
_NUMBER = re.compile(r"[0-9]+[.)]\s+[`*\"'„“‚‘«»]*")


@dataclass(frozen=True, slots=True)
class Roles:
    """Which of the contract's actions ask and classify, each with its parameter, and which resolve."""

    asks: Mapping[str, str]
    classifies: Mapping[str, str]
    resolves: frozenset[str]


@cache
def roles() -> Roles:
    """As the default rules have it."""
    actions, rules = entries(default_rules(), "actions"), entries(default_rules(), "rules")
    return Roles(
        {name: action["asks"] for name, action in actions.items() if "asks" in action},
        {name: action["classifies"] for name, action in actions.items() if "classifies" in action},
        frozenset(name for name in rules if any("resolve" in rule["then"] for rule in items(rules, name))),
    )


class Keywords:
    """Which of several things a text speaks of, by the words that tell them apart."""

    def __init__(self, texts: Sequence[str]) -> None:
        stems = [{word[:STEM] for word in _WORD.findall(text.casefold()) if len(word) >= STEM} for text in texts]
        found = {stem: [at for at, one in enumerate(stems) if stem in one] for stem in sorted(set().union(*stems))}
        # The fewer things a word is said of, the more it says (Spärck Jones 1972).
        self._told = tuple((stem, log(len(texts) / len(where)), where) for stem, where in found.items())
        squares = [0.0] * len(texts)
        for _, weight, where in self._told:
            for at in where:
                squares[at] += weight**2
        self._lengths = tuple(sqrt(square) or 1.0 for square in squares)

    def scores(self, text: str) -> list[float]:
        """One for each thing; 0 where the text has none of the words that tell it apart.

        A thing of which more is told isn't nearer to every text for that (the cosine of Salton, Wong and Yang 1975).
        """
        folded = text.casefold()
        found = [0.0] * len(self._lengths)
        for stem, weight, where in self._told:
            if stem in folded:
                for at in where:
                    found[at] += weight
        return [one / length for one, length in zip(found, self._lengths, strict=True)]


@dataclass(frozen=True, slots=True)
class Desk:
    """All that can be done at a desk, as actions in canonical form.

    `classify` is the classification without a category, None where there are no categories; `filed` are those with each
    of them, which `categories` tell apart. Of the desk's own actions `procedure` has those without parameters that a
    line with a number begins with, in the order of the numbers; `decisions` all others, which `reasons` tell apart.
    """

    choices: tuple[Action, ...]
    asks: Mapping[str, Action]
    classify: Action | None
    filed: tuple[Action, ...]
    categories: Keywords
    resolve: Action
    procedure: tuple[Action, ...]
    decisions: tuple[Action, ...]
    reasons: Keywords


class Desks:
    """The desks that tools and instructions speak of; those that were read are kept."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Tools, Desk]] = {}

    def __call__(self, tools: Tools, instructions: str) -> Desk:
        known = self._known.get(instructions)
        if known is not None and known[0] is tools:
            return known[1]
        if len(self._known) >= KEPT:
            self._known.clear()
        desk = known[1] if known is not None and known[0] == tools else read_desk(tools, instructions)
        self._known[instructions] = tools, desk
        return desk


def read_desk(tools: Tools, instructions: str) -> Desk:
    """The desk that tools and instructions speak of. The contract's actions are known by their names."""
    known, every, listed = roles(), choices(tools), _Listed(instructions)
    classifying = [choice for choice in every if choice.type in known.classifies]
    filed = [choice for choice in classifying if choice.parameters]
    asking = {str(choice.parameters[0][1]): choice for choice in every if choice.type in known.asks}
    own = [choice for choice in every if choice.type not in {*known.asks, *known.classifies, *known.resolves}]
    plain = {choice.type: choice for choice in own if not choice.parameters}
    procedure = [plain[name] for name in dict.fromkeys(listed.numbered(plain))]
    decisions = [choice for choice in own if choice.parameters or choice not in procedure]
    resolving = [choice for choice in every if choice.type in known.resolves]
    return Desk(
        choices=_canonical(every),
        asks={field: choice.canonical() for field, choice in asking.items()},
        classify=next((choice.canonical() for choice in classifying if filed and not choice.parameters), None),
        filed=_canonical(filed),
        categories=Keywords([*_told_of_categories(tools, filed, listed, asking)]),
        resolve=(resolving or every)[0].canonical(),
        procedure=_canonical(procedure),
        decisions=_canonical(decisions),
        reasons=Keywords([_told_of_decision(choice, listed) for choice in decisions]),
    )


def choices(tools: Tools) -> tuple[Choice, ...]:
    """Every valid action with every combination of its parameters, in the order of `ActionSpace.choices`."""
    return tuple(choice for tool in tools for choice in _choices_of(tool))


def _choices_of(tool: Mapping[str, Any]) -> Iterator[Choice]:
    schema = tool["inputSchema"]
    required = schema.get("required", ())
    pairs = [
        [*([] if name in required else [None]), *((name, value) for value in parameter["enum"])]
        for name, parameter in schema.get("properties", {}).items()
    ]
    for chosen in product(*pairs):
        yield Choice(tool["name"], tuple(pair for pair in chosen if pair is not None))


def _canonical(found: Iterable[Choice]) -> tuple[Action, ...]:
    return tuple(choice.canonical() for choice in found)


# -- What is told


class _Listed:
    """The items of the instructions' lists, and their paragraphs."""

    def __init__(self, instructions: str) -> None:
        self.items = [" ".join(item.split()) for item in _BETWEEN.split(instructions)]
        self._naming: dict[str, frozenset[int]] = {}

    def naming(self, *names: str) -> list[str]:
        """The items that name all of these."""
        found = frozenset.intersection(*map(self._where, names))
        return [self.items[at] for at in sorted(found)]

    def naming_alone(self, name: str, others: Iterable[str]) -> list[str]:
        """The items that name this and no other."""
        found = self._where(name).difference(*(self._where(other) for other in others if other != name))
        return [self.items[at] for at in sorted(found)]

    def _where(self, name: str) -> frozenset[int]:
        if name not in self._naming:
            pattern = re.compile(_alone(name))
            self._naming[name] = frozenset(at for at, item in enumerate(self.items) if pattern.search(item))
        return self._naming[name]

    def numbered(self, names: Iterable[str]) -> Iterator[str]:
        """The names that numbered items begin with, in their order."""
        known = [(name, re.compile(_alone(name))) for name in names]
        for item in self.items:
            number = _NUMBER.match(item)
            if number is not None:
                yield from (name for name, pattern in known if pattern.match(item, number.end()))


def _alone(name: str) -> str:
    """A pattern for a name that is no part of another word."""
    return rf"(?<!\w){re.escape(name)}(?!\w)"


def _told_of_categories(tools: Tools, filed: Sequence[Choice], listed: _Listed, fields: Iterable[str]) -> Iterator[str]:
    """For each category its name, its description, and what the instructions say of no other; without fields' names."""
    names = [str(choice.parameters[0][1]) for choice in filed]
    described = _meanings(tools, filed[0]) if filed else {}
    for name in names:
        text = " ".join([name, described[name], *listed.naming_alone(name, names)])
        for field in fields:
            text = text.replace(field, " ")
        yield text


def _meanings(tools: Tools, choice: Choice) -> dict[str, str]:
    """What the values of an action's first parameter mean, as `engine.tools.explained` tells it."""
    schema = next(tool["inputSchema"] for tool in tools if tool["name"] == choice.type)
    parameter = schema["properties"][choice.parameters[0][0]]
    left, meanings = "\n" + parameter.get("description", ""), {}
    for name in reversed(parameter["enum"]):
        before, mark, meaning = left.rpartition(f"\n- {name}: ")
        left, meanings[name] = (before, meaning) if mark else (left, "")
    return meanings


def _told_of_decision(choice: Choice, listed: _Listed) -> str:
    """What stands in brackets behind its values, else the items that name it with all of them."""
    values = [str(value) for _, value in choice.parameters]
    told = listed.naming(choice.type, *values)
    behind = [re.search(_alone(value) + r"\s*\(([^)]*)\)", item) for item in told for value in values]
    return " ".join(found[1] for found in behind if found) or " ".join(told)
