"""`deskproof import csv` without `--map`: what is in a file, and a command to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.commands import deskproof
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
        ("id,msg,cat", "--map id=id --map message=msg --map category=cat -o in.yaml"),
        ("Ticket #,Customer message", "--map 'id=Ticket #' --map 'message=Customer message' -o in.yaml"),
        ("Order number,Nachricht,Kategorie", "--map message=Nachricht --map category=Kategorie -o in.yaml"),
        ("Device type,Issue_Description", "--map message=Issue_Description -o in.yaml"),
        ("ticketId,messageText", "--map id=ticketId --map message=messageText -o in.yaml"),
        ("Id,Ticket ID,Subject", "--map 'id=Ticket ID' --map message=Subject -o in.yaml"),
        ("Queue,$(id) 'x'", "--map 'message=$(id) '\"'\"'x'\"'\"'' --map category=Queue -o in.yaml"),
        ("Queue,\x07bell", "--map 'message=#2' --map category=Queue -o in.yaml"),
        # As two help desks and a tracker call their columns.
        (
            "Id,Subject,Status,Requester email,Group,Satisfaction Score",
            "--map id=Id --map message=Subject --map category=Group -o in.yaml",
        ),
        (
            "Ticket ID,Subject,Description,Status,Priority,Source,Type,Agent,Group",
            "--map 'id=Ticket ID' --map message=Subject+Description --map category=Type -o in.yaml",
        ),
        (
            "Summary,Issue key,Issue id,Issue Type,Description,Comment,Comment",
            "--map 'id=Issue key' --map message=Summary+Description --map 'category=Issue Type' -o in.yaml",
        ),
    ],
)
def test_the_command_to_begin_with(folder: Path, header: str, command: str) -> None:
    """It can be pasted, and makes a pack."""
    (folder / "in.csv").write_text(f"{header}\na,Not so short{',b' * (header.count(',') - 1)}\n")
    result = run("in.csv")
    assert f"  deskproof import csv in.csv {command}\n" in result.stdout
    assert run("in.csv", *shlex.split(command)).exit_code == 0


def test_a_column_with_nothing_in_it_is_nothing(folder: Path) -> None:
    (folder / "in.csv").write_text("id,Description,Queue,Notes\n1,, ,It is dark\n")
    assert "  deskproof import csv in.csv --map id=id --map message=Notes -o in.yaml\n" in run("in.csv").stdout


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("my desk.csv", "'my desk.csv'", "'my desk.yaml'"),
        ("-x.csv", "./-x.csv", "./-x.yaml"),
        ("export", "export", "pack.yaml"),
        (".csv", ".csv", "pack.yaml"),
    ],
)
def test_a_file_s_name_can_be_pasted_too(folder: Path, name: str, begins: str, ends: str) -> None:
    (folder / name).write_text("msg\nHi\n")
    command = f"deskproof import csv {begins} --map message=msg -o {ends}"
    assert f"  {command}\n" in run("--", name).stdout
    assert deskproof(*shlex.split(command)[1:]).exit_code == 0
    assert (folder / shlex.split(ends)[0]).exists()


def test_how_the_file_is_written_is_said_again(folder: Path) -> None:
    (folder / "in.csv").write_bytes("msg\tcat\n~Gr\xfc\xdfe\t~\tx\n".encode("latin-1"))
    given = "--encoding latin-1 --delimiter tab --quote '~'"
    command = f"deskproof import csv in.csv {given} --map message=msg --map category=cat -o in.yaml"
    result = run("in.csv", "--encoding", "latin-1", "--delimiter", "\t", "--quote", "~")
    assert f"  {command}\n" in result.stdout
    assert deskproof(*shlex.split(command)[1:]).exit_code == 0
    assert '      - "Grüße\\t"\n' in (folder / "in.yaml").read_text("utf-8")


def test_a_file_of_one_line(folder: Path) -> None:
    (folder / "in.csv").write_text("msg")
    assert run("in.csv").stdout.startswith(
        "in.csv: UTF-8, commas between cells, double quotes around them, one line\n1 column, 0 rows\n"
    )


def test_wide_letters_are_as_wide_as_two(folder: Path) -> None:
    (folder / "in.csv").write_text("编号\n1\n", "utf-8")
    assert run("in.csv").stdout.splitlines()[1:5] == [
        "1 column, 1 row",
        "",
        "    #  column   filled  samples",
        "    1  编号          1  1",
    ]
