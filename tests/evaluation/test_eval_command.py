"""The command `deskproof eval`: what it prints, its exit codes, and where a run is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import Result

from engine.evaluation import playing
from engine.evaluation.ledger import EPISODES, REPLACED
from engine.evaluation.progress import sentence
from engine.evaluation.runner import Standing
from engine.proof.certificate import read as read_certificate
from server import moments
from tests.commands import deskproof
from tests.evaluation.runs import PLAYERS, lamps

# A ticket that needs more steps than there are.
DRAFT = """
pack: draft
version: 1.0.0
description: Not sound.
max_steps: 2
fields: {order: {description: The order}}
categories: {late: {description: Late, requires: [order]}}
tickets:
  - {id: t-1, task: easy-info-collection, category: late, messages: [Where is it?], answers: {order: L-1}}
""".lstrip()

MODEL = ("openai:m", "lamps.yaml", "--base-url", "http://127.0.0.1:9/v1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which everything happens, with the pack of lamps."""
    lamps(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(*words: object, code: int = 0) -> Result:
    result = deskproof("eval", *words)
    assert result.exit_code == code, result.output
    return result


def lines(run: Path) -> list[dict[str, object]]:
    return [json.loads(raw) for raw in (run / EPISODES).read_bytes().splitlines()]


def test_an_oracle_earns_all_there_is() -> None:
    """Each ticket pays 2.0 and scores 1.0, and each run has a folder of its own unless one is named."""
    for number in (1, 2):
        told = ran("oracle", "lamps.yaml", "--seeds", 3).stdout.splitlines()
        assert told[0] == "all tickets: 6 of 6 episodes done, 2 tickets"
        assert told[-1] == f"The run is in runs/oracle-{number}."
        found = lines(Path("runs") / f"oracle-{number}")
        assert [(record["return"], record["score"], record["status"]) for record in found] == [(2.0, 1.0, "done")] * 6
    first, second = ((Path("runs") / f"oracle-{number}" / EPISODES).read_bytes() for number in (1, 2))
    assert first == second


def test_a_run_goes_on_where_it_stopped() -> None:
    ran("random", "lamps.yaml", "--seeds", 4, "-o", "run")
    whole = Path("run", EPISODES).read_bytes()
    Path("run", EPISODES).write_bytes(b"".join(whole.splitlines(keepends=True)[2:5]))
    ran("random", "lamps.yaml", "--seeds", "0-3", "-o", "run")
    assert Path("run", EPISODES).read_bytes() == whole


def test_errors_are_told_and_are_findings() -> None:
    result = ran(f"{PLAYERS}:fails", "lamps.yaml", "--seeds", 10, "-o", "run", code=1)
    errors = sum(record["status"] == "error" for record in lines(Path("run")))
    assert errors > 1
    assert f"all tickets: {20 - errors} of 20 episodes done" in result.stdout
    assert "ValueError: my model is out of order" in result.stdout
    again = "To play them again: the same with --retry-errors."
    assert f"Ended in an error: {errors} episodes. {again}" in result.stdout.splitlines()


def test_numbers_of_what_was_played_again_are_not_taken_for_others() -> None:
    ran("random", "lamps.yaml", "--seeds", 10, "-o", "run")
    failing = sum(not record["resolved"] for record in lines(Path("run")))
    told = ran("random", "lamps.yaml", "--seeds", 10, "-o", "run", "--only-failing").stdout.splitlines()
    assert told[-2] == (
        f"Played again though they were done (--only-failing): {failing} episodes. These numbers are better than the "
        f"agent is; what came of it before stands in {REPLACED}."
    )


def test_what_the_runs_limit_left_is_told() -> None:
    words = (f"{PLAYERS}:hangs", "lamps.yaml", "--seeds", 5, "-o", "run", "--workers", 1)
    told = ran(*words, "--time", "0.5s").stdout
    assert "The run's time was up (--time). Not played to the end: " in told
    assert " To go on: the same command with -o run.\n" in told


def test_numbers_as_data() -> None:
    found = json.loads(ran("oracle", "lamps.yaml", "-o", "run", "--json").stdout)
    assert (found["run"], found["ended_by"], found["not_played"], found["replaced"]) == ("run", None, 0, 0)
    assert found["overall"]["coverage"] == 1.0
    assert found["overall"]["numbers"]["return"]["value"] == 2.0


def test_what_an_agent_prints_is_no_part_of_the_numbers(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither as its module is read nor as it plays; nor what a program says that it starts."""
    (here / "chatty.py").write_text(
        "import os\nprint('I am read')\n"
        "def act(observation):\n"
        "    print('I think'); os.system('echo So do I')\n"
        "    return {'type': 'resolve'}\n",
        "utf-8",
    )
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    for workers in (1, 2):
        result = ran("py:chatty:act", "lamps.yaml", "-o", f"run-{workers}", "--workers", workers, "--json")
        assert json.loads(result.stdout)["overall"]["done"] == 2
        told = capfd.readouterr()
        assert "I think" in result.stderr + told.err
        assert "So do I" in told.err
        assert told.out == ""
    del sys.modules["chatty"]


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("os._exit(3)", "The process that played it was lost: it ended by itself, with exit code 3."),
        (
            "return {'x' * 20_000: '', 'type': 'resolve'}",
            "The agent hasty:act gave an action of 20,024 bytes of JSON; 16,384 are the most.",
        ),
        ("raise KeyboardInterrupt", "The agent failed: KeyboardInterrupt"),
        ("raise asyncio.CancelledError", "The agent failed: CancelledError"),
        (
            "return {'type': 'x' * 5_000_000}",
            "The agent hasty:act gave an action of 5,000,011 bytes of JSON; 16,384 are the most.",
        ),
    ],
)
def test_whatever_an_agent_does_costs_the_episode_in_which_it_does_it(
    here: Path, monkeypatch: pytest.MonkeyPatch, code: str, cause: str
) -> None:
    (here / "hasty.py").write_text(
        "import asyncio, os\ndef act(observation):\n"
        f"    if observation['ticket_id'] == 't-1': {code}\n"
        "    return {'type': 'resolve'}\n",
        "utf-8",
    )
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    ran("py:hasty:act", "lamps.yaml", "-o", "run", code=1)
    assert [(record["ticket"], record["status"], record["error"]) for record in lines(Path("run"))] == [
        ("t-1", "error", cause),
        ("t-2", "done", None),
    ]
    del sys.modules["hasty"]


def test_a_run_goes_on_only_with_the_same_request() -> None:
    """Also where the name of what is asked for sounds like a secret, and where it is one; that one is shown nowhere."""
    words = (*MODEL, "--retries", 0, "-o", "run", "--request")
    ran(*words, "max_completion_tokens=5", "--request", "api_key=s3cr3t", code=1)
    told = ran(*words, "max_completion_tokens=500", "--request", "api_key=other", code=2).stderr
    assert '"max_completion_tokens": "5"' in told
    assert '"max_completion_tokens": "500"' in told
    assert "***4e73" in told
    assert "s3cr3t" not in told + Path("run", "run.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("agent", "folder"),
    [
        ("http://127.0.0.1:9/act?api_key=s3cr3t", "http-127.0.0.1-9-act-1"),
        ("cmd:false --api-key s3cr3t", "cmd-false-1"),
    ],
)
def test_the_folder_that_a_run_gets_is_not_called_by_a_secret(here: Path, agent: str, folder: str) -> None:
    result = ran(agent, "lamps.yaml", code=1)
    assert [path.name for path in Path("runs").iterdir()] == [folder]
    assert "s3cr3t" not in result.output
    assert not any(b"s3cr3t" in path.read_bytes() for path in Path("runs").rglob("*") if path.is_file())


def test_a_runs_certificate_is_a_certificate() -> None:
    ran("oracle", "lamps.yaml", "-o", "run")
    raw = Path("run", "certificates", "lamps.json").read_bytes()
    (pack,) = read_certificate("lamps.json", raw)["packs"]
    assert (pack["pack"], pack["sound"]) == ("lamps", True)


def test_a_draft_is_played_only_where_that_is_allowed() -> None:
    Path("draft.yaml").write_text(DRAFT, "utf-8")
    refused = ran("random", "draft.yaml", "-o", "run", code=1).stderr
    assert "draft.yaml:8:5: PACK061: ticket 't-1' has a best possible return of 1.5, not 2.0" in refused
    assert refused.endswith("With --allow-unproved the pack is played all the same.\n")
    assert not Path("run").exists()
    ran("random", "draft.yaml", "-o", "run", "--allow-unproved")
    assert len(lines(Path("run"))) == 1


def test_another_run_in_the_folder_is_refused_and_left_alone() -> None:
    ran("oracle", "lamps.yaml", "-o", "run")
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    told = ran("random", "lamps.yaml", "--seeds", 2, "-o", "run", code=2).stderr
    assert "run is another run, and can't be gone on with:" in told
    assert '  the agent: "oracle" there, "random" now\n' in told
    assert '  the option seeds: "0-0" there, "0-1" now\n' in told
    assert {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["orcale", "lamps.yaml"], "There is no agent 'orcale'. Did you mean 'oracle'?"),
        (["oracle", "lamsp.yaml"], "There is no file or folder 'lamsp.yaml'."),
        (["oracle", "lamps.yaml", "--ticket", "t-3"], "There is no ticket 't-3' in these packs. Did you mean 't-1'?"),
        (["oracle", "lamps.yaml", "--task", "easy"], "There is no task 'easy' in these packs."),
        (["oracle", "lamps.yaml", "--seeds", "0"], "no seeds at all are asked for"),
        (["oracle", "lamps.yaml", "--seeds", "a"], "'a' is no seeds: how many"),
        (["oracle", "lamps.yaml", "--time", "30"], "'30' is no span of time: a number and s, m, h or d, such as 30m"),
        (["oracle", "lamps.yaml", "--time", "0s"], "'0s' is no span of time"),
        (["oracle", "lamps.yaml", "--retry-errors", "--only-failing"], "--only-failing plays errors again as well"),
        (
            ["oracle", "lamps.yaml", "--retry-errors"],
            "--retry-errors plays a run's episodes again: name its folder with -o.",
        ),
        (
            ["oracle", "lamps.yaml", "--only-failing"],
            "--only-failing plays a run's episodes again: name its folder with -o.",
        ),
        (
            ["oracle", "lamps.yaml", "--only-failing", "-o", "run"],
            "--only-failing plays a run's episodes again, and run is none.",
        ),
        (["oracle", "lamps.yaml", "-o", "a" * 300], "aaa… can't be used as a folder: File name too long."),
        (["oracle", "lamps.yaml", "--max-tokens", 5], "What this agent spends isn't known, so no --max-tokens"),
        ([f"{PLAYERS}:quick", "lamps.yaml", "--max-cost", 5], "What this agent spends isn't known, so no --max-tokens"),
        ([*MODEL, "--max-cost", 5], "--max-cost needs --price-in and --price-out: no prices are known without them."),
        (["oracle", "lamps.yaml", "-o", "lamps.yaml"], "lamps.yaml can't be used as a folder: Not a directory."),
        (["oracle", "lamps.yaml", "-o", "."], ". is no run: there is something in it, but no run.json."),
        (["oracle", "lamps.yaml", "-o", "lamps.yaml/run"], "The folder lamps.yaml/run can't be made: File exists."),
    ],
)
def test_what_can_not_be_done_is_told(here: Path, words: Sequence[str], told: str) -> None:
    assert told in ran(*words, code=2).stderr
    assert [path.name for path in here.iterdir()] == ["lamps.yaml"]


def test_how_far_it_has_come_is_a_sentence() -> None:
    first, later = Standing(1_200, 0, 0, 0, 1_200, None), Standing(1_200, 300, 1, 2, 897, -0.12345)
    assert sentence(first, None) == "0 of 1,200 episodes, 0 errors"
    assert sentence(later, 75.4) == "303 of 1,200 episodes, 1 error, 2 at a limit, mean return -0.123, 0:01:15 left"


def test_an_action_may_be_as_large_as_on_a_server() -> None:
    assert playing._LARGEST == moments.MAX_ACTION
