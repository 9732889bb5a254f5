"""What the tests of the wire share: the server as it ships, the official plan, and how to talk on a socket."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from tests.serving import free_port, fresh_environment, serving

EASY, MEDIUM, HARD = TASKS = ("easy-info-collection", "medium-complete-info", "hard-efficient-resolution")
# The official plan: an ideal episode of the ticket that its seed picks.
PLAN = json.loads((Path(__file__).parents[2] / "validation" / "runtime.json").read_text("utf-8"))
RESET = {**PLAN["reset"]["options"], "seed": PLAN["reset"]["seed"]}
ACTIONS = PLAN["actions"]
T = TypeVar("T")


@contextmanager
def shipped(
    project: Path, folder: Path, *, command: tuple[str, ...] = ("server.app",), settings: Mapping[str, str] = {}
) -> Iterator[str]:
    """The address of the project's server with the packs that it ships with, started in `folder`.

    `settings` are variables of its environment; `command` is a module and its arguments, PORT standing for the port.
    """
    port = free_port()
    env = {**fresh_environment(), "PYTHONPATH": str(project), "PORT": str(port), **settings}
    arguments = [str(port) if word == "PORT" else word for word in command]
    with serving((sys.executable, "-m", *arguments), port, cwd=folder, env=env) as url:
        yield url


def run(conversation: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(conversation, 60))


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def ws(address: str, path: str = "/ws") -> str:
    return address.replace("http", "ws") + path


def ask(socket: Connection, message: Any) -> Any:
    socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    return json.loads(socket.recv(timeout=30))


def closed(socket: Connection) -> tuple[int, str]:
    """Code and reason, once the server says goodbye without having said anything else."""
    with pytest.raises(ConnectionClosed) as end:
        socket.recv(timeout=30)
    assert end.value.rcvd is not None
    return end.value.rcvd.code, end.value.rcvd.reason
