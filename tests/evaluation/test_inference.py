"""inference.py as a program: its lines, with a model and without, in its own process and on a server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.contract import load_contract
from tests.evaluation.completions import Reply, call, calls, error, message, refusal
from tests.evaluation.completions import serving as completing
from tests.serving import free_port, fresh_environment, serving

ROOT = Path(__file__).resolve().parent.parent.parent
TASKS = [task.id for task in load_contract().tasks]

# The form that OpenEnv's sample script gives to its three kinds of lines, a field as it says: no blanks where none are.
START = re.compile(r"\[START\] task=(\S+) env=(\S+) model=(\S+)")
STEP = re.compile(r"\[STEP\] step=([0-9]+) action=(.+) reward=(-?[0-9]\.[0-9]{2}) done=(true|false) error=(.+)")
END = re.compile(r"\[END\] success=(true|false) steps=([0-9]+) score=([01]\.[0-9]{3}) rewards=(\S*)")


def run(code: int = 0, **variables: str) -> tuple[list[str], str]:
    """What it prints, line by line, and what it says on standard error."""
    named = ("MODEL_NAME", "API_BASE_URL", "API_KEY", "HF_TOKEN", "OPENAI_", "ENV_URL", "SEED")
    env = {name: value for name, value in fresh_environment().items() if not name.startswith(named)}
    command = [sys.executable, "-W", "error", str(ROOT / "inference.py")]
    done = subprocess.run(command, env={**env, **variables}, cwd="/", capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines(), done.stderr


def episodes(lines: list[str]) -> list[list[str]]:
    """The lines of each episode; all lines are of one of the three kinds, and in order."""
    found: list[list[str]] = []
    for line in lines:
        if START.fullmatch(line):
            found.append([])
        assert found
        found[-1].append(line)
    for first, *steps, last in found:
        assert START.fullmatch(first)
        assert END.fullmatch(last)
        assert all(STEP.fullmatch(step) for step in steps)
    return found


def numbers(episode: list[str]) -> tuple[bool, float, list[float]]:
    """Success, score and rewards; what the last line says has to be what the others do."""
    steps = [found for line in episode if (found := STEP.fullmatch(line))]
    end = END.fullmatch(episode[-1])
    assert end is not None
    assert [int(step[1]) for step in steps] == list(range(1, len(steps) + 1))
    assert int(end[2]) == len(steps)
    assert end[4] == ",".join(step[3] for step in steps)
    return end[1] == "true", float(end[3]), [float(step[3]) for step in steps]


def test_without_a_model_the_playbook_plays_each_task_once() -> None:
    lines, said = run()
    played = episodes(lines)
    assert said == ""
    assert [one[0] for one in played] == [f"[START] task={task} env=customer-support model=playbook" for task in TASKS]
    for episode in played:
        success, score, rewards = numbers(episode)
        assert success
        assert sum(rewards) == pytest.approx(2.0, abs=0.05)  # each is rounded
        assert 0 < score <= 1
        *_, last = [found for line in episode if (found := STEP.fullmatch(line))]
        assert json.loads(last[2]) == {"type": "resolve"}
        assert (last[4], last[5]) == ("true", "null")
    assert run()[0] == lines
    assert run(SEED="8")[0] != lines


def test_a_server_is_played_on_as_this_process_is() -> None:
    port = free_port()
    env = {**fresh_environment(), "PORT": str(port), "STORE": "memory:"}
    with serving([sys.executable, "-m", "server.app"], port, cwd=ROOT, env=env) as url:
        assert run(ENV_URL=url, SEED="3")[0] == run(SEED="3")[0]
    lines, said = run(2, ENV_URL=url)  # it has gone
    assert lines == []
    assert said.startswith(f"The server {url} doesn't answer /metadata as it should: ")
    assert "Traceback" not in said


def with_model(*replies: Reply, code: int = 0) -> tuple[list[list[str]], str, list[str]]:
    """Episodes, what was said, and the keys that the service was sent."""
    with completing(*replies) as service:
        lines, said = run(
            code, MODEL_NAME="org/m-1", API_BASE_URL=service.url, HF_TOKEN="hf-key-1234", OPENAI_API_KEY="x"
        )
        keys = [one.headers["authorization"] for one in service.asked]
    return episodes(lines), said, keys


def test_a_model_plays() -> None:
    """It classifies and asks for one thing, then says what isn't JSON, then for ever that it can't: all of its mistakes
    are steps, the last of them each with the sentence that tells of it."""
    first = (
        calls(("classify",)),
        calls(("ask_info", {"field": "browser"})),
        calls(
            ("ask_info", '{"field'),
        ),
    )
    played, said, keys = with_model(*first, refusal())
    assert said == ""
    assert set(keys) == {"Bearer hf-key-1234"}
    assert [one[0].rpartition(" ")[2] for one in played] == ["model=org/m-1"] * 3
    steps = [found for line in played[0] if (found := STEP.fullmatch(line))]
    assert [json.loads(step[2])["type"] for step in steps[:3]] == ["classify", "ask_info", "ask_info"]
    assert steps[2][5] == "ask_info takes no 'arguments'. It takes: field."
    assert all(step[2] == "{}" and step[3] == "-0.10" for step in steps[3:])
    assert [len(one) for one in played] == [12, 12, 12]  # ten steps each, and two lines
    assert [numbers(one)[0] for one in played] == [False] * 3


def test_a_model_that_fails_ends_its_episodes_and_no_line_is_missing() -> None:
    played, said, _ = with_model(calls(("classify",)), error(401, "no such key"), code=1)
    assert [len(one) for one in played] == [3, 2, 2]
    assert played[0][-1] == "[END] success=false steps=1 score=0.000 rewards=0.50"
    assert [one[-1] for one in played[1:]] == ["[END] success=false steps=0 score=0.000 rewards="] * 2
    assert said.count("refuses the key (401") == 3
    assert "hf-key" not in said
    assert "Traceback" not in said


def test_what_an_action_holds_stays_on_its_line() -> None:
    reply = message("tool_calls", tool_calls=[call("a\nb\u2028\x1b[2J", {"x\n": "\n"})])
    played, _, _ = with_model(reply)
    assert [len(one) for one in played] == [12, 12, 12]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"SEED": "x"}, "SEED is a whole number from 0 on, not 'x'."),
        ({"MODEL_NAME": "m"}, "No key for OpenAI's service: set OPENAI_API_KEY"),
        ({"ENV_URL": "nowhere"}, "The server nowhere doesn't answer /metadata as it should: unknown url type"),
    ],
)
def test_what_can_not_be_played_is_said(variables: dict[str, str], said: str) -> None:
    lines, told = run(2, **variables)
    assert lines == []
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_without_a_key_it_names_its_own_remedy() -> None:
    """It has no options: where a model is, the environment says."""
    said = "No key for OpenAI's service: set OPENAI_API_KEY, or name another one by API_BASE_URL.\n"
    assert run(2, MODEL_NAME="m") == ([], said)
