"""What a pack declares and its tickets hardly use: fields, people, categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from engine.filters import TemplateError
from engine.lints.note import Note
from engine.nodes import Map, entries, items
from engine.pack import Pack, Ticket
from engine.template import compile_template

# A category has far fewer tickets than another where it has fewer than one in so many of them; of few tickets one more
# or less says nothing, so the other has at least LARGE.
FEWER: Final = 5
LARGE: Final = 10
# Nothing under these keys makes use of a field.
_NO_USE = frozenset({"fields", "categories", "tickets", "tests", "lints", "proof", "pack", "version", "description"})


def unused_fields(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each field that no category and no ticket, and nothing that is said or done in one, names."""
    used = {name for category in pack.categories.values() for name in category.requires}
    used.update(name for ticket in pack.tickets.values() for name in _fields(ticket))
    nodes = entries(document, "fields")
    if nodes.keys() <= used:
        return
    used.update(_named(document.get("tickets"), texts=False))
    for key in document.keys() - _NO_USE:
        used.update(_named(document[key], texts=True))
    for name in nodes:
        if name not in used:
            message = f"no ticket and no category uses the field '{name}', and agents may ask for it all the same"
            yield Note(nodes.key_spot(name), f"{message}: take it out, or let a category require it")


def _fields(ticket: Ticket) -> Iterator[str]:
    yield from (*ticket.required, *ticket.optional, *ticket.known, *ticket.answers)
    yield from (name for message in ticket.messages for name in message.known)
    yield from (given.field for turns in ticket.answers.values() for turn in turns for given in turn.gives)


def _named(value: Any, texts: bool) -> Iterator[str]:
    """The names in the templates of a part of the document; with `texts`, every text that may be a name as well."""
    if isinstance(value, Map):
        for key, inner in value.items():
            if key == "template" and isinstance(inner, str):
                yield from _in_template(inner)
            yield from _named(inner, texts)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, texts)
    elif texts and isinstance(value, str):
        yield value


def _in_template(source: str) -> frozenset[str]:
    try:
        return compile_template(source).names
    except TemplateError:  # it stands where no template is meant
        return frozenset()


def unused_people(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each person that no ticket has, whether it names them or leaves it to the pack's own `person`."""
    used = {name for ticket in pack.tickets.values() for name in ticket.people}
    nodes, own = entries(document, "people"), document.get("person")
    by_default = {own} if isinstance(own, str) else {*items(document, "person")}
    for name in nodes:
        if name in used:
            continue
        message = f"no ticket names the person '{name}': say `person: {name}` in one, or take this person out"
        if name in by_default:
            message = f"no ticket has the person '{name}' of the pack's own `person`, as each says who it is"
            message += ": leave `person` out in one, or take this person out"
        yield Note(nodes.key_spot(name), message)


def unbalanced(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each category without a ticket, and for each that agents have to find far less often than another."""
    every = Counter(ticket.category for ticket in pack.tickets.values())
    found = Counter(
        ticket.category
        for ticket in pack.tickets.values()
        if ticket.category is not None and pack.tasks[ticket.task].classifier == "agent"
    )
    largest, most = max(found.items(), key=lambda each: each[1], default=(None, 0))
    nodes = entries(document, "categories")
    for name in nodes:
        if not every[name]:
            message = f"no ticket is of the category '{name}': write one, or take the category out"
            yield Note(nodes.key_spot(name), message)
        elif most >= LARGE and found[name] * FEWER < most:
            shares = f"{found[name]} of the {found.total()} tickets that agents classify"
            message = f"'{name}' is the category of {shares}, and '{largest}' of {most}: who always says '{largest}'"
            yield Note(nodes.key_spot(name), f"{message} gains by that; write more tickets of '{name}'")
