"""An OpenAPI document as its page shows it: by tag, in the document's order, with a command for each operation."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote

from server.pages.shapes import Shape, shape
from server.problems import MEDIA_TYPE

Part = Mapping[str, Any]


class Parameter(NamedTuple):
    name: str
    place: str
    required: bool
    description: str
    shape: Shape


class Body(NamedTuple):
    """`examples` are pairs: what one shows, and its JSON."""

    required: bool
    media: str
    shape: Shape
    examples: tuple[tuple[str, str], ...]


class Response(NamedTuple):
    """`media` is "" and `shape` None where there is no body; `headers` are name, description and shape.

    `refusal`: the body is a problem document.
    """

    status: str
    phrase: str
    description: str
    media: str
    shape: Shape | None
    headers: tuple[tuple[str, str, Shape], ...]
    refusal: bool


class Operation(NamedTuple):
    """`shared` are statuses that mean the same wherever they come from."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    command: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    responses: tuple[Response, ...]
    shared: tuple[str, ...]

    @property
    def refuses(self) -> bool:
        return any(response.refusal for response in self.responses)


class Section(NamedTuple):
    name: str
    description: str
    operations: tuple[Operation, ...]


class Page(NamedTuple):
    """`tokens` are the ways to send one: the header, and what is said about it."""

    title: str
    version: str
    summary: str
    prose: str
    base: str
    sections: tuple[Section, ...]
    tokens: tuple[tuple[str, str], ...]
    shared: tuple[Response, ...]
    schemas: Mapping[str, Shape]


def page(document: Part, base: str) -> Page:
    """`base` is the server's address as whoever reads the page writes it, without a slash at the end."""
    operations = [
        (tag, _operation(base, method, path, operation))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for tag in operation["tags"]
    ]
    about = document["info"]
    # A status's component is the same in all operations.
    shared = {
        status: document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        for methods in document["paths"].values()
        for operation in methods.values()
        for status, response in operation["responses"].items()
        if "$ref" in response
    }
    return Page(
        title=about["title"],
        version=about["version"],
        summary=about["summary"],
        prose=about["description"],
        base=base,
        sections=tuple(
            Section(tag["name"], tag["description"], tuple(one for name, one in operations if name == tag["name"]))
            for tag in document["tags"]
        ),
        tokens=tuple(
            (_header(scheme), scheme["description"]) for scheme in document["components"]["securitySchemes"].values()
        ),
        shared=tuple(_response(status, response) for status, response in sorted(shared.items())),
        schemas={name: shape(schema) for name, schema in document["components"]["schemas"].items()},
    )


def _operation(base: str, method: str, path: str, operation: Part) -> Operation:
    responses = operation["responses"]
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=operation.get("description", ""),
        command=command(base, method.upper(), path, operation),
        parameters=tuple(
            Parameter(one["name"], one["in"], one["required"], one["description"], shape(one["schema"]))
            for one in operation.get("parameters", ())
        ),
        body=_body(operation["requestBody"]) if "requestBody" in operation else None,
        responses=tuple(_response(code, response) for code, response in responses.items() if "$ref" not in response),
        shared=tuple(code for code, response in responses.items() if "$ref" in response),
    )


def _body(body: Part) -> Body:
    ((media, content),) = body["content"].items()
    examples = ((one["summary"], _pretty(one["value"])) for one in content["examples"].values())
    return Body(body["required"], media, shape(content["schema"]), tuple(examples))


def _header(scheme: Part) -> str:
    """How a token is sent."""
    return "Authorization: Bearer TOKEN" if scheme["type"] == "http" else f"{scheme['name']}: TOKEN"


def _response(status: str, response: Part) -> Response:
    content = response.get("content", {})
    # Whatever the media type, what is answered is the same.
    shapes = [shape(one["schema"]) for one in content.values()]
    return Response(
        status=status,
        phrase=HTTPStatus(int(status)).phrase,
        description=response["description"],
        media=" or ".join(content),
        shape=shapes[0] if shapes else None,
        headers=tuple(
            (name, header["description"], shape(header["schema"]))
            for name, header in response.get("headers", {}).items()
        ),
        refusal=MEDIA_TYPE in content,
    )


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def command(base: str, method: str, path: str, operation: Part) -> str:
    """A line for a shell that asks for the operation's first example.

    A required header without an example is a variable of the shell: only an earlier answer can say what it is.
    """
    query, headers = [], []
    for parameter in operation.get("parameters", ()):
        name, example = parameter["name"], parameter.get("example")
        match parameter["in"]:
            case "path":
                path = path.replace(f"{{{name}}}", quote(example, safe=""))
            case "query" if example is not None:
                query.append(f"{quote(name, safe='')}={quote(example, safe='')}")
            case "header" if example is not None:
                headers.append(f"-H {shlex.quote(f'{name}: {example}')}")
            case "header" if parameter["required"]:
                headers.append(f'-H "{name}: ${name.upper().replace("-", "_")}"')
    words = ["curl", "-s"]
    body = operation.get("requestBody")
    if body is None and method != "GET":
        words.append(f"-X {method}")
    words.append(shlex.quote(base + path + ("?" + "&".join(query) if query else "")))
    words += headers
    if body is not None:
        ((_, content),) = body["content"].items()
        example = next(iter(content["examples"].values()))["value"]
        words.append(f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}")
    line = " ".join(words)
    return line if len(line) <= 88 else " \\\n  ".join([" ".join(words[:-1]), words[-1]])
