"""What is shown of a pack's test that fails: its line, what came instead, the episode and what each step cost."""

from __future__ import annotations

import pytest

from tests.plugin.projects import FAILING, IDS, SHOWN, TESTS, lamps, run

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("style", ["auto", "long", "short", "native"])
def test_the_line_the_difference_and_the_episode_are_shown(pytester: pytest.Pytester, style: str) -> None:
    lamps(pytester.path, FAILING)
    result = run(pytester, "--scenarios", "scenarios", f"--tb={style}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(SHOWN, consecutive=True)
    said = result.stdout.str()
    assert "Traceback" not in said
    assert "engine/" not in said


def test_a_line_for_it_leads_to_the_file(pytester: pytest.Pytester) -> None:
    lamps(pytester.path, FAILING)
    result = run(pytester, "--scenarios", "scenarios", "--tb=line")
    result.stdout.fnmatch_lines(['*/scenarios/lamps/tests.yaml:7: step 2: *, expected "Once more."*'])


def test_every_difference_is_shown_and_the_episode_once(pytester: pytest.Pytester) -> None:
    wrong = TESTS.replace("reward: 0.0", "reward: 0.2").replace("reward: 0.5", "reward: 0.4")
    lamps(pytester.path, wrong)
    result = run(pytester, IDS[0])
    said = result.stdout.str()
    assert "step 1: reward is 0.0, expected 0.2" in said
    assert "step 2: reward is 0.5, expected 0.4" in said
    assert said.count("ticket t-1, seed 3 of lamps") == 1
    result.stdout.fnmatch_lines([">   1 ask_info order (stalled)*", ">   2 ask_info order (answered)*"])


def test_what_is_wrong_at_the_end_is_shown(pytester: pytest.Pytester) -> None:
    lamps(pytester.path, TESTS.replace("missing_required: []", "missing_required: [order]"))
    result = run(pytester, IDS[2])
    result.stdout.fnmatch_lines(
        [
            "scenarios/lamps/tests.yaml:14:*at the end*",
            "  expected: missing_required*order*",
            "  got:      missing_required*",
            "open after 2 steps; return 0.5000, *",
        ]
    )


def test_a_test_that_goes_on_after_the_end(pytester: pytest.Pytester) -> None:
    steps = "".join(
        f"      - {{do: {{type: {one}}}}}\n"
        for one in ("classify", "ask_info, field: order", "ask_info, field: order", "resolve", "resolve")
    )
    lamps(pytester.path, f"tests:\n  - name: too long\n    ticket: t-1\n    steps:\n{steps}")
    result = run(pytester, "--scenarios", "scenarios")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*the episode is over already (resolved)*", "resolved after 4 steps; return 2.0000, *"]
    )


def test_what_would_turn_a_terminal_around_is_not_sent_to_it(pytester: pytest.Pytester) -> None:
    lamps(pytester.path, FAILING.replace("Once more.", '"\\e[2J\\u202e"').replace("comes at once", "\u202e"))
    said = run(pytester, "--scenarios", "scenarios").stdout.str()
    assert "\\x1b[2J" in said or "\\u001b[2J" in said
    assert "\x1b[2J" not in said
    assert "\u202e" not in said
