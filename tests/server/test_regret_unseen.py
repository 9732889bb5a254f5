"""What a step cost tells an agent what is best: no answer of a server has a word of it, not even after the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from engine.contract import load_contract
from engine.load import load_pack
from engine.pack import Pack
from server.app import create_app
from server.mcp import Mcp
from server.service import Service
from server.store.memory import MemoryStore
from tests.server.everything import DESK, GOOD, LAMPS, Everything, faces
from tests.server.live import SOON, running
from tests.server.rpc import message, sessions
from tests.server.specification import Specification

WORD = b"regret"
BAD = {"type": "fly"}


@pytest.fixture(scope="module")
def desk() -> Pack:
    return load_pack(DESK)


def test_the_packs_do_not_have_the_word() -> None:
    for path in (LAMPS, DESK):
        assert WORD not in path.read_bytes().lower()


def test_no_answer_to_any_request(lamps: Pack, desk: Pack) -> None:
    """Every route, MCP and ORS among them; episodes are played to their end, with steps that cost something."""
    seen: list[bytes] = []

    def keep(answer: httpx.Response) -> None:
        seen.append(str(answer.headers).encode() + answer.read())

    for http in faces(lambda: create_app([lamps, desk])):
        http.event_hooks["response"].append(keep)
        client = Everything(http, Specification(http.get("/openapi.json").json()))
        for play in (client.catalogue, client.episodes, client.batches, client.mcp, client.tasks, client.ors):
            play()
    assert sum(b'"optimal_steps"' in answer for answer in seen) > 10  # of episodes that are over
    assert [answer for answer in seen if WORD in answer.lower()] == []


def test_no_message_of_mcp_on_a_socket(lamps: Pack) -> None:
    mcp, session = Mcp(Service([lamps], MemoryStore(), load_contract()), sessions(1)), sessions(1).open(socket=True)
    calls: list[Any] = [{"name": "reset", "arguments": {"ticket_id": "t-1", "seed": 1}}, {"name": "fly"}]
    calls += [{"name": good["type"], "arguments": {**good, "type": None}} for good in GOOD]
    asked = [message("tools/list"), *(message("tools/call", call) for call in calls)]
    seen = [mcp.receive(json.dumps(one), session) or "" for one in asked]
    assert "resolved" in seen[-1] and "resolved" not in seen[-2]
    assert [one for one in seen if WORD.decode() in one.lower()] == []


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
def test_no_message_of_a_socket(root: Path) -> None:
    seen = []
    with running(root) as server, connect(server.ws) as socket:
        for kind, data in (("reset", {"ticket_id": "t-1", "seed": 1}), *(("step", action) for action in (BAD, *GOOD))):
            for sent in ({"type": kind, "data": data}, {"type": "state"}):
                socket.send(json.dumps(sent))
                seen.append(str(socket.recv(timeout=SOON)))
    assert json.loads(seen[-2])["data"]["metadata"]["optimal_steps"] == 4
    assert [one for one in seen if WORD.decode() in one.lower()] == []
