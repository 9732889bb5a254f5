"""Tickets to a pack's document, in the order in which a pack is written by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.importing.tickets import Ticket

# Stands where a text is still to be written.
TODO: Final = "TODO"
VERSION: Final = "0.1.0"
# How many steps an episode may take beyond the fewest, where the contract's own limit is too low.
SPARE: Final = 2


@dataclass(frozen=True, slots=True)
class Head:
    """What stands at the top of a pack. `max_steps` is the contract's."""

    name: str
    description: str
    max_steps: int
    language: str | None = None

    def document(self, fewest_steps: int) -> dict[str, Any]:
        """The keys, with a limit of steps where the fewest are more than the contract allows."""
        top: dict[str, Any] = {"pack": self.name, "version": VERSION}
        if self.language is not None:
            top["language"] = self.language
        top["description"] = self.description
        if fewest_steps > self.max_steps:
            top["max_steps"] = fewest_steps + SPARE
        return top


def needs(tickets: Iterable[Ticket], fields: Sequence[str]) -> dict[str | None, list[str]]:
    """The fields that each category needs: those that have a value in at least half of its tickets.

    None is the category of tickets without one. Categories stand in the order in which they came first.
    """
    held: dict[str | None, dict[str, int]] = {}
    sizes: dict[str | None, int] = defaultdict(int)
    for ticket in tickets:
        counts = held.setdefault(ticket.category, dict.fromkeys(fields, 0))
        sizes[ticket.category] += 1
        for name in ticket.known.keys() | ticket.answers.keys():
            counts[name] += 1
    return {
        category: [name for name in fields if 2 * counts[name] >= sizes[category]] for category, counts in held.items()
    }


def document(
    head: Head, tickets: Sequence[Ticket], fields: Mapping[str, str], playbook: Mapping[str | None, Sequence[str]]
) -> dict[str, Any]:
    """A pack. `fields` has what each is; `playbook` the fields that each category needs."""
    fewest = max((_steps(ticket, playbook[ticket.category]) for ticket in tickets), default=0)
    made = head.document(fewest)
    if fields:
        made["fields"] = {name: {"description": what} for name, what in fields.items()}
    categories = {name: {"requires": list(needed)} for name, needed in playbook.items() if name is not None}
    if categories:
        made["categories"] = categories
    made["tickets"] = [_ticket(ticket, fields, playbook[ticket.category]) for ticket in tickets]
    return made


def missing(ticket: Ticket, needed: Iterable[str]) -> list[str]:
    """The fields that a ticket needs and has no value for."""
    return [name for name in needed if name not in ticket.known and name not in ticket.answers]


def _steps(ticket: Ticket, needed: Iterable[str]) -> int:
    """The fewest steps: each field that isn't known, the category, and resolving."""
    return sum(name not in ticket.known for name in needed) + (ticket.category is not None) + 1


def _ticket(ticket: Ticket, fields: Iterable[str], needed: Sequence[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"id": ticket.id, "task": ticket.task}
    if ticket.category is not None:
        made["category"] = ticket.category
    made["messages"] = ticket.messages
    if ticket.category is None and needed:
        made["required"] = list(needed)
    optional = [name for name in fields if name in ticket.answers and name not in needed]
    if optional:
        made["optional"] = optional
    if ticket.known:
        made["known"] = ticket.known
    unwritten = missing(ticket, needed)
    answers = {name: ticket.answers.get(name, TODO) for name in fields if name in ticket.answers or name in unwritten}
    if answers:
        made["answers"] = answers
    if ticket.split is not None:
        made["split"] = ticket.split
    return made
