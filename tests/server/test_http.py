"""The HTTP interface: routes, mistakes and cookies."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema
import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from engine.contract import Contract
from engine.pack import Pack
from server.app import create_app
from server.store import Key, Start
from server.store.memory import MemoryStore
from tests.server.specification import Specification

ASK_ORDER = {"type": "ask_info", "field": "order"}
GETS = (
    "/",
    "/health",
    "/metadata",
    "/schema",
    "/schema?pack=lamps",
    "/tasks",
    "/tasks?pack=lamps",
    "/packs",
    "/openapi.json",
)


@pytest.fixture(scope="module")
def specification(lamps: Pack) -> Specification:
    return Specification(create_app([lamps]).test_client().get("/openapi.json").json)


def check(specification: Specification, response: TestResponse) -> Any:
    """The response's JSON, valid under the specification of its route."""
    asked = response.request
    headers = httpx.Headers(list(response.headers))
    return specification.check(asked.method, asked.path, response.status_code, headers, response.data)


def test_an_episode(client: FlaskClient, specification: Specification) -> None:
    asked = {"ticket_id": "t-1", "seed": 3}
    answers = [check(specification, client.post("/reset", json=asked))]
    for action in ({"type": "classify"}, ASK_ORDER, {"type": "fly"}, {"type": "ask_info", "field": "email"}):
        answers.append(check(specification, client.post("/step", json={"action": action})))
        check(specification, client.get("/state"))
    answers.append(check(specification, client.post("/step", json={"type": "resolve"})))
    assert [answer["reward"] for answer in answers] == [None, 0.5, 0.25, -0.1, 0.25, 1.0]
    assert answers[-1]["done"] is True
    assert answers[-1]["metadata"]["score"] == 1.0
    state = check(specification, client.get("/state"))
    assert (state["status"], state["step_count"]) == ("resolved", 5)
    check(specification, client.post("/step", json={"type": "resolve"}))


@pytest.mark.parametrize("path", GETS)
def test_gets(client: FlaskClient, specification: Specification, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    check(specification, response)
    assert client.get(path).data == response.data
    assert b'": ' not in response.data.replace(b'\\": ', b"")  # compact


def test_what_the_catalogue_says(client: FlaskClient, lamps: Pack, contract: Contract) -> None:
    assert client.get("/health").json == {"status": "healthy"}
    metadata: Any = client.get("/metadata").json
    assert (metadata["name"], metadata["description"]) == (contract.name, contract.description)
    assert [pack["instructions"] for pack in metadata["packs"]] == [lamps.instructions]
    packs: Any = client.get("/packs").json
    assert packs["default"] == "lamps"
    assert [(pack["name"], pack["digest"], pack["tickets"]) for pack in packs["packs"]] == [("lamps", lamps.digest, 4)]
    tasks: Any = client.get("/tasks").json
    assert [(task["id"], task["tickets"]) for task in tasks["tasks"]] == [
        ("easy-info-collection", ["t-1"]),
        ("medium-complete-info", ["t-2"]),
        ("hard-efficient-resolution", ["t-3", "t-4"]),
    ]
    index: Any = client.get("/").json
    assert set(index["routes"]) == set(client.get("/openapi.json").json["paths"])  # type: ignore[index]


def test_schemas_hold_for_what_is_served(client: FlaskClient, contract: Contract) -> None:
    schemas: Any = client.get("/schema").json
    assert set(schemas) == {"action", "observation", "state", "reset_observation", "reset"}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert set(contract.observation_space["properties"]) <= set(schemas["observation"]["properties"])

    def valid(name: str, document: Any) -> bool:
        return bool(jsonschema.Draft202012Validator(schemas[name]).is_valid(document))

    def merged(answer: Any) -> Any:
        return {**answer["observation"], "reward": answer["reward"], "done": answer["done"]}

    asked = {"ticket_id": "t-2", "seed": 1, "task_id": "medium-complete-info", "pack": "lamps"}
    assert valid("reset", asked)
    assert not valid("reset", {"seed": -1})
    assert not valid("reset", {"pack": "lamp"})
    first = client.post("/reset", json=asked).json
    assert valid("reset_observation", merged(first))
    assert not valid("observation", merged(first))
    assert valid("action", ASK_ORDER)
    assert not valid("action", {"type": "ask_info", "field": "shoe"})
    after = client.post("/step", json=ASK_ORDER).json
    assert valid("observation", merged(after))
    assert not valid("reset_observation", merged(after))
    assert valid("state", client.get("/state").json)


# -- A client's mistakes


@pytest.mark.parametrize(
    ("path", "raw", "status"),
    [
        ("/reset", b"{", 400),
        ("/step", b'{"action": {"x": NaN}}', 400),
        ("/step", rb'{"action": {"x": "\ud800"}}', 400),
        ("/step", b"\xff", 400),
        ("/step", b"[" * 60_000, 400),
        ("/reset", b'{"seed": 1' + b"0" * 6_000 + b"}", 400),
        ("/reset", b'{"episode_id": "' + b"x" * 70_000 + b'"}', 413),
        ("/step", b"", 422),
        ("/step", b"{}", 422),
        ("/step", b'{"action": 1}', 422),
        ("/reset", b"[]", 422),
        ("/reset", b'{"seed": true}', 422),
        ("/reset", b'{"pack": "no"}', 404),
        ("/step", b'{"action": {}, "episode_id": "no"}', 404),
        ("/step", b'{"action": {}}', 404),
    ],
)
@pytest.mark.parametrize("media", ["application/json", "text/plain", "application/x-www-form-urlencoded", None])
def test_mistakes(
    client: FlaskClient, specification: Specification, path: str, raw: bytes, status: int, media: str | None
) -> None:
    response = client.post(path, data=raw, content_type=media)
    assert response.status_code == status
    document = check(specification, response)
    assert document["type"] == "about:blank"
    assert document["detail"].endswith((".", "them.", "it.", "time."))


def test_the_content_type_does_not_matter(client: FlaskClient) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        assert client.post("/reset", data=b'{"seed": 5}', content_type=media).status_code == 200
    for media in ("text/plain", "application/json", None):
        assert client.post("/reset", data=b"", content_type=media).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/reset", 405),
        ("DELETE", "/step", 405),
        ("POST", "/health", 405),
        ("GET", "/reset/", 404),
        ("GET", "/static/app.py", 404),
        ("GET", "/state", 404),
        ("GET", "/state?episode_id=", 422),
        ("GET", "/state?episode_id=%FF%00", 404),
        ("GET", "/schema?pack=lmps", 404),
        ("GET", "/tasks?pack=", 404),
    ],
)
def test_routing_mistakes_are_problems_too(client: FlaskClient, method: str, path: str, status: int) -> None:
    response = client.open(path, method=method)
    document: Any = response.json
    assert (response.status_code, response.content_type) == (status, "application/problem+json")
    assert document["status"] == status
    assert document["detail"]
    assert ("Allow" in response.headers) == (status == 405)


def test_a_mistake_of_the_server_shows_nothing_of_itself(lamps: Pack, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        def create(self, episode_id: str, start: Start) -> Any:
            raise RuntimeError("the disk is on fire")

    response = create_app([lamps], Broken()).test_client().post("/reset")
    assert (response.status_code, response.content_type) == (500, "application/problem+json")
    assert "fire" not in response.text
    assert "Traceback" not in response.text
    assert "the disk is on fire" in caplog.text


# -- Cookies and addresses


def test_the_cookie(client: FlaskClient) -> None:
    response = client.post("/reset", json={"ticket_id": "t-1"})
    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith("deskproof_episode=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    first: Any = response.json
    step: Any = client.post("/step", json={"action": ASK_ORDER}).json
    assert (step["metadata"]["episode_id"], step["metadata"]["addressed_by"]) == (
        first["metadata"]["episode_id"],
        "cookie",
    )


@pytest.mark.parametrize("name", ["версия ⚠️; a=b", '"quoted, \\ text"', "%41+ b", "\x00\x01\n", "😀" * 255])
def test_any_text_is_an_episode_id(client: FlaskClient, name: str) -> None:
    first: Any = client.post("/reset", json={"episode_id": name, "ticket_id": "t-1"}).json
    assert first["metadata"]["episode_id"] == name
    step: Any = client.post("/step", json={"action": ASK_ORDER}).json
    assert (step["metadata"]["episode_id"], step["metadata"]["addressed_by"]) == (name, "cookie")
    assert client.get("/state", query_string={"episode_id": name}).json["step_count"] == 1  # type: ignore[index]


def test_a_client_without_cookies_is_known_by_its_address(naive: FlaskClient) -> None:
    first: Any = naive.post("/reset", json={"ticket_id": "t-1"}).json
    assert first["metadata"]["addressed_by"] == "address"
    step: Any = naive.post("/step", json={"type": "classify"}).json
    assert (step["metadata"]["episode_id"], step["metadata"]["addressed_by"]) == (
        first["metadata"]["episode_id"],
        "address",
    )
    assert naive.get("/state").json["step_count"] == 1  # type: ignore[index]
    elsewhere = naive.post("/step", json={"type": "classify"}, environ_base={"REMOTE_ADDR": "10.9.9.9"})
    assert elsewhere.status_code == 404
    naive.post("/reset", json={"ticket_id": "t-1"})
    late = naive.post("/step", json={"type": "classify", "episode_id": first["metadata"]["episode_id"]})
    assert late.status_code == 409
    assert "superseded" in late.text


def test_a_conflict_says_where_the_episode_is(lamps: Pack, specification: Specification) -> None:
    store = MemoryStore()
    client = create_app([lamps], store).test_client()
    client.post("/reset", json={"episode_id": "e", "ticket_id": "t-1"})
    store.end(Key("/e", 1), "superseded", 1.0)
    document = check(specification, client.post("/step", json=ASK_ORDER))
    assert (document["status"], document["episode_id"], document["step_count"]) == (409, "e", 0)


# -- Anything at all as a body

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_envelope = ["seed", "episode_id", "request_id", "task_id", "ticket_id", "pack", "action", "timeout_s"]
_inside = ["type", "name", "action_type", "field", "parameters", "arguments", "method", "params"]
_known = st.sampled_from(_envelope + _inside)
_words = st.sampled_from(
    ["e", "lamps", "t-1", "t-2", "easy-info-collection", "ask_info", "classify", "resolve", "order"]
)
_likely = st.dictionaries(_known, _words | _values | st.dictionaries(_known, _words | _values, max_size=4), max_size=5)
_bodies = st.binary(max_size=40) | (_values | _likely).map(lambda value: json.dumps(value).encode())


@settings(deadline=None)
@given(data=st.data())
def test_no_body_breaks_the_server(lamps: Pack, specification: Specification, data: st.DataObject) -> None:
    client = create_app([lamps]).test_client()
    client.post("/reset", json={"episode_id": "e", "ticket_id": "t-1", "seed": 1})
    for path in data.draw(st.lists(st.sampled_from(["/reset", "/step"]), min_size=1, max_size=4)):
        response = client.post(path, data=data.draw(_bodies))
        assert response.status_code in {200, 400, 404, 409, 422}
        check(specification, response)
        assert client.get("/state").status_code == 200
