"""`deskproof import csv` without `--map`: what is in a file, and a command to begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importing.exports import EXPORT, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, so that what is printed has short paths in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.csv").write_text(EXPORT, "utf-8", newline="")
    return tmp_path


def test_without_a_map_it_says_what_is_there(folder: Path) -> None:
    with (folder / "desk.csv").open("a") as file:
        file.write("\r\n1004;cut\r\n")
    result = run("desk.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "desk.csv: UTF-8 with a byte order mark, semicolons between cells, double quotes around them, "
        "lines end in CRLF (6) and LF (2)\n"
        "6 columns, 3 rows, and 1 that can't be read\n"
        "\n"
        "    #  column         filled  samples\n"
        "    1  Ticket              3  1001 | 1002 | 1003\n"
        "    2  Subject             2  Late parcel | Login\n"
        '    3  Body                3  Hello,\\n\\nwhere is my parcel #W2… | He said "no" 🙂 | I can\'t sign in\n'
        "    4  Queue               3  Delivery | Account\n"
        "    5  Order number        1  00123\n"
        "    6  Requester           3  a@example.org | b@example.org | c@example.org\n"
        "\n"
        "Say which column is what. To begin with:\n"
        "  deskproof import csv desk.csv --map id=Ticket --map message=Subject+Body --map category=Queue -o desk.yaml\n"
        "Each thing that customers are asked for is one more: --map field.NAME=COLUMN\n"
    )
    assert [path.name for path in folder.iterdir()] == ["desk.csv"]


@pytest.mark.parametrize(
    ("header", "command"),
    [
        ("Issue key,Summary", "--map 'id=Issue key' --map message=Summary -o in.yaml"),
        ("short,the longest one", "--map 'message=the longest one' -o in.yaml"),
        ("Body,Body,Type", "--map 'message=#2' --map category=Type -o in.yaml"),
        ("C+D,E", "--map message=E -o in.yaml"),
    ],
)
def test_the_command_to_begin_with(folder: Path, header: str, command: str) -> None:
    (folder / "in.csv").write_text(f"{header}\na,Not so short{',b' * (header.count(',') - 1)}\n")
    result = run("in.csv")
    assert f"  deskproof import csv in.csv {command}\n" in result.stdout


def test_wide_letters_are_as_wide_as_two(folder: Path) -> None:
    (folder / "in.csv").write_text("编号\n1\n", "utf-8")
    assert run("in.csv").stdout.splitlines()[1:5] == [
        "1 column, 1 row",
        "",
        "    #  column   filled  samples",
        "    1  编号          1  1",
    ]
