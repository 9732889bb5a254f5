"""`deskproof schema`, and the schema that `deskproof new` puts beside a pack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from engine.cli import main
from engine.new import EXAMPLE
from tests.commands import deskproof

FIRST_LINE = "# yaml-language-server: $schema=pack.schema.json\n"


def run(*arguments: str | Path) -> Result:
    return deskproof("schema", *arguments)


@pytest.fixture
def whole(root: Path) -> str:
    return (root / "engine" / "pack.schema.json").read_text("utf-8")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "my-desk.yaml"
    path.write_text(EXAMPLE, "utf-8")
    return path


def test_alone_it_prints_the_schema_as_it_is(whole: str) -> None:
    result = run()
    assert (result.exit_code, result.stdout, result.stderr) == (0, whole, "")


def test_of_a_part_nothing_is_required(whole: str) -> None:
    part, every = json.loads(run("--part").stdout), json.loads(whole)
    assert every.pop("required") == ["pack", "version", "tickets"]
    assert {**every, "title": part["title"], "description": part["description"]} == part


def test_for_a_pack_it_has_the_pack_s_names(pack: Path) -> None:
    result = run("--for", pack)
    assert (result.exit_code, result.stderr) == (0, "")
    schema = json.loads(result.stdout)
    Draft202012Validator.check_schema(schema)
    assert schema["$defs"]["ticket"]["properties"]["category"]["enum"] == ["delivery", "account"]
    assert schema["$defs"]["test"]["properties"]["ticket"]["enum"] == ["t-1", "t-2"]
    assert schema["required"] == ["pack", "version", "tickets"]
    assert "required" not in json.loads(run("--for", pack, "--part").stdout)


def test_for_a_folder_it_is_that_of_a_part() -> None:
    schema = json.loads(run("--for", "bank-disputes").stdout)
    assert "required" not in schema
    assert "card_last4" in schema["$defs"]["ticket"]["properties"]["answers"]["properties"]


def test_for_a_draft_it_says_what_could_not_be_read(pack: Path) -> None:
    """The fifth line of the tickets begins a list that never ends."""
    lines = EXAMPLE.splitlines()
    broken = lines.index("    messages: # one of these opens the episode")
    lines[broken] = "    messages: [Hello"
    pack.write_text("\n".join(lines), "utf-8")
    result = run("--for", pack)
    assert result.exit_code == 0
    assert f"{pack}:{broken + 1}:15: PACK004" in result.stderr
    told = "There may be more names than could be read, so any other is let through: tickets."
    assert result.stderr.splitlines()[-1] == told
    kinds: dict[str, Any] = json.loads(result.stdout)["$defs"]
    assert kinds["ticket"]["properties"]["category"]["enum"] == ["delivery", "account"]
    # The ticket before the mistake is proposed, the one after it isn't known.
    assert kinds["test"]["properties"]["ticket"]["examples"] == ["t-1"]


def test_for_a_draft_with_mistakes_it_says_nothing(pack: Path) -> None:
    """What can be read and isn't right is `deskproof check`'s business, and the editor's."""
    pack.write_text(EXAMPLE.replace("requires: [email]", "requres: [emial]").replace("id: t-1", "idd: t-1"), "utf-8")
    result = run("--for", pack)
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["$defs"]["test"]["properties"]["ticket"]["enum"] == ["t-2"]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "pack", "[", "\t", "%"])
def test_for_next_to_nothing_it_lets_everything_through(pack: Path, text: str) -> None:
    pack.write_text(text, "utf-8")
    result = run("--for", pack)
    assert result.exit_code == 0
    assert str(pack) in result.stderr
    ticket = json.loads(result.stdout)["$defs"]["ticket"]["properties"]
    assert "enum" not in ticket["category"]
    assert len(ticket["task"]["enum"]) == 3


def test_what_can_not_be_read_at_all_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"pack: \xff")
    result = run("--for", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{path}:1:7: PACK002" in result.stderr
    empty = tmp_path / "folder"
    empty.mkdir()
    result = run("--for", empty)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "PACK001" in result.stderr


def test_no_such_pack_is_a_mistake_of_usage() -> None:
    result = run("--for", "bank-dispute")
    assert result.exit_code == 2
    assert "Did you mean 'bank-disputes'?" in result.stderr


def test_a_file_is_written_whole_or_not_at_all(pack: Path, tmp_path: Path) -> None:
    target = tmp_path / "names.json"
    target.write_text("mine", "utf-8")
    (tmp_path / "broken.yaml").write_bytes(b"\xff")
    assert run("--for", tmp_path / "broken.yaml", "-o", target).exit_code == 1
    assert target.read_text("utf-8") == "mine"
    result = run("--for", pack, "-o", target)
    assert (result.exit_code, result.output) == (0, "")
    assert target.read_text("utf-8") == run("--for", pack).stdout
    assert {path.name for path in tmp_path.iterdir()} == {"my-desk.yaml", "names.json", "broken.yaml"}


def test_a_file_that_can_not_be_written_is_a_mistake_of_usage(pack: Path, tmp_path: Path) -> None:
    over = run("--for", pack, "-o", pack)
    assert (over.exit_code, "is a file of the pack itself; nothing was written" in over.stderr) == (2, True)
    assert pack.read_text("utf-8") == EXAMPLE
    assert run("-o", tmp_path / "none" / "x.json").exit_code == 2
    assert run("-o", tmp_path).exit_code == 2


def test_a_new_pack_has_the_schema_beside_it(tmp_path: Path, whole: str) -> None:
    assert EXAMPLE.startswith(FIRST_LINE)
    result = CliRunner().invoke(main, ["new", str(tmp_path / "a.yaml")])
    assert f"Wrote {tmp_path / 'a.yaml'}, and pack.schema.json beside it for editors." in result.output
    assert (tmp_path / "pack.schema.json").read_text("utf-8") == whole
    # In a folder each file is a part of the pack.
    CliRunner().invoke(main, ["new", str(tmp_path / "desk")])
    assert (tmp_path / "desk" / "pack.schema.json").read_text("utf-8") == run("--part").stdout


def test_a_new_pack_leaves_a_schema_alone_that_is_there(tmp_path: Path, whole: str) -> None:
    """It may be another pack's, with the names in there (`deskproof schema --for a.yaml -o pack.schema.json`)."""
    (tmp_path / "pack.schema.json").write_text("mine", "utf-8")
    path = f"{tmp_path}/a.yaml"
    wrote = f"Wrote {path}, and pack-2.schema.json beside it for editors. Next: deskproof check {path}"
    assert deskproof("new", tmp_path / "a.yaml").output == f"{wrote}\n"
    assert (tmp_path / "pack.schema.json").read_text("utf-8") == "mine"
    assert (tmp_path / "pack-2.schema.json").read_text("utf-8") == whole
    first, rest = (tmp_path / "a.yaml").read_text("utf-8").split("\n", 1)
    assert first == "# yaml-language-server: $schema=pack-2.schema.json"
    assert rest == EXAMPLE.partition("\n")[2]
    # The next one finds what fits; in a folder another one does.
    assert (
        deskproof("new", tmp_path / "b.yaml").output
        == f"Wrote {tmp_path}/b.yaml. Next: deskproof check {tmp_path}/b.yaml\n"
    )
    assert "$schema=pack-2.schema.json\n" in (tmp_path / "b.yaml").read_text("utf-8")
    assert "and pack-3.schema.json beside it" in deskproof("new", tmp_path / "pack.yaml").output


def test_a_pack_that_ships_names_the_schema_by_a_path_of_its_own(root: Path) -> None:
    """Every file of every pack, by the path from where it stands."""
    files = sorted((root / "scenarios").glob("*/*.yaml"))
    assert len(files) > 10
    for file in files:
        first = file.read_text("utf-8").partition("\n")[0]
        named = file.parent / first.removeprefix("# yaml-language-server: $schema=")
        assert named.resolve() == root / "engine" / "part.schema.json", file


def test_a_link_to_itself_is_written_over(tmp_path: Path, whole: str) -> None:
    (tmp_path / "x.json").symlink_to("x.json")
    assert run("-o", tmp_path / "x.json").exit_code == 0
    assert (tmp_path / "x.json").read_text("utf-8") == whole
