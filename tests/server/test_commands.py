"""`deskproof episodes` and `deskproof replay`: what they print, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.contract import Contract
from engine.pack import Pack
from server.service import Caller, Service
from server.store.opening import open_store
from tests.commands import deskproof as run
from tests.server.calls import ASK_EMAIL, ASK_ORDER, CLASSIFY, RESOLVE, begin, step

LAMPS = Path(__file__).with_name("lamps.yaml")


@pytest.fixture
def url(tmp_path: Path, lamps: Pack, contract: Contract, clock: Callable[[], float]) -> str:
    """A store with an episode that is over, one that is open, and one of somebody with a token."""
    url = f"sqlite:{tmp_path / 'episodes.db'}"
    store = open_store(url)
    service = Service([lamps], store, contract, clock=clock)
    begin(service, "over")
    for action in (CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE):
        step(service, action, "over")
    begin(service, "open\x1b[2J")
    step(service, CLASSIFY, "open\x1b[2J")
    begin(service, "over", Caller(owner="kim"))
    store.close()
    return url


def test_list(url: str) -> None:
    listed = run("episodes", "list", "--store", url)
    rows = [line.split("\t") for line in listed.output.splitlines()]
    assert [row[:7] for row in rows] == [
        ["over", "1", "lamps", "t-1", "7", "4", "resolved"],
        [r"open\x1b[2J", "1", "lamps", "t-1", "7", "1", "open"],
        ["over", "1", "lamps", "t-1", "7", "0", "open"],
    ]
    assert len(run("episodes", "list", "--store", url, "--open").output.splitlines()) == 2
    assert len(run("episodes", "list", "--store", url, "--limit", "1").output.splitlines()) == 1
    assert run("episodes", "list", "--store", url, "--pack", "no-such").output == ""


def test_show(url: str) -> None:
    shown = run("episodes", "show", "--store", url, "over")
    assert shown.exit_code == 0
    assert "resolved; return 2.0000, score 1.0000, 4 steps (optimal: 4)" in shown.output
    unknown = run("episodes", "show", "--store", url, "nobody")
    assert unknown.exit_code == 2 and "There is no episode 'nobody'" in unknown.output


def test_export_and_replay(url: str, tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    assert run("episodes", "export", "--store", url, "-o", file).exit_code == 0
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [(line["episode_id"], line["end_reason"], line["return"]) for line in lines] == [
        ("over", "resolved", 2.0),
        ("open\x1b[2J", None, 0.5),
        ("over", None, 0.0),
    ]
    assert [line.get("owner") for line in lines] == [None, None, "kim"]
    played = run("replay", file, "--pack", LAMPS)
    assert (played.exit_code, played.output) == (0, "3 episodes played again: every byte is the same.\n")
    # Without the pack's files the store that keeps it will do, and without either nothing can be said.
    assert run("replay", file, "--store", url).exit_code == 0
    lost = run("replay", file, "--store", f"sqlite:{tmp_path / 'other.db'}")
    assert lost.exit_code == 1 and "neither served nor kept" in lost.output
    file.write_text(file.read_text("utf-8").replace('"return":2.0', '"return":1.9'), "utf-8")
    differs = run("replay", file, "--pack", LAMPS)
    assert differs.exit_code == 1
    assert f"{file}:1: differs at byte " in differs.output and "in return" in differs.output


def test_prune(url: str) -> None:
    wrong = run("episodes", "prune", "--store", url, "--older-than", "soon")
    assert wrong.exit_code == 2 and "'soon' is no span of time" in wrong.output
    # The clock of these episodes began in 1970.
    assert run("episodes", "prune", "--store", url, "--older-than", "1d").output == "Forgot 1 attempt.\n"
    assert len(run("episodes", "list", "--store", url).output.splitlines()) == 2


@pytest.mark.parametrize("command", ["list", "export"])
def test_a_store_that_is_none(command: str, tmp_path: Path) -> None:
    file = tmp_path / "diary.db"
    file.write_text("Dear diary, " * 100)
    refused = run("episodes", command, "--store", file)
    assert refused.exit_code == 1
    assert str(file) in refused.output
