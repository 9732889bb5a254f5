"""Plays through every route, until it has seen each status that the document promises."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import httpx

from engine.pack import Pack
from server.app import Deskproof, create_app
from server.body import MAX_BATCH, MAX_BODY, MAX_ITEMS, MAX_PARTS
from server.intake import Intake
from server.settings import Settings
from server.store.memory import MemoryStore
from tests.server.specification import Specification
from tests.server.store_calls import Forgetful

LAMPS = Path(__file__).with_name("lamps.yaml")
DESK = Path(__file__).parent.parent / "packs" / "desk.yaml"
EASY = "easy-info-collection"
GOOD: tuple[dict[str, Any], ...] = (
    {"type": "classify"},
    {"type": "ask_info", "field": "order"},
    {"type": "ask_info", "field": "email"},
    {"type": "resolve"},
)
SPLITS = ("train", "validation", "test")
ONE = "https://one.example"
Sent = dict[str, Any]  # keywords of a request

BATCHES = ("POST /batch/reset", "POST /batch/step")  # each of whose items has a 503 of its own where the store fails

# No request makes these fail: they ask nothing of the store, or answer its mistakes in their own words.
NEVER_500 = (
    *("GET /health", "GET /metadata", "GET /tasks", "GET /packs", "GET /schema", "GET /openapi.json", "GET /docs"),
    *("GET /", *BATCHES, "GET /list_environments", "GET /{env}/splits"),
    *("POST /{env}/tasks", "POST /{env}/num_tasks", "POST /{env}/task", "POST /{env}/task_range"),
    *("POST /create_session", "GET /{env}/tools"),
)
PROBES = ("GET /health", "GET /ready")


class Failing(MemoryStore):
    """Does nothing but raise, once there is something to raise."""

    error: Exception | None = None

    def __getattribute__(self, name: str) -> Any:
        error: Exception | None = object.__getattribute__(self, "error")
        if error is not None and name != "error":
            raise error
        return super().__getattribute__(name)


class Everything:
    """A client that expects a status of each request, and holds each answer against the document."""

    def __init__(self, http: httpx.Client, specification: Specification) -> None:
        self.http = http
        self.specification = specification

    def ask(self, status: int, method: str, path: str, **sent: Any) -> Any:
        answer = self.http.request(method, path, **sent)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code}, not {status}: {answer.text[:500]}"
        return self.specification.check(method, path, status, answer.headers, answer.content)

    def get(self, path: str, status: int = 200, **sent: Any) -> Any:
        return self.ask(status, "GET", path, **sent)

    def post(self, path: str, body: Any = None, status: int = 200, **sent: Any) -> Any:
        return self.ask(status, "POST", path, **({} if body is None else {"json": body}), **sent)

    def bad_json(self, path: str, **sent: Any) -> None:
        self.ask(400, "POST", path, content=b'{"a": 1, "a": 2}', **sent)

    def labels(self) -> list[str]:
        """Of every operation, such as "POST /reset"."""
        return list(dict.fromkeys(label for label, _ in self.specification.promised()))

    def catalogue(self) -> None:
        for path in ("/", "/health", "/ready", "/metrics", "/metadata", "/packs", "/openapi.json", "/docs"):
            self.get(path)
            assert self.ask(200, "HEAD", path) is None
        assert self.get("/metrics", headers={"Accept": "application/openmetrics-text"}).endswith("# EOF\n")
        for path in ("/tasks", "/schema"):
            for name in ({}, {"pack": "lamps"}, {"pack": "desk"}):
                self.get(path, params=name)
            self.get(path, 404, params={"pack": "lmps"})

    def episodes(self) -> None:
        began = self.post("/reset", {"ticket_id": "t-1", "seed": 7, "episode_id": "e", "request_id": "r-0"})
        assert began == self.post("/reset", {"episode_id": "e", "request_id": "r-0"})
        for action in ({}, {"type": "fly"}, {"type": "ask_info", "field": "shoe"}, {"name": 1}, *GOOD):
            self.get("/state", params={"episode_id": "e"})
            last = self.post("/step", {"action": action, "episode_id": "e"})
        assert (last["done"], last["metadata"]["end_reason"]) == (True, "resolved")
        assert self.get("/state", params={"episode_id": "e"})["status"] == "resolved"
        assert self.post("/step", {**GOOD[0], "episode_id": "e"}, 409)["step_count"] == 8
        for asked in ({"task_id": EASY}, {"split": "train"}, {"index": 0}, {"pack": "desk"}, {}, None):
            self.post("/reset", asked)
            seen = [self.post("/step", {"type": "classify"}) for _ in range(10)]
            assert (seen[-1]["done"], self.get("/state")["done"]) == (True, True)
        self.bad_json("/reset")
        self.bad_json("/step")
        self.post("/reset", {"ticket_id": "t-9"}, 404)
        self.post("/reset", {"seed": -1}, 422)
        self.post("/step", {"action": {}, "episode_id": "nobody"}, 404)
        self.post("/step", {}, 422)
        self.get("/state", 404, params={"episode_id": "nobody"})
        assert self.get("/state", 422, params={"episode_id": ""})["detail"].startswith("The query is not")

    def batches(self) -> None:
        names = ["b-1", "b-2"]
        began = self.post("/batch/reset", {"items": [{"episode_id": name, "ticket_id": "t-1"} for name in names] + [7]})
        assert [item.get("status") for item in began["items"]] == [None, None, 422]
        for action in GOOD:
            stepped = self.post("/batch/step", {"items": [{"episode_id": name, "action": action} for name in names]})
        assert [item["done"] for item in stepped["items"]] == [True, True]
        late = self.post("/batch/step", {"items": [{"episode_id": "b-1", "action": {}}, {"action": {}}]})
        assert [item["status"] for item in late["items"]] == [409, 422]
        for path in ("/batch/reset", "/batch/step"):
            self.bad_json(path)
            many = self.ask(400, "POST", path, content=b'{"items":[' + b",".join([b"[]"] * MAX_PARTS) + b"]}")
            assert str(MAX_PARTS) in many["detail"]
            self.post(path, {"items": [{}] * (MAX_ITEMS + 1)}, 422)
            assert self.post(path, {"items": []}) == {"items": []}

    def mcp(self) -> None:
        def message(method: str, **params: Any) -> dict[str, Any]:
            return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

        hello = message("initialize", protocolVersion="2025-06-18", capabilities={})
        named = self.http.post("/mcp", json=hello).headers["Mcp-Session-Id"]
        self.post("/mcp", hello)
        here: Sent = {"headers": {"Mcp-Session-Id": named}}
        self.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, 202, **here)
        assert [tool["name"] for tool in self.post("/mcp", message("tools/list"), **here)["result"]["tools"]]
        calls: tuple[dict[str, Any], ...] = (
            {"name": "reset", "arguments": {"ticket_id": "t-1"}},
            {"name": "fly"},
            {"name": "resolve"},
            {},
        )
        for call in calls:
            self.post("/mcp", message("tools/call", **call), **here)
        self.post("/mcp", message("openenv/session/close", session_id="nobody"))
        for body in (7, [], message("fly"), [message("ping"), message("fly")], {"jsonrpc": "2.0"}):
            self.post("/mcp", body)
        self.ask(200, "POST", "/mcp", content=b"{")
        self.post("/mcp", message("ping"), 404, headers={"Mcp-Session-Id": "nobody"})
        self.ask(200, "DELETE", "/mcp", **here)
        self.ask(404, "DELETE", "/mcp", **here)
        self.ask(400, "DELETE", "/mcp")

    def tasks(self) -> None:
        assert self.get("/list_environments") == ["lamps", "desk"]
        for env in ("lamps", "desk"):
            assert [split["name"] for split in self.get(f"/{env}/splits")] == list(SPLITS)
            for split in SPLITS:
                many = self.post(f"/{env}/num_tasks", {"split": split})["num_tasks"]
                assert len(self.post(f"/{env}/tasks", {"split": split})["tasks"]) == many
                self.post(f"/{env}/task_range", {"split": split, "start": None, "stop": -1})
                self.post(f"/{env}/task", {"split": split, "index": many}, 400)
                for index in range(-many, many):
                    self.post("/reset", self.post(f"/{env}/task", {"split": split, "index": index})["task"])
        self.get("/nowhere/splits", 404)
        for name, more in (("tasks", {}), ("num_tasks", {}), ("task", {"index": 0}), ("task_range", {})):
            self.bad_json(f"/lamps/{name}")
            self.post(f"/lamps/{name}", {"split": "dev", **more}, 400)
            self.post(f"/nowhere/{name}", {"split": "train", **more}, 404)
            self.post(f"/lamps/{name}", {"split": 7, **more}, 422)

    def ors(self) -> None:
        ((_, named), _) = self.post("/create_session")
        here: Sent = {"headers": {"X-Session-ID": named}}
        for env in ("lamps", "desk"):
            self.get(f"/{env}/tools")
        self.get("/nowhere/tools", 404)
        self.post("/create", {"task_spec": {"ticket_id": "t-1", "seed": 7}, "env_name": "lamps"}, **here)
        self.post("/create", {"task_spec": {"ticket_id": "t-1"}}, 400, **here)
        self.post("/ping", **here)
        for path in ("/lamps/task_tools", "/lamps/prompt"):
            self.get(path, **here)
            self.get(path, 400)
            self.get(path, 404, headers={"X-Session-ID": "nobody"})
        calls = [
            {"name": action["type"], "input": {**action, "type": None}} for action in ({"type": "fly"}, *GOOD, *GOOD)
        ]
        events = [self.post("/lamps/call", call, **here) for call in calls]
        finished = [json.loads("".join(data for _, data in told[1:])) for told in events]
        assert [result["ok"] for result in finished] == [True] * 5 + [False] * 4
        assert finished[4]["output"]["finished"] is True
        again = self.post("/lamps/call", {**calls[0], "task_id": events[0][0][1]}, **here)
        assert again == events[0]
        assert self.post("/lamps/call", {**calls[0], "task_id": "x"}, **here) == [("error", "unknown task_id")]
        self.post("/desk/call", calls[0], 400, **here)
        self.post("/lamps/call", calls[0], 404, headers={"X-Session-ID": "nobody"})
        self.post("/lamps/call", {"name": "fly"}, 422, **here)
        for path in ("/create", "/lamps/call"):
            self.bad_json(path, **here)
        self.post("/ping", None, 404, headers={"X-Session-ID": "nobody"})
        for path in ("/ping", "/delete", "/delete_session"):
            self.post(path, None, 400)
        for path in ("/delete", "/delete_session"):
            assert self.post(path, **here) == {"sid": named}
        self.post("/create", {"split": "train", "index": 0}, **here)  # in which environment, the next path says
        self.get("/desk/prompt", **here)
        elsewhere: Sent = {"headers": {"X-Session-ID": "another"}}
        for ticket in ("t-9", ""):
            self.post("/create", {"task_spec": {"ticket_id": ticket}}, 404, **elsewhere)
        for wrong in (
            {},
            {"task_spec": {"id": ""}, "split": "train"},
            {"task_spec": {"id": "t-1", "pack": 7}, "env_name": "x"},
        ):
            self.post("/create", wrong, 422, **elsewhere)

    def too_much(self) -> None:
        for label in self.labels():
            method, _, path = label.partition(" ")
            limit = MAX_BATCH if path.startswith("/batch/") else MAX_BODY
            self.ask(413, method, path.replace("{env}", "lamps"), content=b" " * (limit + 1))

    def from_a_page(self) -> None:
        for label in self.labels():
            self.ask(403, *place(label), headers={"Origin": "https://evil.example"})

    def with_tokens(self, lamps: Pack, tokens: Path) -> None:
        for http in faces(lambda: create_app([lamps], configured=Settings(tokens=tokens))):
            here = Everything(http, self.specification)
            for label in self.labels():
                probe = label in PROBES
                here.ask(200 if probe else 401, *place(label))
                here.ask(200 if probe else 401, *place(label), headers={"Authorization": "Bearer guess"})
            for named in ({"Authorization": "Bearer token-of-kim"}, {"X-API-Key": "token-of-kim"}):
                here.post("/reset", {"episode_id": "e"}, headers=named)
                here.get("/metrics", headers=named)
            here.get("/state", 404, params={"episode_id": "e"}, headers={"X-API-Key": "token-of-sam"})

    def with_a_rate(self, lamps: Pack) -> None:
        """One request, and then one in 64 seconds: each of so many workers lets its share in."""
        for http in faces(lambda: create_app([lamps], configured=Settings(rate=1, burst=1, workers=64))):
            here = Everything(http, self.specification)
            many: dict[str, Any] = {"items": [{}, {}, {}]}
            assert "retry_after" not in here.post("/batch/reset", many, 429), "they will never be let in"
            for label in self.labels():
                refusal = here.ask(200 if label in PROBES else 429, *place(label))
                assert label in PROBES or 0 < refusal["retry_after"] <= 64

    def with_little_room(self, lamps: Pack) -> None:
        store = MemoryStore()
        with by_flask(create_app([lamps], store)) as before:
            before.post("/reset").raise_for_status()
        for http in faces(lambda: create_app([lamps], store, Settings(max_episodes=1))):
            here = Everything(http, self.specification)
            refusals = [here.post("/reset", {}, 503), *here.post("/batch/reset", {"items": [{}, {}]})["items"]]
            assert [(refusal["status"], refusal["retry_after"]) for refusal in refusals] == [(503, 60)] * 3

    def with_no_room_for_large_bodies(self, lamps: Pack) -> None:
        application = create_app([lamps])
        application.asgi._intake = Intake(room=MAX_BATCH - 1)
        with httpx.Client(transport=AsgiTransport(application), base_url="http://localhost") as http:
            here = Everything(http, self.specification)
            for path in ("/batch/reset", "/batch/step"):
                for content, status in ((b" " * MAX_BATCH, 503), (b'{"items":[]}'.ljust(MAX_BATCH - 1), 200)):
                    here.ask(status, "POST", path, content=content)

    def with_a_pack_that_is_gone(self, lamps: Pack, desk: Pack) -> None:
        """Episodes of a pack that the server, started anew, doesn't have, and that its store didn't keep."""
        store = Forgetful()
        session: Sent = {"headers": {"X-Session-ID": "s"}}
        with by_flask(create_app([lamps], store)) as before:
            before.post("/reset", json={"episode_id": "e", "request_id": "r"}).raise_for_status()
            before.post("/create", json={"task_spec": {"id": "t-1"}}, **session).raise_for_status()
        with by_flask(create_app([desk], store)) as after:
            here = Everything(after, self.specification)
            here.post("/reset", {"episode_id": "e", "request_id": "r"}, 409)
            here.post("/step", {"episode_id": "e", "action": {}}, 409)
            here.get("/state", 409, params={"episode_id": "e"})
            for path in ("/desk/prompt", "/desk/task_tools"):
                here.get(path, 409, **session)
            here.post("/desk/call", {"name": "fly", "input": {}}, 409, **session)

    def with_an_episode_that_expired(self, lamps: Pack) -> None:
        store = MemoryStore()
        with by_flask(create_app([lamps], store)) as http:
            here = Everything(http, self.specification)
            here.post("/reset", {"episode_id": "e"})
            assert store.expire(float("inf"), 0.0) == 1
            assert here.get("/state", params={"episode_id": "e"})["end_reason"] == "expired"
            assert "expired" in here.post("/step", {"action": {}, "episode_id": "e"}, 409)["detail"]

    def with_a_store_that_fails(self, lamps: Pack, error: Exception, status: int, never: Collection[str]) -> None:
        store = Failing()
        application = create_app([lamps], store)
        store.error = error
        for http in faces(lambda: application):
            for label in self.labels():
                method, path = place(label)
                bodies = {"/step": {"action": {}, "episode_id": "e"}, "/create": {"task_spec": {"id": "t-1"}}}
                sent = bodies.get(path, {"name": "fly", "input": {}} if path.endswith("/call") else {})
                query = {"episode_id": "e"} if path == "/state" else None
                named = {"X-Session-ID": "s", "Mcp-Session-Id": "s"}
                answer = http.request(method, path, headers=named, json=sent, params=query)
                assert (answer.status_code == status) == (label not in never), (label, answer.text)
                assert "on fire" not in answer.text
                self.specification.check(method, path, answer.status_code, answer.headers, answer.content)

    def with_a_body_that_stops(self, lamps: Pack) -> None:
        """gunicorn hangs up without a word where the sender does; other servers let the application have the last."""
        application = create_app([lamps])
        for label in self.labels():
            method, path = place(label)
            status, headers, content = asyncio.run(broken_off(application, method, path))
            assert status == 408
            self.specification.check(method, path, status, headers, content)


def place(label: str) -> tuple[str, str]:
    """The method, and a path that there is."""
    method, _, path = label.partition(" ")
    return method, path.replace("{env}", "lamps")


class AsgiTransport(httpx.BaseTransport):
    """httpx's own, for clients that don't wait."""

    def __init__(self, application: Deskproof) -> None:
        self._transport = httpx.ASGITransport(app=application)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def ask() -> httpx.Response:
            answer = await self._transport.handle_async_request(request)
            return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

        return asyncio.run(ask())


def by_flask(application: Deskproof) -> httpx.Client:
    return httpx.Client(transport=httpx.WSGITransport(app=application), base_url="http://localhost")


def faces(make: Callable[[], Deskproof]) -> Iterator[httpx.Client]:
    """Clients of a WSGI and of an ASGI application."""
    for transport in (httpx.WSGITransport(app=make()), AsgiTransport(make())):
        with httpx.Client(transport=transport, base_url="http://localhost") as client:
            yield client


async def broken_off(application: Deskproof, method: str, path: str) -> tuple[int, httpx.Headers, bytes]:
    """The answer to a request whose sender goes in the middle of the body."""
    coming: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return coming.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [],
        "client": ("127.0.0.1", 1), "server": ("localhost", 80), "scheme": "http", "http_version": "1.1",
    }  # fmt: skip
    await application(scope, receive, send)
    return sent[0]["status"], httpx.Headers(sent[0]["headers"]), sent[1]["body"]
