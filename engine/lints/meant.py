"""What a pack says but hardly means, and its author mostly can't see: templates that are none, rules that never fire,
values that stay unknown, words that nobody says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from engine.lints.note import Note
from engine.lints.texts import said
from engine.nodes import Map, entries, items, string
from engine.pack import Pack
from engine.template import Template
from engine.vocabulary import MISTAKE_WORDS, WORDS

_NAME: Final = re.compile(r"\{\{\s*(?:fields\[['\"](?P<field>[^'\"]*)['\"]\]|(?P<plain>\w+))[^{}]*\}\}")


def forgotten_templates(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each text with a name in double braces that isn't written as a template."""
    names = pack.fields.keys() | pack.facts.keys() | WORDS | MISTAKE_WORDS
    for one in said(document):
        if "{{" not in one.text or one.is_template:
            continue
        found = next((each for each in _NAME.finditer(one.text) if (each["field"] or each["plain"]) in names), None)
        if found is not None:
            text = f"'{found[0]}' stays as it is in a plain text; where it is to be filled in, write {{template: ...}}"
            yield Note(one.spot, text)


def stated_unknown(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each field that a message states and that isn't known afterwards."""
    for node in items(document, "tickets"):
        ticket, nodes = pack.tickets[string(node, "id")], items(node, "messages")
        for index, message in enumerate(ticket.messages):
            stated = message.text.names if isinstance(message.text, Template) else frozenset()
            for name in sorted((stated & pack.fields.keys()) - ticket.known.keys() - set(message.known)):
                text = f"this message states '{name}', and an agent has to ask for it all the same"
                yield Note(nodes.item_spot(index), f"{text}; list it under `known`")


def said_twice(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each message of a ticket that stands there already."""
    for node in items(document, "tickets"):
        nodes = items(node, "messages")
        seen: set[Any] = set()
        for index, message in enumerate(pack.tickets[string(node, "id")].messages):
            if message in seen:
                yield Note(nodes.item_spot(index), "this message stands here twice, so it is picked twice as often")
            seen.add(message)


def never_fire(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each action whose rules go on below one that always fires."""
    rules = entries(document, "rules")
    for action in rules:
        nodes = items(rules, action)
        always = next((index for index, rule in enumerate(nodes) if not entries(rule, "when")), None)
        if always is not None and always + 1 < len(nodes):
            where = nodes.item_spot(always + 1)
            first = nodes.item_spot(always).place.seen_from(where.place)
            yield Note(where, f"this rule never fires: the one at {first} has no `when`, so it always does")


def never_said(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for what a person is to say before each answer where nothing comes before it."""
    people = entries(document, "people")
    for name in people:
        person = entries(people, name)
        for words, turns in (("says", "stalls"), ("refuses_with", "refuses")):
            if items(person, words) and not person.get(turns, 0):
                text = f"'{name}' never says this: say in `{turns}` how many turns come before each answer"
                yield Note(person.key_spot(words), text)
