"""What was played, in words that are safe to show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from engine.evaluation.folder import Run
from engine.evaluation.ledger import REPLACED
from engine.evaluation.played import Played
from engine.evaluation.report.survey import Kind, Survey
from engine.evaluation.result import State
from engine.pack import REWARD_UNIT
from engine.proof.told import count, lines
from engine.terminal import printable

# How an episode that is done ended.
_REASONS = {"resolved": "the ticket was resolved", "max_steps": "out of steps", "stopped": "the agent gave up"}
# What an option is called, and the word for what it counts.
_OPTIONS = {"tasks": "tasks", "tickets": "tickets", "split": "split", "seeds": "seeds", "trials": "trials of each"}
_LIMITS = {"max_steps": ("most steps of an episode", ""), "episode_time": ("most time of an episode", " s")}


def agent(run: Run) -> str:
    """The agent's name."""
    return printable(str(run.about.agent.get("agent")))


def packs(run: Run) -> Iterator[tuple[str, str, str, int]]:
    """Each pack's name, version, digest, and how many of its tickets are played."""
    for pack in run.about.packs:
        tickets = sum(name == pack["name"] for name, _ in run.plan.rows)
        yield printable(pack["name"]), printable(pack["version"]), printable(pack["digest"]), tickets


def options(run: Run) -> Iterator[tuple[str, str]]:
    """What the agent and the run were told, by its name, as far as it was anything."""
    for name, value in run.about.agent.items():
        if name != "agent" and value is not None:
            yield printable(f"agent's {name.replace('_', ' ')}"), _value(value)
    asked = run.about.options
    for name, words in _OPTIONS.items():
        if asked[name]:
            yield words, _value(asked[name])
    for name, (words, unit) in _LIMITS.items():
        if asked[name] is not None:
            yield words, f"{asked[name]:g}{unit}"
    yield "made by", printable(f"Deskproof {run.about.tool}")


def _value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(map(printable, value))
    return lines(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def reason(name: str | None) -> str:
    """Why an episode ended, in words."""
    return _REASONS.get(name or "stopped", "otherwise")


def endings(survey: Survey) -> list[tuple[str, int]]:
    """How the planned episodes ended, and how many so; those first that are in the numbers."""
    reasons: Counter[str] = Counter()
    for name, number in survey.reasons.items():
        reasons[reason(name)] += number
    found = sorted(reasons.items(), key=lambda item: (item[0] != _REASONS["resolved"], -item[1], item[0]))
    found.append(("the agent failed: an error", survey.count(Kind.ERROR)))
    found.append(("a limit of the run came first", survey.count(Kind.LIMIT)))
    found.append(("not played", survey.count(Kind.NOTHING)))
    return [(words, number) for words, number in found if number]


def lost(total: int) -> str:
    """What steps cost together, in ten-thousandths, in reward units."""
    return f"{total / REWARD_UNIT:,.2f}"


def cautions(played: Played) -> Iterator[str]:
    """What whoever reads the numbers has to know."""
    unplayed = played.ledger.count(State.NOTHING, State.UNFINISHED)
    replaced = played.ledger.replaced()
    if unplayed:
        yield f"Not played to the end: {count(unplayed, 'episode')}."
    if replaced:
        yield (
            f"Played again though they were done (--only-failing): {count(replaced, 'episode')}. These numbers are "
            f"better than the agent is; what came of it before stands in {REPLACED}."
        )
