"""`deskproof explain`: its pages as text, in a terminal, by any way to write a code; and the line that points to it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.manual import TITLES, page
from engine.new import EXAMPLE
from tests.commands import deskproof as run


@pytest.mark.parametrize(
    ("word", "code"),
    [("PACK030", "PACK030"), ("pack030", "PACK030"), ("Pack30", "PACK030"), ("30", "PACK030"), ("030", "PACK030"),
     ("5", "PACK005"), ("P04", "P04"), ("p4", "P04"), ("P11", "P11")],
)  # fmt: skip
def test_a_page_is_printed_as_it_is_written(word: str, code: str) -> None:
    result = run("explain", word)
    assert (result.exit_code, result.output) == (0, page(code))


def test_several_pages_follow_each_other_and_none_comes_twice() -> None:
    assert run("explain", "12", "P04", "pack012").output == f"{page('PACK012')}\n{page('P04')}"


def test_without_a_code_all_are_listed() -> None:
    result = run("explain")
    lines = [re.split(r"  +", line, maxsplit=1) for line in result.output.split("\n\n")[0].splitlines()]
    assert result.exit_code == 0
    assert lines == [[code, title] for code, title in TITLES.items()]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("PACK303", "did you mean 'PACK003'?"),
        ("P12", "did you mean 'P01'?"),
        ("unknown", "deskproof explain lists all."),
        ("", "deskproof explain lists all."),
        ("9999999999", "deskproof explain lists all."),
        ("\x1b[31m", "deskproof explain lists all."),
    ],
)
def test_a_code_that_there_is_not(word: str, hint: str) -> None:
    result = run("explain", word)
    assert result.exit_code == 2
    assert hint in result.output


def test_a_terminal_shows_it_formatted() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "90"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "engine.cli", "explain", "PACK004"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, env=environment, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "")
    assert plain != shown  # there are colours
    assert "PACK004: YAML syntax" in plain
    assert "```" not in plain and "# PACK004" not in plain
    assert all(len(line) <= 90 for line in plain.splitlines())
    for line in re.findall(r"```yaml wrong\n(.*?)```", page("PACK004"), re.DOTALL)[0].splitlines():
        assert line in plain


BROKEN = EXAMPLE.replace("category: account", "category: acount").replace("email: sam", "e-mail: sam")


def test_findings_on_a_terminal_point_to_it(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text(BROKEN, "utf-8")
    result = run("check", tmp_path)
    # A ticket with an unknown category needs nothing, so no more than these two follows.
    assert result.output.endswith("2 errors, 0 warnings\ndeskproof explain PACK031 PACK030 says more.\n")
    for line in re.findall(r"^deskproof (explain .*) says more\.$", result.output, re.MULTILINE):
        assert run(*line.split()).output == f"{page('PACK031')}\n{page('PACK030')}"


def test_nothing_points_to_it_where_nothing_is_found_or_programs_read(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text(EXAMPLE, "utf-8")
    assert "explain" not in run("check", tmp_path).output
    (tmp_path / "pack.yaml").write_text(BROKEN, "utf-8")
    assert json.loads(run("check", "--format", "json", tmp_path).output)["errors"] == 2
    assert "explain" not in run("check", "--format", "github", tmp_path).output


def test_no_more_than_a_few_codes_are_named(tmp_path: Path) -> None:
    mistakes = "split: x, optional: [x], person: x, goal: {x: y}, known: {email: x}, answers: {order_id: no}"
    ticket = f"  - {{id: t-1, task: x, category: x, messages: [Hi], {mistakes}}}\n"
    (tmp_path / "pack.yaml").write_text(EXAMPLE.replace("tickets:\n", f"tickets:\n{ticket}", 1), "utf-8")
    said = run("check", tmp_path).output
    codes = [*dict.fromkeys(re.findall(r"^\S+: (PACK\d+): ", said, re.MULTILINE))]
    assert len(codes) > 5
    assert said.endswith(f"\ndeskproof explain {' '.join(codes[:5])} says more.\n")
