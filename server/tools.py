"""What an agent that plays by calling tools is given: a pack's actions as tools, and an observation as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.action import parameter_schema
from engine.pack import Action, Pack
from server.answers import encode

# What the agent has read before: an observation repeats it at every step.
_TOLD = ("customer_message", "history")


def tools(pack: Pack) -> list[dict[str, Any]]:
    """The actions of a pack as tools, in the pack's order: `{name, description, inputSchema}`."""
    return [
        {"name": action.name, "description": action.description, "inputSchema": _schema(pack, action)}
        for action in pack.actions.values()
    ]


def explained(description: str, meanings: Mapping[str, str]) -> str:
    """A parameter's description, and beneath it what each of its values means."""
    lines = [f"- {name}: {text}" for name, text in meanings.items()]
    return "\n".join([description or "One of these:", *lines])


def told(observation: Mapping[str, Any]) -> tuple[str, str]:
    """Two texts: what was said last (the opening message at the start), and the rest of the observation as JSON."""
    last = observation["history"][-1]
    rest = {name: value for name, value in observation.items() if name not in _TOLD}
    return f"{last['role']}: {last['text']}", encode(rest).decode()


def _schema(pack: Pack, action: Action) -> dict[str, Any]:
    """The schema of an action's parameters, with what each field and category means."""
    schema = parameter_schema(action)
    for parameter, meant in ((action.asks, pack.fields), (action.classifies, pack.categories)):
        if parameter is not None:
            shown = schema["properties"][parameter]
            meanings = {name: meant[name].description for name in shown["enum"]}
            shown["description"] = explained(shown.get("description", ""), meanings)
    return schema
