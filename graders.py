"""The graders of the contract's tasks.

Each reads an episode's record, is pure, returns a float in [0, 1] and never raises. A record is one of

- what `Episode.record()` gives: `resolved, steps, optimal_steps, missing_at_start, collected, asks, asks_wasted,
  classifier, first_classification`;
- a final observation alone, or inside a response (`{"observation": ..., "metadata": ...}`). What it doesn't show
  counts as not done (no classification, so a hard episode is halved); efficiency counts as 1;
- a list of steps (responses, or `{"action": ..., "observation": ..., "reward": ..., "metadata": ...}`), first to last.

Share = fields missing at the start that are now rightly known or waived / all of them; where none was missing, 1 if
the ticket is resolved, else 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any


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


def _of_observation(last: Mapping[str, Any], first: Mapping[str, Any]) -> _Summary:
    """A summary of what is seen at the end; `first`, where there is one, tells what was missing at the start."""
    required, missing = list(last.get("required", [])), set(last.get("missing_required", []))
    at_start = [name for name in required if name not in first.get("known_info", {})]
    resolved = last.get("status") == "resolved"
    collected = len(at_start) if resolved else sum(name not in missing for name in at_start)
    return _Summary(resolved, last.get("step_count", 0), None, len(at_start), collected, 0, 0, False)


def _of_steps(steps: Sequence[Mapping[str, Any]]) -> _Summary:
    """A list of steps shows outcomes too, where its items carry `metadata`."""
    seen = [step["observation"] for step in steps if isinstance(step.get("observation"), Mapping)]
    first = seen[0] if seen and seen[0].get("step_count") == 0 else {}
    summary = _of_observation(seen[-1] if seen else {}, first)
    notes = [_metadata(step) for step in steps]
    outcomes = [str(note["outcome"]) for note in notes if note.get("outcome")]
    asks = [step for step, note in zip(steps, notes, strict=True) if str(note.get("outcome")).startswith("ask_info.")]
    classified = [outcome for outcome in outcomes if outcome.startswith("classify.")]
    return _Summary(
        summary.resolved,
        summary.steps or len(outcomes),
        notes[-1].get("optimal_steps"),
        summary.missing_at_start,
        summary.collected,
        len(asks),
        sum((step.get("reward") or 0) < 0 for step in asks),
        bool(classified) and classified[0] == "classify.right",
    )


def _metadata(step: Mapping[str, Any]) -> Mapping[str, Any]:
    note = step.get("metadata")
    return note if isinstance(note, Mapping) else {}


def _summary(record: Any) -> _Summary:
    if isinstance(record, Mapping):
        if "missing_at_start" in record:
            return _of_record(record)
        if isinstance(record.get("observation"), Mapping):
            return _of_steps([record])
        return _of_observation(record, {})
    return _of_steps(list(record))


def _grader(formula: Callable[[_Summary], float]) -> Callable[[Any], float]:
    @wraps(formula)
    def grade(record: Any) -> float:
        if not record:
            return 0.0
        try:
            value = float(formula(_summary(record)))
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
