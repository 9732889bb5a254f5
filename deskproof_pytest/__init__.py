"""What pytest loads in every run where Deskproof is installed: options, a marker, and four fixtures.

It costs nothing until it is used: nothing of ours is imported before. It has a name of its own, since a project may
well have an `engine` too: `engine.pytest_plugin` has what is done with packs, once there is something to do.

PYTEST_DONT_REWRITE: see engine/__init__.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from deskproof_pytest.places import Places
    from deskproof_pytest.process import SupportServer
    from engine.evaluation.agents import Agent
    from engine.testing.play import Play
    from engine.testing.scenario import Scenario

MARK = "scenario"
# What is noted of each episode, in reports of all kinds.
PROPERTY = "deskproof"
_MARKER = (
    f"{MARK}(pack=None, task=None, tickets='all', seeds=1): plays the test for each of these tickets of a pack, at "
    "each of these seeds; the fixtures scenario and episode have them, support_server serves the packs. pack: a path, "
    "or the name of a pack that ships or is among --scenarios. tickets: 'all', how many, or a list of ids. seeds: how "
    "many, or a list or range."
)
PLACES: pytest.StashKey[Places] = pytest.StashKey()
_hider: pytest.StashKey[str] = pytest.StashKey()


# -- Options


# By their names; each is kept under a name of our own.
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--scenarios": {
        "action": "append",
        "default": [],
        "metavar": "PATH",
        "help": "Play the tests of this pack, or of all packs in this folder; may be given several times.",
    },
    "--agent": {"metavar": "MODULE:FUNCTION", "help": "Who plays in tests with the fixture agent."},
    "--agent-url": {"metavar": "URL", "help": "The same, where it answers at an address."},
    "--agent-timeout": {
        "type": float,
        "metavar": "SECONDS",
        "help": "How long an agent, an address or a function, may take to answer; default: 60.",
    },
}


def option(config: pytest.Config, name: str) -> Any:
    """What the command line says; None where it says nothing, or where the option is somebody else's."""
    return config.getoption(_kept(name), None)


def _kept(name: str) -> str:
    return f"deskproof_{name.strip('-').replace('-', '_')}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("deskproof_packs", "Like --scenarios: paths from the root directory, one a line.", "linelist", [])
    parser.addini("deskproof_agent", "Like --agent.", "string", "")
    parser.addini("deskproof_agent_url", "Like --agent-url.", "string", "")
    parser.addini("deskproof_agent_timeout", "Like --agent-timeout.", "string", "")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    # A project's own conftest.py may have options of these names, and would fail if they were there. So ours come
    # after them, where they aren't taken; what follows one after a blank is no path of tests until then.
    paths = early_config.known_args_namespace.file_or_dir
    before = [*paths]
    bare = [(name, value) for name, value in pairwise(args) if name in _OPTIONS and value in paths]
    for _, value in bare:
        paths.remove(value)
    result = yield
    taken = _taken(parser)
    group = parser.getgroup("deskproof", "Deskproof: scenarios of packs")
    for name, how in _OPTIONS.items():
        if name not in taken:
            group.addoption(name, dest=_kept(name), **how)
    if bare:
        from deskproof_pytest.bare import given_back, refuse_another_project

        given_back(early_config, before, [value for name, value in bare if name in taken])
        refuse_another_project(early_config, before, [one for one in bare if one[0] not in taken])
    return result


def _taken(parser: pytest.Parser) -> set[str]:
    """The names of all options that there are."""
    groups = (parser._anonymous, *parser._groups)
    return {name for group in groups for option in group.options for name in option.names()}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    named = any(argument.partition("::")[0].endswith((".yaml", ".yml")) for argument in config.args)
    if named or option(config, "--scenarios") or config.getini("deskproof_packs"):
        from deskproof_pytest.selection import select

        config.stash[PLACES] = select(config)


# -- Packs' own tests


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    places = parent.config.stash.get(PLACES, None)
    pack = places.pack_of(file_path) if places is not None else None
    if pack is None or _is_hidden(parent.config):
        return None
    file: pytest.Collector = _engine().pack_file(parent, file_path, pack)
    return file


# -- Scenarios in tests of one's own


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    ours = _leads_to_ours(metafunc._arg2fixturedefs.get("scenario", ()))
    if ours and metafunc.definition.get_closest_marker(MARK) is not None and not _is_hidden(metafunc.config):
        _engine().parametrize(metafunc)


def _leads_to_ours(definitions: Sequence[pytest.FixtureDef[Any]]) -> bool:
    """Whether a fixture is ours, or one that overrides ours and asks for it. Others may be called so as well."""
    for one in reversed(definitions):
        if getattr(one.func, "__module__", None) == __name__:
            return True
        if "scenario" not in one.argnames or one.params is not None:
            return False
    return False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    # Tests that have a marker and don't take the fixture: their packs are served too, and slips in it are said.
    marked = [item for item in items if isinstance(item, pytest.Function) and item.get_closest_marker(MARK) is not None]
    if marked and not _is_theirs(config) and not _is_hidden(config):
        _engine().check([item for item in marked if _leads_to_ours(_definitions(item))])


def _is_theirs(config: pytest.Config) -> bool:
    """Whether the project, or another plugin, has a marker of the same name."""
    lines = [line for line in config.getini("markers") if line != _MARKER]
    return any(line.partition(":")[0].partition("(")[0].strip() == MARK for line in lines)


def _definitions(item: pytest.Item) -> Sequence[pytest.FixtureDef[Any]]:
    return item.session._fixturemanager.getfixturedefs("scenario", item) or ()


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """A ticket of a pack at a seed, one of those that @pytest.mark.scenario names: `scenario.play(agent)`."""
    found: Scenario = _engine().scenario(request)
    return found


@pytest.fixture
def episode(scenario: Scenario) -> Play:
    """A new episode of the scenario: `episode.step("ask_info", field="order_id")`, `episode.assert_resolved()`."""
    return scenario.start()


@pytest.fixture(scope="session")
def agent(request: pytest.FixtureRequest) -> Iterator[Agent]:
    """Who plays: what --agent or --agent-url names. `scenario.play(agent)`, or `agent(observation, tools)`."""
    found = _engine().agent(request.config)
    yield found
    if hasattr(found, "close"):
        found.close()


@pytest.fixture(scope="session")
def support_server(request: pytest.FixtureRequest) -> Iterator[SupportServer]:
    """A server in a process of its own: `.url`, `.get(path)`, `.post(path, body)`. It serves the packs of --scenarios
    and those of all markers; where there are none, those that ship. It ends with the run, however that ends."""
    from deskproof_pytest.process import NoServer, serving
    from deskproof_pytest.selection import MARKED, in_force

    config = request.config
    try:
        packs = [*in_force(config, config.stash.get(PLACES, None)), *config.stash.get(MARKED, ())]
        with serving([*dict.fromkeys(packs)]) as server:
            yield server
        return
    except (LookupError, NoServer) as error:
        why = str(error)
    pytest.fail(why, pytrace=False)


# -- Reports


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reports = [report for one in terminalreporter.stats.values() for report in one]
    noted = any(name == PROPERTY for report in reports for name, _ in getattr(report, "user_properties", ()))
    if noted and not _is_hidden(config):
        _engine().summarise(terminalreporter, reports)


def pytest_exception_interact(call: pytest.CallInfo[object], report: pytest.CollectReport | pytest.TestReport) -> None:
    error = call.excinfo.value if call.excinfo is not None else None
    error = error.__cause__ or error if error is not None else None  # of a module that can't be imported: the cause
    if isinstance(error, ModuleNotFoundError):
        from deskproof_pytest.own import taken_for_ours

        why = taken_for_ours(error)
        if why is not None:
            report.sections.append(("Deskproof", why))


# -- The engine


def _engine() -> ModuleType:
    """`engine.pytest_plugin`. Fails where another module has the name of one of ours."""
    from deskproof_pytest.own import hidden

    why = hidden()
    if why is not None:
        pytest.fail(why, pytrace=False)
    return import_module("engine.pytest_plugin")


def _is_hidden(config: pytest.Config) -> bool:
    """Whether another module has the name of one of ours. Where that is so, it is said once, after the collection."""
    from deskproof_pytest.own import hidden

    why = hidden()
    if why is not None:
        config.stash[_hider] = why
    return why is not None


def pytest_collection_finish(session: pytest.Session) -> None:
    # Collecting tests puts folders on the path: one may have come that has a module of the name of one of ours.
    if "engine.testing" in sys.modules:
        _is_hidden(session.config)
    why = session.config.stash.get(_hider, None)
    if why is not None and not hasattr(session.config, "workerinput"):  # a worker of xdist can only fail test by test
        raise pytest.UsageError(why)
