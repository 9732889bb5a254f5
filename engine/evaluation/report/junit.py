"""A run as JUnit's XML, as Jenkins, GitLab and others read it: a suite for each pack, a case for each planned episode.

A case fails where the ticket wasn't resolved, and is an error where the agent failed. One that a limit of the run
ended, or that wasn't played, is skipped: it says nothing of the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from markupsafe import Markup

from engine.evaluation.plan import Plan
from engine.evaluation.played import Played
from engine.evaluation.record import Record
from engine.evaluation.report import about
from engine.evaluation.report.survey import Kind, Survey
from engine.evaluation.result import State
from engine.proof.told import acted, count, units
from engine.terminal import printable

_SKIPPED = (Kind.LIMIT, Kind.NOTHING)
_SUITES = Markup('<testsuites name="deskproof eval {}" tests="{}" failures="{}" errors="{}">\n')
_SUITE = Markup('<testsuite name="{}" tests="{}" failures="{}" errors="{}" skipped="{}">\n')
_CASE = Markup('<testcase classname="{}" name="{}">{}</testcase>\n')
_FINE = Markup('<testcase classname="{}" name="{}"/>\n')


def junit(played: Played, survey: Survey) -> Iterator[str]:
    """The document, in pieces. What XML 1.0 has no character for comes as an escape."""
    plan = played.run.plan
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield _SUITES.format(about.agent(played.run), *_counts(survey.kinds)[:3])
    for pack in dict.fromkeys(pack for pack, _ in plan.rows):
        places = _places(plan, pack)
        yield _SUITE.format(printable(pack), *_counts(survey.kinds[places.start : places.stop]))
        yield from _cases(played, places)
        yield "</testsuite>\n"
    yield "</testsuites>\n"


def _places(plan: Plan, pack: str) -> range:
    """The places of a pack's episodes: packs come one after the other."""
    each = plan.count // len(plan.rows)
    rows = [number for number, (name, _) in enumerate(plan.rows) if name == pack]
    return range(rows[0] * each, (rows[-1] + 1) * each)


def _counts(kinds: bytes) -> tuple[int, int, int, int]:
    """How many cases there are, failures, errors, and cases that are skipped."""
    return (
        len(kinds),
        kinds.count(Kind.FAILED),
        kinds.count(Kind.ERROR),
        sum(kinds.count(kind) for kind in _SKIPPED),
    )


def _cases(played: Played, places: Iterable[int]) -> Iterator[str]:
    plan, ledger = played.run.plan, played.ledger
    there = (place for place in places if ledger.state(place) is not State.NOTHING)
    records = ledger.records(there)
    for place in places:
        key = plan.key(place)
        task = plan.packs[key.pack].tickets[key.ticket].task
        trial = f", trial {key.trial}" if plan.trials > 1 else ""
        named = printable(f"{key.pack}.{task}"), printable(f"{key.ticket}, seed {key.seed}{trial}")
        if ledger.state(place) is State.NOTHING:
            yield _CASE.format(*named, Markup('<skipped message="not played"/>'))
            continue
        told = _told(next(records))
        yield _CASE.format(*named, told) if told else _FINE.format(*named)


def _told(record: Record) -> Markup | None:
    """What is said of an episode; None where its ticket was resolved."""
    kind = Kind.of(record)
    cause = printable(record.error or "")
    if kind is Kind.FAILED:
        reason, steps = printable(str(record.end_reason)), _steps(record)
        message = f"not resolved ({reason}): return {units(record.total)}, score {record.score:.4g}"
        return Markup('<failure message="{}" type="{}">{}</failure>').format(message, reason, steps)
    if kind is Kind.ERROR:
        return Markup('<error message="{}" type="AgentError">{}</error>').format(cause, _steps(record))
    if kind is Kind.LIMIT:
        return Markup('<skipped message="{}"/>').format(cause)
    return None


def _steps(record: Record) -> str:
    """Each step in a line: what was done, what came of it, and what it cost."""
    costs = record.regrets or (0,) * record.steps
    lines = [
        f"{number}. {acted(action, outcome)}: {printable(outcome)}" + (f", cost {units(cost)}" if cost else "")
        for number, (action, outcome, cost) in enumerate(zip(record.actions, record.outcomes, costs, strict=True), 1)
    ]
    return "\n".join([count(record.steps, "step"), *lines])
