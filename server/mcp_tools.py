"""What the Model Context Protocol adds to a pack's tools: `reset`, and results as its clients read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.nearest import nearest
from engine.pack import Pack
from engine.tools import explained
from server.body import MAX_ID
from server.catalogue import Catalogue
from server.openapi import reset_schema
from server.problems import quoted
from server.tools import told

# With more tickets than these, their ids are not listed in a tool's description.
LISTED = 100

_NOT_FOR_AGENTS = ("episode_id", "request_id")


def reset_name(pack: Pack) -> str:
    """What the tool that begins an episode is called: `reset`, unless an action of the pack is."""
    name = "reset"
    while name in pack.actions:
        name += "_episode"
    return name


def reset_tool(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """The tool that begins an episode; its parameters are those of POST /reset that concern an agent."""
    packs = catalogue.by_name
    tasks = {task.id: task.description for pack in packs.values() for task in pack.tasks.values()}
    tickets = list(dict.fromkeys(ticket for pack in packs.values() for ticket in pack.tickets))
    properties = {
        parameter: _for_agents(schema)
        for parameter, schema in reset_schema(tuple(packs), tuple(tasks))["properties"].items()
        if parameter not in _NOT_FOR_AGENTS
    }
    described = {pack.name: pack.description for pack in packs.values()}
    for parameter, meanings in (("pack", described), ("task_id", tasks)):
        properties[parameter]["description"] = explained(properties[parameter]["description"], meanings)
    properties["ticket_id"] = {"type": "string", "description": "This ticket"}
    if len(tickets) <= LISTED:
        properties["ticket_id"]["enum"] = tickets
    return {
        "name": name,
        "description": "Begin a new episode with another ticket; the one before is left as it is",
        "inputSchema": {"type": "object", "properties": properties, "required": [], "additionalProperties": False},
    }


def unknown_argument(tool: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the names of a tool's arguments."""
    known = tool["inputSchema"]["properties"]
    for name in arguments:
        if name not in known:
            near = nearest(name, known) if len(name) <= MAX_ID else None
            hint = f"did you mean {quoted(near)}? " if near is not None else ""
            return f"{tool['name']} has no parameter {quoted(name)}: {hint}It takes {', '.join(known)}."
    return None


def result(
    observation: Mapping[str, Any], reset: str | None, *, first: tuple[str, ...] = (), mistake: bool = False
) -> dict[str, Any]:
    """The result of a call: what was said, then the rest of the observation, as one text and as data.

    `reset` is the name of the tool that begins the next episode, `first` what is to be read before the rest. Nothing
    but the observation is in it.
    """
    end: tuple[str, ...] = ()
    if observation["status"] == "resolved":
        end = (f"The ticket is resolved. {over(reset)}",)
    elif observation["remaining_steps"] == 0:
        end = (f"No steps are left, and the ticket is not resolved. {over(reset)}",)
    text = "\n\n".join((*first, *told(observation), *end))
    return {"structuredContent": observation, **_result(text, observation, observation, mistake)}


def over(reset: str | None) -> str:
    """That the episode is over, and what can be done about it."""
    return "The episode is over." if reset is None else f"The episode is over: call {reset} to begin another one."


def refusal(text: str) -> dict[str, Any]:
    """The result of a call that changed nothing; OpenEnv's client shows its agents `data` alone."""
    return _result(text, None, text, True)


def _result(text: str, structured: Any, data: Any, mistake: bool) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": text}],
        "isError": mistake,
        "structured_content": structured,
        "data": data,
        "is_error": mistake,
    }


def _for_agents(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without null: an agent leaves a parameter out."""
    plain = {**schema, "type": next(kind for kind in schema["type"] if kind != "null")}
    if "enum" in schema:
        plain["enum"] = [value for value in schema["enum"] if value is not None]
    return plain
