"""The graders of the contract's tasks. PYTEST_DONT_REWRITE: see engine/__init__.py.

Each reads an episode's record, is pure, returns a float in [0, 1] and never raises. A record is one of

- what `Episode.record()` gives: `resolved, steps, optimal_steps, missing_at_start, collected, asks, asks_wasted,
  classifier, first_classification`;
- a final observation alone, or inside a response (`{"observation": ..., "metadata": ...}`). What it doesn't show
  counts as not done (no classification, so a hard episode is halved); efficiency counts as 1;
- a list of steps as the server answers them, first to last: where it has one for each step, it shows outcomes,
  efficiency and the first classification too.

Share = fields missing at the start that are now rightly known or waived / all of them; where none was missing, 1 if
the ticket is resolved, else 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

# The contract's actions that the formulas are about.
ASK, CLASSIFY = "ask_info", "classify"


@dataclass(frozen=True)
class _Summary:
    """What the three formulas need. `optimal_steps` None: efficiency counts as 1."""

    resolved: bool
    steps: int
    optimal_steps: int | None
    missing_at_start: int
    collected: int
    asks: int
    asks_wasted: int
    classified_right: bool

    @property
    def share(self) -> float:
        if not self.missing_at_start:
            return float(self.resolved)
        return self.collected / self.missing_at_start


def _of_record(record: Mapping[str, Any]) -> _Summary:
    needed = record["classifier"] == "agent"
    return _Summary(
        resolved=record["resolved"] is True,
        steps=record["steps"],
        optimal_steps=record["optimal_steps"],
        missing_at_start=record["missing_at_start"],
        collected=record["collected"],
        asks=record["asks"],
        asks_wasted=record["asks_wasted"],
        classified_right=not needed or record["first_classification"] == "right",
    )


def _of_steps(steps: Sequence[Mapping[str, Any]]) -> _Summary:
    """A summary of what the last observation shows, and of the outcomes, if there is one for each of its steps.

    A field that is known and was never asked for was known from the start, as far as can be seen: it counts neither
    as missing nor as collected.
    """
    seen = [step["observation"] for step in steps if isinstance(step.get("observation"), Mapping)]
    last = seen[-1] if seen else {}
    resolved = last.get("status") == "resolved"
    asked = _asked(last)
    outcomes = _outcomes(steps)
    complete = len(outcomes) == last.get("step_count")
    told = {f"{ASK}.{outcome}" for outcome in ("answered", "mistaken", "waived")}
    notes = ((asked.get(step), note["outcome"]) for step, note in outcomes.items())
    latest = {field: outcome for field, outcome in notes if outcome in told}
    mistaken = {field for field, outcome in latest.items() if outcome == f"{ASK}.mistaken" and not resolved}
    missing = {*last.get("missing_required", []), *mistaken}
    at_start = [name for name in last.get("required", []) if name in missing or name in asked.values()]
    classified = [note["outcome"] for note in outcomes.values() if note["outcome"].startswith(f"{CLASSIFY}.")]
    return _Summary(
        resolved=resolved,
        steps=last.get("step_count", 0),
        optimal_steps=_metadata(steps[-1]).get("optimal_steps") if complete else None,
        missing_at_start=len(at_start),
        collected=sum(name not in missing for name in at_start),
        asks=len(asked) if complete else 0,
        asks_wasted=sum(outcomes[step]["reward"] < 0 for step in asked) if complete else 0,
        classified_right=complete and bool(classified) and classified[0] == f"{CLASSIFY}.right",
    )


def _asked(observation: Mapping[str, Any]) -> dict[int, Any]:
    """The field asked for, by step, whether it exists or not."""
    actions = ((item["step"], item["action"]) for item in observation.get("history", []) if item.get("role") == "agent")
    return {step: str(action.get("field")) for step, action in actions if action.get("type") == ASK}


def _outcomes(steps: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Outcome and reward, by step."""
    found = {}
    for step in steps:
        outcome = _metadata(step).get("outcome")
        if outcome is not None:
            found[step["observation"]["step_count"]] = {"outcome": str(outcome), "reward": step.get("reward") or 0}
    return found


def _metadata(step: Mapping[str, Any]) -> Mapping[str, Any]:
    note = step.get("metadata")
    return note if isinstance(note, Mapping) else {}


def _summary(record: Any) -> _Summary:
    if isinstance(record, Mapping):
        if "missing_at_start" in record:
            return _of_record(record)
        return _of_steps([record if isinstance(record.get("observation"), Mapping) else {"observation": record}])
    return _of_steps(list(record))


def _grader(formula: Callable[[_Summary], float]) -> Callable[[Any], float]:
    @wraps(formula)
    def grade(record: Any) -> float:
        try:
            value = float(formula(_summary(record))) if record else 0.0
        except Exception:  # a record of any other shape shows nothing that could be graded
            return 0.0
        return min(1.0, max(0.0, value)) if value == value else 0.0

    return grade


@_grader
def grade_easy(summary: _Summary) -> float:
    """min(1, collected / half of the missing, rounded up); with none missing, the share."""
    if not summary.missing_at_start:
        return summary.share
    return min(1.0, summary.collected / ((summary.missing_at_start + 1) // 2))


@_grader
def grade_medium(summary: _Summary) -> float:
    """share x (asks not wasted / asks made); with no ask made, the share."""
    if not summary.asks:
        return summary.share
    return summary.share * (summary.asks - summary.asks_wasted) / summary.asks


@_grader
def grade_hard(summary: _Summary) -> float:
    """0 unless resolved, else min(1, optimal steps / steps); halved unless the first classification was right.

    The halving is for tickets that the agent has to classify.
    """
    if not summary.resolved:
        return 0.0
    known = summary.optimal_steps is not None and summary.steps > 0
    efficiency = min(1.0, summary.optimal_steps / summary.steps) if known and summary.optimal_steps else 1.0
    return efficiency if summary.classified_right else efficiency / 2
