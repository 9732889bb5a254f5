"""A plugin that is installed and not used costs nothing, changes nothing, and is in nobody's way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.projects import lamps, outside, run
from tests.serving import fresh_environment

pytest_plugins = ["pytester"]

# Ours, and what ours needs.
OURS = ("engine", "server", "graders")
NEEDED = ("click", "flask", "yaml", "jsonschema", "jinja2", "rich", "gunicorn", "orjson", "werkzeug")
HEAVY = ("asyncio", "http.client", "urllib.request", "subprocess", "multiprocessing", "ssl")


def imported(code: str, *before: str) -> set[str]:
    """The modules that a piece of code brings in, in a Python that has imported `before` already."""
    script = f"import sys, json\nfor name in {list(before)}: __import__(name)\nbefore = {{*sys.modules}}\n{code}\n"
    script += "print(json.dumps(sorted({*sys.modules} - before)))"
    done = subprocess.run([sys.executable, "-c", script], env=fresh_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {*json.loads(done.stdout)}


def test_importing_it_imports_nothing() -> None:
    assert imported("import deskproof_pytest", "pytest") == {"deskproof_pytest"}


def test_importing_what_it_calls_imports_nothing_either() -> None:
    assert imported("import engine.pytest_plugin", "pytest") == {"engine", "engine.pytest_plugin"}


COUNT = f"""
import sys

def test_count():
    seen = [name for name in sys.modules if name.partition(".")[0] in {OURS + NEEDED}]
    assert not seen
    assert "deskproof_pytest" in sys.modules
    assert not [name for name in sys.modules if name.startswith("deskproof_pytest.")]
"""


@pytest.mark.parametrize("more", [(), ("--strict-markers", "--strict-config"), ("-n", "1"), ("-p", "no:terminal")])
def test_a_run_that_does_not_use_it_imports_nothing(tmp_path: Path, more: tuple[str, ...]) -> None:
    lamps(tmp_path)
    (tmp_path / "test_count.py").write_text(COUNT, "utf-8")
    code, said = outside(tmp_path, *more)
    assert code == 0, said


def test_the_ini_alone_imports_nothing_where_other_tests_are_run(tmp_path: Path) -> None:
    lamps(tmp_path)
    count = COUNT.replace('    assert not [name for name in sys.modules if name.startswith("deskproof_pytest.")]\n', "")
    (tmp_path / "test_count.py").write_text(count, "utf-8")
    code, said = outside(tmp_path, "-o", "deskproof_packs=scenarios", "test_count.py")
    assert code == 0, said


@pytest.mark.parametrize("without", ["python", "terminal", "deskproof"])
def test_it_does_without_other_plugins(tmp_path: Path, without: str) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n", "utf-8")
    code, said = outside(tmp_path, "-p", f"no:{without}")
    assert code == (pytest.ExitCode.NO_TESTS_COLLECTED if without == "python" else 0), said


def test_it_can_be_loaded_by_name_where_plugins_are_not_loaded_by_themselves(tmp_path: Path) -> None:
    lamps(tmp_path)
    code, said = outside(tmp_path, "--scenarios", "scenarios", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert code == pytest.ExitCode.USAGE_ERROR
    code, said = outside(tmp_path, "-p", "deskproof", "--scenarios", "scenarios", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert code == 0, said
    assert "4 passed" in said


THEIRS = """
import pytest

@pytest.fixture(params=["theirs"])
def scenario(request): return request.param

@pytest.fixture
def episode(scenario): return scenario

@pytest.fixture
def agent(): return "theirs"

@pytest.fixture
def support_server(): return "theirs"

@pytest.mark.scenario("anything", at="all")
def test_it(scenario, episode, agent, support_server):
    assert {scenario, episode, agent, support_server} == {"theirs"}

@pytest.mark.scenario("anything", at="all")
def test_marked(): pass

@pytest.mark.scenario("anything")
@pytest.mark.parametrize("scenario", ["theirs"])
def test_parametrised(scenario):
    assert scenario == "theirs"
"""


def test_fixtures_and_markers_of_the_same_names_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(THEIRS)
    pytester.makeini("[pytest]\nmarkers = scenario: theirs\n")
    run(pytester, "--strict-markers").assert_outcomes(passed=3)


def test_all_of_it_is_told_where_people_ask(pytester: pytest.Pytester) -> None:
    told = run(pytester, "--help").stdout.str()
    for option in (
        "--scenarios",
        "--agent=",
        "--agent-url",
        "--agent-timeout",
        "deskproof_packs",
        "deskproof_agent_url",
    ):
        assert option in told
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.scenario(pack=None, task=None, *"])
    told = run(pytester, "--fixtures").stdout.str()
    for fixture in ("scenario", "episode", "agent [[]session scope]", "support_server [[]session scope]"):
        pytest.LineMatcher(told.splitlines()).fnmatch_lines([f"{fixture} -- *deskproof_pytest/__init__.py:*"])
