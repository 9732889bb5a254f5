"""Tests of one's own that play scenarios: the episode in their hands, and what is shown where they fail."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.plugin.projects import FAILING, run

pytest_plugins = ["pytester"]


# -- The episode


def test_an_episode_is_played_step_by_step(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-1"], seeds=[7])
        def test_it(episode, scenario):
            assert episode.observation["customer_message"] == "Where is my lamp?"
            assert (episode.reward, episode.outcome, episode.done) == (None, None, False)
            seen = episode.step("ask_info", field="order")
            assert seen == episode.observation
            assert seen["history"][-1]["text"] == "Let me look."
            episode.assert_outcome("ask_info.stalled")
            episode.step({"type": "ask_info", "field": "order"})
            episode.assert_known("order")
            episode.assert_known(order="L-1")
            episode.assert_not_asked("colour")
            assert (episode.reward, episode.total) == (0.5, 0.5)
            episode.step({"action_type": "classify"})
            episode.step("resolve")
            episode.assert_resolved(max_steps=4, max_regret=0)
            assert (episode.done, episode.total, episode.score) == (True, 2.0, 1.0)
            assert scenario.plays == [episode]
        """
    )
    run(project).assert_outcomes(passed=1)


def test_an_assertion_that_fails_shows_the_users_line_and_the_episode(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-1"], seeds=[7])
        def test_it(episode):
            episode.step("classify")
            episode.step("resolve")
            episode.assert_resolved(max_regret=0.1)
        """
    )
    result = run(project)
    result.stdout.fnmatch_lines(
        [
            ">       episode.assert_resolved(max_regret=0.1)",
            "E       AssertionError: the ticket isn't resolved: the episode is still open",
            "E       ticket t-1, seed 7 of lamps 1.0.0",
            "E           2 resolve (premature): -0.1000, return 0.4000",
            "E             ! step 2 cost 0.1; best was ask_info(order)",
            "E       open after 2 steps; return 0.4000, score 0.0000, regret 0.1000",
            "test_it.py:*: AssertionError",
        ]
    )
    said = result.stdout.str()
    assert "engine/" not in said
    # Under CI pytest says it all once more in its summary.
    assert said.partition("short test summary")[0].count("ticket t-1, seed 7 of lamps 1.0.0") == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'episode.assert_outcome("ask_info.anwsered")',
            "ValueError: *'ask_info.anwsered'. Did you mean 'ask_info.answered'?",
        ),
        (
            'episode.assert_not_asked("color")',
            "ValueError: The pack 'lamps' has no field 'color'. Did you mean 'colour'?",
        ),
        ("[episode.step('resolve') for _ in range(12)]", "*EpisodeOver: the episode ended after 10 steps (max_steps)"),
        ("episode.step({'type': 'classify'}, field='order')", "TypeError: parameters go with an action's name*"),
        ("episode.step(None)", "TypeError: an action is its name or an object, not None"),
        ("episode.step(['classify'])", "TypeError: an action is its name or an object, not [[]'classify']"),
        ("episode.step(7, field='order')", "TypeError: an action is its name or an object, not 7"),
    ],
)
def test_a_slip_in_a_test_is_told_without_our_code(project: pytest.Pytester, line: str, said: str) -> None:
    project.makepyfile(
        f"""
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-1"])
        def test_it(episode):
            {line}
        """
    )
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *{said}"])
    assert f">       {line}" in result.outlines
    assert "engine/testing" not in result.stdout.str()


def test_any_failure_of_a_test_shows_its_episodes(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=["t-1"], seeds=[7])
        def test_it(scenario):
            scenario.start().step("classify")
            scenario.start().step("resolve")
            assert False
        """
    )
    result = run(project)
    result.stdout.fnmatch_lines(
        ["*- episode of t-1, seed 7 -*", "*classify (right)*", "*- episode of t-1, seed 7 -*", "*resolve (premature)*"]
    )


# -- The end of a run


FAILS_ONE = """
import pytest
from my_agent import act

@pytest.mark.scenario(pack="scenarios/lamps", seeds=[7])
def test_it(scenario):
    if scenario.ticket == "t-1":
        episode = scenario.start()
        episode.step("resolve")
        episode.play(act)
    else:
        episode = scenario.play(act)
    episode.assert_resolved(max_regret=0)
"""
# The wasted step costs 0.1, and after it the agent doesn't classify, which would have paid 0.5: 0.5 for the details and
# 1.0 for the goal are 1.4 in all. 2.0 could be had, so the regret is 0.6; the mean of that and of 0 is 0.3.
SUMMARY = [
    "*= scenarios =*",
    "lamps: 2 episodes, 1 in failing tests, mean regret 0.3000",
    "  t-1, seed 7: resolved, regret 0.6000, return 1.4000, score 1.0000: test_it.py::test_it[[]t-1-seed7]",
]


def test_the_end_says_what_failing_scenarios_cost(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=FAILS_ONE)
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(SUMMARY, consecutive=True)


def test_junit_has_what_each_episode_came_to(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=FAILS_ONE)
    run(project, "--junitxml", "report.xml")
    text = (project.path / "report.xml").read_text("utf-8")
    assert text.count('<property name="deskproof"') == 2
    assert "&quot;regret&quot;: 0.6" in text


# What plugins such as pytest-rerunfailures do with a test that fails.
AGAIN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for last in (False, False, True):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        over = last or not any(report.failed for report in reports)
        for report in reports:
            if report.failed and not last:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if over:
            return True

def pytest_report_teststatus(report):
    if report.outcome == "rerun":
        return "rerun", "R", "RERUN"
"""


def test_of_a_test_that_is_run_again_the_last_time_counts(project: pytest.Pytester) -> None:
    project.makeconftest(AGAIN)
    project.makepyfile(
        test_it="""
        import pytest

        times = []

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=1)
        def test_it(scenario):
            times.append(scenario)
            scenario.start().step("resolve")
            assert len(times) == 3
        """
    )
    (project.path / "scenarios/lamps/tests.yaml").write_text(FAILING, "utf-8")
    result = run(project, "--scenarios=scenarios", "--junitxml", "report.xml")
    result.assert_outcomes(passed=1, failed=1)
    assert result.parseoutcomes()["rerun"] == 2 + 2
    result.stdout.fnmatch_lines(["lamps: 1 episode, 0 in failing tests"])  # one that is still open has no regret
    cases = ElementTree.parse(project.path / "report.xml").getroot().findall(".//testcase[@classname='test_it']")
    assert [len(case.findall(".//property[@name='deskproof']")) for case in cases] == [1, 1, 1]


# What pytest-asyncio, pytest-django and pytest-rerunfailures take for granted of every item.
LOOKING = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    assert "event_loop" not in item.fixturenames
    assert not item.funcargs
    if hasattr(item, "_instance"):
        del item._instance
"""


def test_plugins_find_in_a_packs_tests_what_they_look_for(project: pytest.Pytester) -> None:
    project.makeconftest(LOOKING)
    run(project, "--scenarios", "scenarios").assert_outcomes(passed=4)


def test_the_end_says_nothing_where_nothing_was_played(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="def test_it(): pass\n")
    result = run(project, "--scenarios", "scenarios")
    result.assert_outcomes(passed=5)
    result.stdout.no_fnmatch_line("*= scenarios =*")
