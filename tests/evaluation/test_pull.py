"""Runs of agents that connect by themselves: to a real server, over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from engine.evaluation.ledger import EPISODES
from engine.evaluation.limits import TIME_UP
from engine.evaluation.plan import Wish
from engine.evaluation.record import Record, parse
from tests.evaluation.players import patient
from tests.evaluation.runs import lamps, opened, ran, running, sat
from tests.serving import free_port

pytestmark = pytest.mark.slow


class Client:
    """An agent's way to the server: the address and the token that the command tells."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        told = process.stderr.readline().decode()
        assert told.startswith("Each reset at http://127.0.0.1:"), told
        self.address, self.token = told.split()[3], told.split()[-1]

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        with urlopen(Request(self.address + path, json.dumps(body).encode(), headers), timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def refused(self, path: str, **body: Any) -> tuple[int, str]:
        with pytest.raises(HTTPError) as refused:
            self.post(path, **body)
        with refused.value as answer:
            return answer.code, json.load(answer)["detail"]

    def play(self, answer: dict[str, Any], steps: int = 10) -> None:
        """Goes on with an episode, for so many steps at the most."""
        for _ in range(steps):
            if answer["done"]:
                return
            episode = answer["metadata"]["episode_id"]
            answer = self.post("/step", episode_id=episode, action=patient(answer["observation"]))


@contextmanager
def pulling(folder: Path, *words: object) -> Iterator[tuple[subprocess.Popen[bytes], Client]]:
    lamps(folder)
    own = ("-o", folder / "run", "--port", free_port())
    with running("pull", folder / "lamps.yaml", *own, *words) as process:
        yield process, Client(process)


def records(folder: Path) -> list[Record]:
    return [parse(raw) for raw in (folder / "run" / EPISODES).read_bytes().splitlines()]


def test_what_it_plays_is_what_it_would_have_played_here(tmp_path: Path) -> None:
    """Several at once, in another order, and whatever its resets ask for."""
    with pulling(tmp_path, "--seeds", 3) as (process, client):
        both = [client.post("/reset", seed=99, ticket_id="t-2"), client.post("/reset")]
        for answer in reversed(both):
            client.play(answer)
        (third,) = client.post("/batch/reset", items=[{}])["items"]
        client.play(third)
        for _ in range(3):
            client.play(client.post("/reset"))
        assert client.refused("/reset") == (409, "The run is over: all its episodes have begun.")
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.decode().startswith("all tickets: 6 of 6 episodes done, 2 tickets\n")
    here = opened(tmp_path / "here", [lamps(tmp_path)], Wish(seeds="3"), "patient")
    sat(here, "patient")
    assert (tmp_path / "run" / EPISODES).read_bytes() == (here.path / EPISODES).read_bytes()


def test_what_is_not_over_when_time_is_up_is_at_a_limit_and_played_again(tmp_path: Path) -> None:
    with pulling(tmp_path, "--seeds", 2, "--time", "10s") as (process, client):
        client.play(client.post("/reset"))
        client.play(client.post("/reset"), steps=1)
        process.communicate(timeout=60)
    assert [(record.ticket, record.status, record.error, record.steps) for record in records(tmp_path)] == [
        ("t-1", "done", None, 3),
        ("t-2", "limit", TIME_UP, 1),
    ]
    with pulling(tmp_path, "--seeds", 2) as (process, client):
        for _ in range(3):
            client.play(client.post("/reset"))
        process.communicate(timeout=60)
    assert [record.status for record in records(tmp_path)] == ["done"] * 4


def test_an_episode_may_be_given_up_or_be_too_long(tmp_path: Path) -> None:
    """A reset of the same id gives it up; one that isn't over after its steps is at a limit, and over for its agent."""
    seen: list[int] = []
    with pulling(tmp_path, "--max-steps", 2) as (process, client):
        client.post("/reset", episode_id="mine")
        answer = client.post("/reset", episode_id="mine")
        client.play(answer, steps=2)
        while process.poll() is None:  # it is ended as soon as that is seen
            try:
                client.post("/step", episode_id="mine", action={"type": "wait"})
            except HTTPError as over:
                seen.append(over.code)
                over.close()
                break
        process.communicate(timeout=60)
    assert seen == [409]
    first, second = records(tmp_path)
    assert (first.status, first.end_reason, first.steps) == ("done", "stopped", 0)
    assert (second.status, second.steps) == ("limit", 2)
    assert second.error == "It wasn't over after 2 steps (--max-steps)."


def test_nobody_plays_without_the_token(tmp_path: Path) -> None:
    with pulling(tmp_path) as (_, client):
        client.token = "another"
        assert client.refused("/reset")[0] == 401


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_the_server_goes_with_the_run_and_what_was_played_stays(tmp_path: Path, kind: signal.Signals) -> None:
    with pulling(tmp_path) as (process, client):
        client.play(client.post("/reset"))
        end = time.monotonic() + 30
        while not (tmp_path / "run" / EPISODES).exists() or not records(tmp_path):
            assert time.monotonic() < end
            time.sleep(0.05)
        os.kill(process.pid, kind)
        process.wait(30)
        while True:  # until nobody answers any more
            assert time.monotonic() < end + 30
            try:
                client.refused("/step", episode_id="nobody's", action={"type": "resolve"})
            except OSError:
                break
        assert process.returncode == (130 if kind is signal.SIGINT else -signal.SIGKILL)
    assert [record.status for record in records(tmp_path)] == ["done"]


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    lamps(tmp_path)
    with pulling(tmp_path) as (_, client):
        port = client.address.rpartition(":")[2]
        told = ran("pull", tmp_path / "lamps.yaml", "-o", tmp_path / "other", "--port", port, code=2).stderr
    assert f"The run's server has ended: Port {port} is already taken" in told


@pytest.mark.parametrize("words", [("--workers", 2), ("--engine", "ray"), ("--max-tokens", 5), ("--max-cost", 1)])
def test_what_has_no_use_here_is_refused(tmp_path: Path, words: tuple[object, ...]) -> None:
    lamps(tmp_path)
    told = ran("pull", tmp_path / "lamps.yaml", "-o", tmp_path / "run", *words, code=2).stderr
    assert "connects" in told and f"no {words[0]}" in told
    assert not (tmp_path / "run").exists()
