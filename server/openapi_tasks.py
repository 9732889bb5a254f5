"""The description of the routes of the Task API and of ORS."""

from __future__ import annotations

from collections.abc import Mapping

from engine.split import SPLITS
from server.body import MAX_ID
from server.openapi_examples import SEED, SESSION, Examples
from server.schemas import (
    COUNT,
    ID,
    OPTIONAL_SEED,
    OPTIONAL_TEXT,
    TEXT,
    Schema,
    answered,
    array_of,
    body,
    header,
    object_of,
    operation,
    parameter,
    ref,
)

TASK_API: Schema = {
    "name": "Task API",
    "description": "OpenEnv's: every pack is an environment, and its tickets are the tasks, in the splits train, "
    "validation and test. Upper and lower case make no difference in an environment's name where they aren't needed. "
    "The page `docs/tasks.md` of the project says more.",
}
ORS: Schema = {
    "name": "ORS",
    "description": "The Open Reward Standard: a session is an episode that is played by calling tools, and "
    "`X-Session-ID` is its id. After fifteen minutes of silence it is gone.",
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

_TASK_SPEC: Schema = {
    "type": ["object", "null"],
    "properties": {
        "ticket_id": OPTIONAL_TEXT,
        "id": OPTIONAL_TEXT | {"description": "The same, where there is no ticket_id"},
        "task_id": OPTIONAL_TEXT,
        "pack": OPTIONAL_TEXT | {"description": "The environment, where env_name doesn't say it"},
        "seed": OPTIONAL_SEED | {"description": "Else one is drawn"},
    },
    "description": "A task as the Task API shows it. A seed may be added",
}

_NAMED: Schema = {
    "type": "object",
    "anyOf": [{"required": [name], "properties": {name: TEXT}} for name in ("ticket_id", "id")],
}

_CREATE: Schema = {
    "type": "object",
    "properties": {
        "env_name": OPTIONAL_TEXT | {"description": "Else the one that the paths of later requests name"},
        "task_spec": _TASK_SPEC,
        "split": OPTIONAL_TEXT | {"enum": [*SPLITS, None]},
        "index": _OPTIONAL_INDEX,
        "secrets": {"description": "Accepted, and ignored"},
    },
    "oneOf": [
        {
            "title": "By task",
            "required": ["task_spec"],
            "properties": {"task_spec": _NAMED, "split": {"type": "null"}, "index": {"type": "null"}},
        },
        {
            "title": "By split and index",
            "required": ["split", "index"],
            "properties": {"task_spec": {"type": "null"}, "split": {"type": "string"}, "index": {"type": "integer"}},
        },
    ],
    **_STRICT,
}

_CALL = object_of(
    {
        "name": TEXT | {"description": "A tool's name; one that there is not is a wasted step"},
        "input": {"type": "object"},
        "task_id": ID | {"description": "From the event of an earlier call, whose answer is wanted again"},
    },
    optional=("task_id",),
    **_STRICT,
)

# OpenAPI 3.1 can't say that the content is a stream; what reads streams takes the schema for that of each event.
_EVENT = object_of(
    {"event": {"type": "string", "enum": ["task_id", "chunk", "end", "error"]}, "data": TEXT},
    description="One of a stream of server-sent events, in plain text",
)

SCHEMAS: Mapping[str, Schema] = {
    "Split": object_of({"name": TEXT, "type": _SPLIT}),
    "Task": _TASK,
    "Tools": object_of({"tools": array_of(_TOOL)}),
    "Blocks": array_of(object_of({"text": TEXT, "detail": {"type": "null"}, "type": {"const": "text"}})),
    "Session": object_of({"sid": TEXT}),
    "CreateBody": _CREATE,
    "CallBody": _CALL,
    "Event": _EVENT,
}

_SESSION = parameter(
    "X-Session-ID",
    {"type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": r"\S"},
    "The session, by the id that /create_session gave, or any other",
    "header",
    required=True,
    example=SESSION,
)

_ENVIRONMENT = "There is no such environment"
_GONE = "There is no such session, or it expired"
_NO_HEADER = "The header X-Session-ID is missing, or too long"
_WRONG_BODY = "The body is not what this route takes"

_STREAM = "text/event-stream"
_STREAM_HEADERS: Schema = {
    "Cache-Control": header("No stream is to be kept", {"const": "no-cache"}),
    "X-Accel-Buffering": header("Nor held up by a proxy", {"const": "no"}),
}


def paths(packs: tuple[str, ...], examples: Examples) -> dict[str, Schema]:
    """The paths, with what their methods do."""
    names = {"type": "string", "enum": list(packs)}
    env = parameter("env", names, "A pack's name", "path", required=True, example=examples.pack)
    sessions = _sessions(examples)
    ends = {path: sessions.pop(path) for path in ("/delete", "/delete_session")}
    return {**_lists(env), **_tasks(env, examples), **sessions, **_play(env, examples), **ends}


def _lists(env: Schema) -> dict[str, Schema]:
    names = answered("The packs' names, the default one first", array_of(TEXT))
    splits = answered("The same three for each", array_of(ref("Split")))
    named: Schema = {"errors": {"404": _ENVIRONMENT}, "parameters": [env]}
    return {
        "/list_environments": {
            "get": operation("list_environments", TASK_API["name"], "The packs, as environments", names)
        },
        "/{env}/splits": {
            "get": operation("environment_splits", TASK_API["name"], "An environment's splits", splits, **named)
        },
    }


def _tasks(env: Schema, examples: Examples) -> dict[str, Schema]:
    split = object_of({"split": _SPLIT}, **_STRICT)
    one = object_of({"split": _SPLIT, "index": _INDEX}, **_STRICT)
    part = {"start": _OPTIONAL_INDEX, "stop": _OPTIONAL_INDEX}
    some = object_of({"split": _SPLIT, **part}, optional=tuple(part), **_STRICT)
    tasks = array_of(ref("Task"))
    named = {"split": examples.split}
    posts: dict[str, tuple[str, Schema, Schema, Schema]] = {
        "tasks": ("The tasks of a split", split, named, object_of({"tasks": tasks, "env_name": TEXT})),
        "num_tasks": ("How many tasks a split has", split, named, object_of({"num_tasks": COUNT})),
        "task": ("One task of a split, by its index", one, {**named, "index": 0}, object_of({"task": ref("Task")})),
        "task_range": (
            "Some tasks of a split, as Python slices",
            some,
            {**named, "stop": 2},
            object_of({"tasks": tasks}),
        ),
    }
    errors = {
        "400": "There is no such split or index, or the body is not JSON",
        "404": _ENVIRONMENT,
        "422": _WRONG_BODY,
    }
    return {
        f"/{{env}}/{name}": {
            "post": operation(
                f"environment_{name}",
                TASK_API["name"],
                summary,
                answered("What was asked for", answer),
                errors,
                parameters=[env],
                requestBody=body(taken, {summary: example}),
            )
        }
        for name, (summary, taken, example, answer) in posts.items()
    }


def _sessions(examples: Examples) -> dict[str, Schema]:
    spec = {"ticket_id": examples.ticket_id, "task_id": examples.task_id, "seed": SEED}
    created = {
        "By task": {"env_name": examples.pack, "task_spec": spec},
        "By split and index": {"env_name": examples.pack, "split": examples.split, "index": 0},
    }
    refusals = {
        "400": "The session exists already, the header is missing, there is no such split or index, or the body is not "
        "JSON",
        "404": "There is no such environment, ticket or task",
        "422": "The body is not what this route takes, or it contradicts itself",
    }
    going_on = {
        name: {"operationId": name, "parameters": {_SESSION["name"]: "$response.body#/sid"}}
        for name in ("ping", "delete", "delete_session")
    }
    stream = answered("`task_id`, whose data is the id, and `end`", ref("Event"), _STREAM, headers=_STREAM_HEADERS)
    begun = answered("It has begun", ref("Session"), links=going_on)
    alive = answered("It is alive", object_of({"status": {"const": "ok"}}))
    ended = answered("It has ended, if there was one", ref("Session"))
    named: Schema = {"errors": {"400": _NO_HEADER}, "stored": True, "parameters": [_SESSION]}
    living: Schema = {**named, "errors": {"400": _NO_HEADER, "404": _GONE}}
    creating: Schema = {
        "errors": refusals,
        "stored": True,
        "parameters": [_SESSION],
        "requestBody": body(ref("CreateBody"), created),
    }
    posts = {
        "create_session": ("An id for an ORS session", stream, {}),
        "create": ("Begin a task in an ORS session", begun, creating),
        "ping": ("Keep an ORS session alive", alive, living),
        "delete": ("End the episode of an ORS session", ended, named),
        "delete_session": ("End an ORS session", ended, named),
    }
    return {
        f"/{name}": {"post": operation(name, ORS["name"], summary, answer, **more)}
        for name, (summary, answer, more) in posts.items()
    }


def _play(env: Schema, examples: Examples) -> dict[str, Schema]:
    tools = answered("Names, descriptions and the schemas of what they take", ref("Tools"))
    blocks = answered("Instructions, the opening message, and the observation at the start", ref("Blocks"))
    events = answered(
        "`task_id`, any number of `chunk`, then `end`; or `error`. The data of `chunk` and `end`, joined, are JSON: "
        '`{"ok": true, "output": {"blocks", "metadata", "reward", "finished"}}`, or `{"ok": false, "error"}`',
        ref("Event"),
        _STREAM,
        headers=_STREAM_HEADERS,
    )
    errors = {
        "400": f"{_NO_HEADER}, or the session plays in another environment",
        "404": f"{_ENVIRONMENT}, or no such session",
        "409": "The version of the pack that the session began with is neither served nor kept",
    }
    in_session: Schema = {"errors": errors, "stored": True, "parameters": [env, _SESSION]}
    calling: Schema = {
        **in_session,
        "errors": errors | {"400": f"{errors['400']}, or the body is not JSON", "422": _WRONG_BODY},
        "requestBody": body(ref("CallBody"), {"A step": {"name": examples.tool, "input": examples.arguments}}),
    }
    routes: dict[str, tuple[str, str, Schema, Schema]] = {
        "tools": ("get", "An environment's tools", tools, {"errors": {"404": _ENVIRONMENT}, "parameters": [env]}),
        "task_tools": ("get", "The tools of an ORS session", tools, in_session),
        "prompt": ("get", "How an agent is told to work, and what the customer says first", blocks, in_session),
        "call": ("post", "Call a tool, which is a step", events, calling),
    }
    return {
        f"/{{env}}/{name}": {method: operation(f"environment_{name}", ORS["name"], summary, answer, **more)}
        for name, (method, summary, answer, more) in routes.items()
    }
