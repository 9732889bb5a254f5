"""How far a run has come, while it runs: a line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from engine.evaluation.runner import Standing
from engine.proof.told import count

# How many seconds pass until there is something new to see: on a terminal, and elsewhere.
OFTEN, SELDOM = 0.1, 10.0


class _Clock:
    """Shows a standing every so many seconds, and how many seconds are left at the rate so far."""

    def __init__(self, every: float, show: Callable[[Standing, float | None], None]) -> None:
        self._every = every
        self._show = show
        self._began = self._shown = monotonic()
        self._first: int | None = None

    def __call__(self, standing: Standing) -> None:
        now = monotonic()
        if self._first is None:
            self._first = standing.left
        if now - self._shown >= self._every:
            self._shown = now
            played = self._first - standing.left
            self._show(standing, (now - self._began) / played * standing.left if played else None)


@contextmanager
def progress(console: Console) -> Iterator[Callable[[Standing], None]]:
    """What to tell each standing of a sitting to. The console is that of standard error."""
    if not console.is_terminal:
        yield _Clock(SELDOM, lambda standing, left: console.print(sentence(standing, left), soft_wrap=True))
        return
    columns = (BarColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")

        def show(standing: Standing, left: float | None) -> None:
            settled = standing.planned - standing.left
            bar.update(task, description=sentence(standing, left), total=standing.planned, completed=settled)

        yield _Clock(OFTEN, show)


def sentence(standing: Standing, left: float | None) -> str:
    """`340 of 780 episodes, 3 errors, mean return 0.412, 0:00:12 left`."""
    parts = [f"{standing.planned - standing.left:,} of {count(standing.planned, 'episode')}"]
    parts.append(count(standing.errors, "error"))
    if standing.limits:
        parts.append(f"{standing.limits:,} at a limit")
    if standing.mean is not None:
        parts.append(f"mean return {standing.mean:.3f}")
    if left is not None:
        parts.append(f"{timedelta(seconds=round(left))} left")
    return ", ".join(parts)
