"""What comes of playing an episode once: its record, what it took, and both as lines for the run's files."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import NamedTuple

from engine.evaluation.limits import OF_RUNS
from engine.evaluation.record import Key, Record, line
from engine.evaluation.spent import Spent
from engine.transcript import line as as_line

# No episode takes so many tokens, dollars or seconds.
_MOST = 1e15


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


def parse_account(raw: bytes) -> Account:
    """What a line of times.jsonl says, but for its trace. Raises ValueError, KeyError, TypeError, RecursionError."""
    told = json.loads(raw)
    tokens, cost = (told["input_tokens"], told["output_tokens"]), told["cost"]
    amounts = [*tokens, cost, told.get("seconds")]
    if not all(one is None or (type(one) in (int, float) and 0 <= one < _MOST) for one in amounts):
        raise ValueError("these are no amounts")
    if not all(one is None or type(one) is int for one in tokens):
        raise ValueError("tokens are counted")
    spent = Spent(tokens[0] or 0, tokens[1] or 0, cost) if any(one is not None for one in (*tokens, cost)) else None
    return Account(float(told.get("seconds") or 0), spent)


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
