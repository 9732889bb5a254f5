"""Each ticket's first observation is what the contract promises, whichever message opens it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from engine.case import Case, make_case
from engine.diagnostics import Finding
from engine.episode import Episode
from engine.pack import Pack, Ticket

# Keywords under which only the types of values matter, and the keys that they stand under.
_STRUCTURAL = frozenset({"type", "properties", "items", "required", "additionalProperties", "title", "description"})
# How many seeds are tried for each message until all have come up.
_TRIES = 64


def opening_findings(pack: Pack, space: Mapping[str, Any]) -> Iterator[Finding]:
    """A finding for every ticket with a first observation that isn't valid under `space`, a JSON Schema.

    Observations that differ only in what the schema doesn't look at are validated once.
    """
    validator = Draft202012Validator(dict(space))
    properties = space.get("properties", {})
    loose = (
        {name for name, schema in properties.items() if _is_structural(schema)}
        if space.keys() <= _STRUCTURAL
        else set()
    )
    problems: dict[Hashable, str | None] = {}
    for ticket in pack.tickets.values():
        for case in _cases(pack, ticket, "customer_message" in loose):
            observation = Episode.start(case).observation
            key = tuple((name, _shape(value) if name in loose else repr(value)) for name, value in observation.items())
            if key not in problems:
                error = next(validator.iter_errors(observation), None)
                problems[key] = f"{error.json_path}: {error.message}" if error is not None else None
            if problems[key] is not None:
                message = f"ticket '{ticket.id}': the first observation breaks the contract at {problems[key]}"
                yield Finding("PACK063", message, ticket.place)
                break


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


def _is_structural(schema: Any) -> bool:
    """Whether only the types of values matter to a schema."""
    if isinstance(schema, bool):
        return True
    inner = [
        *schema.get("properties", {}).values(),
        schema.get("items", True),
        schema.get("additionalProperties", True),
    ]
    return schema.keys() <= _STRUCTURAL and all(_is_structural(each) for each in inner)


def _shape(value: Any) -> Hashable:
    """A value without its texts and numbers."""
    if isinstance(value, Mapping):
        return tuple((name, _shape(inner)) for name, inner in value.items())
    return frozenset(_shape(item) for item in value) if isinstance(value, list) else type(value)
