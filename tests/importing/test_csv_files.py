"""What `deskproof import csv` reads from and writes to: files, folders and streams, and nothing that is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from engine.cli import main
from tests.importing.exports import EXPORT, MAPS, PACK, maps, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, so that what is printed has short paths in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.csv").write_text(EXPORT, "utf-8", newline="")
    return tmp_path


# -- Nothing is lost


def test_nothing_is_written_over(folder: Path) -> None:
    (folder / "desk.yaml").write_text("mine")
    result = run("desk.csv", *maps(*MAPS), "-o", "desk.yaml")
    assert (result.exit_code, (folder / "desk.yaml").read_text()) == (2, "mine")
    assert "desk.yaml exists already; nothing was written. --force writes over it." in result.stderr
    assert run("desk.csv", *maps(*MAPS), "-o", "desk.yaml", "--force").exit_code == 0
    assert (folder / "desk.yaml").read_text("utf-8") == PACK
    (folder / "map.yaml").write_text("message: Body")
    for own in ("desk.csv", "map.yaml"):  # not even by force
        (folder / "link.yaml").unlink(missing_ok=True)
        (folder / "link.yaml").symlink_to(folder / own)
        result = run("desk.csv", *maps("map.yaml"), "-o", "link.yaml", "--force")
        assert (result.exit_code, "link.yaml is what is read" in result.stderr) == (2, True)


def test_a_folder_is_a_pack_too(folder: Path) -> None:
    assert run("desk.csv", *maps(*MAPS), "-o", "a/desk").exit_code == 0
    assert (folder / "a" / "desk" / "pack.yaml").read_text("utf-8") == PACK
    result = run("desk.csv", *maps(*MAPS), "-o", "desk.csv/pack.yaml")
    assert (result.exit_code, "can't be written" in result.stderr) == (2, True)


def test_standard_output_has_the_pack_alone(folder: Path) -> None:
    result = run("desk.csv", *maps(*MAPS), "-o", "-")
    assert result.stdout == PACK.partition("\n")[2]
    assert "3 rows read: 3 tickets, 0 rows skipped\n" in result.stderr


@pytest.mark.parametrize("charset", ["ascii", "latin-1", "cp1252"])
def test_a_pack_is_utf_8_wherever_it_goes(folder: Path, charset: str) -> None:
    """Whatever standard output has for people."""
    arguments = ["import", "csv", "desk.csv", *maps(*MAPS), "-o", "-"]
    result = CliRunner(charset=charset).invoke(main, arguments)
    assert (result.exit_code, result.stdout_bytes.decode("utf-8")) == (0, PACK.partition("\n")[2])


@pytest.mark.parametrize(
    ("output", "next_one"),
    [
        ("my desk.yaml", "'my desk.yaml'"),
        ("-desk.yaml", "./-desk.yaml"),
        ("it's $HOME.yaml", "'it'\"'\"'s $HOME.yaml'"),
        ("a\x1b[31m\u202e\\'.yaml", "$'a\\x1b[31m\\xe2\\x80\\xae\\\\\\'.yaml'"),
    ],
)
def test_what_comes_next_can_be_pasted(folder: Path, output: str, next_one: str) -> None:
    result = run("desk.csv", *maps(*MAPS), "-o", output, "--name", "desk")
    assert result.stdout.endswith(f" Next: deskproof check {next_one}\n")
    assert result.stdout.replace("\n", "").isprintable()
    read = subprocess.run(["bash", "-c", f"cat {next_one}"], capture_output=True, timeout=60, check=True)
    assert read.stdout.decode() == PACK


# -- From where


def test_a_stream_that_is_open_is_read(folder: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write((folder / "desk.csv").read_bytes())
    result = run(f"/dev/fd/{reading}", *maps(*MAPS), "-o", "-")
    os.close(reading)
    assert result.stdout == PACK.partition("\n")[2].replace("pack: desk", "pack: pack")


def test_standard_input_is_read(folder: Path) -> None:
    command = [sys.executable, "-m", "engine.cli", "import", "csv", "-", *maps(*MAPS), "-o", "-", "--name", "desk"]
    done = subprocess.run(command, input=(folder / "desk.csv").read_bytes(), capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.decode()) == (0, PACK.partition("\n")[2])


def test_what_may_wait_for_ever_is_no_file(folder: Path) -> None:
    os.mkfifo("pipe")
    for name in ("pipe", "/dev/zero"):
        result = run(name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{name} is a pipe or a device, not a file; - reads standard input\n" in result.stderr


@pytest.mark.parametrize("end", ["\x1a", "\x1a" * 100, "\r\n\x1a"])
def test_the_end_of_a_file_as_dos_marks_it_is_no_row(folder: Path, end: str) -> None:
    (folder / "in.csv").write_bytes(f"id,message\r\n1,H\x1ai{end}".encode())
    result = run("in.csv", *maps("id=id", "message=message"), "-o", "out.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    found = yaml.safe_load((folder / "out.yaml").read_text("utf-8"))
    assert found["tickets"] == [{"id": "1", "task": "easy-info-collection", "messages": ["H\x1ai"]}]


def test_files_that_are_none(folder: Path) -> None:
    (folder / "desk.xlsx").write_bytes(b"PK\x03\x04\x14\0")
    result = run("desk.xlsx", *maps("message=Body"), "-o", "a.yaml")
    assert (result.exit_code, result.stderr) == (
        1,
        "desk.xlsx is a spreadsheet or an archive, not CSV: export or save it as CSV first.\n",
    )
    assert run("none.csv").exit_code == 2
    assert run(folder).exit_code == 2
    (folder / "empty.csv").write_text("")
    result = run("empty.csv")
    assert (result.exit_code, result.stderr) == (1, "empty.csv: the file is empty.\n")
    (folder / "open.csv").write_text('"a,b')
    result = run("open.csv", *maps("message=a"), "-o", "a.yaml")
    assert (result.exit_code, result.stderr) == (
        1,
        "open.csv: line 1, the row of column names: a quote isn't closed.\n",
    )
