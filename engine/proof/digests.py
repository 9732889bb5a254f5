"""What decides the tickets of a pack but for texts, as digests: with the same ones an agent that was right is right."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from engine.pack import Action, Pack, Rule, Ticket
from engine.rules import same
from engine.split import splits
from engine.turns import Manner, manners


def pack_digest(pack: Pack) -> str:
    """SHA-256 of what decides all tickets of a pack: names, actions, rules, facts, rewards and tasks."""
    rewards = pack.rewards
    return _digest(
        {
            "fields": sorted(pack.fields),
            "categories": {one.name: sorted(one.requires) for one in pack.categories.values()},
            "actions": {one.name: _action(one) for one in pack.actions.values()},
            "facts": {one.name: [list(one.values), one.initial] for one in pack.facts.values()},
            "rewards": [rewards.fields, rewards.classification, rewards.waste, rewards.minimum, rewards.maximum],
            "max_steps": pack.max_steps,
            "tasks": {one.id: [one.classifier, one.required] for one in pack.tasks.values()},
        }
    )


def ticket_digests(pack: Pack) -> dict[str, str]:
    """SHA-256 of what decides each ticket besides that, by its id."""
    split = {ticket: name for name, tickets in splits(pack).items() for ticket in tickets}
    return {name: _digest({"split": split[name], **_ticket(pack, one)}) for name, one in pack.tickets.items()}


def _ticket(pack: Pack, ticket: Ticket) -> dict[str, Any]:
    """Sets are sorted: how often which cases come up is the share of the variants, and not told here."""
    return {
        "task": ticket.task,
        "category": ticket.category,
        "required": sorted(ticket.required),
        "optional": sorted(ticket.optional),
        "known": sorted(ticket.known),
        "stated": sorted({tuple(sorted(message.known)) for message in ticket.messages}),
        "answers": {
            name: [[turn.kind, sorted((one.field, one.wrong) for one in turn.gives)] for turn in turns]
            for name, turns in ticket.answers.items()
        },
        # The pack's own initial values are part of the pack's digest.
        "facts": {name: value for name, value in ticket.facts.items() if not same(value, pack.facts[name].initial)},
        "goal": dict(ticket.goal),
        **_people(manners(pack, ticket)),
    }


def _people(found: Sequence[Manner]) -> dict[str, Any]:
    """What they do before they answer; the digest is as it ever was where nobody does more than stall."""
    if all(one == Manner(stalls=one.stalls) for one in found):
        return {"stalls": sorted({one.stalls for one in found})}
    ways = {(one.refuses, one.stalls, one.fields is None, *sorted(one.fields or ())) for one in found}
    return {"people": sorted(ways)}


def _action(action: Action) -> dict[str, Any]:
    return {
        "parameters": {one.name: [one.type, sorted(one.enum, key=repr), one.required] for one in action.parameters},
        "asks": action.asks,
        "classifies": action.classifies,
        "rules": [_rule(rule) for rule in action.rules],
    }


def _rule(rule: Rule) -> list[Any]:
    then = rule.then
    does = [then.learn, then.classify, then.waste, then.point_out, then.resolve, dict(then.set)]
    return [rule.outcome, rule.when, does]


def _digest(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), default=dict)
    return hashlib.sha256(text.encode()).hexdigest()
