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
from tests.evaluation.runs import PLAYERS, await_, lamps, opened, ran, running, sat, size

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster() -> Iterator[dict[str, str]]:
    """The environment of a command: what Ray keeps goes with it. Names of sockets may not be long."""
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        yield {"RAY_TMPDIR": folder, "HOME": folder}


def test_the_records_are_those_of_this_machine_though_workers_are_lost(tmp_path: Path, cluster: dict[str, str]) -> None:
    """One dies at its first chance, with what it has played, which is played again. The run's first episode takes every
    worker with it that plays it: that one is an error, and nothing else is lost."""
    pack, run, died = lamps(tmp_path), tmp_path / "run", tmp_path / "died"
    here = opened(tmp_path / "here", [pack], Wish(seeds="50"), "quick")
    sat(here, "quick")
    fatal = here.plan.key(0)
    words = (f"{PLAYERS}:dies_here", tmp_path / "lamps.yaml", "--seeds", 50, "-o", run)
    environment = {"DIED": str(died), "FATAL": episode_id(fatal), **cluster}
    ran(*words, "--engine", "ray", "--workers", 2, code=1, **environment)
    assert died.exists()
    first, *others = (run / EPISODES).read_bytes().splitlines(keepends=True)
    lost = parse(first)
    assert (lost.key, lost.status, lost.error, lost.steps) == (fatal, "error", LOST, 0)
    assert others == (here.path / EPISODES).read_bytes().splitlines(keepends=True)[1:]


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
