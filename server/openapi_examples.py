"""The examples in the description of the HTTP interface: an episode of the default pack, ready to be played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.action import action_space
from engine.pack import Pack, Split
from engine.split import splits

EPISODE = "example"
SESSION = "example-session"
SEED = 7


class Examples(NamedTuple):
    """What the examples of all routes are made of, so that one goes on where another ended.

    `split` has `ticket_id` as its first ticket, whose task is `task_id`. `action` is a valid action in canonical form,
    `tool` and `arguments` the same as the call of a tool.
    """

    pack: str
    split: Split
    ticket_id: str
    task_id: str
    action: Mapping[str, Any]
    tool: str
    arguments: Mapping[str, Any]


def examples(pack: Pack) -> Examples:
    split, ticket_ids = next((split, ids) for split, ids in splits(pack).items() if ids)
    choice = action_space(pack).choices[0]
    return Examples(
        pack=pack.name,
        split=split,
        ticket_id=ticket_ids[0],
        task_id=pack.tickets[ticket_ids[0]].task,
        action=choice.canonical(),
        tool=choice.type,
        arguments=dict(choice.parameters),
    )
