"""The words that the description of the HTTP interface is written with: JSON Schemas and OpenAPI operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from server import problems
from server.body import MAX_BODY, MAX_ID

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}
ID: Schema = {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_ID}

ERRORS: Mapping[str, str] = {
    "400": "The body is not JSON",
    "404": "There is no such episode, pack, ticket or task",
    "408": "The body did not come whole",
    "409": "The episode is over, or another step of it came first",
    "413": f"The body is larger than {MAX_BODY} bytes",
    "422": "The request is not what this route takes",
    "default": "Any other error",
}


def object_of(properties: Schema, optional: tuple[str, ...] = (), **more: Any) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, **more}


def array_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(name: str, schema: Schema, description: str, place: str = "query", required: bool = False) -> Schema:
    return {"name": name, "in": place, "required": required, "schema": schema, "description": description}


def body(schema: Schema, required: bool) -> Schema:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def operation(
    name: str,
    summary: str,
    answer: Schema,
    errors: Iterable[str] = (),
    media: str = "application/json",
    meanings: Mapping[str, str] = ERRORS,
    **more: Any,
) -> Schema:
    """What one method of a path does; `answer` is the schema of its 200, `errors` are status codes."""
    taken = ("408",) if "requestBody" in more else ()
    problem = {"content": {problems.MEDIA_TYPE: {"schema": ref("Problem")}}}
    return {
        "operationId": name,
        "summary": summary,
        **more,
        "responses": {
            "200": {"description": "OK", "content": {media: {"schema": answer}}},
            **{code: {"description": meanings[code], **problem} for code in sorted((*errors, *taken, "default"))},
        },
    }
