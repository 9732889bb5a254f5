"""Speaking MCP to a server in the same process, as the tests do it."""

from __future__ import annotations

import itertools
import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from server.sessions import Sessions
from server.store.memory import MemoryStore

LATEST = "2025-11-25"  # version of MCP


def message(method: str, params: Any = None, request_id: Any = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {} if params is None else params, **more}


def post(client: FlaskClient, body: Any, session: str | None = None, **headers: str) -> TestResponse:
    if session is not None:
        headers["Mcp-Session-Id"] = session
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post("/mcp", data=raw, headers=headers, content_type="application/json")


def fault(response: Any, code: int, request_id: Any = 1) -> Any:
    """The data of a JSON-RPC error."""
    assert response.keys() == {"jsonrpc", "id", "error"}
    assert (response["jsonrpc"], response["id"], response["error"]["code"]) == ("2.0", request_id, code)
    assert response["error"]["message"] and response["error"].keys() == {"code", "message", "data"}
    return response["error"]["data"]


def result(response: Any) -> Any:
    assert response.keys() == {"jsonrpc", "id", "result"}, response
    return response["result"]


def initialize(client: FlaskClient, version: str = LATEST) -> str:
    """The id of a session."""
    response = post(client, message("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {}}))
    assert result(response.json)["protocolVersion"] == version
    return response.headers["Mcp-Session-Id"]


class Agent:
    """Calls tools in a session of its own, over HTTP."""

    def __init__(self, client: FlaskClient, session: str | None = None) -> None:
        self.client = client
        self.session = session or initialize(client)
        self.bytes: list[bytes] = []

    def ask(self, method: str, params: Any = None) -> Any:
        response = post(self.client, message(method, params), self.session)
        self.bytes += [str(response.headers).encode(), response.data]
        assert response.status_code == 200
        return result(response.json)

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def tools(self) -> dict[str, Any]:
        return {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}


def sessions(capacity: int) -> Sessions:
    """A registry of its own, whose ids are s1, s2 and so on."""
    ids = (f"s{number}" for number in itertools.count(1))
    return Sessions(lambda: 0.0, lambda: next(ids), capacity, notes=MemoryStore())
