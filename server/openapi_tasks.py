"""The description of the routes of the Task API and of ORS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.split import SPLITS
from server.body import MAX_ID
from server.schemas import COUNT, ERRORS, TEXT, Schema, array_of, body, object_of, operation, parameter, ref

ROUTES: Mapping[str, str] = {
    "/list_environments": "GET: the packs, as environments",
    "/{env}/splits": "GET: an environment's splits",
    "/{env}/tasks": "POST: the tasks of a split",
    "/{env}/num_tasks": "POST: how many these are",
    "/{env}/task": "POST: one of them, by its index",
    "/{env}/task_range": "POST: some of them, as a slice",
    "/create_session": "POST: an id for an ORS session",
    "/create": "POST: begin a task in an ORS session",
    "/ping": "POST: keep an ORS session alive",
    "/delete": "POST: end the episode of an ORS session",
    "/delete_session": "POST: end an ORS session",
    "/{env}/tools": "GET: an environment's tools",
    "/{env}/task_tools": "GET: the tools of an ORS session",
    "/{env}/prompt": "GET: how an agent is told to work, and what the customer says first",
    "/{env}/call": "POST: call a tool, which is a step",
}

_ERRORS: Mapping[str, str] = {
    **ERRORS,
    "400": "The body is not JSON, X-Session-ID is missing or taken, or there is no such split or index",
    "404": "There is no such environment, session, ticket or task",
}

_SPLIT: Schema = {"type": "string", "enum": list(SPLITS)}
_INDEX: Schema = {"type": "integer", "description": "From 0; counted from the end where it is negative"}
_OPTIONAL_INDEX: Schema = {"type": ["integer", "null"]}
_STRICT: Schema = {"additionalProperties": False}

_TASK = object_of(
    {
        "id": TEXT | {"description": "The ticket's id"},
        "pack": TEXT,
        "ticket_id": TEXT,
        "task_id": TEXT,
        "split": _SPLIT,
        "index": COUNT,
        "description": TEXT | {"description": "What the agent is to do"},
        "difficulty": TEXT,
        "max_steps": COUNT,
        "instructions": TEXT | {"description": "Tells an agent how to work"},
    },
    description="The public part of a ticket; a body for POST /reset as it stands",
)

_TOOL = object_of(
    {"name": TEXT, "description": TEXT, "input_schema": {"type": "object", "description": "A JSON Schema"}}
)

_CREATE: Schema = {
    "type": "object",
    "properties": {
        "env_name": {"type": ["string", "null"], "description": "Else the one that the paths of later requests name"},
        "task_spec": {
            "type": ["object", "null"],
            "description": "A task as the Task API shows it: its ticket_id, or id, decides. A seed may be added",
        },
        "split": {"type": ["string", "null"], "enum": [*SPLITS, None]},
        "index": _OPTIONAL_INDEX,
        "secrets": {"description": "Accepted, and ignored"},
    },
    "oneOf": [
        {"required": ["task_spec"], "properties": {"task_spec": {"type": "object"}}},
        {"required": ["split", "index"], "properties": {"split": {"type": "string"}, "index": {"type": "integer"}}},
    ],
    **_STRICT,
}

_CALL = object_of(
    {
        "name": TEXT | {"description": "A tool's name; one that there is not is a wasted step"},
        "input": {"type": "object"},
        "task_id": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_ID,
            "description": "From the event of an earlier call, whose answer is wanted again",
        },
    },
    optional=("task_id",),
    **_STRICT,
)

_EVENTS: Schema = {
    "type": "string",
    "description": "Server-sent events: task_id, any number of chunk, then end; or error. The data of chunk and end, "
    'joined, are JSON: {"ok": true, "output": {"blocks", "metadata", "reward", "finished"}}, or {"ok": false, "error"}',
}

SCHEMAS: Mapping[str, Schema] = {
    "Split": object_of({"name": TEXT, "type": _SPLIT}),
    "Task": _TASK,
    "Tools": object_of({"tools": array_of(_TOOL)}),
    "Blocks": array_of(object_of({"text": TEXT, "detail": {"type": "null"}, "type": {"const": "text"}})),
    "Session": object_of({"sid": TEXT}),
    "CreateBody": _CREATE,
    "CallBody": _CALL,
}

_SESSION = parameter(
    "X-Session-ID",
    {"type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": "^[!-~]+$"},
    "The session, by the id that /create_session gave",
    "header",
    required=True,
)


def paths(packs: tuple[str, ...]) -> dict[str, Schema]:
    """The paths, with what their methods do."""
    env = parameter("env", {"type": "string", "enum": list(packs)}, "A pack's name", "path", required=True)
    return {**_tasks(env), **_sessions(env)}


def _tasks(env: Schema) -> dict[str, Schema]:
    split = object_of({"split": _SPLIT}, **_STRICT)
    one = object_of({"split": _SPLIT, "index": _INDEX}, **_STRICT)
    part = {"start": _OPTIONAL_INDEX, "stop": _OPTIONAL_INDEX}
    some = object_of({"split": _SPLIT, **part}, optional=tuple(part), **_STRICT)
    tasks = array_of(ref("Task"))
    posts: dict[str, tuple[Schema, Schema]] = {
        "/{env}/tasks": (split, object_of({"tasks": tasks, "env_name": TEXT})),
        "/{env}/num_tasks": (split, object_of({"num_tasks": COUNT})),
        "/{env}/task": (one, object_of({"task": ref("Task")})),
        "/{env}/task_range": (some, object_of({"tasks": tasks})),
    }
    errors = ("400", "404", "413", "422")
    return {
        "/list_environments": {"get": _operation("/list_environments", array_of(TEXT))},
        "/{env}/splits": {"get": _operation("/{env}/splits", array_of(ref("Split")), ("404",), parameters=[env])},
        **{
            path: {"post": _operation(path, answer, errors, parameters=[env], requestBody=body(taken, required=True))}
            for path, (taken, answer) in posts.items()
        },
    }


def _sessions(env: Schema) -> dict[str, Schema]:
    held = ("400", "404", "409")
    session, created = ref("Session"), body(ref("CreateBody"), required=True)
    called = body(ref("CallBody"), required=True)
    in_session: Schema = {"parameters": [env, _SESSION]}
    named: Schema = {"parameters": [_SESSION]}
    return {
        "/create_session": {"post": _operation("/create_session", _EVENTS, media="text/event-stream")},
        "/create": {"post": _operation("/create", session, ("400", "404", "413", "422"), requestBody=created, **named)},
        "/ping": {"post": _operation("/ping", object_of({"status": {"const": "ok"}}), ("400", "404"), **named)},
        "/delete": {"post": _operation("/delete", session, ("400",), **named)},
        "/delete_session": {"post": _operation("/delete_session", session, ("400",), **named)},
        "/{env}/tools": {"get": _operation("/{env}/tools", ref("Tools"), ("404",), parameters=[env])},
        "/{env}/task_tools": {"get": _operation("/{env}/task_tools", ref("Tools"), held, **in_session)},
        "/{env}/prompt": {"get": _operation("/{env}/prompt", ref("Blocks"), held, **in_session)},
        "/{env}/call": {
            "post": _operation(
                "/{env}/call",
                _EVENTS,
                (*held, "413", "422"),
                media="text/event-stream",
                requestBody=called,
                **in_session,
            )
        },
    }


def _operation(
    path: str, answer: Schema, errors: tuple[str, ...] = (), media: str = "application/json", **more: Any
) -> Schema:
    return operation(path[1:].replace("{env}/", "environment_"), ROUTES[path], answer, errors, media, _ERRORS, **more)
