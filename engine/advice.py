"""What a pack may hold but hardly means: warnings, for packs without errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from engine.diagnostics import Report
from engine.nodes import Map, Seq, Spot, entries, items, string
from engine.pack import Pack
from engine.template import Template
from engine.vocabulary import MISTAKE_WORDS, WORDS

_NAME = re.compile(r"\{\{\s*(?:fields\[['\"](?P<field>[^'\"]*)['\"]\]|(?P<plain>\w+))[^{}]*\}\}")
_TYPOGRAPHIC = re.compile("[“„”«»]([^“„”«»]*)[“”«»]|[‘‚]([^‘‚’]*)[’‘]")
# Under these keys stands no text that is said.
_NOT_SAID = frozenset({"id", "task", "category", "schema", "tests", "instructions", "outcome", "pack", "version"})


def advise(pack: Pack, document: Map, report: Report) -> None:
    """Reports all warnings."""
    names = pack.fields.keys() | pack.facts.keys()
    for text, spot, is_template in _texts(document, document.spot, False):
        if "{{" in text and not is_template:
            _forgotten(text, spot, names, report)
        if _TYPOGRAPHIC.fullmatch(text):
            report.warn("PACK083", spot, "these quotes are part of the text; YAML knows ' and \" only")
    _people(document, report)
    _rules(document, report)
    for node in items(document, "tickets"):
        _messages(pack, node, report)


def _texts(value: Any, spot: Spot, is_template: bool) -> Iterator[tuple[str, Spot, bool]]:
    """Every text that may be said, where it stands, and whether it is a template."""
    if isinstance(value, str):
        yield value, spot, is_template
    elif isinstance(value, Map):
        for key, inner in value.items():
            if key not in _NOT_SAID:
                yield from _texts(inner, value.value_spot(key), key == "template")
    elif isinstance(value, Seq):
        for index, inner in enumerate(value):
            yield from _texts(inner, value.item_spot(index), False)


def _forgotten(text: str, spot: Spot, names: set[str], report: Report) -> None:
    for found in _NAME.finditer(text):
        if (found["field"] or found["plain"]) in names | WORDS | MISTAKE_WORDS:
            message = (
                f"'{found[0]}' stays as it is in a plain text; where it is to be filled in, write {{template: ...}}"
            )
            report.warn("PACK080", spot, message)
            return


def _people(document: Map, report: Report) -> None:
    people = entries(document, "people")
    for name in people:
        person = entries(people, name)
        for words, turns in (("says", "stalls"), ("refuses_with", "refuses")):
            if items(person, words) and not person.get(turns, 0):
                message = f"'{name}' never says this: say in `{turns}` how many turns come before each answer"
                report.warn("PACK085", person.key_spot(words), message)


def _rules(document: Map, report: Report) -> None:
    rules = entries(document, "rules")
    for action in rules:
        nodes = items(rules, action)
        always = next((index for index, rule in enumerate(nodes) if not entries(rule, "when")), None)
        if always is not None and always + 1 < len(nodes):
            line = nodes.item_spot(always).place.line
            message = f"this rule never fires: the one at line {line} has no `when`, so it always does"
            report.warn("PACK082", nodes.item_spot(always + 1), message)


def _messages(pack: Pack, node: Map, report: Report) -> None:
    """Messages that are given twice, or that state a value which isn't known afterwards."""
    ticket, nodes = pack.tickets[string(node, "id")], items(node, "messages")
    seen: set[Any] = set()
    for index, message in enumerate(ticket.messages):
        if message in seen:
            report.warn(
                "PACK084", nodes.item_spot(index), "this message stands here twice, so it is picked twice as often"
            )
        seen.add(message)
        stated = message.text.names if isinstance(message.text, Template) else frozenset()
        for name in sorted((stated & pack.fields.keys()) - ticket.known.keys() - set(message.known)):
            text = f"this message states '{name}', and an agent has to ask for it all the same; list it under `known`"
            report.warn("PACK081", nodes.item_spot(index), text)
