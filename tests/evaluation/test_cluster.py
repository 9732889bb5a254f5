"""A run on a cluster of two workers, both on this machine: the same records, also where workers are lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from engine.evaluation.cluster import LOST
from engine.evaluation.ledger import EPISODES
from engine.evaluation.plan import Wish
from engine.evaluation.playing import episode_id
from engine.evaluation.record import parse
from tests.evaluation.players import odd
from tests.evaluation.runs import PLAYERS, await_, lamps, opened, ran, running, sat, size

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster() -> Iterator[dict[str, str]]:
    """The environment of a command: what Ray keeps goes with it. Names of sockets may not be long."""
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        yield {"RAY_TMPDIR": folder, "HOME": folder}


def test_the_records_are_those_of_this_machine_though_a_worker_is_lost(tmp_path: Path, cluster: dict[str, str]) -> None:
    """It dies at its first chance, with what it has played; that is played again."""
    pack, run, died = lamps(tmp_path), tmp_path / "run", tmp_path / "died"
    words = (f"{PLAYERS}:dies_once", tmp_path / "lamps.yaml", "--seeds", 50, "-o", run)
    ran(*words, "--engine", "ray", "--workers", 2, code=0, DIED=str(died), **cluster)
    assert died.exists()
    here = opened(tmp_path / "here", [pack], Wish(seeds="50"), "quick")
    sat(here, "quick")
    assert (run / EPISODES).read_bytes() == (here.path / EPISODES).read_bytes()


def test_an_episode_that_takes_every_worker_with_it_is_an_error(tmp_path: Path, cluster: dict[str, str]) -> None:
    """Of a ticket at two seeds one is odd; the other is played."""
    run, wish = tmp_path / "run", Wish(seeds="2", tickets=("t-1",))
    plan = opened(tmp_path / "planned", [lamps(tmp_path)], wish, "dies").plan
    meant = ["error" if odd(episode_id(plan.key(place))) else "done" for place in range(plan.count)]
    words = (f"{PLAYERS}:dies", tmp_path / "lamps.yaml", "--seeds", 2, "--ticket", "t-1", "-o", run)
    ran(*words, "--engine", "ray", "--workers", 2, code=1, **cluster)
    records = [parse(raw) for raw in (run / EPISODES).read_bytes().splitlines()]
    assert [record.status for record in records] == meant
    assert {record.error for record in records} == {None, LOST}


def test_ctrl_c_ends_the_cluster_with_the_run(tmp_path: Path, cluster: dict[str, str]) -> None:
    lamps(tmp_path)
    run = tmp_path / "run"
    words = (f"{PLAYERS}:slow", tmp_path / "lamps.yaml", "--seeds", 5_000, "-o", run, "--engine", "ray")
    with running(*words, "--workers", 2, **cluster) as process:
        await_(lambda: size(run) > 0, process)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().splitlines()[-1].endswith(f" To go on: the same command with -o {run}.")


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path, cluster: dict[str, str]) -> None:
    lamps(tmp_path)
    words = ("oracle", tmp_path / "lamps.yaml", "-o", tmp_path / "run", "--engine", "ray")
    told = ran(*words, code=2, RAY_ADDRESS="nonsense", **cluster).stderr
    assert "Error: There is no cluster to play on: " in told
