"""`@pytest.mark.scenario` on tests that it does not parametrise: it is read all the same, and its packs are served."""

from __future__ import annotations

import pytest

from tests.plugin.projects import PACK, run

pytest_plugins = ["pytester"]

# Whatever a marker names is noted here: what the support server would serve.
SERVED = """
import pytest
from deskproof_pytest.selection import MARKED

@pytest.fixture
def served(pytestconfig):
    return sorted(path.name for path in pytestconfig.stash.get(MARKED, ()))
"""
ASKED = "test_it.py::{}: @pytest.mark.scenario: there is no ticket 't-l': did you mean 't-1'?"
SEVERAL = (
    "test_it.py::{}: @pytest.mark.scenario names 2 scenarios. A test that doesn't take the fixture as an argument (a "
    "method of a unittest.TestCase, or by request.getfixturevalue), or whose marker stands in pytest.param, is played "
    "once: name one ticket and one seed."
)


# -- Tests that take no scenario


def test_the_packs_of_all_markers_are_served(project: pytest.Pytester) -> None:
    for name in ("shades", "bulbs", "plugs", "wires"):
        text = PACK.replace("pack: lamps", f"pack: {name}")
        (project.path / f"scenarios/{name}.yaml").write_text(text, "utf-8")
    project.makeconftest(SERVED)
    project.makepyfile(
        test_it="""
        import unittest, pytest

        @pytest.mark.scenario(pack="scenarios/lamps", seeds=3)
        def test_without_a_fixture(served):
            assert served == ["bulbs.yaml", "lamps", "plugs.yaml", "shades.yaml"]

        @pytest.mark.scenario(pack="scenarios/shades.yaml")
        class TestIt(unittest.TestCase):
            def test_it(self): pass

        @pytest.mark.parametrize("number", [pytest.param(7, marks=pytest.mark.scenario("scenarios/bulbs.yaml"))])
        def test_param(number): pass

        @pytest.mark.skip
        @pytest.mark.scenario(pack="scenarios/plugs.yaml")
        def test_skipped(): pass
        """
    )
    run(project).assert_outcomes(passed=3, skipped=1)


def test_a_slip_in_any_marker_fails_its_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import unittest, pytest

        slip = pytest.mark.scenario(pack="scenarios/lamps", tickets="t-l")

        @slip
        def test_plain(): pass

        @slip
        class TestIt(unittest.TestCase):
            def test_it(self): pass

        @pytest.mark.parametrize("number", [1, pytest.param(2, marks=slip)])
        def test_param(number): pass

        @slip
        @pytest.mark.skip
        def test_skipped(): pass
        """
    )
    result = run(project, "--strict-markers")
    result.assert_outcomes(passed=1, errors=3, skipped=1)
    for name in ("test_plain", "TestIt::test_it", "test_param[[]2]"):
        result.stdout.fnmatch_lines([ASKED.format(name)])
    assert "engine/" not in result.stdout.str()


THEIRS = """
import pytest

@pytest.mark.scenario("login", at="all")
def test_it(): pass
"""


def test_a_marker_of_ones_own_is_nobody_elses_business(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=THEIRS)
    run(project).assert_outcomes(errors=1)
    for line in ("scenario: theirs", "scenario(name, at): theirs"):
        project.makeini(f"[pytest]\nmarkers = {line}\n")
        run(project).assert_outcomes(passed=1)
    project.makeini("[pytest]\n")
    own = "@pytest.fixture\ndef scenario(request): return request.node.get_closest_marker('scenario').args[0]\n"
    project.makepyfile(test_it=f"{THEIRS}\n{own}\ndef test_uses(): pass\n")
    run(project).assert_outcomes(passed=2)


# -- Tests that have their scenario in another way


HOW = {
    "unittest": """
        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def begun(self, scenario):
                self.scenario = scenario

            {marker}
            def test_it(self):
                assert self.scenario.ticket == "t-2"
    """,
    "by name": """
        {marker}
        def test_it(request):
            assert request.getfixturevalue("scenario").ticket == "t-2"
    """,
    "the episode by name": """
        {marker}
        def test_it(request):
            assert request.getfixturevalue("episode").observation["ticket_id"] == "t-2"
    """,
    "pytest.param": """
        @pytest.mark.parametrize("number", [pytest.param(1, marks=[{unmarked}])])
        def test_it(number, scenario):
            assert scenario.ticket == "t-2"
    """,
}
NAMES = {"unittest": "TestIt::test_it", "pytest.param": "test_it[[]1]"}


@pytest.mark.parametrize("how", HOW)
def test_a_marker_that_names_one_scenario_is_enough(project: pytest.Pytester, how: str) -> None:
    body = HOW[how]

    def written(arguments: str) -> str:
        marker = f"pytest.mark.scenario(pack='scenarios/lamps', {arguments})"
        return "        import unittest, pytest\n" + body.format(marker=f"@{marker}", unmarked=marker)

    name = NAMES.get(how, "test_it")
    project.makepyfile(test_it=written("tickets='t-2'"))
    run(project).assert_outcomes(passed=1)
    project.makepyfile(test_it=written("seeds=1"))
    result = run(project)
    assert sum(result.parseoutcomes().get(one, 0) for one in ("failed", "errors")) == 1
    result.stdout.fnmatch_lines([SEVERAL.format(name)])
    project.makepyfile(test_it=written("tickets='t-l'"))
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([ASKED.format(name)])
    assert "engine/" not in result.stdout.str()


def test_one_in_param_beside_one_of_the_test_is_refused(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        marker = pytest.mark.scenario("scenarios/lamps", tickets=1)

        @marker
        @pytest.mark.parametrize("number", [1, pytest.param(2, marks=marker)])
        def test_it(scenario, number): pass
        """
    )
    result = run(project)
    result.assert_outcomes(passed=1, errors=1)
    said = "test_it.py::test_it[[]*]: @pytest.mark.scenario stands on the test, and in pytest.param once more: one *."
    result.stdout.fnmatch_lines([said])


def test_a_fixture_that_overrides_ours_and_asks_for_it_is_played_for_each(project: pytest.Pytester) -> None:
    project.makeconftest("import pytest\n@pytest.fixture\ndef scenario(scenario): return ('conftest', scenario)\n")
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.fixture
        def scenario(scenario):
            return ("module", *scenario)

        @pytest.mark.scenario(pack="scenarios/lamps", seeds=2)
        def test_it(scenario):
            assert scenario[:2] == ("module", "conftest")
            assert scenario[2].ticket in ("t-1", "t-2")

        @pytest.mark.usefixtures("scenario")
        @pytest.mark.scenario(pack="scenarios/lamps")
        def test_used(): pass
        """
    )
    run(project).assert_outcomes(passed=6)


def test_one_that_does_not_ask_for_ours_is_left_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.fixture(params=["a", "b", "c"])
        def scenario(request):
            return request.param

        @pytest.mark.scenario("whatever")
        def test_it(scenario):
            assert scenario in "abc"
        """
    )
    run(project).assert_outcomes(passed=3)


# -- Failures that are expected


def test_an_agents_failure_can_be_expected(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest
        from engine.evaluation.agents import AgentError

        def fails(observation):
            raise ValueError("no key")

        marked = pytest.mark.scenario(pack="scenarios/lamps", tickets=1)

        @marked
        @pytest.mark.xfail(raises=AgentError, strict=True)
        def test_expected(scenario):
            scenario.play(fails)

        @marked
        @pytest.mark.xfail(raises=KeyError)
        def test_not_expected(scenario):
            scenario.play(fails)

        @marked
        def test_raises(scenario):
            with pytest.raises(AgentError, match="raised ValueError: no key"):
                scenario.play(fails)

        @marked
        @pytest.mark.xfail(raises=AgentError, strict=True)
        def test_named(scenario, agent): pass
        """
    )
    result = run(project, "--agent", "nowhere:act")
    result.assert_outcomes(xfailed=2, failed=1, passed=1)
    result.stdout.fnmatch_lines(["The agent test_it:fails raised ValueError: no key"])
