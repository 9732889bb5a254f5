"""What a run used up, in a line: as times.jsonl has it, so that what was played again counts each time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from engine.evaluation.ledger import TIMES, accounts
from engine.proof.told import decimal


def told_spent(folder: Path) -> str | None:
    """`tokens 12,345 (in 10,000, out 2,345), cost $0.12, time 3 min`; None where no tokens were counted. The time is
    that of all episodes, one after the other. Raises Damaged."""
    into = out = 0
    seconds, cost = Fraction(0), None
    for account, _ in accounts(folder / TIMES):
        seconds += Fraction(account.seconds)
        if account.spent is not None:
            into, out = into + account.spent.input_tokens, out + account.spent.output_tokens
            if account.spent.cost is not None:
                cost = (cost or Fraction(0)) + Fraction(account.spent.cost)
    if not into + out:
        return None
    paid = f", cost ${decimal(cost, 2) if cost >= Fraction(1, 100) else f'{float(cost):.2g}'}" if cost else ""
    return f"tokens {into + out:,} (in {into:,}, out {out:,}){paid}, time {_span(seconds)}"


def _span(seconds: Fraction) -> str:
    """Seconds up to two minutes, minutes up to two hours, else hours."""
    if seconds < 120:
        return f"{decimal(seconds, 1)} s"
    return f"{round(seconds / 60):,} min" if seconds < 7200 else f"{decimal(seconds / 3600, 1)} h"
