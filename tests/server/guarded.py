"""Servers with tokens, and clients that have one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from server.tokens import digest
from tests.server.live import SOON, Server
from tests.server.rpc import message

CLASSIFY = {"type": "classify"}


def token(name: str) -> str:
    return f"token-of-{name}-0123456789"


def write_tokens(path: Path, *names: str) -> Path:
    path.write_text("".join(f"{name} {digest(token(name))}\n" for name in names))
    return path


def client(server: Server, name: str | None = None, **headers: str) -> httpx.Client:
    """With the token of that name; without one where there is no name."""
    sent = headers if name is None else {"Authorization": f"Bearer {token(name)}", **headers}
    return httpx.Client(base_url=server.http, headers=sent, trust_env=False, timeout=SOON)


def on_socket(server: Server, name: str | None, target: str, origin: Any = None) -> Connection:
    headers = {} if name is None else {"X-API-Key": token(name)}
    return connect(server.ws.removesuffix("/ws") + target, additional_headers=headers, origin=origin, proxy=None)


def rpc(http: httpx.Client, method: str, params: Any = None, **headers: str) -> httpx.Response:
    """What MCP answers; `Mcp_Session_Id` stands for the header."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post("/mcp", json=message(method, params), headers=sent)


def initialized(http: httpx.Client, version: str = "2025-11-25") -> str:
    """The id of an MCP session."""
    session: str = rpc(http, "initialize", {"protocolVersion": version}).headers["Mcp-Session-Id"]
    return session
