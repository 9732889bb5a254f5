"""A pack's actions as tools, as an agent that plays by calling them is given them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.action import parameter_schema
from engine.pack import Action, Pack


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


def _schema(pack: Pack, action: Action) -> dict[str, Any]:
    """The schema of an action's parameters, with what each field and category means."""
    schema = parameter_schema(action)
    for parameter, meant in ((action.asks, pack.fields), (action.classifies, pack.categories)):
        if parameter is not None:
            shown = schema["properties"][parameter]
            meanings = {name: meant[name].description for name in shown["enum"]}
            shown["description"] = explained(shown.get("description", ""), meanings)
    return schema
