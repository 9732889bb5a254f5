"""The command line: what it prints, and its exit codes (0 fine, 1 findings, 2 usage)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.new import EXAMPLE
from tests.commands import deskproof as run

BROKEN = """\
pack: p
version: 1.0.0
description: d
fields: {os: {description: System}}
categories: {t: {description: T, requires: [oss]}}
tickets:
  - {id: a, task: easy-info-collection, category: t, messages: [Hi], answers: {os: Linux}}
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(EXAMPLE, encoding="utf-8")
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def test_check_a_sound_pack(good: Path) -> None:
    result = run("check", good)
    assert (result.exit_code, result.output) == (0, f"{good}: 2 tickets, 1 test\nNo findings.\n")


def test_check_a_broken_pack(broken: Path, good: Path) -> None:
    result = run("check", good, broken)
    assert result.exit_code == 1
    # The caret stands under 'oss', the 45th character of line 5.
    assert f"{broken}:5:45: PACK030: unknown field 'oss'" in result.output
    assert "did you mean 'os'?" in result.output
    assert result.output.endswith("1 error, 0 warnings\ndeskproof explain PACK030 says more.\n")


def test_check_as_json(broken: Path) -> None:
    result = run("check", "--format", "json", broken)
    assert result.exit_code == 1
    document = json.loads(result.output)
    assert document["errors"] == 1
    (finding,) = document["findings"]
    assert (finding["code"], finding["line"], finding["column"], finding["nearest"]) == ("PACK030", 5, 45, "os")


def test_check_runs_the_pack_s_tests(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(EXAMPLE.replace("{says: Let me think., reward: 0}", "{says: Let me look., reward: 1}"))
    result = run("check", path)
    assert result.exit_code == 1
    line = next(number for number, text in enumerate(EXAMPLE.splitlines(), 1) if "Let me think., reward" in text)
    assert f"{path}:{line}:" in result.output
    assert 'says is "Let me think.", expected "Let me look."; reward is 0.0, expected 1' in result.output


def test_check_of_nothing(tmp_path: Path) -> None:
    missing = run("check", tmp_path / "none.yaml")
    assert (missing.exit_code, "There is no file or folder" in missing.output) == (2, True)
    assert "Did you mean 'bank-disputes'?" in run("check", "bank-dispute").output
    assert run("check").exit_code == 2


def test_new_writes_a_pack_that_checks(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "mine.yaml"
    assert run("new", path).exit_code == 0
    assert run("check", path).exit_code == 0
    again = run("new", path)
    assert again.exit_code == 2
    assert "exists already" in again.output
    assert run("new", tmp_path / "desk").exit_code == 0
    assert (tmp_path / "desk" / "pack.yaml").read_text(encoding="utf-8") == EXAMPLE


def test_new_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = run("new", tmp_path / "file" / "p.yaml")
    assert result.exit_code == 2
    assert "can't be written" in result.output


def test_play_to_the_end(good: Path) -> None:
    keys = "classify\nask_info email\nask_info email\nask_info emial\nask_info email\nask_info order_id\nresolve\n"
    result = run("play", good, "--ticket", "t-2", "--seed", "1", keys=keys)
    assert result.exit_code == 0
    assert "customer: My parcel never came." in result.output
    assert "Did you mean 'ask_info email'?" in result.output
    assert "ask_info.mistaken, reward +0.0000, return 0.5000" in result.output
    # classify, two turns that tell nothing right, two that do, resolve: six steps, the fewest; 4 asks, none wasted.
    assert "Resolved after 6 steps (optimal: 6). Return 2.0000, score 1.0000." in result.output


def test_play_by_number_and_stop(good: Path) -> None:
    result = run("play", good, "--ticket", "t-1", "--seed", "1", keys="?\n1\nquit\n")
    assert result.exit_code == 0
    assert "ask_info.unneeded, reward -0.1000" in result.output
    assert result.output.endswith("Stopped.\n")
    assert run("play", good, "--seed", "1", keys="").output.endswith("Stopped.\n")


def test_play_shows_texts_as_they_are_and_nothing_steers_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    text = EXAMPLE.replace("- My parcel never came.", '- "a:b::1 :smile: [bold]x[/] \\e[2J\\a"')
    assert text != EXAMPLE
    path.write_text(text, encoding="utf-8")
    result = run("play", path, "--ticket", "t-2", "--seed", "1", keys="q\n")
    assert "customer: a:b::1 :smile: [bold]x[/] \\x1b[2J\\x07\n" in result.output


@pytest.mark.parametrize("command", ["play", "preview", "prove"])
def test_a_terminal_that_knows_few_characters(tmp_path: Path, command: str) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(EXAMPLE.replace("- My parcel never came.", "- Größe 版本?"), encoding="utf-8")
    words = [sys.executable, "-m", "engine.cli", command, str(path)]
    words += ["--all"] if command == "prove" else ["--ticket", "t-2"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    if command == "play":
        assert r"Gr\xf6\xdfe \u7248\u672c?" in done.stdout


def test_play_without_standard_input(good: Path) -> None:
    words = f"exec {sys.executable} -m engine.cli play {good} <&-"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Stopped.\n")


def test_outputs_are_never_written_over_what_may_be_a_pack(good: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(EXAMPLE, encoding="utf-8")
    for command in (("schema", "-o", other), ("prove", good, "--html", other), ("prove", good, "--certificate", other)):
        result = run(*command)
        assert result.exit_code == 2
        assert f"{other} is there, and may be a pack; nothing was written." in " ".join(result.output.split())
        assert other.read_text(encoding="utf-8") == EXAMPLE


def test_play_of_something_unknown(good: Path, broken: Path) -> None:
    ticket = run("play", good, "--ticket", "t-3")
    assert (ticket.exit_code, "There is no ticket 't-3'." in ticket.output) == (2, True)
    task = run("play", good, "--task", "easy-info-colection")
    assert (task.exit_code, "Did you mean 'easy-info-collection'?" in task.output) == (2, True)
    none = run("play", good, "--task", "hard-efficient-resolution")
    assert (none.exit_code, "has no ticket for the task" in none.output) == (2, True)
    assert run("play", broken).exit_code == 1


def test_play_a_shipped_pack_by_name() -> None:
    result = run("play", "bank-disputes", "--seed", "3", keys="quit\n")
    assert (result.exit_code, "bank-disputes" in result.output) == (0, True)


# -- How the process ends

COMMAND = (sys.executable, "-m", "engine.cli")
FULL = "The output can't be written: No space left on device.\n"
UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}


@pytest.mark.parametrize("environment", [None, UNBUFFERED], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "check",
        "check --format json",
        "prove",
        "prove --json",
        "mutate --most 1",
        "play --seed 1",
    ],
)
def test_output_that_can_not_be_written(good: Path, arguments: str, environment: dict[str, str] | None) -> None:
    """Twice: nothing may be taken in (/dev/full), or nobody reads any more (a pipe whose other end is closed)."""
    command = [*COMMAND, *arguments.split(), *([str(good)] if arguments[0] != "-" else [])]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, input=b"quit\n", stdout=full, stderr=subprocess.PIPE, env=environment, timeout=60
        )
    assert (done.returncode, done.stderr.decode()) == (2, FULL)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, input=b"quit\n", stdout=writing, stderr=subprocess.PIPE, env=environment, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_errors_that_can_not_be_written(broken: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run([*COMMAND, "check", broken], stdout=full, stderr=full, timeout=60).returncode == 2
        assert subprocess.run([*COMMAND, "chekc"], stderr=full, timeout=60).returncode == 2
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, "check", broken], stdout=writing, stderr=writing, timeout=60)
    os.close(writing)
    assert done.returncode == 141


def test_a_process_without_output(good: Path) -> None:
    assert subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "check", good], timeout=60).returncode == 0


def test_exit_codes_of_the_process_are_those_of_the_command(good: Path, broken: Path) -> None:
    for arguments, code in ((["check", good], 0), (["check", broken], 1), (["chekc"], 2), (["--help"], 0), ([], 2)):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == code and "Traceback" not in done.stderr
    assert "No such command 'chekc'" in subprocess.run([*COMMAND, "chekc"], capture_output=True, text=True).stderr


def test_ctrl_c_while_it_works() -> None:
    command = [*COMMAND, "prove", "bank-disputes", "customer-support", "it-helpdesk-de"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"bank-disputes")  # two packs are still to be proved
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert (process.wait(60), process.stderr.read().strip()) == (130, b"")


@pytest.mark.parametrize("module", ["click", "engine.cli", "rich.console", "server.commands"])
def test_ctrl_c_while_it_starts(module: str) -> None:
    """The signal comes as the module is looked for."""
    program = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
from engine.entry import run
assert {module!r} not in sys.modules
sys.meta_path.insert(0, Finder())
sys.argv = ["deskproof", "--help"]
run()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_the_module_where_it_starts_is_the_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "engine.entry", "eval"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Missing argument 'AGENT'." in done.stderr
