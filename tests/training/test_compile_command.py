"""`deskproof compile`: what it writes, says and refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.load import load_pack
from engine.training.tables import Tables
from tests.commands import deskproof
from tests.training.seen import LAMP, OTHER_LAMP


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    path = tmp_path / "lamp.yaml"
    path.write_text(json.dumps(LAMP), encoding="utf-8")
    return path


def test_tables_come_back(lamp: Path, tmp_path: Path) -> None:
    """The numbers are those of tests/training/test_tables.py; the bytes are those of the arrays there, worked out:
    6 states of 4 actions, 4 + 4 + 1 + 1 bytes each; of 7 columns, and 2 + 2 bytes besides; 2 cases of 3 * 4 + 8."""
    done = deskproof("compile", lamp, "-o", tmp_path / "lamp.npz")
    assert done.exit_code == 0, done.output
    counted = "1 ticket, 2 cases, 6 states, 4 actions, 7 columns"
    assert re.fullmatch(rf"Compiled lamp: {counted}; [0-9.]+ kB, 0.3 kB in memory; [0-9.]+ s\.\n", done.output)
    found = Tables.load(tmp_path / "lamp.npz")
    assert found.digest == load_pack(lamp).digest
    assert found.nbytes == 6 * 4 * 10 + 6 * (7 + 4) + 2 * 20


def test_the_same_pack_gives_the_same_bytes(lamp: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert deskproof("compile", lamp, "-o", tmp_path / name, "--seeds", 3).exit_code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(Tables.load(tmp_path / "a").seed.tolist()) == [0, 1, 2]


def test_standard_output_takes_them(lamp: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "engine.cli", "compile", str(lamp), "-o", "-"]
    (tmp_path / "piped").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    assert Tables.load(tmp_path / "piped").states == 6


def test_tickets_are_chosen(tmp_path: Path) -> None:
    chosen = ("--task", "hard-efficient-resolution", "--split", "test")
    done = deskproof("compile", "customer_support", "-o", tmp_path / "a", *chosen)
    assert done.exit_code == 0
    found = Tables.load(tmp_path / "a")
    assert {(found.tasks[one.task], one.split) for one in found.tickets} == {("hard-efficient-resolution", "test")}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--ticket", "lamb"], 2, "There is no ticket 'lamb' in these packs. Did you mean 'lamp'?"),
        (["--task", "medium-complete-info"], 2, "task 'medium-complete-info'"),
        (["--limit", "23"], 1, "'lamp' isn't tabled: with ticket 'lamp' there would be more than 23 moves."),
        (["--seeds", "0"], 2, "Invalid value for '--seeds'"),
    ],
)
def test_what_cannot_be_is_said(lamp: Path, tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    done = deskproof("compile", lamp, "-o", tmp_path / "a", *arguments)
    assert (done.exit_code, said in done.output) == (code, True), done.output
    assert not (tmp_path / "a").exists()


def test_a_split_that_is_worded_like_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lamps.yaml"
    other = {**OTHER_LAMP, "split": "test", "messages": ["help..."]}
    path.write_text(json.dumps({**LAMP, "max_steps": 4, "tickets": [*LAMP["tickets"], other]}), encoding="utf-8")
    for split in ("train", "test"):
        done = deskproof("compile", path, "-o", tmp_path / "a", "--split", split)
        assert done.exit_code == 1
        assert done.output.startswith("Ticket 'other' (test) opens with the words of ticket 'lamp' (train): ")
    assert not (tmp_path / "a").exists()
    assert deskproof("compile", path, "-o", tmp_path / "a").exit_code == 0


def test_a_pack_is_not_written_over(lamp: Path) -> None:
    done = deskproof("compile", lamp, "-o", lamp)
    assert done.exit_code == 2
    assert "is a file of the pack itself" in done.output
    assert deskproof("compile", lamp).exit_code == 2


def test_without_the_extra_a_sentence_says_what_to_install(lamp: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['numpy'] = None; from engine.cli import main; main()"
    command = [sys.executable, "-c", code, "compile", str(lamp), "-o", str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "Error: Tables and Gymnasium environments need numpy, which isn't installed: pip install 'deskproof[train]'.\n"
    )
