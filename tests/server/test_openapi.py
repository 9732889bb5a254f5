"""The document /openapi.json: valid, complete, and full of examples that hold. What is served: test_conformance.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from flask.testing import FlaskClient
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from engine.contract import Contract
from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from server.app import create_app
from server.openapi import document
from tests.server.specification import PROBLEM, Specification

PARAMETER = re.compile(r"{(\w+)}")


@pytest.fixture(scope="module", params=["lamps", "desk", *(path.name for path in shipped_packs())])
def pack(request: pytest.FixtureRequest, lamps: Pack, desk: Pack) -> Pack:
    shipped = {path.name: path for path in shipped_packs()}
    own = {"lamps": lamps, "desk": desk}
    return own[request.param] if request.param in own else load_pack(shipped[request.param])


@pytest.fixture(scope="module")
def specification(pack: Pack, contract: Contract) -> Specification:
    return Specification(document(contract, pack, (pack.name, "a/b ünd <c>")))


def operations(specification: Specification) -> Iterator[tuple[str, str, Any]]:
    for path, methods in specification.document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def schemas(specification: Specification) -> Iterator[Any]:
    """Every schema that isn't part of another."""
    yield from specification.document["components"]["schemas"].values()
    for _, _, operation in operations(specification):
        yield from (parameter["schema"] for parameter in operation.get("parameters", ()))
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for part in (*bodies, *map(specification.resolved, operation["responses"].values())):
            yield from (content["schema"] for content in part.get("content", {}).values())
            yield from (header["schema"] for header in part.get("headers", {}).values())


def walk(part: Any) -> Iterator[Any]:
    yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from walk(inner)


# -- The document itself


def test_it_is_openapi_3_1(specification: Specification, contract: Contract) -> None:
    OPENAPI_31_VALIDATOR.validate(specification.document)
    assert specification.document["openapi"] == "3.1.0"
    assert specification.document["info"]["version"] == contract.version == "1.0"
    assert {"/reset", "/step", "/state"} <= set(specification.document["paths"])
    # Its bytes mean what it means: nothing in it is lost in JSON.
    assert json.loads(json.dumps(specification.document)) == specification.document


def test_the_metaschema_finds_what_is_wrong(specification: Specification) -> None:
    for wrong in ({"responses": {"ok": {"description": "OK"}}}, {"parameters": [{"name": "x", "in": "nowhere"}]}):
        document = {**specification.document, "paths": {"/x": {"get": wrong}}}
        assert not OPENAPI_31_VALIDATOR.is_valid(document)


def test_every_schema_is_one(specification: Specification) -> None:
    for schema in schemas(specification):
        jsonschema.Draft202012Validator.check_schema(schema, format_checker=jsonschema.FormatChecker())


def test_every_reference_leads_somewhere_and_everything_is_referred_to(specification: Specification) -> None:
    references = {
        part["$ref"]
        for part in walk(specification.document)
        if isinstance(part, dict) and isinstance(part.get("$ref"), str)
    }
    components = dict(specification.document["components"])
    schemes = components.pop("securitySchemes")  # these go by their names
    assert references == {f"#/components/{kind}/{name}" for kind, named in components.items() for name in named}
    assert {name for needed in specification.document["security"] for name in needed} == set(schemes)


def test_a_token_is_asked_for_everywhere_but_of_probes(specification: Specification) -> None:
    """`{}`: where the server has no tokens, none is needed."""
    assert {} in specification.document["security"]
    for _, path, operation in operations(specification):
        probe = path in ("/health", "/ready")
        assert operation.get("security") == ([] if probe else None)
        assert ("401" in operation["responses"], "429" in operation["responses"]) == (not probe, not probe)
        assert "403" in operation["responses"]


def test_an_operation_has_a_name_of_its_own_a_tag_and_a_summary(specification: Specification) -> None:
    every = [operation for _, _, operation in operations(specification)]
    assert len({operation["operationId"] for operation in every}) == len(every)
    tags = {tag["name"]: tag["description"] for tag in specification.document["tags"]}
    assert len(tags) == len(specification.document["tags"])
    assert {tag for operation in every for tag in operation["tags"]} == set(tags) - {"WebSockets"}
    for operation in every:
        assert len(operation["tags"]) == 1
        assert operation["summary"][0].isupper() and not operation["summary"].endswith(".")


def test_the_parts_of_a_path_are_its_parameters(specification: Specification) -> None:
    for method, path, operation in operations(specification):
        given = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "path"]
        assert [parameter["name"] for parameter in given] == PARAMETER.findall(path), (method, path)
        assert all(parameter["required"] for parameter in given)


def test_a_link_names_an_operation_and_its_parameters(specification: Specification) -> None:
    by_id = {operation["operationId"]: operation for _, _, operation in operations(specification)}
    links = [
        link
        for operation in by_id.values()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert links
    for link in links:
        taken = {parameter["name"] for parameter in by_id[link["operationId"]]["parameters"]}
        assert set(link["parameters"]) <= taken


def test_what_goes_wrong_is_a_problem(specification: Specification) -> None:
    """MCP's own refusal, in JSON-RPC, is the one exception; and no operation has a status that stands for any."""
    for method, path, operation in operations(specification):
        assert "200" in operation["responses"]
        for status, response in operation["responses"].items():
            content = specification.resolved(response).get("content", {})
            if int(status) >= 400 and (method, path, status) != ("post", "/mcp", "404"):
                assert content == {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def test_the_sockets_are_described_in_words(specification: Specification) -> None:
    (sockets,) = (tag["description"] for tag in specification.document["tags"] if tag["name"] == "WebSockets")
    for word in ("`/ws`", "`/mcp`", "`docs/websocket.md`", "`docs/mcp.md`"):
        assert word in sockets


def test_the_headers_of_every_answer_are_named(specification: Specification) -> None:
    prose = specification.document["info"]["description"]
    for name in ("X-Content-Type-Options", "Cache-Control", "Referrer-Policy", "Content-Security-Policy"):
        assert f"`{name}`" in prose


@pytest.mark.parametrize("page", ["http-api.md", "websocket.md", "mcp.md", "tasks.md", "operations.md"])
def test_the_pages_that_it_names_exist(root: Any, specification: Specification, page: str) -> None:
    assert f"`docs/{page}`" in json.dumps(specification.document)
    assert (root / "docs" / page).is_file()


# -- Complete


def template(rule: str) -> str:
    """A path as OpenAPI writes it."""
    return re.sub(r"<\w+:(\w+)>", r"{\1}", rule)


def test_every_route_is_described_and_no_other(specification: Specification, pack: Pack) -> None:
    served = {
        (template(rule.rule), method.lower())
        for rule in create_app([pack]).url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert {(path, method) for method, path, _ in operations(specification)} == served


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_what_goes_without_saying(client: FlaskClient, method: str) -> None:
    """HEAD wherever GET is, with its headers and nothing else; OPTIONS everywhere, saying what else there is."""
    paths = client.get("/openapi.json").json["paths"]  # type: ignore[index]
    for path, described in paths.items():
        if "{" in path:
            path = path.replace("{env}", "lamps")
        response = client.open(path, method=method)
        if method == "OPTIONS":
            methods = {name.upper() for name in described} | ({"HEAD"} if "get" in described else set())
            assert (response.status_code, response.data) == (204, b"")
            assert set(response.allow) == methods | {"OPTIONS"}
        elif "get" in described:
            got = client.get(path)
            assert (response.status_code, response.data) == (got.status_code, b"")
            if path != "/metrics":  # which counts the very request
                assert response.headers["Content-Length"] == str(len(got.data))
        else:
            assert (response.status_code, response.data) == (405, b"")


# -- Examples


def test_every_example_is_what_its_schema_says(specification: Specification) -> None:
    components = specification.document["components"]
    checked = 0
    for _, _, operation in operations(specification):
        pairs = [(one["schema"], one["example"]) for one in operation.get("parameters", ()) if "example" in one]
        if "requestBody" in operation:
            ((_, content),) = operation["requestBody"]["content"].items()
            assert content["examples"]
            pairs += [(content["schema"], example["value"]) for example in content["examples"].values()]
        for schema, example in pairs:
            jsonschema.Draft202012Validator({**schema, "components": components}).validate(example)
        checked += len(pairs)
    assert checked > 20


def test_every_example_works(pack: Pack) -> None:
    """All examples of all bodies, in the document's order."""
    client = create_app([pack]).test_client()
    document: Any = client.get("/openapi.json").json
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if "requestBody" not in operation:
                continue
            given = {one["name"]: one.get("example") for one in operation.get("parameters", ())}
            ((_, content),) = operation["requestBody"]["content"].items()
            for number, example in enumerate(content["examples"].values()):
                headers = {"X-Session-ID": f"session-{number}"} if path == "/create" else {}
                if "X-Session-ID" in given and not headers:
                    headers = {"X-Session-ID": "session-0"}
                response = client.post(path.replace("{env}", pack.name), json=example["value"], headers=headers)
                assert response.status_code == 200, (path, response.text)
                if path == "/step":
                    assert response.json["metadata"]["error"] is None  # type: ignore[index]
