"""The description of the routes that take many episodes at once."""

from __future__ import annotations

from collections.abc import Mapping

from server.body import MAX_BATCH, MAX_ITEMS
from server.schemas import ERRORS, Schema, body, object_of, operation, ref

ROUTES: Mapping[str, str] = {
    "/batch/reset": "POST: begin many episodes",
    "/batch/step": "POST: take an action in each of many",
}

_ERRORS: Mapping[str, str] = {
    **ERRORS,
    "413": f"The body is larger than {MAX_BATCH} bytes",
    "422": f'The body is not {{"items": [...]}}, or has more than {MAX_ITEMS} items',
}


def _items(name: str, description: str) -> Schema:
    # An item that isn't what it should be is answered in its place, so any is taken.
    item = {"anyOf": [ref(name), {}], "description": description}
    return object_of({"items": {"type": "array", "items": item, "maxItems": MAX_ITEMS}})


SCHEMAS: Mapping[str, Schema] = {
    "ResetBatch": _items("ResetBody", "What POST /reset takes; without episode_id, one is made"),
    "StepBatch": _items("StepBody", "What POST /step takes, with an episode_id"),
    "Answers": object_of(
        {
            "items": {
                "type": "array",
                "items": {"anyOf": [ref("Answer"), ref("Problem")]},
                "description": "In the order of the request's items; of one that was refused, the problem, "
                "whose status is that of an answer of its own",
            }
        }
    ),
}


def paths() -> dict[str, Schema]:
    """The paths, with what their methods do."""
    return {
        path: {
            "post": operation(
                path[1:].replace("/", "_"),
                ROUTES[path],
                ref("Answers"),
                ("400", "413", "422"),
                meanings=_ERRORS,
                requestBody=body(ref(schema), required=True),
            )
        }
        for path, schema in (("/batch/reset", "ResetBatch"), ("/batch/step", "StepBatch"))
    }
