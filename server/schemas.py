"""The words that the description of the HTTP interface is written with: JSON Schemas and OpenAPI operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from server import problems
from server.body import MAX_BODY, MAX_ID, MAX_SEED
from server.intake import WITHIN

Schema = dict[str, Any]
JSON = "application/json"

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}
OPTIONAL_SEED: Schema = {"type": ["integer", "null"], "minimum": 0, "maximum": MAX_SEED}
ID: Schema = {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_ID}
SECONDS: Schema = {"type": "integer", "minimum": 1}


class Shared(NamedTuple):
    """A refusal that many routes may answer with, under its name among the document's responses."""

    name: str
    meaning: str
    headers: Schema | None = None


def object_of(properties: Schema, optional: tuple[str, ...] = (), **more: Any) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, **more}


def array_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(
    name: str, schema: Schema, description: str, place: str = "query", *, required: bool = False, example: Any = None
) -> Schema:
    shown = {} if example is None else {"example": example}
    return {"name": name, "in": place, "required": required, "schema": schema, "description": description, **shown}


def body(schema: Schema, examples: Mapping[str, Any], *, required: bool = True) -> Schema:
    """What a request holds; `examples` by what they show, the first of them the one to try first."""
    shown = {f"example-{number}": {"summary": name, "value": examples[name]} for number, name in enumerate(examples, 1)}
    return {"required": required, "content": {JSON: {"schema": schema, "examples": shown}}}


def answered(description: str, schema: Schema, *media: str, **more: Any) -> Schema:
    """A response that is no refusal; JSON where no other media type is named."""
    return {"description": description, "content": {kind: {"schema": schema} for kind in media or (JSON,)}, **more}


def header(description: str, schema: Schema = TEXT, *, required: bool = True) -> Schema:
    return {"description": description, "required": required, "schema": schema}


def refused(description: str, headers: Schema | None = None) -> Schema:
    """A response that is a problem document."""
    return answered(description, ref("Problem"), problems.MEDIA_TYPE, **({"headers": headers} if headers else {}))


SHARED: Mapping[str, Shared] = {
    "401": Shared(
        "Unauthorized",
        "The server has tokens, and the request comes without one, or with one that isn't known",
        {"WWW-Authenticate": header("How a token is sent", {"const": "Bearer"})},
    ),
    "403": Shared("Forbidden", "The request comes from a page whose origin may not call this server"),
    "408": Shared("Incomplete", f"The body did not come whole, or not within {WITHIN:g} seconds of its first piece"),
    "413": Shared("TooLarge", f"The body is larger than {MAX_BODY} bytes; also where none is looked at"),
    "429": Shared(
        "TooMany",
        "Too many requests; or more at once than are ever let in, and then nothing says when to come again",
        {"Retry-After": header("In seconds", SECONDS, required=False)},
    ),
    "500": Shared("Failed", "The server's own mistake: it is logged, and nothing of it is shown"),
    "503": Shared(
        "Unavailable",
        "The store can't be used just now, or has no room for another episode",
        {"Retry-After": header("In seconds", SECONDS)},
    ),
}


def operation(
    name: str,
    tag: str,
    summary: str,
    answer: Schema,
    errors: Mapping[str, str] | None = None,
    *,
    stored: bool = False,
    probe: bool = False,
    **more: Any,
) -> Schema:
    """What one method of a path does: `answer` is its 200, `errors` say when it refuses, by status.

    `stored`: it asks the store. `probe`: it needs no token, and may be called as often as anybody likes.
    """
    never = (set() if stored else {"503"}) | ({"401", "429"} if probe else set())
    shared = {code: {"$ref": f"#/components/responses/{SHARED[code].name}"} for code in SHARED if code not in never}
    refusals = {code: refused(meaning) for code, meaning in (errors or {}).items()}
    responses = {"200": answer, **shared, **refusals}
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        **({"security": []} if probe else {}),
        **more,
        "responses": {code: responses[code] for code in sorted(responses)},
    }
