"""Files as no standard has them: each gives an exact account of its rows, a pack that loads, and the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.load import check_pack
from tests.importing.exports import maps, run

HEAD = "id,msg,cat,order\n"
MAPS = ("id=id", "message=msg", "category=cat", "field.order=order")
SMART = "It’s “late” – really…"
YAML_LIKE = (
    *("{{ order }}", "{% if x %}", "{{", "- a\n- b", "a: b", "# c", "&a *a", "*a", "!tag", "---\nx", "...", "{a: b}"),
    *("%YAML 1.2", "@x", "`x`", "\ttab", "  lead", "trail  ", "\n\nx\n\n", "<<", "=", "\\n", "'x'", "null", "~", "yes"),
    *(
        "TODO",
        "a\x85b\u2028c",
        "\ufeff",
        "a\rb",
        "a\r\nb",
        "\x1b[0m",
        "\u202e",
        "word " * 60,
        "x\n ",
        "|",
        "> x",
        "? x",
    ),
)


def written(texts: tuple[str, ...]) -> str:
    """A row for each text, in quotes, as the message, the category and the answer."""
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    return HEAD + "".join(f"{number},{text},{text},{text}\n" for number, text in enumerate(quoted))


LONG = "a, b\n" * 40_000
ODD_IDS = ("a/b", "..", "~", "yes", "🙂", "e\u0301", "\x07", "%41")
# What a file holds, the messages of its tickets, and the lines of the rows that are skipped, by why.
FILES: dict[str, tuple[bytes, list[str], dict[str, list[int]]]] = {
    "UTF-16": (f"{HEAD}1,{SMART},c,1\n".encode("utf-16"), [SMART], {}),
    "UTF-16 without a mark": (f"{HEAD}1,{SMART},c,1\n".encode("utf-16-le"), [SMART], {}),
    "UTF-16 without a mark, the other way": (f"{HEAD}1,{SMART},c,1\n".encode("utf-16-be"), [SMART], {}),
    "UTF-16 cut in two": (f"\ufeff{HEAD}1,a,c,1\n".encode("utf-16-le")[:-1], [], {"bytes that can't be read": [2]}),
    "Windows-1252": (f"{HEAD}1,{SMART},c,1\n".encode("cp1252"), [SMART], {}),
    "Latin-1": (f"{HEAD}1,Grüße,c,1\n".encode("latin-1"), ["Grüße"], {}),
    "UTF-8 cut in two": (f"{HEAD}1,äöü,c,1\n2,äö".encode()[:-1], ["äöü"], {"too few cells": [3]}),
    "semicolons": (f"{HEAD}1,a,c,1\n".replace(",", ";").encode(), ["a"], {}),
    "tabs": (f"{HEAD}1,a,c,1\n".replace(",", "\t").encode(), ["a"], {}),
    "bars": (f"{HEAD}1,a,c,1\n".replace(",", "|").encode(), ["a"], {}),
    "CR alone": (f"{HEAD}1,a,c,1\n2,b,c,1\n".replace("\n", "\r").encode(), ["a", "b"], {}),
    "all line ends": (f"{HEAD}1,a,c,1\r\n2,b,c,1\r3,d,c,1\n\n4,e,c,1".encode(), ["a", "b", "d", "e"], {}),
    "too short, too long": (
        f"{HEAD}1,a\n2,a,c,1,2\n3,b,c,1\n".encode(),
        ["b"],
        {"too few cells": [2], "too many cells": [3]},
    ),
    "separators at the end": (f"{HEAD}1,a,c,1,,\n2,b,c,1,\n".encode(), ["a", "b"], {}),
    "doubled quotes": (f'{HEAD}1,"He said ""no"", twice",c,1\n'.encode(), ['He said "no", twice'], {}),
    "backslashes before quotes": (
        f'{HEAD}1,"He said \\"no\\" to me",c,1\n2,b,c,1\n'.encode(),
        ["b"],
        {"a quote inside a quoted cell isn't doubled": [2]},
    ),
    "an open quote": (f'{HEAD}1,a,c,1\n2,"b,c,1\n3,d,c,1\n'.encode(), ["a", "d"], {"a quote isn't closed": [3]}),
    "an open quote at the end": (f'{HEAD}1,a,c,1\n2,"b'.encode(), ["a"], {"a quote isn't closed": [3]}),
    "a NUL": (f"{HEAD}1,a\0b,c,1\n2,b,c,1\n".encode(), ["b"], {"a NUL byte": [2]}),
    "NULs at the end": (f"{HEAD}1,a,c,1\n".encode() + bytes(50), ["a"], {"too few cells": [3]}),
    "the header twice": (f"{HEAD}1,a,c,1\n{HEAD}2,b,c,1\n".encode(), ["a", "b"], {"the header once more": [3]}),
    "ids that repeat": (
        f"{HEAD}1,a,c,1\n1,b,c,1\n01,d,c,1\n 1,e,c,1\n,f,c,1\n".encode(),
        ["a", "d", "e"],
        {"the id is taken": [3], "the id is empty": [6]},
    ),
    "odd ids": ((HEAD + "".join(f"{one},{one},c,1\n" for one in ODD_IDS)).encode(), [*ODD_IDS], {}),
    "texts like YAML": (written(YAML_LIKE).encode(), [*YAML_LIKE], {}),
    "cells of 200 and 1,000 kB": (f'{HEAD}1,"{LONG}",c,{"y" * 1_000_000}\n2,b,c,1\n'.encode(), [LONG, "b"], {}),
}


@pytest.mark.parametrize("name", FILES)
def test_odd_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, messages, skipped = FILES[name]
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(content)
    result = run("in.csv", *maps(*MAPS), "-o", "out.yaml")
    left = sum(map(len, skipped.values()))
    assert result.exit_code == (1 if left else 0)
    tickets = f"{len(messages)} ticket{'' if len(messages) == 1 else 's'}"
    account = f" read: {tickets}, {left} row{'' if left == 1 else 's'} skipped"
    assert account in result.stdout and result.stdout.splitlines()[1].startswith(f"{len(messages) + left} row")
    for why, lines in skipped.items():
        told = [line for line in result.stderr.splitlines() if f": skipped: {why}" in line]
        assert [int(line.split(":")[1]) for line in told] == lines
        assert f"  {len(lines)} {why}\n" in result.stdout
    if not messages:
        assert not Path("out.yaml").exists()
        return
    pack, findings = check_pack(Path("out.yaml"))
    assert pack is not None, findings
    assert [ticket.messages[0].text for ticket in pack.tickets.values()] == messages
    assert run("in.csv", *maps(*MAPS), "-o", "again.yaml", "--name", "out").stderr == result.stderr
    assert Path("again.yaml").read_bytes() == Path("out.yaml").read_bytes()


@pytest.mark.parametrize(
    ("header", "row", "pairs", "values"),
    [
        ("id,id,msg,msg", "1,2,a,b", ("message=#4", "id=#2", "field.x=#1"), {"x": "1"}),
        (",,msg,", "1,2,a,3", ("message=msg", "id=#1", "field.x=#2", "field.y=#4"), {"x": "2", "y": "3"}),
        ('"two\nlines",msg', "1,a", ("message=msg", "field.x=#1"), {"x": "1"}),
        (
            ",".join(f"c{number}" for number in range(200)),
            ",".join(f"v{number}" for number in range(200)),
            ("message=c0", *(f"field.f{number}=c{number}" for number in range(1, 200))),
            {f"f{number}": f"v{number}" for number in range(1, 200)},
        ),
        ("msg,a,b,c", "m,1,2,3", ("message=msg", "field.type=a", "field.{{ x }}=b", "field.⚠️ 版本?=c"), None),
    ],
)
def test_odd_headers(
    header: str,
    row: str,
    pairs: tuple[str, ...],
    values: dict[str, str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(f"{header}\n{row}\n", "utf-8")
    assert run("in.csv", *maps(*pairs), "-o", "out.yaml").exit_code == 0
    pack, findings = check_pack(Path("out.yaml"))
    assert pack is not None, findings
    (ticket,) = pack.tickets.values()
    values = values or {"type": "1", "{{ x }}": "2", "⚠️ 版本?": "3"}
    assert {name: turns[0].say for name, turns in ticket.answers.items()} == values


@pytest.mark.parametrize("rows", ["", "\n\n,,,\n  \n"])
def test_no_rows(rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(HEAD + rows)
    result = run("in.csv", *maps(*MAPS), "-o", "out.yaml")
    blank = "; 4 blank rows left out" if rows else ""
    assert result.stdout.splitlines()[1:] == [f"0 rows read: 0 tickets, 0 rows skipped{blank}"]
    assert (result.exit_code, result.stderr) == (1, "No row makes a ticket: nothing was written.\n")
