"""What an author sees in an editor: the language server that editors use reads a pack, and the schema that it names.

`make test` installs the server with npm, as tests/editor/package-lock.json pins it. Where there is none these tests are
skipped, but for CI.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.cli import main
from tests.editor.language_server import CURSOR, LanguageServer, language_server
from tests.lacking import cannot_run

ROOT = Path(__file__).resolve().parent.parent.parent
PINNED = json.loads((Path(__file__).parent / "package.json").read_text("utf-8"))["dependencies"]
SERVER = ROOT / "build" / "editor" / "node_modules" / "yaml-language-server"
SCHEMA: dict[str, Any] = json.loads((ROOT / "engine" / "pack.schema.json").read_text("utf-8"))
NAMED, HEAD = "# yaml-language-server: $schema=names.json\n", "pack: p\nversion: 1.0.0\n"


def lacking() -> str | None:
    """Why the pinned server doesn't run here."""
    if shutil.which("node") is None:
        return "node is not on the PATH"
    about = SERVER / "package.json"
    if not about.is_file():
        return "there is no language server; `make build/editor/made.stamp` installs it, and `make test` does so too"
    version = json.loads(about.read_text("utf-8"))["version"]
    return (
        None
        if version == PINNED[SERVER.name]
        else f"the language server is {version}; `make test` installs the pinned one"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new pack, the schema beside it, and in names.json the one with its own names."""
    folder = tmp_path_factory.mktemp("desk")
    run("new", str(folder / "my-desk.yaml"))
    run("schema", "--for", str(folder / "my-desk.yaml"), "-o", str(folder / "names.json"))
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LanguageServer]:
    if (why := lacking()) is not None:
        cannot_run(why)
    command = ["node", str(SERVER / "bin" / "yaml-language-server"), "--stdio"]
    with language_server(command, folder) as server:
        yield server


def run(*arguments: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def described(part: dict[str, Any]) -> dict[str, str]:
    """What a schema says of each of its keys."""
    return {key: inner["description"] for key, inner in part["properties"].items()}


def kind(name: str) -> dict[str, Any]:
    part: dict[str, Any] = SCHEMA["$defs"][name]
    return part


# -- Completion


def test_the_sections_of_a_pack(server: LanguageServer, folder: Path) -> None:
    offered = server.complete(folder / "a.yaml", NAMED.replace("names", "pack.schema") + HEAD + CURSOR)
    wanted = described(SCHEMA).items() - {(key, described(SCHEMA)[key]) for key in ("pack", "version")}
    assert {(label, item["documentation"]) for label, item in offered.items() if label != "Pack"} == wanted


def test_the_keys_of_a_field(server: LanguageServer, folder: Path) -> None:
    text = f"{NAMED}{HEAD}fields:\n  order_id:\n    {CURSOR}\n"
    offered = server.complete(folder / "a.yaml", text)
    assert offered.keys() == {"description", "schema", "sample"}
    assert {label: item["documentation"] for label, item in offered.items()} == described(kind("field"))


def test_the_categories_of_the_pack(server: LanguageServer, folder: Path) -> None:
    text = f"{NAMED}{HEAD}tickets:\n  - id: t-9\n    category: {CURSOR}\n"
    assert server.complete(folder / "a.yaml", text).keys() == {"delivery", "account"}


def test_the_effects_of_a_rule(server: LanguageServer, folder: Path) -> None:
    text = f"{NAMED}{HEAD}rules:\n  resolve:\n    - outcome: late\n      then:\n        {CURSOR}\n"
    offered = server.complete(folder / "a.yaml", text)
    effects = {"learn", "classify", "set", "say", "waste", "point_out", "resolve"}
    page = (ROOT / "docs" / "packs.md").read_text("utf-8").partition("| effect | meaning |")[2].partition("\n\n")[0]
    assert offered.keys() == effects == set(re.findall(r"(?m)^\| `(\w+)", page))
    # A truth is put there as what it is there for, and a text as a text: on the same line.
    inserted = {label: item.get("insertText") or item["textEdit"]["newText"] for label, item in offered.items()}
    assert (inserted["waste"], inserted["say"]) == ("waste: ${1:true}", "say: ${1:The details match.}")


@pytest.mark.parametrize("schema", ["names.json", "pack.schema.json"])
def test_the_tasks(server: LanguageServer, folder: Path, schema: str) -> None:
    """With a pack's names these are all that there are; without, they are examples."""
    text = f"# yaml-language-server: $schema={schema}\n{HEAD}tickets:\n  - id: t-9\n    task: {CURSOR}\n"
    offered = server.complete(folder / "a.yaml", text)
    assert offered.keys() == {"easy-info-collection", "medium-complete-info", "hard-efficient-resolution"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"tickets:\n  - id: t-9\n    required:\n      - {CURSOR}", {"order_id", "email"}),
        (f"tickets:\n  - id: t-9\n    answers:\n      {CURSOR}", {"order_id", "email"}),
        (f"tests:\n  - name: x\n    ticket: {CURSOR}", {"t-1", "t-2"}),
        (f"tests:\n  - name: x\n    steps:\n      - do: {{type: {CURSOR}}}", {"ask_info", "classify", "resolve"}),
        (f"tests:\n  - name: x\n    steps:\n      - do: {{type: ask_info, field: {CURSOR}}}", {"order_id", "email"}),
        (f"rules:\n  {CURSOR}", {"ask_info", "classify", "resolve"}),
        (f"rules:\n  ask_info:\n    - outcome: x\n      when: {{need: {CURSOR}}}", {"required", "optional", "none"}),
    ],
)
def test_other_names(server: LanguageServer, folder: Path, text: str, names: set[str]) -> None:
    assert server.complete(folder / "a.yaml", NAMED + HEAD + text + "\n").keys() == names


def test_outcomes_and_phrases(server: LanguageServer, folder: Path) -> None:
    step = f"{{do: {{type: resolve}}, expect: {{outcome: {CURSOR}}}}}"
    text = f"{NAMED}{HEAD}tests:\n  - name: x\n    steps:\n      - {step}\n"
    assert {"ask_info.answered", "resolve.premature", "invalid"} <= server.complete(folder / "a.yaml", text).keys()
    offered = server.complete(folder / "a.yaml", f"{NAMED}{HEAD}phrases:\n  {CURSOR}\n")
    assert {"stall", "resolve.premature", "invalid.action"} <= offered.keys()


# -- The pointer rests on something


@pytest.mark.parametrize(
    ("text", "part", "key"),
    [
        (f"max_{CURSOR}steps: 12", SCHEMA, "max_steps"),
        (f"tickets:\n  - {{id: t-9, ta{CURSOR}sk: x}}", kind("ticket"), "task"),
        (f"tickets:\n  - id: t-9\n    answers: {{email: {{sa{CURSOR}y: Hm.}}}}", kind("answer"), "say"),
        (f"people: {{slow: {{sta{CURSOR}lls: 1}}}}", kind("person"), "stalls"),
        (f"tests:\n  - steps:\n      - expect: {{rew{CURSOR}ard: 0}}", kind("expect"), "reward"),
    ],
)
def test_a_key_is_explained(server: LanguageServer, folder: Path, text: str, part: dict[str, Any], key: str) -> None:
    shown = server.hover(folder / "a.yaml", NAMED.replace("names", "pack.schema") + HEAD + text + "\n")
    plain = shown.replace("\\", "").replace("&nbsp;", " ")
    assert f"#### {part['properties'][key]['title']}" in plain
    assert part["properties"][key]["description"] in plain


def test_a_field_is_explained_by_its_own_description(server: LanguageServer, folder: Path) -> None:
    text = f"{NAMED}{HEAD}tickets:\n  - id: t-9\n    answers: {{ord{CURSOR}er_id: ORD-00001}}\n"
    assert "The number on the order confirmation" in server.hover(folder / "a.yaml", text)


# -- What is wrong


def changed(folder: Path, old: str, new: str, schema: str) -> tuple[str, int]:
    """The new pack with a slip in it, and the slip's line."""
    text = (folder / "my-desk.yaml").read_text("utf-8").replace("pack.schema.json", schema)
    assert text.count(old) == 1
    return text.replace(old, new), text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize("schema", ["pack.schema.json", "names.json"])
def test_a_new_pack_is_fine(server: LanguageServer, folder: Path, schema: str) -> None:
    text, _ = changed(folder, "name: the address", "name: the address", schema)
    assert server.diagnose(folder / "my-desk.yaml", text) == []


@pytest.mark.parametrize("schema", ["pack.schema.json", "names.json"])
def test_a_wrong_key_is_marked_at_its_line(server: LanguageServer, folder: Path, schema: str) -> None:
    text, line = changed(folder, "description: Signing in", "descripton: Signing in", schema)
    assert server.diagnose(folder / "my-desk.yaml", text) == [(line, "Property descripton is not allowed.")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("category: account", "category: acount", 'Value is not accepted. Valid values: "delivery", "account".'),
        ("requires: [email]", "requires: [emial]", 'Value is not accepted. Valid values: "order_id", "email".'),
        ("ticket: t-2", "ticket: t-3", 'Value is not accepted. Valid values: "t-1", "t-2".'),
        ("      email: sam@example.org", "      emial: sam@example.org", "Property emial is not allowed."),
    ],
)
def test_an_unknown_name_is_marked_at_its_line(
    server: LanguageServer, folder: Path, old: str, new: str, message: str
) -> None:
    text, line = changed(folder, old, new, "names.json")
    assert server.diagnose(folder / "my-desk.yaml", text) == [(line, message)]


def test_names_that_were_added_are_known_once_the_schema_is_written(server: LanguageServer, folder: Path) -> None:
    path = folder / "growing.yaml"
    text = (folder / "my-desk.yaml").read_text("utf-8").replace("pack.schema.json", "growing.json")
    path.write_text(text, "utf-8")
    run("schema", "--for", str(path), "-o", str(folder / "growing.json"))
    grown = text.replace("  account: {", "  other: {}\n  account: {").replace("category: account", "category: other")
    assert [message for _, message in server.diagnose(path, grown)] == [
        'Value is not accepted. Valid values: "delivery", "account".'
    ]
    path.write_text(grown, "utf-8")
    run("schema", "--for", str(path), "-o", str(folder / "growing.json"))
    server.written(folder / "growing.json")
    assert server.diagnose(path, grown) == []


def test_yes_and_no_are_what_the_loader_takes_them_for_where_the_editor_reads_yaml_1_1(
    server: LanguageServer, folder: Path
) -> None:
    """In YAML 1.2, which editors read unless they are told, both are texts."""
    text, line = changed(folder, "wrong: true", "wrong: yes", "pack.schema.json")
    said, answered = text.replace("My parcel never came.", "no"), text[: text.index("My parcel")].count("\n") + 1
    assert [number for number, _ in server.diagnose(folder / "my-desk.yaml", said)] == [line]
    server.configure(yamlVersion="1.1")
    assert [number for number, _ in server.diagnose(folder / "my-desk.yaml", said)] == [answered]
    server.configure(yamlVersion="1.2")


def test_the_packs_that_ship_are_fine_as_they_are(server: LanguageServer) -> None:
    files = sorted((ROOT / "scenarios").glob("*/*.yaml"))
    assert len(files) > 10
    assert {str(file): found for file in files if (found := server.diagnose(file, file.read_text("utf-8")))} == {}
    # They are looked at: the same with a slip in it.
    slip = files[0].read_text("utf-8") + "descriptoin: x\n"
    assert [message for _, message in server.diagnose(files[0], slip)] == ["Property descriptoin is not allowed."]


@pytest.mark.parametrize("name", ["bank_disputes", "it_helpdesk_de"])
def test_the_packs_that_ship_are_fine_with_their_own_names(server: LanguageServer, folder: Path, name: str) -> None:
    run("schema", "--for", str(ROOT / "scenarios" / name), "-o", str(folder / f"{name}.json"))
    for file in sorted((ROOT / "scenarios" / name).glob("*.yaml")):
        text = file.read_text("utf-8").replace("$schema=../../engine/part.schema.json", f"$schema={name}.json")
        assert text != file.read_text("utf-8")
        assert server.diagnose(folder / f"{name}-{file.name}", text) == [], file.name


# -- The lock


def test_the_lock_pins_everything_by_hash_and_names_no_registry() -> None:
    lock = json.loads((Path(__file__).parent / "package-lock.json").read_text("utf-8"))
    assert lock["packages"].pop("")["dependencies"] == PINNED
    assert lock["packages"]["node_modules/yaml-language-server"]["version"] == PINNED["yaml-language-server"]
    for name, entry in lock["packages"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"]), name
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", entry["integrity"]), name
        assert "resolved" not in entry, name
