"""What the pytest plugin does with packs and scenarios. `deskproof_pytest` is what pytest loads; it calls this one.

Nothing is imported before it is needed: what stands here is a list of doors.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from engine.evaluation.agents import Agent
    from engine.testing.scenario import Scenario


def pack_file(parent: pytest.Collector, file: Path, pack: Path) -> pytest.Collector:
    """The collector of the tests that stand in a file of a pack."""
    from engine.testing.collecting import PackFile

    collector: pytest.Collector = PackFile.from_parent(parent, path=file, pack=pack)
    return collector


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Plays a test for each scenario that its marker names."""
    from engine.testing.marks import parametrize

    parametrize(metafunc)


def check(items: Iterable[pytest.Function]) -> None:
    """Reads the markers of tests that aren't played for each scenario. One that is mistaken fails its test."""
    from engine.testing.marks import check

    check(items)


def scenario(request: pytest.FixtureRequest) -> Scenario:
    """The scenario of a test. Fails where it has no marker."""
    from engine.testing.marks import scenario

    return scenario(request)


def agent(config: pytest.Config) -> Agent:
    """The agent that the options or the ini name. Fails where there is none."""
    from engine.testing.players import player

    return player(config)


def summarise(reporter: Any, reports: Iterable[Any]) -> None:
    """What came of all scenarios, at the end of a run."""
    from engine.testing.reporting import summarise

    summarise(reporter, reports)
