"""Options beside those of others, and after a blank: they are nobody's paths, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import AGENT, IDS, lamps, outside, run

pytest_plugins = ["pytester"]


# -- Options of others


CONFTEST = "def pytest_addoption(parser): parser.addoption('--agent', {}, dest='theirs')\n"
SAID = "def test_it(pytestconfig): assert pytestconfig.getoption('theirs') == {!r}\n"
KINDS: list[tuple[str, tuple[str, ...], object]] = [
    ("default='none'", (), "none"),
    ("default='none'", ("--agent", "theirs"), "theirs"),
    ("choices=['gpt', 'claude'], default='gpt'", (), "gpt"),
    ("choices=['gpt', 'claude']", ("--agent=claude",), "claude"),
    ("action='store_true'", (), False),
    ("action='store_true'", ("--agent", "test_it.py"), True),
    ("action='store_const', const=7", ("--agent",), 7),
    ("nargs=2", ("--agent", "a", "b"), ["a", "b"]),
    ("nargs='?', const='all'", ("--agent",), "all"),
    ("type=int", ("--agent", "3"), 3),
    ("type=lambda text: {'deep': 1}[text]", ("--agent=deep",), 1),
    ("action='append'", ("--agent", "a", "--agent=b"), ["a", "b"]),
]


@pytest.mark.parametrize(("kind", "arguments", "value"), KINDS)
def test_an_option_of_a_conftest_comes_first(
    pytester: pytest.Pytester, kind: str, arguments: tuple[str, ...], value: object
) -> None:
    pytester.makeconftest(CONFTEST.format(kind))
    pytester.makepyfile(test_it=SAID.format(value))
    run(pytester, *arguments).assert_outcomes(passed=1)


def test_so_does_one_of_another_plugin(pytester: pytest.Pytester) -> None:
    pytester.syspathinsert()
    pytester.makepyfile(another=CONFTEST.format("choices=['gpt']"), test_it=SAID.format("gpt"))
    run(pytester, "-p", "another", "--agent", "gpt").assert_outcomes(passed=1)


def test_ours_are_to_be_had_in_the_ini_then(pytester: pytest.Pytester) -> None:
    lamps(pytester.path)
    pytester.syspathinsert()
    pytester.makeconftest(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--agent', action='store_true')\n"
        "    parser.addoption('--scenarios', type=int, dest='theirs')\n"
    )
    pytester.makepyfile(
        my_agent=AGENT,
        test_it="""
        import pytest

        @pytest.mark.scenario
        def test_it(scenario, agent, pytestconfig):
            assert (pytestconfig.getoption("agent"), pytestconfig.getoption("theirs")) == (True, 3)
            scenario.play(agent).assert_resolved()
        """,
    )
    pytester.makeini("[pytest]\ndeskproof_packs = scenarios\ndeskproof_agent = my_agent:act\n")
    run(pytester, "--agent", "--scenarios", "3").assert_outcomes(passed=len(IDS) + 2)
    code, said = outside(pytester.path, "--agent", "--scenarios=3", "-n", "1", PYTHONPATH=str(pytester.path))
    assert code == 0, said


def test_a_path_after_an_option_of_others_that_takes_none_is_one_of_tests(pytester: pytest.Pytester) -> None:
    """Its folder's conftest.py is there from the beginning, so it may have options."""
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--agent', action='store_true')\n")
    pytester.mkdir("checks")
    (pytester.path / "checks/conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--deeper', action='store_true')\n", "utf-8"
    )
    test = "def test_it(pytestconfig): assert pytestconfig.getoption('agent') and pytestconfig.getoption('deeper')\n"
    (pytester.path / "checks/test_it.py").write_text(test, "utf-8")
    run(pytester, "--deeper", "--agent", "checks").assert_outcomes(passed=1)


# -- A blank


@pytest.mark.parametrize(
    ("option", "found"),
    [(("--scenarios", "scenarios"), IDS), (("--agent", "some:where"), []), (("--scenarios=scenarios",), IDS)],
)
def test_an_option_is_no_path_that_a_conftest_is_looked_for_in(
    pytester: pytest.Pytester, option: tuple[str, ...], found: list[str]
) -> None:
    """With testpaths, that in their folder is there from the beginning, so it may have options."""
    lamps(pytester.path)
    pytester.makeini("[pytest]\ntestpaths = checks\n")
    pytester.mkdir("checks")
    (pytester.path / "checks/conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--theirs', action='store_true')\n", "utf-8"
    )
    test = "def test_it(pytestconfig): assert pytestconfig.getoption('theirs')\n"
    (pytester.path / "checks/test_it.py").write_text(test, "utf-8")
    run(pytester, *option, "--theirs").assert_outcomes(passed=1 + len(found))


def shop(folder: Path, ini: str = "[pytest]\n") -> Path:
    """A project, and a pack of somebody else's beside it."""
    (folder / "shop").mkdir()
    (folder / "shop/pytest.ini").write_text(ini, "utf-8")
    lamps(folder / "theirs")
    return folder / "shop"


def test_a_path_after_a_blank_finds_the_same_project_or_is_told_how_to_be_written(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop(pytester.path))
    run(pytester, "--scenarios=../theirs/scenarios").assert_outcomes(passed=len(IDS))
    for ini, root in ((None, pytester.path), ("pytest.ini", pytester.path / "theirs")):
        if ini is not None:
            (root / ini).write_text("[pytest]\n", "utf-8")
        found = f"{root / ini}" if ini is not None else str(root)
        result = run(pytester, "--scenarios", "../theirs/scenarios")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(
            [
                "ERROR: Write --scenarios=../theirs/scenarios: after a blank pytest takes the path for one of tests, "
                f"and finds the project by it: {found}, not {pytester.path / 'shop/pytest.ini'}."
            ]
        )
        result.stderr.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize("ways", [(), ("-c", "pytest.ini"), ("--rootdir", ".", "-c", "pytest.ini")])
def test_a_path_after_a_blank_inside_the_project_changes_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ways: tuple[str, ...]
) -> None:
    folder = shop(pytester.path, "[pytest]\ndeskproof_agent = my_agent:act\n")
    lamps(folder)
    (folder / "my_agent.py").write_text(AGENT, "utf-8")
    (folder / "test_it.py").write_text(
        "import pytest\n@pytest.mark.scenario\ndef test_it(scenario, agent): scenario.play(agent).assert_resolved()\n",
        "utf-8",
    )
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    given = "scenarios" if not ways else "../theirs/scenarios"
    told = []
    for option in (("--scenarios", given), (f"--scenarios={given}",)):
        result = run(pytester, *ways, *option, "test_it.py")
        result.assert_outcomes(passed=len(IDS) + 2)
        told.append([line for line in result.outlines if line.startswith(("rootdir", "configfile"))])
    assert told[0] == told[1] == [f"rootdir: {folder}", "configfile: pytest.ini"]
