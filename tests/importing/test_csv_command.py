"""`deskproof import csv`: what it writes, says and exits with (0 fine, 1 findings, 2 usage)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import Result

from engine.load import check_pack
from tests.importing.exports import EXPORT, MAPS, PACK, maps, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, so that what is printed has short paths in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.csv").write_text(EXPORT, "utf-8", newline="")
    return tmp_path


def written(folder: Path, text: str, *arguments: str | Path) -> Result:
    """The import of a file that holds such a text; `message` is its column of messages."""
    (folder / "in.csv").write_bytes(text.encode())
    return run("in.csv", "--map", "message=message", "-o", "out.yaml", *arguments)


# -- A pack


def test_from_an_export_to_a_pack(folder: Path) -> None:
    result = run("desk.csv", *maps(*MAPS), "-o", "desk.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "desk.csv: UTF-8 with a byte order mark, semicolons between cells, double quotes around them, "
        "lines end in CRLF (4) and LF (2)\n"
        "3 rows read: 3 tickets, 0 rows skipped\n"
        "1 answer to be written: TODO stands where a cell is empty that a category needs\n"
        "Wrote desk.yaml, and pack.schema.json beside it for editors. Next: deskproof check desk.yaml\n"
    )
    assert (folder / "desk.yaml").read_bytes().decode() == PACK
    pack, findings = check_pack(folder / "desk.yaml")
    assert pack is not None
    assert {finding.severity for finding in findings} <= {"warning"}


def test_the_same_file_gives_the_same_bytes(folder: Path) -> None:
    for name in ("one", "two"):
        assert run("desk.csv", *maps(*MAPS), "-o", f"{name}/desk.yaml").exit_code == 0
    assert (folder / "one" / "desk.yaml").read_bytes() == (folder / "two" / "desk.yaml").read_bytes()


def test_a_file_says_which_column_is_what(folder: Path) -> None:
    lines = ["id: Ticket", "message: [Body, Subject]", "field.order_id: Order number", "known.email: Requester"]
    (folder / "desk-map.yaml").write_text("\n".join(lines))
    assert run("desk.csv", *maps("desk-map.yaml", "category=Queue"), "-o", "-").exit_code == 0
    found = yaml.safe_load(run("desk.csv", *maps("desk-map.yaml", "category=Queue"), "-o", "-").stdout)
    assert found["tickets"][0]["messages"] == ["Hello,\n\nwhere is my parcel #W23?", "Late parcel"]
    assert found["tickets"][1]["messages"] == ['He said "no" 🙂']
    assert found["categories"] == {"Delivery": {"requires": ["order_id", "email"]}, "Account": {"requires": ["email"]}}


def test_where_there_is_no_id_a_row_is_called_after_its_number(folder: Path) -> None:
    text = "message,split,task\nHi,test,\n\n,train,\nHello,,medium-complete-info\n"
    result = written(folder, text, *maps("split=split", "task=task"), "--language", "de", "--name", "Lampen")
    assert result.exit_code == 1
    assert "in.csv:4:1: skipped: the message is empty\n" in result.stderr
    found = yaml.safe_load((folder / "out.yaml").read_text("utf-8"))
    assert (found["pack"], found["language"]) == ("Lampen", "de")
    assert found["tickets"] == [
        {"id": "row-1", "task": "easy-info-collection", "messages": ["Hi"], "split": "test"},
        {"id": "row-3", "task": "medium-complete-info", "messages": ["Hello"]},
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,Again", "skipped: the id is taken: '1' is that of line 2"),
        (" ,Hi", "skipped: the id is empty"),
        ("3, \t", "skipped: the message is empty"),
        ("3", "skipped: too few cells: 1 where the header has 2"),
        ('3,"a\nb",c', "skipped: too many cells: 3 where the header has 2 (up to line 4)"),
        ("3,a\0b", "skipped: a NUL byte"),
    ],
)
def test_a_broken_row_is_told_and_skipped(folder: Path, row: str, said: str) -> None:
    result = written(folder, f"id,message\n1,Hi\n{row}\n", "--map", "id=id")
    assert result.exit_code == 1
    assert f"{said}\n" in result.stderr
    why = said.removeprefix("skipped: ").split(":")[0].split(" (")[0]
    assert f"2 rows read: 1 ticket, 1 row skipped\n  1 {why}\nWrote out.yaml" in result.stdout
    assert [ticket["id"] for ticket in yaml.safe_load((folder / "out.yaml").read_text("utf-8"))["tickets"]] == ["1"]


def test_a_field_may_be_on_file_or_asked_for_but_has_one_value(folder: Path) -> None:
    """Of the five: on file, asked for, both with the same value, both with another one, neither."""
    rows = "1,a,\n2,,b\n3,c,c\n4,d,e\n5,,\n"
    text = f"message,on file,said\n{rows}"
    result = written(folder, text, *maps("known.order=on file", "field.order=said"))
    assert (result.exit_code, result.stderr) == (
        1,
        "in.csv:5:1: skipped: two values of a field: 'order' is 'd' on file, and 'e' when asked\n",
    )
    assert "5 rows read: 4 tickets, 1 row skipped\n  1 two values of a field\n" in result.stdout
    pack, findings = check_pack(folder / "out.yaml")
    assert pack is not None, findings
    assert [ticket.known.get("order") for ticket in pack.tickets.values()] == ["a", None, "c", None]
    made = yaml.safe_load((folder / "out.yaml").read_text("utf-8"))
    answers = [{}, {"order": "b"}, {"order": "c"}, {"order": "TODO"}]
    assert [ticket.get("answers", {}) for ticket in made["tickets"]] == answers


def test_what_is_told_of_a_cell_is_cut(folder: Path) -> None:
    long = "x" * 1_000_000
    result = written(folder, f"id,message\n{long},Hi\n{long},Ho\n", "--map", "id=id")
    assert result.stderr == f"in.csv:3:1: skipped: the id is taken: '{'x' * 60}…' is that of line 2\n"


def test_values_that_there_are_not(folder: Path) -> None:
    text = "message,split,task\nHi,Train,\nHo,,swift\n"
    result = written(folder, text, *maps("split=split", "task=task"))
    assert result.exit_code == 1
    assert "in.csv:2:1: skipped: a split that there isn't: 'Train'; did you mean 'train'?\n" in result.stderr
    assert "in.csv:3:1: skipped: a task that there isn't: 'swift'; there are: easy-info-collection, " in result.stderr
    assert result.stderr.endswith("No row makes a ticket: nothing was written.\n")
    assert not (folder / "out.yaml").exists()


def test_a_quote_is_shown(folder: Path) -> None:
    result = written(folder, 'id,message\n1,"Hi\n2,Ho\n')
    assert result.stderr == "in.csv:2:3: skipped: a quote isn't closed\n  1,\"Hi\n    ^\n"


def test_a_row_of_very_many_lines_is_worth_a_word(folder: Path) -> None:
    lines = "\n" * 200
    result = written(folder, f'id,message\n1,"Hi{lines}"\n')
    assert (result.exit_code, result.stderr) == (
        0,
        "in.csv:2:1: note: this row goes on to line 202; is a quote missing at the end of one of its cells?\n",
    )


def test_another_encoding_is_found_out_or_said(folder: Path) -> None:
    (folder / "in.csv").write_bytes("message\nGrüße\n".encode("cp1252"))
    result = run("in.csv", *maps("message=message"), "-o", "a.yaml")
    assert (result.exit_code, "in.csv: Windows-1252, " in result.stdout) == (0, True)
    assert result.stderr == (
        "Note: line 2 isn't UTF-8, so all of it is read as Windows-1252; --encoding says otherwise.\n"
    )
    assert yaml.safe_load((folder / "a.yaml").read_text("utf-8"))["tickets"][0]["messages"] == ["Grüße"]
    result = run("in.csv", *maps("message=message"), "-o", "b.yaml", "--encoding", "utf-8")
    assert (result.exit_code, "skipped: bytes that can't be read" in result.stderr) == (1, True)


def test_a_dialect_may_be_said(folder: Path) -> None:
    (folder / "in.csv").write_text("message\tid\n~Hi,\n~~you~~~\tno\n")
    given = [*maps("message=message", "id=id"), "-o", "-", "--delimiter", "tab", "--quote", "~"]
    found = yaml.safe_load(run("in.csv", *given).stdout)
    assert found["tickets"] == [{"id": "no", "task": "easy-info-collection", "messages": ["Hi,\n~you~"]}]


def test_categories_that_are_hardly_meant(folder: Path) -> None:
    many = "".join(f"Hi,{number}\n" for number in range(101))
    said = written(folder, f"message,queue\n{many}", "--map", "category=queue").stdout
    assert "101 categories are a lot to choose from: is it the right column?\n" in said
    long = written(folder, f"message,queue\nHi,{'x' * 201}\nHo, \n", "--map", "category=queue", "--force").stdout
    assert "1 ticket without a category\nA category with a name of 201 characters: is it the right column?\n" in long


def test_categories_that_are_hardly_two(folder: Path) -> None:
    cells = ("Delivery", "delivery", " Delivery", "Set up", "Setup", "Account")
    said = written(folder, "message,queue\n" + "".join(f"Hi,{cell}\n" for cell in cells), "--map", "category=queue")
    assert (
        "5 categories differ only in capitals and blanks from another one: "
        "'Delivery', 'delivery', ' Delivery', 'Set up', 'Setup'\n"
    ) in said.stdout
    pack, _ = check_pack(folder / "out.yaml")
    assert pack is not None and list(pack.categories) == [*cells]  # they are texts as they stand in the file


# -- What doesn't fit


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs of 100 values at the most. A text or a key is one, a mapping or a list is two more."""
    monkeypatch.setattr("engine.importing.placing.MAX_NODES", 100)


@pytest.mark.usefixtures("small")
def test_too_many_tickets_for_a_pack(folder: Path) -> None:
    text = "message\n" + "".join(f"Hi {number}\n" for number in range(20))
    result = written(folder, text)
    assert (result.exit_code, (folder / "out.yaml").exists()) == (1, False)
    # The pack, its name, version and description, and the list: 2 + 6 + 1 + 2. A ticket, its id and task, and the list
    # with a message: 2 + 4 + 1 + 2 + 1.
    assert "out.yaml would be too large: 20 tickets with 211 values and " in result.stderr
    assert "or more, and a pack has 100 and 8,000,000 at the most. About 8 would fit" in result.stderr
    assert result.stderr.endswith("nothing was written. --per-pack N writes several packs.\n")


@pytest.mark.usefixtures("small")
def test_several_packs(folder: Path) -> None:
    text = "message\n" + "".join(f"Hi {number}\n" for number in range(20))
    result = written(folder, text, "--per-pack", "8")
    assert result.exit_code == 0
    names = ["out-1.yaml", "out-2.yaml", "out-3.yaml"]
    assert f"Next: deskproof check {' '.join(names)}\n" in result.stdout
    packs = [yaml.safe_load((folder / name).read_text("utf-8")) for name in names]
    assert [(pack["pack"], len(pack["tickets"])) for pack in packs] == [("out-1", 8), ("out-2", 8), ("out-3", 4)]
    assert written(folder, text, "--per-pack", "8").exit_code == 2  # they are there


def test_several_packs_are_of_one_desk(folder: Path) -> None:
    """A category needs the same fields in each of them."""
    run("desk.csv", *maps(*MAPS), "-o", "desk", "--per-pack", "1")
    packs = [yaml.safe_load((folder / f"desk-{number}" / "pack.yaml").read_text("utf-8")) for number in (1, 2, 3)]
    assert len({str((pack["fields"], pack["categories"])) for pack in packs}) == 1


ONE = "All names of fields, and the longest of a category, come to"


@pytest.mark.parametrize(
    ("queues", "field", "wrong"),
    [
        # Each name has seven characters more, for what stands between it and the next.
        (["q" * 98_993], "", None),
        (["q" * 98_994], "", "All names of categories come to 99,001 characters, and 99,000 are the most"),
        ([f"{number:093}" for number in range(990)], "", None),
        ([f"{number:093}" for number in range(991)], "", "All names of categories come to 99,100 characters, and 99,0"),
        (["q" * 50_000], "f" * 48_993, None),
        (["q" * 50_000], "f" * 48_994, f"{ONE} 99,001 characters, and 99,000 are the most: nothing was written.\n"),
    ],
)
def test_names_that_no_answer_can_hold(folder: Path, queues: list[str], field: str, wrong: str | None) -> None:
    text = "message,queue,order\n" + "".join(f"Hi,{queue},1\n" for queue in queues)
    mapped = maps("category=queue", *([f"field.{field}=order"] if field else []))
    result = written(folder, text, *mapped)
    assert (result.exit_code, (folder / "out.yaml").exists()) == ((0, True) if wrong is None else (1, False))
    if wrong is None:
        assert check_pack(folder / "out.yaml")[0] is not None
    else:
        assert wrong in result.stderr


# -- What is wrong with what is said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "a.yaml"], "--map says which column is what."),
        (maps("message=Body"), "-o PACK says what to write."),
        ([*maps("message=Bod"), "-o", "a.yaml"], "there is no column 'Bod'; did you mean 'Body'?"),
        ([*maps("body=Body"), "-o", "a.yaml"], "a column can't be 'body'"),
        ([*maps("id=Ticket"), "-o", "a.yaml"], "message=COLUMN is missing"),
        ([*maps("Body"), "-o", "a.yaml"], "'Body' is neither WHAT=COLUMN nor a file."),
        ([*maps("x" * 5000), "-o", "a.yaml"], "is neither WHAT=COLUMN nor a file."),
        ([*maps("message=Body"), "-o", "x" * 300], "can't be written: File name too long"),
        ([*maps("message=Body"), "-o", ""], "the pack's path is empty"),
        ([*maps("message=Body"), "-o", "a.yaml", "--task", "easy-info"], "Did you mean 'easy-info-collection'?"),
        ([*maps("message=Body"), "-o", "a.yaml", "--encoding", "utf-9"], "There is no encoding 'utf-9'"),
        ([*maps("message=Body"), "-o", "a.yaml", "--delimiter", "tabs"], "'tabs' is not one character"),
        *(
            (
                [*maps("message=Body"), "-o", "a.yaml", "--quote", ";", *more],
                "';' stands between the cells of this file",
            )
            for more in ([], ["--delimiter", ";"])
        ),
        ([*maps("message=Body"), "-o", "a.yaml", "--language", "German"], "'German' is no language, such as de or"),
        ([*maps("message=Body"), "-o", "a.yaml", "--name", ""], "A pack's name has 1 to 200 characters"),
        ([*maps("message=Body"), "-o", "a.yaml", "--name", "\udcff"], "is not text"),
        ([*maps("message=Body", "field.\udcff=Body"), "-o", "a.yaml"], "is not text"),
        ([*maps("message=Body"), "-o", "-", "--per-pack", "2"], "Several packs can't be written to standard output."),
    ],
)
def test_usage(folder: Path, arguments: list[str], said: str) -> None:
    result = run("desk.csv", *arguments)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert not (folder / "a.yaml").exists()


def test_a_map_s_mistakes_have_places(folder: Path) -> None:
    (folder / "map.yaml").write_text("message: Bodi\nidd: Ticket\nfield.a: 7\n")
    result = run("desk.csv", *maps("map.yaml"), "-o", "a.yaml")
    assert result.exit_code == 1
    assert (
        "map.yaml:3:10: PACK020: a column's name is meant here, and YAML reads 7 as a number; quote it\n"
        in result.stderr
    )
    (folder / "map.yaml").write_text("message: Bodi\nidd: Ticket\n")
    result = run("desk.csv", *maps("map.yaml"), "-o", "a.yaml")
    assert result.exit_code == 1
    assert result.stderr == (
        "map.yaml:1:10: PACK024: there is no column 'Bodi'\n"
        "  message: Bodi\n"
        "           ^\n"
        "  expected: Ticket, Subject, Body, Queue, Order number, Requester\n"
        "  did you mean 'Body'?\n"
        "map.yaml:2:1: PACK024: a column can't be 'idd'\n"
        "  idd: Ticket\n"
        "  ^\n"
        "  expected: id, message, category, task, split, field.NAME, known.NAME\n"
        "  did you mean 'id'?\n"
    )


def test_a_long_text_doesn_t_fit_either(folder: Path) -> None:
    result = written(folder, f"message\n{'x' * 8_000_000}\n")
    assert (result.exit_code, (folder / "out.yaml").exists()) == (1, False)
    assert "out.yaml would be too large: 1 ticket with 21 values and 8,000,1" in result.stderr
    assert written(folder, f"message\n{'x' * 7_000_000}\n").exit_code == 0
    assert check_pack(folder / "out.yaml")[0] is not None
