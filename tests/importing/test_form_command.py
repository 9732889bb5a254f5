"""`deskproof import issue-form`: what it writes, says and exits with (0 fine, 1 findings, 2 usage)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import Result

from engine.load import check_pack
from tests.commands import deskproof
from tests.importing.forms import BUG, PACK, WISH


def run(*arguments: str | Path) -> Result:
    return deskproof("import", "issue-form", *arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with two forms."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bug.yml").write_text(BUG, "utf-8")
    (tmp_path / "wish.yml").write_text(WISH, "utf-8")
    return tmp_path


def test_from_forms_to_a_pack(folder: Path) -> None:
    result = run("bug.yml", "wish.yml", "-o", "desk.yaml")
    assert (result.exit_code, result.stdout) == (
        0,
        "2 forms, 8 fields\n"
        "Wrote desk.yaml, and pack.schema.json beside it for editors. Next: deskproof check desk.yaml\n",
    )
    assert result.stderr == (
        "Note: 'Version' doesn't offer the same in all forms, so it is 2 fields: "
        "'Version (Bug report)' (bug.yml:27:5), 'Version (機能 request)' (wish.yml:4:3).\n"
    )
    assert (folder / "desk.yaml").read_text("utf-8").partition("\n")[2] == PACK
    pack, findings = check_pack(folder / "desk.yaml")
    assert pack is not None
    assert {finding.severity for finding in findings} <= {"warning"}
    assert run("bug.yml", "wish.yml", "-o", "again/desk.yaml").exit_code == 0
    assert (folder / "again" / "desk.yaml").read_bytes() == (folder / "desk.yaml").read_bytes()


def test_a_form_with_many_fields_loads(folder: Path) -> None:
    """Twenty required ones: more than an episode has steps for by default."""
    elements = "".join(f"- type: input\n  id: f{n}\n  validations: {{required: true}}\n" for n in range(20))
    (folder / "long.yml").write_text(f"name: Long\nbody:\n{elements}")
    assert run("long.yml", "-o", "desk.yaml").exit_code == 0
    pack, findings = check_pack(folder / "desk.yaml")
    assert pack is not None, findings
    assert pack.max_steps == 24


def test_what_is_no_form_stops_the_others(folder: Path) -> None:
    (folder / "list.yml").write_text("- a\n")
    (folder / "settings.yml").write_text("blank_issues_enabled: false\n")
    files = ["bug.yml", "list.yml", "settings.yml"]
    result = run(*files, "-o", "desk.yaml")
    assert (result.exit_code, result.stdout, (folder / "desk.yaml").exists()) == (1, "", False)
    assert "list.yml:1:1: PACK013: " in result.stderr
    assert "settings.yml:1:1: PACK023: this is no issue form" in result.stderr
    assert result.stderr.endswith("2 files of 3 can't be used: nothing was written. --skip-broken leaves them out.\n")
    result = run(*files, "-o", "desk.yaml", "--skip-broken")
    assert result.exit_code == 1  # something was left out, and a script should notice
    assert list(yaml.safe_load((folder / "desk.yaml").read_text("utf-8"))["categories"]) == ["Bug report"]
    result = run("list.yml", "-o", "other.yaml", "--skip-broken")
    assert (result.exit_code, (folder / "other.yaml").exists()) == (1, False)
    assert result.stderr.endswith("1 file of 1 can't be used: nothing was written.\n")


def test_the_settings_of_forms_are_none(folder: Path) -> None:
    (folder / "config.yml").write_text("blank_issues_enabled: false\n")
    result = run("bug.yml", "config.yml", "-o", "desk.yaml")
    assert (result.exit_code, result.stderr) == (0, "Note: config.yml holds settings, not a form: left out.\n")


def test_settings_alone_are_no_form(folder: Path) -> None:
    (folder / "config.yml").write_text("blank_issues_enabled: false\n")
    result = run("config.yml", "-o", "desk.yaml")
    assert (result.exit_code, result.stdout, (folder / "desk.yaml").exists()) == (1, "", False)
    assert result.stderr == (
        "Note: config.yml holds settings, not a form: left out.\nNone of these files is a form: nothing was written.\n"
    )


def test_markdown_templates_can_t_be_imported(folder: Path) -> None:
    (folder / "Old.MD").write_text("---\nname: Old\nabout: A template\n---\n\n**What happened?**\n")
    result = run("bug.yml", "Old.MD", "-o", "desk.yaml")
    assert (result.exit_code, (folder / "desk.yaml").exists()) == (1, False)
    assert result.stderr == (
        "Old.MD:1:1: PACK001: this is a Markdown template; only forms, which are YAML, can be imported\n"
        "1 file of 2 can't be used: nothing was written. --skip-broken leaves it out.\n"
    )
    assert run("bug.yml", "Old.MD", "-o", "desk.yaml", "--skip-broken").exit_code == 1
    assert list(yaml.safe_load((folder / "desk.yaml").read_text("utf-8"))["categories"]) == ["Bug report"]


def test_a_misspelt_key_is_told_with_the_nearest(folder: Path) -> None:
    (folder / "a.yml").write_text("name: A\nbody:\n- type: input\n  id: a\n  validations:\n    requierd: true\n")
    result = run("a.yml", "-o", "desk.yaml")
    assert (result.exit_code, (folder / "desk.yaml").exists()) == (1, False)
    assert result.stderr == (
        "a.yml:6:5: PACK022: unknown key 'requierd'\n"
        "      requierd: true\n"
        "      ^\n"
        "  expected: required, accept\n"
        "  did you mean 'required'?\n"
        "1 file of 1 can't be used: nothing was written.\n"
    )


def test_names_that_are_too_long_for_an_answer(folder: Path) -> None:
    """99,000 characters, seven for what stands between two names, and the form's own."""
    (folder / "a.yml").write_text(f"name: A\nbody:\n- type: input\n  id: {'x' * 99_000}\n")
    result = run("a.yml", "-o", "desk.yaml")
    assert (result.exit_code, result.stderr) == (
        1,
        "All names of fields, and the longest of a category, come to 99,008 characters, and 99,000 are the most: "
        "nothing was written.\n",
    )


def test_every_kind_of_element_gives_a_pack_that_loads(folder: Path) -> None:
    elements = [
        "type: markdown, attributes: {value: Hi}",
        "type: input, id: a, attributes: {label: '🙂 {{ x }}', placeholder: p, value: v}, validations: {required: yes}",
        "type: textarea, id: b, attributes: {label: B, description: '{% if %}', render: shell}",
        "type: dropdown, id: c, attributes: {label: C, options: [1.10, true, ~, 'ORD-#'], default: 0}",
        "type: dropdown, id: d, attributes: {label: C, options: [x], multiple: true}, validations: {required: true}",
        "type: checkboxes, id: e, attributes: {label: E, options: [{label: o, required: true}, {label: p}]}",
        "type: upload, id: f, attributes: {label: F}, validations: {required: true, accept: '.png'}",
    ]
    (folder / "a.yml").write_text("name: 🐞\nbody:\n" + "".join(f"- {{{one}}}\n" for one in elements))
    result = run("a.yml", "-o", "desk.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    pack, findings = check_pack(folder / "desk.yaml")
    assert pack is not None, findings
    assert pack.categories["🐞"].requires == ("a", "d", "e", "f")
    assert pack.fields["c"].sample == ("1.10", "true", "~", "ORD-#")


def test_two_forms_of_one_name(folder: Path) -> None:
    (folder / "copy.yml").write_text(BUG, "utf-8")
    result = run("bug.yml", "copy.yml", "-o", "desk.yaml")
    assert result.exit_code == 1
    assert (
        "copy.yml:1:7: PACK040: another form is called 'Bug report' (at bug.yml:1:7); each is a category"
        in result.stderr
    )


def test_a_comment_behind_a_text_is_a_comment(folder: Path) -> None:
    (folder / "a.yml").write_text(
        "name: Bug #1\nbody:\n- type: input\n  id: a\n  validations:\n    required: true #for now\n"
    )
    result = run("a.yml", "-o", "-", "--task", "hard-efficient-resolution")
    assert result.exit_code == 0
    assert "a.yml:1:11: PACK010: '#' starts a comment here, so the text ends at 'Bug'" in result.stderr
    made = yaml.safe_load(result.stdout)
    assert made["categories"] == {"Bug": {"requires": ["a"]}}
    assert made["tickets"][0]["task"] == "hard-efficient-resolution"


def test_too_many_fields(folder: Path) -> None:
    elements = "".join(f"- {{type: input, id: f{n}}}\n" for n in range(201))
    (folder / "long.yml").write_text(f"name: Long\nbody:\n{elements}")
    result = run("long.yml", "-o", "desk.yaml")
    assert (result.exit_code, result.stderr) == (
        1,
        "200 fields are the most of a pack, and these forms ask for 201: nothing was written.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'FILE...'"),
        (["bug.yml"], "-o PACK says what to write."),
        (["none.yml", "-o", "a.yaml"], "'none.yml' does not exist."),
        (["bug.yml", "-o", "wish.yml"], "wish.yml exists already; nothing was written."),
        (["bug.yml", "-o", "bug.yml", "--force"], "bug.yml is what is read; nothing was written."),
        (["bug.yml", "-o", "a.yaml", "--task", "none"], "There is no task 'none'."),
    ],
)
def test_usage(folder: Path, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert (folder / "bug.yml").read_text("utf-8") == BUG
    assert (folder / "wish.yml").read_text("utf-8") == WISH
