"""Plays a pack's own `tests:` and says where an answer isn't the expected one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.case import make_case
from engine.diagnostics import Finding
from engine.episode import Episode
from engine.pack import Pack, ScriptedTest
from engine.rules import same

FAILED = "PACK070"


def answer(episode: Episode) -> dict[str, Any]:
    """All that `expect` and `final` may name, after the last step of an episode."""
    return {
        **episode.observation,
        "outcome": episode.outcome,
        "reward": episode.reward,
        "says": episode.history[-1].get("text"),
        "done": episode.done,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "return": episode.total,
        "score": episode.score(),
    }


def run_tests(pack: Pack) -> Iterator[Finding]:
    """A finding for every step of a test, and for every end of one, that isn't as expected."""
    for test in pack.tests:
        yield from _run(pack, test)


def _run(pack: Pack, test: ScriptedTest) -> Iterator[Finding]:
    episode = Episode.start(make_case(pack, test.ticket, test.seed))
    for number, step in enumerate(test.steps, 1):
        if episode.done:
            message = f"test '{test.name}', step {number}: the episode is over already ({episode.end_reason})"
            yield Finding(FAILED, message, step.place, expected=f"at most {number - 1} steps")
            return
        episode = episode.step(step.do)
        wrong = _difference(step.expect, answer(episode))
        if wrong:
            yield Finding(FAILED, f"test '{test.name}', step {number}: {wrong}", step.place)
    wrong = _difference(test.final, answer(episode))
    if wrong:
        yield Finding(FAILED, f"test '{test.name}', at the end: {wrong}", test.place)


def _difference(expected: Mapping[str, Any], got: Mapping[str, Any]) -> str:
    parts = [
        f"{name} is {got.get(name)!r}, expected {value!r}"
        for name, value in expected.items()
        if not _equal(value, got.get(name))
    ]
    return "; ".join(parts)


def _equal(expected: Any, got: Any) -> bool:
    """Numbers by value (0 and 0.0 are one number); all else with its type."""
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return isinstance(expected, bool) == isinstance(got, bool) and expected == got
    if isinstance(expected, Mapping | list):
        return bool(expected == got)
    return same(expected, got)
