"""The description of the HTTP interface: JSON Schemas, and the OpenAPI document made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.action import action_schema
from engine.contract import Contract
from engine.pack import REWARD_UNIT, Pack
from engine.split import SPLITS
from server import openapi_batch, openapi_catalogue, openapi_gate, openapi_mcp, openapi_tasks
from server.body import ACTION_NAMES, MAX_BODY, MAX_ID
from server.openapi_catalogue import PACK
from server.openapi_examples import EPISODE, SEED, Examples, examples
from server.schemas import (
    COUNT,
    FLAG,
    ID,
    OPTIONAL_SEED,
    OPTIONAL_TEXT,
    SECONDS,
    SHARED,
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
    refused,
)

COOKIE = "deskproof_episode"

_TAG: Schema = {
    "name": "Episodes",
    "description": "An episode is one ticket, played. It is named by `episode_id`, else by the cookie that `/reset` "
    "sets, else, where the server has no tokens, it is the one last reset from the same address without either.\n\n"
    "A request with a `request_id` can be repeated: the same `episode_id` and `request_id` get the first answer again, "
    "and nothing changes.",
}
_SOCKETS: Schema = {
    "name": "WebSockets",
    "description": "OpenAPI has no word for sockets, so here they are in plain ones.\n\n"
    '`/ws` speaks OpenEnv\'s protocol: text frames of JSON, such as `{"type": "reset", "data": {...}}`, with the types '
    "`reset`, `step`, `state`, `mcp` and `close`, each with one reply, in order. `/ws?episode_id=E` goes on with an "
    "episode, and `/ws?session_id=S` with a session that was made over MCP. The page `docs/websocket.md` of the "
    "project says more.\n\n"
    "`/mcp` as a WebSocket takes one JSON-RPC message a frame, or a batch, and answers what needs it. The page "
    "`docs/mcp.md` says more.\n\n"
    f"A message on either may have {MAX_BODY} bytes. A longer one is answered by an error; one of more than twice that "
    "closes the socket.",
}

_PROSE = f"""\
Begin an episode with `POST /reset`, act with `POST /step` until it is `done`, and look where it stands with `GET \
/state`. JSON in UTF-8 goes both ways; the content type of a request is not looked at.

**Mistakes.** A client's mistake changes nothing. Its answer is a problem document (RFC 9457): `detail` says what is \
wrong and what to do about it, `errors` lists the places. An agent's mistake, such as an unknown action, is no error \
but a wasted step.

**What isn't listed.** A path that there isn't is a 404. A method that a path doesn't take is a 405, and `Allow` says \
which it takes. `HEAD` is answered wherever `GET` is, without the body, and `OPTIONS` everywhere, by a 204 with \
`Allow`. What isn't HTTP, or has too long a request line or header, never gets to a route: it is a 400, 414 or 431.

{openapi_gate.PROSE}

Deskproof's `docs/http-api.md` says what a schema can't."""

_END_REASON: Schema = {
    "type": ["string", "null"],
    "enum": ["resolved", "max_steps", "superseded", "closed", "expired", None],
    "description": "Why the episode is over; superseded: a later reset took its place at its address; closed: its ORS "
    "session was deleted; expired: nobody stepped it for too long",
}

STATE = object_of(
    {
        "episode_id": TEXT,
        "step_count": COUNT | {"description": "Steps since the reset"},
        **PACK,
        "task_id": TEXT,
        "ticket_id": TEXT,
        "seed": COUNT,
        "remaining_steps": COUNT,
        "status": {"type": "string", "enum": ["open", "resolved"]},
        "done": FLAG,
        "terminated": FLAG,
        "truncated": FLAG,
        "end_reason": _END_REASON,
    }
)

_METADATA = object_of(
    {
        "episode_id": TEXT,
        "addressed_by": {"type": "string", "enum": ["id", "session", "cookie", "address"]},
        **PACK,
        "task_id": TEXT,
        "seed": COUNT,
        "outcome": OPTIONAL_TEXT | {"description": "The name of the rule that fired; null after a reset"},
        "terminated": FLAG | {"description": "The ticket is resolved"},
        "truncated": FLAG | {"description": "The steps are used up"},
        "end_reason": _END_REASON,
        "error": OPTIONAL_TEXT | {"description": "What was wrong with the agent's action"},
        "score": {"type": "number", "minimum": 0, "maximum": 1, "description": "The task's grade, once done"},
        "optimal_steps": {"type": ["integer", "null"], "description": "The fewest steps to the best return, once done"},
    },
    optional=("score", "optimal_steps"),
)

_PLACE = object_of({"pointer": TEXT | {"description": "A JSON Pointer into the body"}, "detail": TEXT})
_PROBLEM = object_of(
    {
        "type": TEXT,
        "title": TEXT,
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": TEXT | {"description": "A sentence that names the mistake and the remedy"},
        "errors": array_of(_PLACE),
        "episode_id": TEXT | {"description": "With 409"},
        "step_count": COUNT | {"description": "With 409: where the episode is now"},
        "retry_after": SECONDS | {"description": "With 429 and 503: in how many seconds to try again"},
    },
    optional=("episode_id", "step_count", "retry_after"),
)


def index(document: Schema) -> dict[str, Any]:
    """What GET / shows of the OpenAPI document."""
    routes = {
        path: "; ".join(f"{method.upper()}: {operation['summary']}" for method, operation in operations.items())
        for path, operations in document["paths"].items()
    }
    about = document["info"]
    return {"name": about["title"], "description": about["summary"], "routes": routes}


def reward_schema(minimum: int, maximum: int) -> Schema:
    """`minimum` and `maximum` in ten-thousandths."""
    return {"type": "number", "minimum": minimum / REWARD_UNIT, "maximum": maximum / REWARD_UNIT}


def observation_schema(contract: Contract) -> Schema:
    """The contract's observation space; every key of it is always there."""
    space = dict(contract.observation_space)
    return {**space, "required": list(space["properties"])}


def with_reward(observation: Schema, reward: Schema) -> Schema:
    """What an observation is once a client has merged the reward and `done` into it."""
    return {**observation, "properties": {**observation["properties"], "reward": reward, "done": FLAG}}


def reset_schema(packs: tuple[str, ...], tasks: tuple[str, ...] | None) -> Schema:
    """The body of /reset; without `tasks`, any pack's may be named."""
    names: Schema = {} if tasks is None else {"enum": [*tasks, None]}
    return {
        "type": "object",
        "properties": {
            "seed": OPTIONAL_SEED
            | {"description": "Decides the ticket (where none is named), its message and its values; else drawn"},
            "task_id": OPTIONAL_TEXT | names | {"description": "The seed picks one of this task's tickets"},
            "ticket_id": OPTIONAL_TEXT | {"description": "This ticket; GET /tasks lists them"},
            "pack": OPTIONAL_TEXT | {"enum": [*packs, None], "description": "Else the default pack"},
            "split": OPTIONAL_TEXT | {"enum": [*SPLITS, None], "description": "The seed picks one of its tickets"},
            "index": {
                "type": ["integer", "null"],
                "minimum": 0,
                "description": "The ticket at this place of the split, else of the pack",
            },
            "episode_id": ID | {"description": "The client's own name for the episode; else one is made"},
            "request_id": ID | {"description": "A repeat with the same episode_id gets the first answer"},
        },
    }


_STEP_BODY: Schema = {
    "type": "object",
    "description": "An action, in an envelope or alone. An action that isn't valid is a wasted step, not an error.",
    "properties": {
        "action": {"anyOf": [ref("Action"), {"type": "object"}]},
        "episode_id": ID | {"description": "Else the cookie's episode, else the address's"},
        "request_id": ID | {"description": "A repeat in the same episode gets the first answer and changes nothing"},
        "timeout_s": {"description": "Accepted, and ignored: a step takes no time"},
    },
    "anyOf": [{"required": ["action"]}, *({"required": [name]} for name in ACTION_NAMES)],
}


def document(contract: Contract, default: Pack, packs: tuple[str, ...]) -> dict[str, Any]:
    """The OpenAPI document. Its Action is the default pack's; GET /schema?pack=NAME has every other's."""
    shown = examples(default)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": contract.name,
            "summary": contract.description,
            "description": _PROSE,
            "version": contract.version,
        },
        "tags": [
            _TAG,
            openapi_batch.TAG,
            openapi_catalogue.TAG,
            openapi_mcp.TAG,
            _SOCKETS,
            openapi_tasks.TASK_API,
            openapi_tasks.ORS,
            openapi_catalogue.PROBES,
        ],
        "security": openapi_gate.SECURITY,
        "paths": {
            **_episodes(shown),
            **openapi_batch.paths(shown),
            **openapi_catalogue.paths(packs, shown),
            **openapi_mcp.paths(shown),
            **openapi_tasks.paths(packs, shown),
        },
        "components": {
            "schemas": {
                **_schemas(contract, default, packs),
                **openapi_batch.SCHEMAS,
                **openapi_catalogue.SCHEMAS,
                **openapi_mcp.SCHEMAS,
                **openapi_tasks.SCHEMAS,
            },
            "responses": {one.name: refused(one.meaning, one.headers) for one in SHARED.values()},
            "securitySchemes": dict(openapi_gate.SCHEMES),
        },
    }


_COOKIE_PARAMETER = parameter(
    COOKIE, TEXT, "Set by /reset; names the episode where the request doesn't", place="cookie"
)

_GONE = "The version of the pack that the episode began with is neither served nor kept"


def _episodes(shown: Examples) -> dict[str, Schema]:
    named: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
    episode_id = parameter("episode_id", named, "Else the cookie's episode, else the address's", example=EPISODE)
    # The cookie carries the id as it was percent-encoded; ids that the server makes need no encoding.
    going_on = {"operationId": "step", "parameters": {COOKIE: "$response.body#/metadata/episode_id"}}
    looking = {"operationId": "state", "parameters": {"episode_id": "$response.body#/metadata/episode_id"}}
    answer: Schema = {"schema": ref("Answer"), "links": {"step": going_on, "state": looking}}
    cookie = {"Set-Cookie": header(f"`{COOKIE}`: the episode's id, percent-encoded")}
    started = {"episode_id": EPISODE, "seed": SEED}
    resets = {
        "A ticket of a task, picked by the seed": {**started, "task_id": shown.task_id},
        "This very ticket": {**started, "ticket_id": shown.ticket_id},
        "The first ticket of a split": {**started, "split": shown.split, "index": 0},
    }
    steps = {"An action": {"episode_id": EPISODE, "action": shown.action}, "An action alone": shown.action}
    reset = operation(
        "reset",
        _TAG["name"],
        "Begin an episode",
        answered("The first observation; the reward is null", **answer, headers=cookie),
        {
            "400": "The body is not JSON",
            "404": "There is no such pack, ticket or task",
            "409": f"A repeat of an earlier request. {_GONE}",
            "422": "The body is not what this route takes, or it contradicts itself",
        },
        stored=True,
        description="An id that exists begins its next attempt; the one before is kept. All members may be left out.",
        parameters=[_COOKIE_PARAMETER],
        requestBody=body(ref("ResetBody"), resets, required=False),
    )
    step = operation(
        "step",
        _TAG["name"],
        "Take an action in an episode",
        answered("What came of it: the observation, and the step's reward", **answer),
        {
            "400": "The body is not JSON",
            "404": "There is no such episode",
            "409": "The episode is over, or another step of it came first: `step_count` says where it is. Or the "
            "version of the pack that it began with is neither served nor kept",
            "422": "The body holds no action, or one that is too large",
        },
        stored=True,
        description="What the actions do, and which are valid for a pack, `GET /schema` and `GET /metadata` say.",
        parameters=[_COOKIE_PARAMETER],
        requestBody=body(ref("StepBody"), steps),
    )
    state = operation(
        "state",
        _TAG["name"],
        "Where an episode stands",
        answered("Where it stands, without the observation", ref("State")),
        {"404": "There is no such episode", "409": _GONE, "422": "The episode_id is empty, or too long"},
        stored=True,
        parameters=[episode_id, _COOKIE_PARAMETER],
    )
    return {"/reset": {"post": reset}, "/step": {"post": step}, "/state": {"get": state}}


def _schemas(contract: Contract, default: Pack, packs: tuple[str, ...]) -> Mapping[str, Schema]:
    reward = reward_schema(contract.reward_minimum, contract.reward_maximum)
    return {
        "Action": action_schema(default),
        "Observation": observation_schema(contract),
        "Answer": object_of(
            {
                "observation": ref("Observation"),
                "reward": reward | {"type": ["number", "null"], "description": "Null after a reset"},
                "done": FLAG,
                "metadata": _METADATA,
            }
        ),
        "State": STATE,
        "ResetBody": reset_schema(packs, None) | {"type": ["object", "null"]},
        "StepBody": _STEP_BODY,
        "Problem": _PROBLEM,
    }
