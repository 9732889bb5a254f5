"""What a ticket says twice and differently: right values, and wrong ones that are right or are never put right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.checks import turn_spot
from engine.diagnostics import Report
from engine.nodes import Map, Spot, entries
from engine.pack import Field, Text, Ticket
from engine.template import Template

# A value of a field, whether it is wrong, and where it is written.
Stated = tuple[str, Text, bool, Spot]


def check_contradictions(ticket: Ticket, node: Map, fields: Mapping[str, Field], report: Report) -> None:
    """Reports the contradictions in a ticket that is sound otherwise; `node` is where it is written."""
    written = entries(node, "answers")
    stated = [*_known(ticket, node), *_answers(ticket, written)]
    _right_values(stated, report)
    for name in ticket.answers:  # a field that the ticket doesn't need isn't drawn
        if fields[name].sample is not None and name not in written and name not in ticket.known:
            _beside_what_is_drawn(name, stated, report)
    rights = ticket.right_values()
    for name, text, wrong, spot in stated:
        if wrong and not isinstance(text, Template) and name in rights and text == rights[name][0]:
            report.add("PACK046", spot, f"this wrong value of '{name}' is the right one")
    for name in written:
        last = len(ticket.answers[name]) - 1
        if ticket.answers[name][last].kind == "wrong" and name in ticket.required and name in rights:
            message = f"the last turn repeats, so this wrong value of '{name}' is never put right: add a turn that does"
            report.add("PACK046", turn_spot(written, name, last, name), message)


def _known(ticket: Ticket, node: Map) -> Iterator[Stated]:
    for name, text in ticket.known.items():
        yield name, text, False, entries(node, "known").value_spot(name)


def _answers(ticket: Ticket, nodes: Map) -> Iterator[Stated]:
    for under in nodes:
        for index, turn in enumerate(ticket.answers[under]):
            for given in turn.gives:
                yield given.field, given.value, given.wrong, turn_spot(nodes, under, index, given.field)


def _right_values(stated: list[Stated], report: Report) -> None:
    """Each field has one right value. What a template makes can't be known here."""
    first: dict[str, tuple[str, Spot]] = {}
    for name, text, wrong, spot in sorted(stated, key=lambda each: each[3].place):
        if wrong or isinstance(text, Template):
            continue
        value, where = first.setdefault(name, (text, spot))
        if text != value:
            before = where.file.text[where.offset : spot.offset] if where.file is spot.file else ""
            if before.rstrip() == f"{value},":
                remedy = "a comma begins the next answer in a list: put a text with a comma in quotes"
            else:
                remedy = "mark the one that isn't true: `wrong: true`"
            place = where.place.seen_from(spot.place)
            report.add("PACK046", spot, f"'{name}' has another right value at {place}; {remedy}")


def _beside_what_is_drawn(name: str, stated: list[Stated], report: Report) -> None:
    for field, text, wrong, spot in stated:
        if field == name and not wrong and not isinstance(text, Template):
            message = f"the value of '{name}' is drawn from its sample in this ticket, so this can't be right; "
            remedy = f"write {{template: ...}} with its name, or give '{name}' an answer of its own"
            report.add("PACK046", spot, message + remedy)
