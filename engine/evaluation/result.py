"""What comes of playing an episode once: its record, what it took, and both as lines for the run's files."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from engine.evaluation.limits import OF_RUNS
from engine.evaluation.record import Key, Record, line
from engine.evaluation.spent import Spent
from engine.transcript import line as as_line


class Account(NamedTuple):
    """What playing an episode once took. `spent` is None where the agent keeps no account."""

    seconds: float
    spent: Spent | None
    trace: str | None = None


def account_line(key: Key, account: Account) -> bytes:
    """A line of times.jsonl. `trace` stands where an agent failed: where its own code went wrong."""
    spent = account.spent
    return as_line(
        {
            **key._asdict(),
            "seconds": round(account.seconds, 6),
            "input_tokens": spent.input_tokens if spent is not None else None,
            "output_tokens": spent.output_tokens if spent is not None else None,
            "cost": spent.cost if spent is not None else None,
            **({"trace": account.trace} if account.trace is not None else {}),
        }
    )


class State(IntEnum):
    """What a place's record comes to."""

    NOTHING = 0  # it has none
    RESOLVED = 1
    UNRESOLVED = 2  # it is done all the same
    ERROR = 3
    LIMIT = 4
    UNFINISHED = 5  # a limit of the whole run came first: with more time it is played again

    @classmethod
    def of(cls, record: Record) -> State:
        if record.status == "done":
            return cls.RESOLVED if record.resolved else cls.UNRESOLVED
        if record.status == "error":
            return cls.ERROR
        return cls.UNFINISHED if record.error in OF_RUNS else cls.LIMIT


DONE = (State.RESOLVED, State.UNRESOLVED)


class Result(NamedTuple):
    """An episode that was played: its lines, and what they come to."""

    place: int
    state: State
    total: int
    record: bytes
    account: bytes
    spent: Spent


def result(place: int, record: Record, account: Account) -> Result:
    spent = account.spent or Spent()
    return Result(place, State.of(record), record.total, line(record), account_line(record.key, account), spent)
