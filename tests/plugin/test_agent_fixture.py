"""The fixture agent: who plays, as the command line or the ini says it, and what is shown of one that fails."""

from __future__ import annotations

import json

import pytest

from tests.commands import deskproof
from tests.plugin.projects import AGENT, lamps, run
from tests.test_http_agent import answering

pytest_plugins = ["pytester"]

PLAYED = """
import pytest

@pytest.mark.scenario(pack="scenarios/lamps", seeds=[7])
def test_it(scenario, agent):
    scenario.play(agent).assert_resolved(max_regret=0)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    lamps(pytester.path)
    pytester.makepyfile(test_it=PLAYED, my_agent=AGENT)
    pytester.syspathinsert()
    return pytester


def test_a_function_plays(project: pytest.Pytester) -> None:
    run(project, "--agent", "my_agent:act").assert_outcomes(passed=2)
    run(project, "-o", "deskproof_agent=my_agent:act").assert_outcomes(passed=2)


def test_an_address_plays(project: pytest.Pytester) -> None:
    space: dict[str, object] = {}
    exec(AGENT, space)
    act = space["act"]
    assert callable(act)
    with answering(lambda handler: handler.say(act(handler.asked[-1][1]["observation"], ()))) as (url, asked):
        run(project, "--agent-url", url).assert_outcomes(passed=2)
        assert len(asked) == 8
        assert len({body["episode_id"] for _, body, _ in asked}) == 2
        assert asked[0][1]["instructions"].startswith("A desk for lamps.")
        assert [tool["name"] for tool in asked[0][1]["tools"]] == ["ask_info", "classify", "resolve"]
        run(project, "-o", f"deskproof_agent_url={url}").assert_outcomes(passed=2)
        assert len(asked) == 16
        # What the command line says counts.
        run(project, "-o", f"deskproof_agent_url={url}", "--agent", "my_agent:act").assert_outcomes(passed=2)
        assert len(asked) == 16


def test_an_agent_of_ones_own_comes_first(project: pytest.Pytester) -> None:
    project.makeconftest("import pytest, my_agent\n@pytest.fixture\ndef agent(): return my_agent.act\n")
    run(project).assert_outcomes(passed=2)


def test_it_can_be_asked_by_hand(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps")
        def test_it(episode, agent):
            assert agent(episode.observation, episode.tools) == {"type": "classify"}
            episode.step(agent(episode.observation, episode.tools))
            episode.assert_outcome("classify.right")
        """
    )
    run(project, "--agent", "my_agent:act").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "The fixture agent needs to know who plays: --agent module:function, or --agent-url URL (in the ini: *"),
        (("--agent", "my_agent:act", "--agent-url", "http://h/"), "One agent plays: name it by a function, or by *"),
        (
            ("--agent", "my_agnet:act"),
            "There is no module 'my_agnet' to take the agent from: the folder that it is in *",
        ),
        (("--agent", "my_agent:atc"), "The module 'my_agent' has no 'atc'. Did you mean 'act'?"),
        (("--agent-url", "localhost"), "'localhost' is no address of an agent: http://HOST:PORT/PATH, or https://*"),
        (
            ("--agent-url", "http://h/", "--agent-timeout", "0"),
            "An agent's time is a number of seconds above 0, not 0.0.",
        ),
        (
            ("--agent-url", "http://h/", "-o", "deskproof_agent_timeout=soon"),
            "An agent's time is a number of seconds above 0, not 'soon'.",
        ),
    ],
)
def test_an_agent_that_is_not_there_is_said(project: pytest.Pytester, arguments: tuple[str, ...], said: str) -> None:
    result = run(project, *arguments)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert "engine/" not in result.stdout.str()


def test_what_it_raises_is_shown_with_its_own_code_and_the_episode(project: pytest.Pytester) -> None:
    project.makepyfile(
        my_agent="""
        def act(observation, tools):
            if observation["step_count"] == 1:
                return think(observation)
            return {"type": "classify"}

        def think(observation):
            raise KeyError("order")
        """
    )
    result = run(project, "--agent", "my_agent:act")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "The agent my_agent:act raised KeyError: 'order'",
            "",
            "Traceback (most recent call last):",
            '  File "*/my_agent.py", line 3, in act',
            "    return think(observation)",
            "*",
            '  File "*/my_agent.py", line 7, in think',
            '    raise KeyError("order")',
            "KeyError: 'order'",
            "*- episode of t-1, seed 7 -*",
            "    1 classify (right): +0.5000, return 0.5000",
            "open after 1 step; *",
        ]
    )
    assert "engine/" not in result.stdout.str()
    assert "test_it.py:5" not in result.stdout.str()


def test_an_address_that_fails_is_said_in_a_sentence(project: pytest.Pytester) -> None:
    with answering(lambda handler: handler.say(b"out of order", 503)) as (url, _):
        result = run(project, "--agent-url", url)
        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines([f"The agent {url} answered 503 Service Unavailable: out of order"])
        result.stdout.no_fnmatch_line("*Traceback*")


def test_its_time_can_be_set(project: pytest.Pytester) -> None:
    with answering(lambda handler: None) as (url, _):
        result = run(project, "--agent-url", url, "-o", "deskproof_agent_timeout=0.2", "-k", "t-1")
        result.stdout.fnmatch_lines([f"The agent {url} gave no answer within 0.2 s."])


HANGS = """
import threading

def act(observation, tools):
    threading.Event().wait(30)
"""


@pytest.mark.parametrize("how", ["the fixture", "by hand", "a function of the test's own"])
def test_so_can_that_of_a_function(project: pytest.Pytester, how: str) -> None:
    played = {
        "the fixture": "scenario.play(agent)",
        "by hand": "agent(scenario.start().observation, [])",
        "a function of the test's own": "scenario.play(my_agent.act)",
    }[how]
    project.makepyfile(
        my_agent=HANGS,
        test_it=f"""
        import my_agent, pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=1)
        def test_it(scenario, agent):
            {played}
        """,
    )
    result = run(project, "--agent", "my_agent:act", "--agent-timeout=0.05")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "The agent my_agent:act gave no answer within 0.05 s.",
            "",
            "It was here:",
            '  File "*/my_agent.py", line 4, in act',
            "    threading.Event().wait(30)",
        ]
    )
    result.stdout.no_fnmatch_line("*engine/*")
    result = run(project, "--agent", "my_agent:act", "-o", "deskproof_agent_timeout=soon")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["An agent's time is a number of seconds above 0, not 'soon'."])


ASYNC = "The agent my_agent:act is a coroutine: give a function that runs it (asyncio.run)."


def test_one_that_is_a_coroutine_is_told_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(
        my_agent="""
        import asyncio

        async def act(observation, tools):
            return {"type": "classify" if not observation["step_count"] else "resolve"}

        def returned(observation, tools):
            return act(observation, tools)

        def run(observation, tools):
            return asyncio.run(act(observation, tools))
        """,
        test_it="""
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=1)
        def test_it(scenario, agent):
            assert scenario.play(agent).outcomes[0] == "classify.right"
        """,
    )
    result = run(project, "--agent", "my_agent:act")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([ASYNC])
    result = run(project, "--agent", "my_agent:returned")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([ASYNC.replace(":act", ":returned")])
    run(project, "--agent", "my_agent:run").assert_outcomes(passed=1)


NONE = [
    ("{'error': 'no key'}", '{"error": "no key"}'),
    ("{'action': 'resolve'}", '{"action": "resolve"}'),
    ("[{'type': 'resolve'}]", '[[]{"type": "resolve"}]'),
    ("'resolve'", '"resolve"'),
]


@pytest.mark.parametrize(("answer", "shown"), NONE)
def test_what_is_no_action_at_all_is_no_step(project: pytest.Pytester, answer: str, shown: str) -> None:
    project.makepyfile(my_agent=f"def act(observation): return {answer}\n")
    result = run(project, "--agent", "my_agent:act", "-k", "t-1")
    result.assert_outcomes(failed=1)
    names = '"ask_info", "classify", "resolve"'
    result.stdout.fnmatch_lines(
        [
            f'The agent my_agent:act gave {shown}, which is no action: an object whose "type" is one of {names}.',
            "open after 0 steps; *",
        ]
    )
    done = deskproof("eval", "py:my_agent:act", "scenarios/lamps", "-o", "run", "--ticket", "t-1")
    assert done.exit_code == 1
    line = (project.path / "run/episodes.jsonl").read_text("utf-8")
    said = json.loads(line)
    assert said["status"] == "error"
    assert said["error"].endswith(f'which is no action: an object whose "type" is one of {names}.')


def test_what_it_skips_is_skipped(project: pytest.Pytester) -> None:
    project.makepyfile(my_agent="import pytest\ndef act(observation, tools): pytest.skip('no key')\n")
    run(project, "--agent", "my_agent:act").assert_outcomes(skipped=2)


def test_a_mistake_of_the_agents_is_no_failure_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        my_agent="def act(observation): return {'type': 'aks'}\n",
        test_it="""
        import pytest

        @pytest.mark.scenario(pack="scenarios/lamps", tickets=1)
        def test_it(scenario, agent):
            episode = scenario.play(agent)
            assert (episode.outcomes, episode.total) == (("invalid",) * 10, -1.0)
        """,
    )
    run(project, "--agent", "my_agent:act").assert_outcomes(passed=1)
