"""A run that an agent plays by itself: it connects to a server of the run's own, and the run counts what it does.

The server is a process of its own (`server.pull_server`), and its episodes are in a store of its own; what is over is
taken from there. `engine.evaluation.crew` has what a crew is.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress

from engine.case import make_case
from engine.episode import replay
from engine.evaluation import keeper
from engine.evaluation.agents import AgentUnusable
from engine.evaluation.crew import is_past
from engine.evaluation.folder import Run
from engine.evaluation.limits import TIME_UP
from engine.evaluation.playing import Until
from engine.evaluation.record import recorded
from engine.evaluation.result import Account, Result, result
from engine.proof.told import lines as plain
from server.store import EpisodeStore, Record
from server.store.opening import open_store
from server.tokens import digest, new_token

# How often the store is looked at, in seconds, and how many times longer than that takes.
OFTEN, TIMES = 0.25, 10
# How long an agent may still ask once all is played, to be told so; and how long the server may take to start and end.
LINGER, PATIENCE = 1.0, 60.0
OWNER = "run"
# Where the server keeps what it needs while it serves, in the run's own folder.
FOLDER = ".server"
# What stands in the options of an episode's record: its place in the plan.
PLACE = "place"


class NoServer(AgentUnusable):
    """The run's server doesn't serve; the text says why."""


class Pulled:
    """An agent that connects plays. `tell` is told the address and the token."""

    def __init__(
        self, run: Run, host: str, port: int, tell: Callable[[str, str], None], until: Until, planned: int
    ) -> None:
        self._run = run
        self._until = until
        self._host, self._port = host, port
        self._tell = tell
        self._through: set[int] = set()
        self._folder = run.path / FOLDER
        self._server: subprocess.Popen[bytes] | None = None
        self._lifeline = -1
        self._store: EpisodeStore | None = None
        self._over = False

    def play(self, places: Iterator[int]) -> Iterator[Result | None]:
        planned = array("q", places)
        self._start(planned)
        try:
            wait = OFTEN
            while len(self._through) < len(planned) and not self._over and not is_past(self._until):
                time.sleep(min(wait, max(0.0, (self._until.ends or time.monotonic() + wait) - time.monotonic())))
                looked = time.monotonic()
                found = [*self._harvest(None)]
                yield from found or (None,)
                self._check()
                wait = max(OFTEN, TIMES * (time.monotonic() - looked))
            if not is_past(self._until):
                time.sleep(LINGER)
        finally:
            self._stop()
        yield from self._harvest(TIME_UP)

    def end(self, why: str) -> None:
        self._over = True

    def close(self) -> None:
        self._stop()
        if self._store is not None:
            self._store.close()
            self._store = None
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- What is over

    def _harvest(self, cut: str | None) -> Iterator[Result]:
        """What is over by now; with `cut`, which is the cause, also what isn't."""
        assert self._store is not None
        records = [*self._store.records()]
        newest = {record.key.episode_id: record.key for record in records}
        for record in records:
            place = record.start.options[PLACE]
            if place not in self._through:
                found = self._judged(place, record, record.key != newest[record.key.episode_id], cut)
                if found is not None:
                    self._through.add(place)
                    yield found

    def _judged(self, place: int, record: Record, left: bool, cut: str | None) -> Result | None:
        """What an episode comes to; None where it goes on. `left`: its agent began another attempt at it."""
        limits, took = self._until.limits, time.time() - record.start.at
        late = limits.seconds is not None and took > limits.seconds
        long = limits.max_steps is not None and len(record.steps) >= limits.max_steps
        over = left or record.end_reason is not None
        if not (over or late or long or cut is not None):
            return None
        key = self._run.plan.key(place)
        case = make_case(self._run.plan.packs[key.pack], key.ticket, key.seed)
        episode = replay(case, [step.action for step in record.steps][: limits.max_steps])
        why = None
        if not episode.done and (long or not over):
            why = limits.too_many() if long else limits.too_long() if late else cut
            assert self._store is not None
            self._store.end(record.key, "limit", time.time())
        stopped = why is None and not episode.done
        played = recorded(episode, key.trial, "limit" if why is not None else "done", why, stopped)
        return result(place, played, Account(max(0.0, record.changed - record.start.at), None))

    # -- The server

    def _start(self, planned: array[int]) -> None:
        """Starts it, and waits until it listens. Raises NoServer where it doesn't."""
        folder, token = self._folder.resolve(), new_token()
        shutil.rmtree(folder, ignore_errors=True)  # left by one that was killed
        folder.mkdir(mode=0o700)
        (folder / "places").write_bytes(planned.tobytes())
        (folder / "tokens").write_text(f"{OWNER} {digest(token)}\n", "utf-8")
        store = f"sqlite:{folder / 'episodes.db'}"
        self._store = open_store(store)
        own = {"STORE": store, "TOKENS": str(folder / "tokens"), "WORKERS": "1", "KEEP": "0", "IDLE": "0", "RATE": "0"}
        told = [str(self._run.path.resolve()), str(folder / "places"), self._host, str(self._port)]
        command = [sys.executable, "-m", "server.pull_server", *told]
        lifeline, self._lifeline = os.pipe()
        try:
            with (folder / "log").open("wb") as log:
                self._server = subprocess.Popen(
                    [sys.executable, keeper.__file__, str(lifeline), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(lifeline,),
                    start_new_session=True,  # Ctrl-C is for the run
                    env={**os.environ, **own},
                )
        finally:
            os.close(lifeline)
        self._await()
        self._tell(f"http://{self._host}:{self._port}", token)

    def _await(self) -> None:
        end = time.monotonic() + PATIENCE
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)
        while True:
            self._check()
            with suppress(OSError), socket.create_connection((host, self._port), PATIENCE):
                return
            if time.monotonic() > end:
                raise NoServer(f"The run's server doesn't listen: {self._last_words()}")
            time.sleep(OFTEN)

    def _check(self) -> None:
        """Raises NoServer where the server has ended."""
        if self._server is None or self._server.poll() is not None:
            raise NoServer(f"The run's server has ended: {self._last_words()}")

    def _last_words(self) -> str:
        lines = (self._folder / "log").read_text("utf-8", "replace").split("\n")
        return plain(next((line for line in reversed(lines) if line.strip()), "it said nothing"))

    def _stop(self) -> None:
        if self._lifeline >= 0:
            lifeline, self._lifeline = self._lifeline, -1
            os.close(lifeline)
        if self._server is not None:
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(PATIENCE)
            self._server = None
