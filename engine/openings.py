"""Each ticket's first observation is what the contract promises, whichever message opens it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from engine.automaton import Automaton
from engine.case import Case, make_case
from engine.diagnostics import Finding
from engine.episode import Episode
from engine.pack import Pack, Ticket
from engine.solve import variants

# Keywords under which only the types of values matter, and the keys that they stand under.
_STRUCTURAL = frozenset({"type", "properties", "items", "required", "additionalProperties", "title", "description"})
# How many seeds are tried for each message until all have come up.
_TRIES = 64


def opening_findings(pack: Pack, space: Mapping[str, Any]) -> Iterator[Finding]:
    """A finding for every ticket with a first observation that isn't valid under `space`, a JSON Schema.

    Where the schema looks at types alone, tickets of which the same shows at the start are validated once.
    """
    validator = Draft202012Validator(dict(space))
    alike = is_structural({**space, "properties": {**space.get("properties", {}), "status": True}})
    problems: dict[Hashable, str | None] = {}
    promised = frozenset(space.get("properties", {}))
    for ticket in pack.tickets.values():
        shown = frozenset(_shown(machine) for machine in variants(pack, ticket))
        if not alike or shown not in problems:
            observations = [Episode.start(case).observation for case in _cases(pack, ticket, alike)]
            errors = (next(validator.iter_errors(observation), None) for observation in observations)
            error = next((error for error in errors if error is not None), None)
            problems[shown] = f"{error.json_path}: {error.message}" if error is not None else None
            for name in sorted(promised.difference(*observations)):
                problems[shown] = f"$.{name}: it is promised, but never sent"
        if problems[shown] is not None:
            message = f"ticket '{ticket.id}': the first observation breaks the contract at {problems[shown]}"
            yield Finding("PACK063", message, ticket.place)


def _shown(machine: Automaton) -> Hashable:
    """What an agent sees at the start of a case, without the words."""
    view = machine.observation(machine.initial)
    return tuple(name for name, _ in view.known), bool(view.required), bool(view.missing), type(view.progress)


def _cases(pack: Pack, ticket: Ticket, words_do_not_matter: bool) -> Iterator[Case]:
    """A case for every message that opens the ticket, or, where words don't matter, for all that state the same."""
    wanted: set[Hashable] = {message.known if words_do_not_matter else message.text for message in ticket.messages}
    seen: set[Hashable] = set()
    for seed in range(_TRIES * len(ticket.messages)):
        case = make_case(pack, ticket.id, seed)
        known = case.automaton.initial if words_do_not_matter else case.message
        if known not in seen:
            seen.add(known)
            yield case
        if len(seen) >= len(wanted):
            return


def is_structural(schema: Any) -> bool:
    """Whether only the types of values matter to a schema."""
    if isinstance(schema, bool):
        return True
    inner = [
        *schema.get("properties", {}).values(),
        schema.get("items", True),
        schema.get("additionalProperties", True),
    ]
    return schema.keys() <= _STRUCTURAL and all(is_structural(each) for each in inner)
