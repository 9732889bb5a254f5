"""The description of the routes that take many episodes at once."""

from __future__ import annotations

from collections.abc import Mapping

from server.body import MAX_BATCH, MAX_BODY, MAX_ITEMS, MAX_PARTS
from server.intake import ROOM
from server.openapi_examples import EPISODE, SEED, Examples
from server.schemas import SECONDS, Schema, answered, array_of, body, header, object_of, operation, ref, refused

TAG: Schema = {
    "name": "Batches",
    "description": "Many episodes in one request. Each item is answered in its place, and one that is wrong doesn't "
    "keep the others from being taken.",
}

_ERRORS: Mapping[str, str] = {
    "400": f"The body is not JSON, or has more than {MAX_PARTS} objects and arrays",
    "413": f"The body is larger than {MAX_BATCH} bytes",
    "422": f'The body is not `{{"items": [...]}}`, or has more than {MAX_ITEMS} items',
}

# An item that fails has a 503 of its own, in its place; this one is about the whole.
_CROWDED = refused(
    f"The bodies larger than {MAX_BODY} bytes that are being read or answered have {ROOM} bytes together already",
    {"Retry-After": header("In seconds", SECONDS)},
)


def _items(name: str, description: str) -> Schema:
    # An item that isn't what it should be is answered in its place, so any is taken.
    item = {"anyOf": [ref(name), {}], "description": description}
    return object_of({"items": {"type": "array", "items": item, "maxItems": MAX_ITEMS}})


SCHEMAS: Mapping[str, Schema] = {
    "ResetBatch": _items("ResetBody", "What POST /reset takes; without episode_id, one is made"),
    "StepBatch": _items("StepBody", "What POST /step takes, with an episode_id"),
    "Answers": object_of(
        {
            "items": array_of({"anyOf": [ref("Answer"), ref("Problem")]})
            | {
                "description": "In the order of the request's items; of one that was refused, the problem, "
                "whose status is that of an answer of its own"
            }
        }
    ),
}


def paths(examples: Examples) -> dict[str, Schema]:
    """The paths, with what their methods do."""
    names = [f"{EPISODE}-{number}" for number in (1, 2)]
    resets = [{"episode_id": name, "task_id": examples.task_id, "seed": SEED} for name in names]
    steps = [{"episode_id": name, "action": examples.action} for name in names]
    return {
        "/batch/reset": {"post": _post("batch_reset", "Begin many episodes", "ResetBatch", resets)},
        "/batch/step": {"post": _post("batch_step", "Take an action in each of many episodes", "StepBatch", steps)},
    }


def _post(name: str, summary: str, schema: str, items: list[Schema]) -> Schema:
    taken = body(ref(schema), {"Two at once": {"items": items}})
    post = operation(
        name, TAG["name"], summary, answered("An answer to each", ref("Answers")), _ERRORS, requestBody=taken
    )
    return {**post, "responses": {**post["responses"], "503": _CROWDED}}
