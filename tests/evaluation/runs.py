"""Runs for tests: of a pack of lamps, made and played in this process, or by the command as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from engine.evaluation.crew import Factory
from engine.evaluation.folder import Run, about, is_run, locked, make, read
from engine.evaluation.ledger import EPISODES, Ledger, OpenLedger
from engine.evaluation.limits import EpisodeLimits
from engine.evaluation.naming import agent_factory
from engine.evaluation.plan import Plan, Wish
from engine.evaluation.record import Record
from engine.evaluation.runner import Sitting, Standing, crew_of, play
from engine.load import load_pack
from engine.pack import Pack
from tests.plugin.projects import PACK
from tests.serving import fresh_environment

PLAYERS = "py:tests.evaluation.players"
ROOT = Path(__file__).resolve().parent.parent.parent


def lamps(folder: Path) -> Pack:
    """Two tickets: `t-1`, easy, needs one field after a stall; `t-2`, medium, needs two."""
    path = folder / "lamps.yaml"
    path.write_text(PACK, "utf-8")
    return load_pack(path)


def opened(path: Path, packs: Sequence[Pack], wish: Wish, agent: str, limits: EpisodeLimits = EpisodeLimits()) -> Run:  # noqa: B008
    """The run in a folder, which is made where there is none yet, without proofs."""
    if not is_run(path):
        asked = about("1.0", {"agent": agent}, Plan(packs, wish), wish, limits)
        make(path, asked, packs, {pack.name: "{}\n" for pack in packs})
    return read(path)


def sat(
    run: Run,
    player: str | Factory,
    sitting: Sitting = Sitting(),  # noqa: B008
    waits: bool = False,
    workers: int | None = None,
    hear: Callable[[Standing], None] = lambda standing: None,
) -> str | None:
    """Plays a sitting, with one of the agents in players.py or another."""
    factory = agent_factory(f"{PLAYERS}:{player}") if isinstance(player, str) else player
    with locked(run.path), closing(OpenLedger(run.path, run.plan)) as ledger:
        return play(run, ledger, sitting, crew_of(run, factory, waits, workers), hear)


def records(run: Run) -> list[Record]:
    return [*Ledger(run.path, run.plan).records()]


def episodes(run: Run) -> bytes:
    return (run.path / EPISODES).read_bytes()


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "engine.cli", "eval", *map(str, words)]


def ran(*words: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the command printed, once it has ended with this exit code."""
    env = {**fresh_environment(), **environment}
    done = subprocess.run(command(*words), cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@contextmanager
def running(*words: object, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a session of its own; whatever is left of it is killed."""
    process = subprocess.Popen(
        command(*words),
        cwd=ROOT,
        env={**fresh_environment(), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def size(run: Path) -> int:
    try:
        return (run / EPISODES).stat().st_size
    except OSError:
        return 0


def await_(happens: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not happens() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
