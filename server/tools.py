"""What an agent that plays by calling tools is given: a pack's actions as tools, and an observation as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.action import parameter_schema
from engine.pack import Pack
from server.answers import encode

# What the agent has read before: an observation repeats it at every step.
_TOLD = ("customer_message", "history")


def tools(pack: Pack) -> list[dict[str, Any]]:
    """The actions of a pack as tools, in the pack's order: `{name, description, inputSchema}`."""
    return [
        {"name": action.name, "description": action.description, "inputSchema": parameter_schema(action)}
        for action in pack.actions.values()
    ]


def told(observation: Mapping[str, Any]) -> tuple[str, str]:
    """Two texts: what was said last (the opening message at the start), and the rest of the observation as JSON."""
    last = observation["history"][-1]
    rest = {name: value for name, value in observation.items() if name not in _TOLD}
    return f"{last['role']}: {last['text']}", encode(rest).decode()
