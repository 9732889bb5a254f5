"""Exports shaped like those of help desks, trackers and spreadsheets, from bytes to tickets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from engine.cli import main
from engine.load import check_pack

TASK = "easy-info-collection"


def imported(tmp_path: Path, content: bytes, *pairs: str, code: int = 0) -> dict[str, Any]:
    """The pack that is made of a file; it loads."""
    (tmp_path / "in.csv").write_bytes(content)
    maps = [word for pair in pairs for word in ("--map", pair)]
    output = tmp_path / "out.yaml"
    result = CliRunner().invoke(main, ["import", "csv", str(tmp_path / "in.csv"), *maps, "-o", str(output)])
    assert result.exit_code == code, result.output
    pack, findings = check_pack(output)
    assert pack is not None, findings
    made = yaml.safe_load(output.read_text("utf-8"))
    assert isinstance(made, dict)
    return made


def test_a_ticket_system_in_the_cloud(tmp_path: Path) -> None:
    """Everything quoted, HTML in cells, columns that nobody maps, a formula, a text that looks like a sum."""
    text = (
        '"Ticket ID","Subject","Description","Status","Group","Created at","Tags","Device"\n'
        '"8841","No light","<p>Hi,<br/>my ""Lumo"" is dark.</p>","open","Set-up","2024-05-01","vip,eu","Pixel 7"\n'
        '"8842","=HYPERLINK(""https://example.org"")","+49 30 1234","closed","Set-up","2024-05-01","",""\n'
    )
    made = imported(
        tmp_path, text.encode(), "id=ticket id", "message=Description", "category=Group", "field.device=Device"
    )
    assert made["tickets"] == [
        {
            "id": "8841",
            "task": TASK,
            "category": "Set-up",
            "messages": ['<p>Hi,<br/>my "Lumo" is dark.</p>'],
            "answers": {"device": "Pixel 7"},
        },
        {
            "id": "8842",
            "task": TASK,
            "category": "Set-up",
            "messages": ["+49 30 1234"],
            "answers": {"device": "TODO"},
        },
    ]


def test_a_tracker_with_two_columns_of_one_name(tmp_path: Path) -> None:
    text = (
        "Issue key,Summary,Comment,Comment,Issue Type,Custom field (Version)\r\n"
        'LAMP-1,It blinks,,"On it.\r\n\r\n> It blinks\r\nSince when, and how often?",Bug,1.10\r\n'
        "LAMP-2,It's dark,Yes,No,Question,no\r\n"
    )
    made = imported(
        tmp_path,
        text.encode(),
        "id=Issue key",
        "message=Summary+#4",
        "category=Issue Type",
        "field.version=custom field (version)",
    )
    assert [ticket["messages"] for ticket in made["tickets"]] == [
        ["It blinks\n\nOn it.\r\n\r\n> It blinks\r\nSince when, and how often?"],
        ["It's dark\n\nNo"],
    ]
    assert [ticket["answers"]["version"] for ticket in made["tickets"]] == ["1.10", "no"]
    assert list(made["categories"]) == ["Bug", "Question"]


def test_a_spreadsheet_saved_in_german(tmp_path: Path) -> None:
    """Semicolons, Windows-1252, a line that says what stands between cells, rows of nothing at the end."""
    text = (
        "sep=;\r\nNr.;Betreff;Warteschlange;Bestellnummer\r\n"
        "007;Ärger mit Größe „M“;Rücksendung;0042\r\n008;Paket weg – wo?;Lieferung;\r\n;;;\r\n;;;\r\n"
    )
    made = imported(
        tmp_path,
        text.encode("cp1252"),
        "id=Nr.",
        "message=Betreff",
        "category=Warteschlange",
        "field.Bestellnummer=Bestellnummer",
    )
    assert made["categories"] == {"Rücksendung": {"requires": ["Bestellnummer"]}, "Lieferung": {"requires": []}}
    assert made["tickets"] == [
        {
            "id": "007",
            "task": TASK,
            "category": "Rücksendung",
            "messages": ["Ärger mit Größe „M“"],
            "answers": {"Bestellnummer": "0042"},
        },
        {"id": "008", "task": TASK, "category": "Lieferung", "messages": ["Paket weg – wo?"]},
    ]


def test_a_spreadsheet_saved_as_unicode_text(tmp_path: Path) -> None:
    """UTF-16 with tabs; cut off in the middle of a row."""
    text = '编号\t内容\t类别\r\n1\t程序打不开 🙂\t软件\r\n2\t"第一行\n第二行"\t软件\r\n3\t打'
    made = imported(tmp_path, text.encode("utf-16"), "id=编号", "message=内容", "category=类别", code=1)
    assert [(ticket["id"], ticket["messages"]) for ticket in made["tickets"]] == [
        ("1", ["程序打不开 🙂"]),
        ("2", ["第一行\n第二行"]),
    ]


def test_several_exports_one_behind_the_other(tmp_path: Path) -> None:
    """With the header again."""
    one = "id,message\n1,Hello\n"
    made = imported(tmp_path, (one + one.replace("1", "2")).encode(), "id=id", "message=message", code=1)
    assert [ticket["id"] for ticket in made["tickets"]] == ["1", "2"]


def test_a_bar_moves_on_a_terminal(tmp_path: Path) -> None:
    """And nowhere else: elsewhere standard error is empty."""
    (tmp_path / "in.csv").write_text("message\n" + "Hi\n" * 500)
    words = "import csv in.csv --map message=message -o a.yaml"
    command = [sys.executable, "-m", "engine.cli", *words.split()]
    ours, theirs = os.openpty()
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, timeout=120)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert (done.returncode, "in.csv" in shown, "100%" in shown) == (0, True, True)
    done = subprocess.run([*command, "--force"], cwd=tmp_path, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
