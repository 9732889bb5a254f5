"""Tickets to a pack's document: what a category needs, what is still to be written, how many steps there must be."""

from __future__ import annotations

from typing import Any

from engine.importing.desk import Head, document, needs
from engine.importing.tickets import Ticket

HEAD = Head("desk", "A desk", 10)


def ticket(name: str, category: str | None, known: str = "", answers: str = "") -> Ticket:
    """Fields by their first letters, each with a value of its own."""
    of = {letter: f"{letter} of {name}" for letter in known + answers}
    return Ticket(
        name, "a task", ["Hi"], category, None, {one: of[one] for one in known}, {one: of[one] for one in answers}
    )


def made(*tickets: Ticket, fields: str = "abc") -> dict[str, Any]:
    return document(HEAD, tickets, {one: one for one in fields}, needs(tickets, list(fields)))


def test_a_category_needs_what_half_of_its_tickets_have() -> None:
    tickets = [ticket("1", "x", "a", "b"), ticket("2", "x", "", "ac"), ticket("3", "y"), ticket("4", None, "", "c")]
    assert needs(tickets, ["a", "b", "c"]) == {"x": ["a", "b", "c"], "y": [], None: ["c"]}
    # One of three isn't half, and a field that is both known and answered counts once.
    tickets = [ticket("1", "x", "", "a"), ticket("2", "x", "b", "b"), ticket("3", "x")]
    assert needs(tickets, ["b", "a"]) == {"x": []}
    assert needs([*tickets, ticket("4", "x", "", "b")], ["b", "a"]) == {"x": ["b"]}


def test_what_is_missing_is_to_be_written() -> None:
    found = made(ticket("1", "x", "a", "b"), ticket("2", "x", "", "b"))
    assert found["categories"] == {"x": {"requires": ["a", "b"]}}
    base = {"task": "a task", "category": "x", "messages": ["Hi"]}
    assert found["tickets"] == [
        {"id": "1", **base, "known": {"a": "a of 1"}, "answers": {"b": "b of 1"}},
        {"id": "2", **base, "answers": {"a": "TODO", "b": "b of 2"}},
    ]


def test_what_is_not_needed_may_be_asked_for() -> None:
    found = made(ticket("1", "x", "c", "b"), ticket("2", "x"), ticket("3", "x"))
    assert found["tickets"][0] == {
        "id": "1",
        "task": "a task",
        "category": "x",
        "messages": ["Hi"],
        "optional": ["b"],
        "known": {"c": "c of 1"},
        "answers": {"b": "b of 1"},
    }
    assert list(found["tickets"][1]) == ["id", "task", "category", "messages"]


def test_a_ticket_without_a_category_says_itself_what_it_needs() -> None:
    found = made(ticket("1", None, "", "a"))
    assert "categories" not in found
    assert found["tickets"] == [
        {"id": "1", "task": "a task", "messages": ["Hi"], "required": ["a"], "answers": {"a": "a of 1"}}
    ]


def test_there_are_steps_enough() -> None:
    """Eight fields, the category and resolving are ten steps; a field that is known needs none."""
    names = "abcdefghij"
    assert "max_steps" not in made(ticket("1", "x", "", names[:8]), fields=names)
    assert "max_steps" not in made(ticket("1", "x", "a", names[1:9]), fields=names)
    assert "max_steps" not in made(ticket("1", None, "", names[:9]), fields=names)
    assert made(ticket("1", "x", "", names[:9]), fields=names)["max_steps"] == 13  # eleven, and two to spare


def test_the_keys_stand_in_the_order_of_a_pack() -> None:
    found = document(Head("desk", "A desk", 10, "de"), [ticket("1", "x", "", "a")], {"a": "A"}, {"x": ["a"]})
    assert found == {
        "pack": "desk",
        "version": "0.1.0",
        "language": "de",
        "description": "A desk",
        "fields": {"a": {"description": "A"}},
        "categories": {"x": {"requires": ["a"]}},
        "tickets": [{"id": "1", "task": "a task", "category": "x", "messages": ["Hi"], "answers": {"a": "a of 1"}}],
    }
    assert list(found) == ["pack", "version", "language", "description", "fields", "categories", "tickets"]
