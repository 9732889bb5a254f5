"""What a test run says of scenarios: the episodes of tests that fail, agents that do, and a section at the end."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from typing import Any

import pytest

from deskproof_pytest import PROPERTY
from engine.evaluation.agents import AgentError
from engine.proof import told
from engine.terminal import printable
from engine.testing.play import Play
from engine.testing.scenario import Scenario

_played: pytest.StashKey[Scenario] = pytest.StashKey()
_refused: pytest.StashKey[str] = pytest.StashKey()
_NAME = "deskproof-reports"
_OPEN = "open"
# Plugins that run a test again give the runs that don't count another outcome.
_ENDS = ("passed", "failed", "skipped")


def report(config: pytest.Config) -> None:
    """Has reports say what there is to say."""
    if not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(Reports(), _NAME)


def watch(request: pytest.FixtureRequest, scenario: Scenario) -> None:
    """Has the report of a test say what became of its scenario; what became of it in an earlier run is forgotten."""
    item = request.node
    item.user_properties[:] = [one for one in item.user_properties if one[0] != PROPERTY]
    item.stash[_played] = scenario
    report(request.config)


def refuse(item: pytest.Item, why: str) -> None:
    """Has a test fail before it is run."""
    item.stash[_refused] = why
    report(item.config)


class Reports:
    """The plugin that is there once there is a scenario."""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        why = item.stash.get(_refused, None)
        if why is not None:
            pytest.fail(why, pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        scenario = item.stash.get(_played, None)
        plays = scenario.plays if scenario is not None and call.when == "call" else []
        item.user_properties += [(PROPERTY, json.dumps(_noted(play))) for play in plays]
        why = call.excinfo.value if call.excinfo is not None else None
        made = yield
        if isinstance(why, AgentError):
            made.longrepr = _plain(why)
        if made.failed:
            untold = [play for play in plays if not play.told or play.told not in str(why)]
            made.sections += [(f"episode of {_name(play)}", str(play)) for play in untold]
        return made


def summarise(reporter: Any, reports: Iterable[Any]) -> None:
    """A line for each pack, and one for each episode of a test that failed."""
    by_pack: dict[str, list[tuple[Any, dict[str, Any]]]] = {}
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == PROPERTY and report.when == "call" and report.outcome in _ENDS:
                noted = json.loads(value)
                by_pack.setdefault(noted["pack"], []).append((report, noted))
    reporter.write_sep("=", "scenarios")
    for pack, episodes in by_pack.items():
        reporter.write_line(f"{pack}: {_counted(episodes)}")
        for report, noted in episodes:
            if report.failed:
                reporter.write_line(f"  {_line(noted)}: {report.nodeid}")


def _counted(episodes: list[tuple[Any, dict[str, Any]]]) -> str:
    failed = sum(report.failed for report, _ in episodes)
    costs = [noted["regret"] for _, noted in episodes if noted["regret"] is not None and noted["end"] != _OPEN]
    mean = f", mean regret {sum(costs) / len(costs):.4f}" if costs else ""  # of those that came to an end
    return f"{told.count(len(episodes), 'episode')}, {failed} in failing tests{mean}"


def _line(noted: dict[str, Any]) -> str:
    regret = f"regret {noted['regret']:.4f}" if noted["regret"] is not None else "regret not known"
    numbers = f"{regret}, return {noted['return']:.4f}, score {noted['score']:.4f}"
    return f"{printable(noted['ticket'])}, seed {noted['seed']}: {noted['end']}, {numbers}"


def _name(play: Play) -> str:
    case = play.raw.case
    return f"{printable(case.ticket.id)}, seed {case.seed}"


def _noted(play: Play) -> dict[str, Any]:
    case = play.raw.case
    return {
        "pack": case.pack.name,
        "ticket": case.ticket.id,
        "seed": case.seed,
        "task": case.ticket.task,
        "steps": play.step_count,
        "end": play.end_reason or _OPEN,
        "return": play.total,
        "score": play.score,
        "regret": play.regret,
    }


def _plain(error: AgentError) -> Any:
    """An agent's failure as pytest shows a sentence: its own code aside, nobody has to look for it in ours."""
    failed = pytest.fail.Exception(error.whole, pytrace=False).with_traceback(error.__traceback__)
    return pytest.ExceptionInfo.from_exception(failed).getrepr(style="value")
