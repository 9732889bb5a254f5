"""The description of the HTTP interface: JSON Schemas, and the OpenAPI document made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.action import action_schema
from engine.contract import Contract
from engine.pack import REWARD_UNIT, Pack
from engine.split import SPLITS
from server import openapi_batch, openapi_mcp, openapi_tasks
from server.body import ACTION_NAMES, MAX_ID, MAX_SEED
from server.schemas import COUNT as _COUNT
from server.schemas import FLAG as _FLAG
from server.schemas import ID as _ID
from server.schemas import OPTIONAL_TEXT as _OPTIONAL_TEXT
from server.schemas import TEXT as _TEXT
from server.schemas import Schema
from server.schemas import body as _body
from server.schemas import object_of as _object
from server.schemas import operation as _operation
from server.schemas import parameter as _parameter
from server.schemas import ref as _ref

COOKIE = "deskproof_episode"

_END_REASON: Schema = {
    "type": ["string", "null"],
    "enum": ["resolved", "max_steps", "superseded", "closed", None],
    "description": "Why the episode is over; superseded: a later reset took its place at its address; closed: its ORS "
    "session was deleted",
}
_PACK: Schema = {"pack": _TEXT, "pack_version": _TEXT, "pack_digest": _TEXT}


STATE = _object(
    {
        "episode_id": _TEXT,
        "step_count": _COUNT | {"description": "Steps since the reset"},
        **_PACK,
        "task_id": _TEXT,
        "ticket_id": _TEXT,
        "seed": _COUNT,
        "remaining_steps": _COUNT,
        "status": {"type": "string", "enum": ["open", "resolved"]},
        "done": _FLAG,
        "terminated": _FLAG,
        "truncated": _FLAG,
        "end_reason": _END_REASON,
    }
)

_METADATA = _object(
    {
        "episode_id": _TEXT,
        "addressed_by": {"type": "string", "enum": ["id", "session", "cookie", "address"]},
        **_PACK,
        "task_id": _TEXT,
        "seed": _COUNT,
        "outcome": _OPTIONAL_TEXT | {"description": "The name of the rule that fired; null after a reset"},
        "terminated": _FLAG | {"description": "The ticket is resolved"},
        "truncated": _FLAG | {"description": "The steps are used up"},
        "end_reason": _END_REASON,
        "error": _OPTIONAL_TEXT | {"description": "What was wrong with the agent's action"},
        "score": {"type": "number", "minimum": 0, "maximum": 1, "description": "The task's grade, once done"},
        "optimal_steps": {"type": ["integer", "null"], "description": "The fewest steps to the best return, once done"},
    },
    optional=("score", "optimal_steps"),
)

_PROBLEM = _object(
    {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": _TEXT | {"description": "A sentence that names the mistake and the remedy"},
        "errors": {
            "type": "array",
            "items": _object({"pointer": _TEXT | {"description": "A JSON Pointer into the body"}, "detail": _TEXT}),
        },
        "episode_id": _TEXT | {"description": "With 409"},
        "step_count": _COUNT | {"description": "With 409: where the episode is now"},
    },
    optional=("episode_id", "step_count"),
)

_SUMMARY: Schema = {
    "name": _TEXT,
    "version": _TEXT,
    "digest": _TEXT,
    "language": _TEXT,
    "description": _TEXT,
    "max_steps": _COUNT,
    "tickets": _COUNT | {"description": "How many"},
}

_TASKS = _object(
    {
        **_PACK,
        "instructions": _TEXT | {"description": "Tells an agent how to work"},
        "tasks": {
            "type": "array",
            "items": _object(
                {
                    "id": _TEXT,
                    "description": _TEXT,
                    "difficulty": _TEXT,
                    "max_steps": _COUNT,
                    "tickets": {"type": "array", "items": _TEXT, "description": "Ids, for ticket_id of /reset"},
                }
            ),
        },
    }
)

_ROUTES: Mapping[str, str] = {
    "/": "GET: this list",
    "/reset": "POST: begin an episode",
    "/step": "POST: take an action in it",
    "/state": "GET: where it stands",
    "/health": "GET: whether the server answers",
    "/metadata": "GET: what the environment is, and how an agent is told to work",
    "/schema": "GET: the JSON Schemas of actions, observations, states and resets; ?pack=NAME",
    "/tasks": "GET: a pack's tasks and tickets; ?pack=NAME",
    "/packs": "GET: the packs that are served",
    "/openapi.json": "GET: the whole interface, described for machines",
}


def index(contract: Contract) -> dict[str, Any]:
    """What GET / shows."""
    routes = {**_ROUTES, **openapi_batch.ROUTES, **openapi_mcp.ROUTES, **openapi_tasks.ROUTES}
    return {"name": contract.name, "description": contract.description, "routes": routes}


def reward_schema(minimum: int, maximum: int) -> Schema:
    """`minimum` and `maximum` in ten-thousandths."""
    return {"type": "number", "minimum": minimum / REWARD_UNIT, "maximum": maximum / REWARD_UNIT}


def observation_schema(contract: Contract) -> Schema:
    """The contract's observation space; every key of it is always there."""
    space = dict(contract.observation_space)
    return {**space, "required": list(space["properties"])}


def with_reward(observation: Schema, reward: Schema) -> Schema:
    """What an observation is once a client has merged the reward and `done` into it."""
    return {**observation, "properties": {**observation["properties"], "reward": reward, "done": _FLAG}}


def reset_schema(packs: tuple[str, ...], tasks: tuple[str, ...] | None) -> Schema:
    """The body of /reset; without `tasks`, any pack's may be named."""
    names: Schema = {} if tasks is None else {"enum": [*tasks, None]}
    return {
        "type": "object",
        "properties": {
            "seed": {
                "type": ["integer", "null"],
                "minimum": 0,
                "maximum": MAX_SEED,
                "description": "Decides the ticket (where none is named), its message and its values; else drawn",
            },
            "task_id": _OPTIONAL_TEXT | names | {"description": "The seed picks one of this task's tickets"},
            "ticket_id": _OPTIONAL_TEXT | {"description": "This ticket; GET /tasks lists them"},
            "pack": _OPTIONAL_TEXT | {"enum": [*packs, None], "description": "Else the default pack"},
            "split": _OPTIONAL_TEXT | {"enum": [*SPLITS, None], "description": "The seed picks one of its tickets"},
            "index": {
                "type": ["integer", "null"],
                "minimum": 0,
                "description": "The ticket at this place of the split, else of the pack",
            },
            "episode_id": _ID | {"description": "The client's own name for the episode; else one is made"},
            "request_id": _ID | {"description": "A repeat with the same episode_id gets the first answer"},
        },
    }


_STEP_BODY: Schema = {
    "type": "object",
    "description": "An action, in an envelope or alone. An action that isn't valid is a wasted step, not an error.",
    "properties": {
        "action": {"anyOf": [_ref("Action"), {"type": "object"}]},
        "episode_id": _ID | {"description": "Else the cookie's episode, else the address's"},
        "request_id": _ID | {"description": "A repeat in the same episode gets the first answer and changes nothing"},
        "timeout_s": {"description": "Accepted, and ignored: a step takes no time"},
    },
    "anyOf": [{"required": ["action"]}, *({"required": [name]} for name in ACTION_NAMES)],
}

_COOKIE_PARAMETER: Schema = {
    "name": COOKIE,
    "in": "cookie",
    "required": False,
    "schema": _TEXT,
    "description": "Set by /reset; names the episode where the request doesn't",
}


def _name(path: str) -> str:
    return path[1:].removesuffix(".json") or "index"


def document(contract: Contract, default: Pack, packs: tuple[str, ...]) -> dict[str, Any]:
    """The OpenAPI document. Its Action is the default pack's; GET /schema?pack=NAME has every other's."""
    return {
        "openapi": "3.1.0",
        "info": {"title": contract.name, "description": contract.description, "version": contract.version},
        "paths": {
            **_posts(),
            **{path: {"get": operation} for path, operation in _gets(packs).items()},
            **openapi_batch.paths(),
            **openapi_mcp.paths(),
            **openapi_tasks.paths(packs),
        },
        "components": {
            "schemas": {
                **_schemas(contract, default, packs),
                **openapi_batch.SCHEMAS,
                **openapi_mcp.SCHEMAS,
                **openapi_tasks.SCHEMAS,
            }
        },
    }


def _posts() -> dict[str, Schema]:
    errors = ("400", "404", "409", "413", "422")
    shared: Schema = {"answer": _ref("Answer"), "errors": errors, "parameters": [_COOKIE_PARAMETER]}
    reset = _operation("reset", _ROUTES["/reset"], **shared, requestBody=_body(_ref("ResetBody"), required=False))
    reset["responses"]["200"]["headers"] = {"Set-Cookie": {"schema": _TEXT, "description": f"{COOKIE}, HttpOnly"}}
    step = _operation("step", _ROUTES["/step"], **shared, requestBody=_body(_ref("StepBody"), required=True))
    return {"/reset": {"post": reset}, "/step": {"post": step}}


def _gets(packs: tuple[str, ...]) -> dict[str, Schema]:
    pack = _parameter("pack", {"type": "string", "enum": list(packs)}, "Else the default pack")
    named = _parameter("episode_id", {"type": "string", "minLength": 1, "maxLength": MAX_ID}, "Which episode")
    answers: dict[str, tuple[Schema, tuple[str, ...], list[Schema]]] = {
        "/state": (_ref("State"), ("404", "422"), [named, _COOKIE_PARAMETER]),
        "/health": (_object({"status": {"const": "healthy"}}), (), []),
        "/metadata": (_ref("Metadata"), (), []),
        "/schema": (_ref("Schemas"), ("404",), [pack]),
        "/tasks": (_ref("Tasks"), ("404",), [pack]),
        "/packs": (_ref("Packs"), (), []),
        "/openapi.json": ({"type": "object"}, (), []),
        "/": (_ref("Index"), (), []),
    }
    return {
        path: _operation(
            path[1:].removesuffix(".json") or "index", _ROUTES[path], answer, errors, parameters=parameters
        )
        for path, (answer, errors, parameters) in answers.items()
    }


def _schemas(contract: Contract, default: Pack, packs: tuple[str, ...]) -> dict[str, Schema]:
    reward = reward_schema(contract.reward_minimum, contract.reward_maximum)
    schema = {"type": "object", "description": "A JSON Schema"}
    summary = _object(_SUMMARY)
    return {
        "Action": action_schema(default),
        "Observation": observation_schema(contract),
        "Answer": _object(
            {
                "observation": _ref("Observation"),
                "reward": reward | {"type": ["number", "null"], "description": "Null after a reset"},
                "done": _FLAG,
                "metadata": _METADATA,
            }
        ),
        "State": STATE,
        "ResetBody": reset_schema(packs, None) | {"type": ["object", "null"]},
        "StepBody": _STEP_BODY,
        "Problem": _PROBLEM,
        "Schemas": _object(dict.fromkeys(("action", "observation", "state", "reset_observation", "reset"), schema)),
        "Packs": _object({"default": _TEXT, "packs": {"type": "array", "items": summary}}),
        "Tasks": _TASKS,
        "Metadata": _object(
            {
                "name": _TEXT,
                "description": _TEXT,
                "version": _TEXT,
                "tags": {"type": "array", "items": _TEXT},
                "default_pack": _TEXT,
                "packs": {"type": "array", "items": _object(_SUMMARY | {"instructions": _TEXT})},
            }
        ),
        "Index": _object({"name": _TEXT, "description": _TEXT, "routes": {"type": "object"}}),
    }
