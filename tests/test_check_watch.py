"""`deskproof check --watch` as a process: what authors and their editors do to files, and what is said then."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
from click.testing import CliRunner

from engine.cli import main
from engine.new import EXAMPLE

CLOSING = re.compile(r"No findings\.|\d+ errors?, \d+ warnings?")
STAMPED = re.compile(r"[0-2]\d:[0-5]\d:[0-6]\d (.*)")
BROKEN = EXAMPLE.replace("requires: [email]", "requires: [emial]")
MISSPELT = "PACK030: unknown field 'emial'"

pytestmark = pytest.mark.slow


class Watching:
    """A process that watches. Its lines are read as they come, those of standard error among them."""

    def __init__(self, *arguments: str | Path, apart: bool = False) -> None:
        command = [sys.executable, "-m", "engine.cli", "check", "--watch", *map(str, arguments)]
        errors = subprocess.PIPE if apart else subprocess.STDOUT
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        self._lines: Queue[str | None] = Queue()
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def line(self) -> str:
        found = self._lines.get(timeout=60)
        assert found is not None, "the process ended"
        return found

    def round(self) -> tuple[str, list[str]]:
        """What a round is headed by, without the time, and its lines down to the one that counts."""
        headed = STAMPED.fullmatch(self.line())
        assert headed is not None
        lines = [self.line()]
        while not CLOSING.fullmatch(lines[-1]):
            lines.append(self.line())
        return headed[1], lines

    def until(self, lines: list[str]) -> None:
        """Rounds until one has these lines."""
        while self.round()[1] != lines:
            pass

    def stopped(self) -> tuple[int, list[str]]:
        """The exit code after Ctrl-C, and what was said last."""
        self.process.send_signal(signal.SIGINT)
        code, last = self.process.wait(60), []
        while (line := self._lines.get(timeout=60)) is not None:
            last.append(line)
        return code, last


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "desk.yaml"
    path.write_text(EXAMPLE, "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same as a folder of two files."""
    folder = tmp_path / "desk"
    folder.mkdir()
    first, tests, rest = EXAMPLE.partition("# Played by")
    (folder / "pack.yaml").write_text(first, "utf-8")
    (folder / "tests.yaml").write_text(tests + rest, "utf-8")
    return folder


@pytest.fixture
def watching(path: Path) -> Iterator[Watching]:
    yield from _started(path)


@pytest.fixture
def of_folder(folder: Path) -> Iterator[Watching]:
    yield from _started(folder)


def _started(*paths: Path) -> Iterator[Watching]:
    watching = Watching(*paths)
    try:
        headed, lines = watching.round()
        assert headed == f"Watching {', '.join(map(str, paths))}; Ctrl-C ends it."
        assert lines == fresh(*paths) and lines[-1] == "No findings."
        yield watching
    finally:
        watching.close()


def fresh(*paths: Path) -> list[str]:
    """What a check that has seen nothing before says, but for where one may read more."""
    lines = CliRunner().invoke(main, ["check", *map(str, paths)]).output.splitlines()
    return [line for line in lines if not line.startswith("deskproof explain ")]


def write(path: Path, text: str) -> None:
    """As most editors write: a new file takes the place of the old one, at once."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, "utf-8")
    new.replace(path)


def test_what_is_written_is_checked_and_what_is_put_right_too(watching: Watching, path: Path) -> None:
    write(path, BROKEN)
    headed, lines = watching.round()
    assert (headed, lines) == (f"{path} was written", fresh(path))
    assert MISSPELT in lines[0] and lines[-1] == "1 error, 0 warnings"
    write(path, EXAMPLE)
    assert watching.round() == (f"{path} was written", [f"{path}: 2 tickets, 1 test", "No findings."])


def test_a_file_that_is_written_where_it_is(watching: Watching, path: Path) -> None:
    """It is empty for a moment, which may be seen."""
    path.write_text(BROKEN, "utf-8")
    watching.until(fresh(path))
    path.rename(path.with_name("desk.yaml~"))  # the old one aside, a new one in its place
    path.write_text(EXAMPLE, "utf-8")
    watching.until(fresh(path))


def test_tickets_and_rules_that_change(watching: Watching, path: Path) -> None:
    """What was found of tickets is kept; what comes out is what a check finds that has kept nothing."""
    stall = "        - say: Let me think. # says something, tells nothing\n"
    for old, new, last in (
        ("say: Let me think. #", "say: Well. #", "1 error, 0 warnings"),  # its test expects the other
        # Classify, two turns in vain, two fields, resolve: six steps.
        ("language: en", "language: en\nmax_steps: 5", "1 error, 0 warnings"),
        # Of its test the second to the fourth step come out differently, and so does the end.
        (stall, "", "4 errors, 0 warnings"),
        ("# Played", "max_steps: 5\n# Played", "1 error, 0 warnings"),
        ("# Played", "# Then played", "No findings."),
    ):
        write(path, EXAMPLE.replace(old, new))
        headed, lines = watching.round()
        assert (headed, lines) == (f"{path} was written", fresh(path))
        assert lines[-1] == last


def test_a_file_that_is_gone_and_comes_back(watching: Watching, path: Path) -> None:
    path.unlink()
    headed, lines = watching.round()
    assert headed == f"{path} is gone"
    assert lines == [f"{path}:1:1: PACK001: there is no such file", "1 error, 0 warnings"]
    write(path, EXAMPLE)
    headed, lines = watching.round()
    assert (headed, lines[-1]) == (f"{path} is new", "No findings.")


def test_a_file_that_is_written_in_pieces(watching: Watching, path: Path) -> None:
    half = EXAMPLE.index("kim@example.org I think")
    with path.open("w", encoding="utf-8") as file:
        file.write(EXAMPLE[:half])
        file.flush()
        watching.until(fresh(path))
        assert fresh(path)[-1] == "1 error, 0 warnings"  # a bracket is open
        file.write(EXAMPLE[half:])
    watching.until(fresh(path))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"pack: [", b"- just a list\n", b"\0"])
def test_a_file_that_is_no_pack(watching: Watching, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    watching.until(fresh(path))
    assert fresh(path)[-1] == "1 error, 0 warnings"
    write(path, EXAMPLE)
    assert watching.round()[1][-1] == "No findings."


def test_files_of_a_folder_come_and_go(of_folder: Watching, folder: Path) -> None:
    tests, more = folder / "tests.yaml", folder / "more.yaml"
    tests.unlink()
    headed, lines = of_folder.round()
    assert (headed, lines) == (f"{tests} is gone", fresh(folder))
    assert lines[-1] == "0 errors, 1 warning"  # a pack without tests
    (folder / "notes.txt").write_text("x", "utf-8")  # not of the pack
    (folder / ".hidden.yaml").write_text("x", "utf-8")
    write(more, "people: {slow: {stalls: 1}}\n")
    headed, lines = of_folder.round()
    assert (headed, lines) == (f"{more} is new", fresh(folder))
    assert lines[-1] == "0 errors, 2 warnings"  # and a person that no ticket names
    more.rename(folder / "people.yaml")
    headed, lines = of_folder.round()
    assert (headed, lines) == (f"{more} is gone, {folder / 'people.yaml'} is new", fresh(folder))


def test_a_folder_that_is_gone_and_comes_back(of_folder: Watching, folder: Path) -> None:
    away = folder.with_name("away")
    folder.rename(away)
    headed, lines = of_folder.round()
    assert headed == f"{folder / 'pack.yaml'} is gone, {folder / 'tests.yaml'} is gone"
    assert lines == [f"{folder}:1:1: PACK001: there is no such file", "1 error, 0 warnings"]
    away.rename(folder)
    headed, lines = of_folder.round()
    assert headed == f"{folder / 'pack.yaml'} is new, {folder / 'tests.yaml'} is new"
    assert lines[-1] == "No findings."


def test_several_packs_of_which_one_changes(path: Path, folder: Path) -> None:
    for watching in _started(path, folder):
        write(folder / "tests.yaml", "tests: []\n")
        assert watching.round() == (f"{folder / 'tests.yaml'} was written", fresh(path, folder))
        write(path, BROKEN)
        headed, lines = watching.round()
        assert (headed, lines) == (f"{path} was written", fresh(path, folder))
        assert lines[-1] == "1 error, 1 warning"


def test_ctrl_c_ends_it_well(watching: Watching, path: Path) -> None:
    write(path, BROKEN)
    watching.round()
    assert watching.stopped() == (0, ["", "Stopped."])


def test_for_programs_each_round_is_a_line_of_json(path: Path) -> None:
    with closing(Watching("--format", "json", path, apart=True)) as watching:
        assert json.loads(watching.line()) == {"checked": [str(path)], "errors": 0, "findings": []}
        write(path, BROKEN)
        document = json.loads(watching.line())
        assert (document["errors"], [one["code"] for one in document["findings"]]) == (1, ["PACK030"])
        assert watching.stopped() == (0, [])
        assert watching.process.stderr is not None
        said = watching.process.stderr.read().splitlines()
    assert [STAMPED.sub(r"\1", line) for line in said] == [
        f"Watching {path}; Ctrl-C ends it.",
        f"{path} was written",
        "",
        "Stopped.",
    ]


def test_it_ends_where_nobody_reads_any_more(path: Path) -> None:
    command = [sys.executable, "-m", "engine.cli", "check", "--watch", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        while not CLOSING.fullmatch(process.stdout.readline().strip()):
            pass
        process.stdout.close()
        write(path, BROKEN)
        assert (process.wait(60), process.stderr.read()) == (141, "")


def test_what_is_not_there_at_the_start_is_not_watched(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["check", "--watch", str(tmp_path / "none.yaml")])
    assert (result.exit_code, "There is no file or folder" in result.stderr) == (2, True)
