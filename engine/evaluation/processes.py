"""Processes that play a run's episodes: agents that work in them, each on a processor of its own.

A process is told places, a few at a time, and sends results back. One that dies takes one episode with it: that one's
record says so, and another process goes on with the others. All of them die with the process that started them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any

from engine.evaluation.agents import AgentUnusable
from engine.evaluation.crew import TICK, Duties, Factory, duties_of, is_past, unseen
from engine.evaluation.limits import OF_RUNS, TIME_UP
from engine.evaluation.plan import Plan, Wish
from engine.evaluation.playing import Until
from engine.evaluation.record import Status
from engine.evaluation.result import Result

# What a process is told at once should take about so many seconds, and be no more than so many episodes.
SHIFT, MOST = 0.2, 256
# How long after a limit of time a process is ended that doesn't see to it itself.
GRACE = 5.0
_NOBODY = -1
# What a process sends: results, and whether its shift is through; None as it goes home.
_Message = tuple[Sequence[Result], bool] | AgentUnusable | None
_MADE = multiprocessing.get_context("spawn")  # a fork would take locks with it that threads of this process hold


@dataclass(eq=False, slots=True)
class _Worker:
    """`left` are the places that it was told and hasn't sent back; `now` the one that it plays, and since when."""

    process: BaseProcess
    line: Connection
    life: Connection
    now: Any
    since: Any
    left: deque[int] = field(default_factory=deque)
    told: float = 0.0
    shift: int = 1


class Processes:
    """Processes play."""

    def __init__(self, plan: Plan, wish: Wish, factory: Factory, until: Until, workers: int) -> None:
        self._plan = plan
        self._until = until
        self._duties = duties_of(plan, wish, factory, until)
        self._many = workers
        self._over = _MADE.RawValue("b", 0)  # the number of the cause in OF_RUNS, from 1
        self._workers: list[_Worker] = []
        self._again: deque[int] = deque()  # what was told to somebody who died

    def play(self, places: Iterator[int]) -> Iterator[Result | None]:
        for _ in range(self._many):
            self._hire()
        for worker in self._workers:
            self._tell(worker, places)
        while self._workers:
            ready = wait([worker.line for worker in self._workers], TICK)
            if not ready:
                yield None
            for worker in [one for one in self._workers if one.line in ready]:
                yield from self._heard(worker, places)
            for worker in [*self._workers]:
                if self._is_late(worker):
                    worker.process.kill()

    def end(self, why: str) -> None:
        self._over.value = OF_RUNS.index(why) + 1

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            self._part(worker)
        self._workers.clear()

    def _hire(self) -> None:
        line, theirs = _MADE.Pipe()
        alive, life = _MADE.Pipe(duplex=False)
        now, since = _MADE.RawValue("q", _NOBODY), _MADE.RawValue("d", 0.0)
        arguments = (self._duties, theirs, alive, now, since, self._over)
        process = _MADE.Process(target=_work, args=arguments, daemon=True)
        with _deaf():
            process.start()
        theirs.close()
        alive.close()
        self._workers.append(_Worker(process, line, life, now, since))

    def _part(self, worker: _Worker) -> None:
        worker.line.close()
        worker.life.close()
        worker.process.join()

    def _tell(self, worker: _Worker, places: Iterator[int]) -> None:
        """Gives it something to do; sends it home where there is nothing."""
        shift: list[int] = []
        while len(shift) < worker.shift and not self._over.value and not is_past(self._until):
            place = self._again.popleft() if self._again else next(places, None)
            if place is None:
                break
            shift.append(place)
        worker.left.extend(shift)
        worker.told = monotonic()
        with suppress(OSError):  # it has died: that is heard on its line
            worker.line.send(shift)

    def _heard(self, worker: _Worker, places: Iterator[int]) -> Iterator[Result]:
        try:
            found: _Message = worker.line.recv()
        except (EOFError, OSError):
            yield from self._lost(worker, places)
            return
        if isinstance(found, AgentUnusable):
            raise found
        if found is None:
            self._workers.remove(worker)
            self._part(worker)
            return
        results, through = found
        for one in results:
            worker.left.remove(one.place)
        yield from results
        if through:
            took = max(monotonic() - worker.told, 1e-3)
            worker.shift = max(1, min(MOST, 4 * worker.shift, int(worker.shift * SHIFT / took)))
            worker.left.clear()
            self._tell(worker, places)

    def _lost(self, worker: _Worker, places: Iterator[int]) -> Iterator[Result]:
        """A process has died, or was ended as it was late: what it was playing is lost, the rest of its shift isn't."""
        late = self._is_late(worker)
        self._workers.remove(worker)
        self._part(worker)
        place = worker.now.value
        if place == _NOBODY and not late:
            raise AgentUnusable(f"A process that plays can't be started: {_ending(worker.process.exitcode)}.")
        left = [one for one in worker.left if one != place]
        if not late or late == self._until.limits.too_long():
            self._again.extend(left)
            self._hire()
            self._tell(self._workers[-1], places)
        if place in worker.left:
            status: Status = "limit" if late else "error"
            cause = late or f"The process that played it was lost: {_ending(worker.process.exitcode)}."
            yield unseen(self._plan, place, status, cause, monotonic() - worker.since.value)

    def _is_late(self, worker: _Worker) -> str | None:
        """The limit that it is far beyond; None where it isn't."""
        now, limits = monotonic() - GRACE, self._until.limits
        if self._until.ends is not None and now > self._until.ends:
            return TIME_UP
        playing = worker.now.value != _NOBODY and worker.left
        if playing and limits.seconds is not None and now > worker.since.value + limits.seconds:
            return limits.too_long()
        return None


@contextmanager
def _deaf() -> Iterator[None]:
    """A process that is started meanwhile doesn't hear Ctrl-C, from its first moment on: it is for the other one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# -- In the other process


def _work(duties: Duties, line: Connection, alive: Connection, now: Any, since: Any, over: Any) -> None:
    """What a process does: plays what it is told until there is nothing, or nobody who tells it."""
    threading.Thread(target=_die_with, args=(alive,), daemon=True).start()
    until = Until(duties.limits, duties.ends, lambda: OF_RUNS[over.value - 1] if over.value else None)
    plan, player = duties.taken_up(until)
    with suppress(BrokenPipeError, EOFError):
        try:
            while shift := line.recv():
                played: list[Result] = []
                sent = monotonic()
                for place in shift:
                    if until.over() is not None or is_past(until):
                        break
                    since.value, now.value = monotonic(), place
                    played.append(player.play(place, plan.key(place)))
                    if monotonic() - sent > TICK:
                        line.send((played, False))
                        played, sent = [], monotonic()
                line.send((played, True))
            player.close()
            line.send(None)
        except AgentUnusable as error:
            line.send(error)


def _die_with(alive: Connection) -> None:
    """Ends this process when the one that started it is gone, whatever an agent is about just then."""
    with suppress(EOFError, OSError):
        alive.recv_bytes()
    os._exit(1)


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended by itself, with exit code {code}"
