"""The columns of an encoded observation: what an agent sees of a state, but for words, one small number each.

Nothing hidden is in them. Which facts a pack's tickets begin with isn't seen, nor whether a classification was right,
nor whether a value is: only what the observation shows, and what the agent has brought about by its own actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from engine.automaton import Automaton, State
from engine.pack import Pack

PERCENT = 100
# The greatest number that a column of one byte holds; where more steps remain it stays there.
MOST = 255


class Column(NamedTuple):
    """A column holds whole numbers from 0 up to `most`."""

    name: str
    most: int


def columns(pack: Pack) -> tuple[Column, ...]:
    """The columns of a pack's observations, in their order.

    For each field `known:FIELD` (a value was given, right or wrong), `required:FIELD` and `missing:FIELD` (as far as it
    shows); for each of the pack's facts `changed:FACT` (it isn't what it was at the start); then `task` (its number
    among the pack's tasks), `progress` (`info_progress` in percent, halves rounded up), `classified` (a classification
    was made or shown) and `remaining` (steps; 255 where there are more). The status has no column: an episode that
    isn't over is open.
    """
    return tuple(_columns(pack))


def _columns(pack: Pack) -> Iterator[Column]:
    for name in pack.fields:
        for what in ("known", "required", "missing"):
            yield Column(f"{what}:{name}", 1)
    for name in pack.facts:
        yield Column(f"changed:{name}", 1)
    yield Column("task", max(len(pack.tasks) - 1, 0))
    yield Column("progress", PERCENT)
    yield Column("classified", 1)
    yield Column("remaining", min(pack.max_steps, MOST))


class Encoder:
    """Encodes the states of one automaton; `remaining` is left at 0, as a state knows nothing of the steps."""

    def __init__(self, machine: Automaton) -> None:
        self._machine = machine
        self._task = list(machine.pack.tasks).index(machine.task.id)
        self._can_be_classified = machine.ticket.category is not None

    def row(self, state: State) -> bytes:
        """A byte for each of `columns`."""
        machine = self._machine
        view = machine.observation(state)
        known = {name for name, _ in view.known}
        row = [
            number for name in machine.fields for number in (name in known, name in view.required, name in view.missing)
        ]
        row += [now != before for now, before in zip(state.facts, machine.initial.facts, strict=True)]
        classified = self._can_be_classified and state.classified != "none"
        return bytes((*row, self._task, _percent(len(view.required), len(view.missing), view.progress), classified, 0))


def _percent(required: int, missing: int, shown: float) -> int:
    """`info_progress` in percent, worked out in whole numbers; `shown` is 0.0 or 1.0 where nothing is required."""
    if not required:
        return int(shown) * PERCENT
    return (2 * PERCENT * (required - missing) + required) // (2 * required)
