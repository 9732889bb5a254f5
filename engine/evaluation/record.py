"""A record: what became of one planned episode, in a line of JSON. The same agent gives the same bytes: no times in it.

What isn't known from a pack, a ticket, a seed and actions stands in it beside what is, so that a reader needs no pack;
whoever has the pack can play the actions again and compare.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from engine.dynamics.regret import costs
from engine.episode import Episode
from engine.pack import REWARD_UNIT
from engine.transcript import Unreadable
from engine.transcript import line as as_line

# "done": the episode ended, or the agent stopped; "error": the agent failed; "limit": a limit of the run ended it.
Status = Literal["done", "error", "limit"]
# The `end_reason` of an episode that its agent gave up; others are the engine's, and None where it was cut off.
STOPPED = "stopped"

_STATUSES: tuple[Status, ...] = get_args(Status)
# No return is as large as that.
_MOST = 2**32


class Key(NamedTuple):
    """What names a planned episode in a run; records are sorted by it. `trial` counts from 1."""

    pack: str
    ticket: str
    seed: int
    trial: int


@dataclass(frozen=True, slots=True)
class Record:
    """An episode as far as it went.

    Rewards, `total` (the return) and regrets are in ten-thousandths, `score` in [0, 1]. `error` is the cause in a
    sentence where the status isn't "done". `actions` are canonical. `optimal_steps` is None where the ticket has too
    many states to be solved, or can't be resolved at all; `regrets` where they aren't proved.
    """

    pack: str
    pack_digest: str
    task: str
    ticket: str
    seed: int
    trial: int
    status: Status
    error: str | None
    actions: tuple[Mapping[str, Any], ...]
    outcomes: tuple[str, ...]
    rewards: tuple[int, ...]
    total: int
    score: float
    resolved: bool
    steps: int
    optimal_steps: int | None
    end_reason: str | None
    regrets: tuple[int, ...] | None

    @property
    def key(self) -> Key:
        return Key(self.pack, self.ticket, self.seed, self.trial)


def recorded(
    episode: Episode, trial: int, status: Status = "done", error: str | None = None, stopped: bool = False
) -> Record:
    """The record of an episode as far as it went. `stopped`: its agent gave it up before its end."""
    case = episode.case
    return Record(
        pack=case.pack.name,
        pack_digest=case.pack.digest,
        task=case.ticket.task,
        ticket=case.ticket.id,
        seed=case.seed,
        trial=trial,
        status=status,
        error=error,
        actions=episode.actions,
        outcomes=tuple(step.outcome for step in episode.steps),
        rewards=tuple(step.reward for step in episode.steps),
        total=sum(step.reward for step in episode.steps),
        score=episode.score(),
        resolved=episode.terminated,
        steps=episode.step_count,
        optimal_steps=episode.optimal_steps,
        end_reason=episode.end_reason or (STOPPED if stopped else None),
        regrets=costs(case.automaton, episode.actions),
    )


def line(record: Record) -> bytes:
    """The record as JSON on a line of its own: compact, in UTF-8, its keys in this order. Rewards are floats here."""
    return as_line(
        {
            "pack": record.pack,
            "pack_digest": record.pack_digest,
            "task": record.task,
            "ticket": record.ticket,
            "seed": record.seed,
            "trial": record.trial,
            "status": record.status,
            "error": record.error,
            "actions": record.actions,
            "outcomes": record.outcomes,
            "rewards": [_units(reward) for reward in record.rewards],
            "return": _units(record.total),
            "score": float(record.score),
            "resolved": record.resolved,
            "steps": record.steps,
            "optimal_steps": record.optimal_steps,
            "end_reason": record.end_reason,
            "regrets": [_units(regret) for regret in record.regrets] if record.regrets is not None else None,
        }
    )


def parse(raw: bytes) -> Record:
    """The record that a line holds.

    Raises:
        Unreadable: it holds none; the text says why.
    """
    try:
        written = json.loads(raw)
    except (ValueError, RecursionError):
        raise Unreadable("this line is not JSON") from None
    if not isinstance(written, dict):
        raise Unreadable("this line is no record: it isn't a JSON object")
    wrong = next((name for name, fits in _FITS.items() if name not in written or not fits(written[name])), None)
    if wrong is not None:
        what = "has no" if wrong not in written else "has something else as its"
        raise Unreadable(f'this line is no record: it {what} "{wrong}"')
    regrets = written["regrets"]
    record = Record(
        **{name: written[name] for name in _AS_THEY_ARE},
        actions=tuple(written["actions"]),
        outcomes=tuple(written["outcomes"]),
        rewards=tuple(_whole(reward) for reward in written["rewards"]),
        total=_whole(written["return"]),
        score=float(written["score"]),
        regrets=tuple(_whole(regret) for regret in regrets) if regrets is not None else None,
    )
    _agree(record)
    return record


def _agree(record: Record) -> None:
    """Raises Unreadable where a record contradicts itself."""
    lists = (record.actions, record.outcomes, record.rewards, *([record.regrets] if record.regrets is not None else []))
    if any(len(found) != record.steps for found in lists):
        raise Unreadable(
            f"this record contradicts itself: it doesn't have one of everything for each of {record.steps} steps"
        )
    if sum(record.rewards) != record.total:
        raise Unreadable('this record contradicts itself: its "return" isn\'t the sum of its rewards')
    if (record.error is None) != (record.status == "done"):
        raise Unreadable(
            'this record contradicts itself: a cause stands in "error" where it isn\'t done, and only there'
        )


# -- Numbers, and what fits under each name


def _units(number: int) -> float:
    """Ten-thousandths in reward units."""
    return number / REWARD_UNIT


def _whole(number: float) -> int:
    """Reward units in ten-thousandths."""
    return round(number * REWARD_UNIT)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_exact(value: Any) -> bool:
    """A number of ten-thousandths, of those that an episode can have."""
    return _is_number(value) and abs(value) < _MOST and _units(_whole(value)) == value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


_AS_THEY_ARE = (
    *("pack", "pack_digest", "task", "ticket", "seed", "trial", "status", "error"),
    *("resolved", "steps", "optimal_steps", "end_reason"),
)
_FITS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("pack", "pack_digest", "task", "ticket"), _is_text),
    **dict.fromkeys(("seed", "steps"), _is_count),
    "trial": lambda value: _is_count(value) and value >= 1,
    "status": lambda value: value in _STATUSES,
    **dict.fromkeys(("error", "end_reason"), lambda value: value is None or _is_text(value)),
    "actions": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    "outcomes": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "rewards": lambda value: isinstance(value, list) and all(map(_is_exact, value)),
    "return": _is_exact,
    "score": lambda value: _is_number(value) and 0 <= value <= 1,
    "resolved": lambda value: isinstance(value, bool),
    "optimal_steps": lambda value: value is None or _is_count(value),
    "regrets": lambda value: value is None or (isinstance(value, list) and all(map(_is_exact, value))),
}
