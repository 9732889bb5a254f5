"""Metrics of real servers: what ends is counted, however it ends, and nothing that a server does disturbs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.service import Service
from server.tally import COUNTED, EPISODES_ENDED
from tests.server.calls import CLASSIFY, HOME, begin, step
from tests.server.live import SOON, eventually, running

# Nothing is to be verified: to load certificates takes longer than to ask.
QUICK: dict[str, Any] = {"trust_env": False, "verify": False, "timeout": 30}


def post(address: str, path: str, body: object, **headers: str) -> None:
    """Over a connection of its own, so that any worker may have it, and without a cookie."""
    httpx.post(f"{address}{path}", json=body, headers=headers, **QUICK).raise_for_status()


def ended(address: str) -> dict[tuple[str, str], float]:
    """How many episodes ended, by pack and reason."""
    shown = httpx.get(f"{address}/metrics", **QUICK).raise_for_status().text
    families = {family.name: family.samples for family in text_string_to_metric_families(shown)}
    samples = families["deskproof_episodes_ended"]
    return {(one.labels["pack"], one.labels["end_reason"]): one.value for one in samples if one.name.endswith("_total")}


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
def test_however_an_episode_ends_it_is_counted_once(root: Path, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'episodes.db'}"
    with running(root, WORKERS="2", STORE=store, IDLE="8") as server:
        for _ in range(4):  # three take the place of another one; the last stays
            post(server.http, "/reset", {"ticket_id": "t-1"})
        for name in ("a", "b"):
            post(
                server.http,
                "/create",
                {"env_name": "lamps", "task_spec": {"ticket_id": "t-1"}},
                **{"X-Session-ID": name},
            )
        for _ in range(2):  # the second time there is nothing to end
            post(server.http, "/delete", None, **{"X-Session-ID": "a"})
        for name, actions in (("played", ["classify", "resolve"] * 5), ("left", ["classify"])):
            post(server.http, "/reset", {"episode_id": name, "ticket_id": "t-1"})
            for action in actions:
                post(server.http, "/step", {"episode_id": name, "action": {"type": action}})
        soon = {("", "superseded"): 3, ("", "closed"): 1, ("lamps", "max_steps"): 1}
        eventually(lambda: soon.items() <= ended(server.http).items())
        # Nobody goes on with the last one of the address, the session b, and the one that was left.
        eventually(lambda: ended(server.http) == soon | {("", "expired"): 3})


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
def test_metrics_go_on_after_new_packs(root: Path, tmp_path: Path) -> None:
    with running(root, WORKERS="2", STORE=f"sqlite:{tmp_path / 'episodes.db'}", XDG_STATE_HOME=str(tmp_path)) as server:
        post(server.http, "/reset", {"episode_id": "played", "ticket_id": "t-1"})
        command = (sys.executable, "-m", "engine.cli", "reload", "--port", str(server.port))
        env = {**os.environ, "PYTHONPATH": str(root), "XDG_STATE_HOME": str(tmp_path)}
        subprocess.run(command, env=env, check=True, timeout=SOON)
        for action in ["classify", "resolve"] * 5:
            post(server.http, "/step", {"episode_id": "played", "action": {"type": action}})
        eventually(lambda: ended(server.http) == {("lamps", "max_steps"): 1})


def test_what_is_over_is_not_ended_again(service: Service) -> None:
    def counted() -> float:
        return COUNTED.totals().get((EPISODES_ENDED, ("", "superseded")), [0])[0]

    before = counted()
    service.reset({"ticket_id": "t-1"}, HOME)
    for _ in range(5):
        for action in (CLASSIFY, {"type": "resolve"}):
            service.step({"action": action}, HOME)
    service.reset({"ticket_id": "t-1"}, HOME)  # in the place of one that was played to its end
    assert counted() == before
    begin(service, "mine", HOME)  # an episode that is named is nobody's in particular
    step(service, CLASSIFY, "mine", HOME)
    assert counted() == before
    service.reset({"ticket_id": "t-1"}, HOME)
    assert counted() == before + 1
