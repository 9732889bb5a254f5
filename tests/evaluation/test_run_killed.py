"""Runs that are killed, interrupted, or find no room: what was played stays, and the end is as if nothing had been."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from engine.evaluation.ledger import EPISODES
from tests.commands import deskproof
from tests.evaluation.runs import PLAYERS, ROOT, await_, command, lamps, running, size
from tests.serving import fresh_environment

pytestmark = pytest.mark.slow

# 120 episodes of about five steps, of two milliseconds each.
PLANNED = 120
KILLS = 10


def words(folder: Path, run: Path, *more: object) -> list[object]:
    return [f"{PLAYERS}:slow", folder / "lamps.yaml", "--seeds", PLANNED // 2, "-o", run, *more]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed, beside the pack that it plays."""
    folder = tmp_path_factory.mktemp("undisturbed")
    lamps(folder)
    finish(folder, folder / "run")
    return folder / "run"


def finish(folder: Path, run: Path) -> None:
    """The same command in this process, to the end."""
    done = deskproof("eval", *words(folder, run))
    assert done.exit_code == 0, done.output


def same(run: Path, other: Path) -> None:
    for name in ("run.json", EPISODES, "packs/lamps.json", "certificates/lamps.json"):
        assert (run / name).read_bytes() == (other / name).read_bytes()


def test_a_run_that_is_killed_ten_times_ends_as_one_that_is_not(tmp_path: Path, undisturbed: Path) -> None:
    """kill -9 at random moments: while it starts, makes its folder, plays alone or with two processes, or sorts."""
    length = size(undisturbed)
    run = tmp_path / "run"
    chance = random.Random(20_260_101)
    moments = [chance.uniform(0, 1.5), chance.uniform(0, 1.5), *(chance.uniform(0, 0.1) for _ in range(KILLS - 2))]
    for number, moment in enumerate(moments):
        before = size(run)
        with running(*words(undisturbed.parent, run, "--workers", 1 + number % 2)) as process:
            if number < 2:
                time.sleep(moment)
            else:  # once so much more is there
                await_(lambda before=before, moment=moment: size(run) > before + moment * length, process)  # type: ignore[misc]
            process.kill()
            process.wait()
            assert process.returncode == -signal.SIGKILL, "it was over before it was killed"
        assert size(run) >= before
    finish(undisturbed.parent, run)
    same(run, undisturbed)
    assert sorted(path.name for path in run.iterdir()) == sorted(path.name for path in undisturbed.iterdir())


def test_its_processes_die_with_it(tmp_path: Path, undisturbed: Path) -> None:
    with running(*words(undisturbed.parent, tmp_path / "run", "--workers", 2)) as process:
        await_(lambda: size(tmp_path / "run") > 0, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()
        assert len(children) >= 2
        process.kill()
        process.wait()
        end = time.monotonic() + 10
        while any(map(lives, children)):
            assert time.monotonic() < end, "a process goes on playing"
            time.sleep(0.01)


def lives(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_it_and_says_how_to_go_on(tmp_path: Path, undisturbed: Path, workers: int) -> None:
    """As from a terminal: all processes of the group are told."""
    run = tmp_path / "run"
    with running(*words(undisturbed.parent, run, "--workers", workers)) as process:
        await_(lambda: size(run) > 0, process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    stopped, last = err.decode().splitlines()[-1].split(" are played. ")
    assert stopped.startswith("Stopped: ") and stopped.endswith(f" of {PLANNED} episodes")
    assert last == f"To go on: the same command with -o {run}."
    finish(undisturbed.parent, run)
    same(run, undisturbed)


def test_where_no_room_is_left_nothing_is_lost(tmp_path: Path, undisturbed: Path) -> None:
    """A limit on the size of files ends a write in its middle, as a full disk does."""
    run = tmp_path / "run"
    limit = size(undisturbed) // 2

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    full = subprocess.run(
        command(*words(undisturbed.parent, run)),
        cwd=ROOT,
        env=fresh_environment(),
        capture_output=True,
        text=True,
        preexec_fn=small_files,
    )
    assert full.returncode == 2
    assert full.stderr.splitlines() == [
        f"{run / EPISODES} can't be written: File too large.",
        f"To go on: the same command with -o {run}.",
    ]
    written = (run / EPISODES).read_bytes()
    assert limit - 2_000 < len(written) <= limit
    assert written.endswith(b"\n")
    finish(undisturbed.parent, run)
    same(run, undisturbed)
