"""Folders that whoever made them put something else into: every command that reads a run says so in a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.folder import About
from engine.evaluation.ledger import EPISODES, REPLACED, TIMES
from tests.commands import deskproof
from tests.evaluation.reports import lamps_run
from tests.evaluation.runs import lamps

COMMANDS = ("replay", "report", "compare", "eval")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lamps(tmp_path)
    return lamps_run(tmp_path)


def told(command: str, run: Path) -> str:
    """What a command says that refuses a run."""
    words: dict[str, list[object]] = {
        "replay": [run],
        "report": [run, "--csv", "-"],
        "compare": [run, run],
        "eval": ["oracle", run.parent / "lamps.yaml", "-o", run],
    }
    done = deskproof(command, *words[command])
    assert done.exit_code in (1, 2) and done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("file", [EPISODES, REPLACED, "run.json", "packs/lamps.json", "certificates/lamps.json"])
@pytest.mark.parametrize("command", COMMANDS[:3])
def test_a_pipe_is_not_waited_for(run: Path, command: str, file: str) -> None:
    (run / file).unlink(missing_ok=True)
    os.mkfifo(run / file)
    assert "can't be read" in told(command, run)


@pytest.mark.parametrize("file", [EPISODES, TIMES])
def test_nor_where_a_run_goes_on(tmp_path: Path, file: str) -> None:
    lamps(tmp_path)
    assert deskproof("eval", "oracle", tmp_path / "lamps.yaml", "-o", tmp_path / "new").exit_code == 0
    (tmp_path / "new" / file).unlink()
    os.mkfifo(tmp_path / "new" / file)
    assert f"{file} can't be read: It is no regular file." in told("eval", tmp_path / "new")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("planned", 1e999), ("planned", 6.0), ("planned", "6"), ("planned", None)),
        *(("file", "a\0b"), ("file", "../lamps"), ("file", ""), ("name", "\ud800")),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_json_whose_guard_fits(run: Path, command: str, member: str, value: Any) -> None:
    document = json.loads((run / "run.json").read_bytes())
    if member == "planned":
        document["planned"] = value
    else:
        document["packs"][0][member] = value
    members = {name: document[name] for name in ("tool", "agent", "options", "planned")}
    document["guard"] = About(packs=tuple(document["packs"]), **members).guard
    (run / "run.json").write_text(json.dumps(document), "utf-8")
    assert f"{run / 'run.json'} was changed after it was written: its guard doesn't fit." in told(command, run)


@pytest.mark.parametrize("line", ["what", "[]", "{}", '{"input_tokens":1e999,"output_tokens":0,"cost":0}'])
def test_an_account_that_is_none(run: Path, line: str) -> None:
    (run / TIMES).write_text(f"{line}\n", "utf-8")
    done = deskproof("report", run, "--html", "-")
    assert done.exit_code == 2 and f"{run / TIMES}:1: this line is no account of an episode." in done.stderr
