"""Several worker processes on one store: whichever answers, it is as if there were one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.processes import workers_of
from tests.serving import free_port, serving

LAMPS = Path(__file__).with_name("lamps.yaml")
GOOD: list[dict[str, Any]] = [
    {"type": "classify"},
    {"type": "ask_info", "field": "order"},
    {"type": "ask_info", "field": "email"},
    {"type": "resolve"},
]
REWARDS = [0.5, 0.25, 0.25, 1.0]  # a classification, two of two missing fields, and the goal (design, section 5)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(root), "PACKS": str(LAMPS), "PORT": str(port), "WORKERS": "3"}
    command = (sys.executable, "-m", "server.app")
    with serving(command, port, cwd=tmp_path_factory.mktemp("many"), env=env) as url:
        end = time.monotonic() + 30
        while len(workers_of(port)) < 3:
            assert time.monotonic() < end, "three workers were asked for"
            time.sleep(0.05)
        yield url


def post(address: str, path: str, body: Any, **headers: str) -> httpx.Response:
    """Over a connection of its own, so that any worker may have it."""
    # Nothing is to be verified: to load certificates takes longer than to ask.
    return httpx.post(f"{address}{path}", json=body, headers=headers, trust_env=False, verify=False, timeout=30)


def test_steps_are_shared_out(address: str) -> None:
    def play(name: str) -> list[float]:
        post(address, "/reset", {"episode_id": name, "ticket_id": "t-1"}).raise_for_status()
        return [post(address, "/step", {"episode_id": name, "action": action}).json()["reward"] for action in GOOD]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play, [f"shared-{number}" for number in range(24)])) == [REWARDS] * 24


def test_a_client_without_cookies_or_ids(address: str) -> None:
    post(address, "/reset", {"ticket_id": "t-1"}).raise_for_status()
    answers = [post(address, "/step", {"action": action}).json() for action in GOOD]
    assert [answer["reward"] for answer in answers] == REWARDS
    assert {answer["metadata"]["addressed_by"] for answer in answers} == {"address"}


def test_sessions_of_mcp(address: str) -> None:
    def call(session: str, method: str, params: dict[str, Any]) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = post(address, "/mcp", message, **{"Mcp-Session-Id": session})
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def play(_: int) -> str:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        begun = post(address, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        session = begun.headers["Mcp-Session-Id"]
        call(session, "tools/call", {"name": "reset", "arguments": {"ticket_id": "t-1"}})
        for action in GOOD:
            name, arguments = action["type"], {key: value for key, value in action.items() if key != "type"}
            told = call(session, "tools/call", {"name": name, "arguments": arguments})
        return str(told["structuredContent"]["status"])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(play, range(12))) == ["resolved"] * 12
