"""An agent that plays over MCP sees neither what is hidden nor what is meant for its trainer: every byte is walked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.contract import load_contract
from engine.load import load_pack
from engine.pack import Pack
from server.app import create_app
from server.mcp import Mcp
from server.service import Service
from server.store.memory import MemoryStore
from tests.server.rpc import LATEST, Agent, message, post, sessions

LAMPS = Path(__file__).with_name("lamps.yaml")
FOR_TRAINERS = {
    *("reward", "outcome", "score", "optimal_steps", "metadata", "done", "terminated", "truncated", "end_reason"),
    *("pack_digest", "episode_id", "addressed_by", "return", "error_type"),
}
CALLS: Sequence[tuple[str, dict[str, Any]]] = (
    ("fly", {}),
    ("ask_info", {"field": "shoe"}),
    ("classify", {"category": "delivery"}),
    ("resolve", {}),
    ("ask_info", {"field": "colour"}),
    ("classify", {}),
    ("ask_info", {"field": "order"}),
    ("resolve", {}),
    ("resolve", {}),
    ("reset", {"ticket_id": "nowhere"}),
)


def everything(pack: Pack, ticket: str, calls: Sequence[tuple[str, dict[str, Any]]] = CALLS) -> list[bytes]:
    """Every byte that an agent gets over HTTP, and in JSON-RPC on sockets; session ids aside."""
    agent = Agent(create_app([pack]).test_client())
    agent.bytes.append(post(agent.client, message("initialize", {"protocolVersion": LATEST})).data)
    for method in ("tools/list", "ping"):
        agent.ask(method)
    agent.call("reset", ticket_id=ticket, seed=1)
    for name, arguments in calls:
        agent.call(name, **arguments)
        agent.ask("tools/list")
    service = Service([pack], MemoryStore(), load_contract())
    mcp, session = Mcp(service, sessions(1)), sessions(1).open(socket=True)
    for name, arguments in (("reset", {"ticket_id": ticket, "seed": 1}), *calls):
        asked = message("tools/call", {"name": name, "arguments": arguments})
        frame = mcp.receive(json.dumps(asked), session)
        assert frame is not None
        agent.bytes.append(frame.encode())
    return agent.bytes


def walk(value: Any) -> Iterator[Any]:
    """Every key and every scalar of a document; texts that are JSON in part are walked too."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from walk(part)
        return
    yield value
    for line in value.splitlines() if isinstance(value, str) else ():
        if line.startswith("{"):
            yield from walk(json.loads(line))


@pytest.mark.parametrize("ticket", ["t-1", "t-2", "t-3"])
def test_nothing_that_is_meant_for_a_trainer(lamps: Pack, ticket: str) -> None:
    outcomes = {rule.outcome for action in lamps.actions.values() for rule in action.rules} | {"invalid"}
    assert "classify.right" in outcomes
    for seen in everything(lamps, ticket):
        lowered = seen.decode().lower()
        assert not any(word in lowered for word in ("reward", "score", "outcome", "optimal_steps", lamps.digest))
        assert not any(outcome in lowered for outcome in outcomes - {"invalid"})
        if seen.startswith((b"{", b"[")):
            assert not set(map(str, walk(json.loads(seen)))) & (FOR_TRAINERS | outcomes)


def variant(tmp_path: Path, *changes: tuple[str, str]) -> Pack:
    text = LAMPS.read_text("utf-8")
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    path = tmp_path / "lamps.yaml"
    path.write_text(text, "utf-8")
    return load_pack(path)


@pytest.mark.parametrize("ticket", ["t-1", "t-3"])
def test_rewards_make_no_difference(lamps: Pack, tmp_path: Path, ticket: str) -> None:
    rewards = "rewards: {fields: 0.3, classification: 0.7, waste: 0.0}\n"
    other = variant(tmp_path, ("pack: lamps\n", f"pack: lamps\n{rewards}"))
    assert other.digest != lamps.digest
    assert bodies(everything(other, ticket)) == bodies(everything(lamps, ticket))


@pytest.mark.parametrize(
    "change",
    [
        ("category: exchange\n    messages: [This is not", "category: delivery\n    messages: [This is not"),
        ("order: C-3003", "order: [{say: Wait.}, {say: No., refuse: true}, Z-9]"),
    ],
    ids=["category", "answers"],
)
def test_what_is_hidden_makes_no_difference(lamps: Pack, tmp_path: Path, change: tuple[str, str]) -> None:
    """Before a classification: not one byte differs, whatever the secret."""
    early = (*CALLS[:2], ("resolve", {}), ("classify", {"category": "shoes"}))
    other = variant(tmp_path, change)
    assert bodies(everything(other, "t-3", early)) == bodies(everything(lamps, "t-3", early))


def bodies(seen: list[bytes]) -> list[bytes]:
    return [text for text in seen if text.startswith((b"{", b"["))]
