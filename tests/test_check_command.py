"""`deskproof check`: formats, how grave lints are, the closing line and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engine.cli import main
from engine.load import shipped_packs
from engine.new import EXAMPLE
from tests.commands import deskproof
from tests.lints.marked import HEAD, TESTS, ticket

# One error, in line 7, and nothing that a lint could look at.
BROKEN = HEAD.replace("requires: [order]", "requires: [oder]") + ticket("a", "late", "Where is it?") + TESTS
# No errors; a category without a ticket, in line 8, and no tests.
HARDLY = HEAD + ticket("a", "late", "Where is it?", "It never came.")
EMPTY = "no ticket is of the category 'exchange': write one, or take the category out"
UNTESTED = (
    "this pack has no tests, so nothing notices when a change breaks one of its tickets: say under `tests` how an "
    "episode must go"
)


def run(*arguments: str | Path) -> Result:
    return deskproof("check", *arguments)


def written(folder: Path, text: str, name: str = "p.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# -- Text


def test_warnings_are_findings_and_no_errors(tmp_path: Path) -> None:
    path = written(tmp_path, HARDLY)
    result = run(path)
    assert result.exit_code == 0
    assert result.stdout == f"{path}: 1 ticket, 0 tests\n0 errors, 2 warnings\n"
    # The source line is shown with its own indentation, and the caret stands under the place.
    assert result.stderr == (
        f"{path}:1:7: PACK092: {UNTESTED}\n  pack: lamps\n        ^\n"
        f"{path}:8:3: PACK090: {EMPTY}\n    exchange: {{description: Another colour, requires: [colour]}}\n    ^\n"
        "deskproof explain PACK092 PACK090 says more.\n"
    )


def test_the_closing_line_counts(tmp_path: Path) -> None:
    broken, hardly = written(tmp_path, BROKEN, "broken.yaml"), written(tmp_path, HARDLY, "hardly.yaml")
    assert run(broken, hardly).stdout.endswith("\n1 error, 2 warnings\n")
    assert run(broken).stdout == "1 error, 0 warnings\n"
    assert run("--severity", "PACK092=ignore", hardly).stdout.endswith("\n0 errors, 1 warning\n")
    assert run("--severity", "PACK092=error", broken, hardly).stdout.endswith("\n2 errors, 1 warning\n")


# -- How grave lints are


def test_a_lint_that_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, HARDLY)
    assert run(path).exit_code == 0
    assert run("--severity", "PACK090=error", path).exit_code == 1
    said = written(tmp_path, HARDLY + "lints: {PACK090: error, PACK092: ignore}\n")
    result = run(said)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "1 error, 0 warnings")
    # What stands on the command line comes first.
    result = run("--severity", "PACK090=warning", said)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "0 errors, 1 warning")
    assert run("--severity", "PACK090=ignore", said).stdout.endswith("\nNo findings.\n")


def test_a_lint_keeps_no_pack_from_being_played(tmp_path: Path) -> None:
    """Lints are for `check`: an error among them is one of the author's own making."""
    path = written(tmp_path, HARDLY + "lints: {PACK090: error}\n")
    played = CliRunner().invoke(main, ["play", str(path), "--seed", "1"], input="quit\n")
    assert (played.exit_code, "PACK090" in played.output) == (0, False)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("PACK090", "'PACK090' is not of the form PACK080=..."),
        ("PACK900=error", "there is no check 'PACK900'; did you mean 'PACK080'?"),
        ("PACK030=ignore", "PACK030 is an error whatever is asked for: only warnings can be ignored; there is: "),
        ("P07=ignore", "P07 is a check of the proof: how grave it is, is said under `proof`; there is: PACK080, "),
        ("PACK099=ignore", "PACK099 counts the findings that aren't listed: it is as grave as they are; there is: "),
        ("PACK090=eror", "there is no severity 'eror'; did you mean 'error'?"),
    ],
)
def test_a_severity_that_there_is_not(tmp_path: Path, option: str, said: str) -> None:
    result = run("--severity", option, written(tmp_path, HARDLY))
    assert (result.exit_code, said in " ".join(result.stderr.split())) == (2, True), result.stderr


def test_what_the_loader_warns_of_is_as_grave_as_is_asked_for(tmp_path: Path) -> None:
    """Files in a subfolder, which only the loader sees."""
    written(tmp_path, EXAMPLE, "pack.yaml")
    (tmp_path / "more").mkdir()
    written(tmp_path / "more", "tickets: []\n")
    assert "more:1:1: PACK086: " in run(tmp_path).stderr
    assert run("--severity", "PACK086=ignore", tmp_path).stdout.endswith("\nNo findings.\n")
    assert run("--severity", "PACK086=error", tmp_path).exit_code == 1
    written(tmp_path, EXAMPLE + "lints: {PACK086: ignore}\n", "pack.yaml")
    assert run(tmp_path).stdout.endswith("\nNo findings.\n")


def test_a_folder_that_leads_back_to_the_pack_holds_nothing_more(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    written(tmp_path / "desk", EXAMPLE, "pack.yaml")
    (tmp_path / "desk" / "self").symlink_to(".")
    (tmp_path / "desk" / "up").symlink_to("..")
    written(tmp_path, EXAMPLE, "other.yaml")  # so that there is YAML further out
    assert (run(tmp_path / "desk").exit_code, run(tmp_path / "desk").stderr) == (0, "")


def test_a_file_that_leads_to_itself(tmp_path: Path) -> None:
    written(tmp_path, EXAMPLE, "pack.yaml")
    (tmp_path / "more.yaml").symlink_to("more.yaml")
    result = run(tmp_path)
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        1,
        f"{tmp_path}/more.yaml:1:1: PACK001: this link leads nowhere",
    )


def test_a_lint_that_a_pack_spells_wrong(tmp_path: Path) -> None:
    result = run(written(tmp_path, HARDLY + "lints:\n  PACK80: ignore\n  PACK090: never\n"))
    assert result.exit_code == 1
    assert ":18:3: PACK022: unknown key 'PACK80'" in result.stderr
    assert ":19:12: PACK024: 'never' can't stand here" in result.stderr


# -- Formats


def test_as_json(tmp_path: Path) -> None:
    good, hardly = written(tmp_path, EXAMPLE, "good.yaml"), written(tmp_path, HARDLY)
    result = run("--format", "json", "--severity", "PACK092=error", good, hardly)
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (1, "", 1)
    assert json.loads(result.stdout) == {
        "checked": [str(good), str(hardly)],
        "errors": 1,
        "findings": [
            {
                "code": code,
                "title": title,
                "severity": severity,
                "message": message,
                "file": str(hardly),
                "line": line,
                "column": column,
                "expected": None,
                "nearest": None,
                "source": HARDLY.splitlines()[line - 1],
                "also": [],
            }
            for code, title, severity, message, line, column in (
                ("PACK092", "pack without tests", "error", UNTESTED, 1, 7),
                ("PACK090", "unbalanced categories", "warning", EMPTY, 8, 3),
            )
        ],
    }


def test_as_annotations(tmp_path: Path) -> None:
    broken, hardly = written(tmp_path, BROKEN, "a,b.yaml"), written(tmp_path, HARDLY)
    result = run("--format", "github", broken, hardly)
    # 'oder' begins with the 53rd character of its line.
    file = str(broken).replace(",", "%2C")
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines() == [
        f"::error file={file},line=7,col=53,title=PACK030::unknown field 'oder'%0Aexpected: order, colour%0A"
        "did you mean 'order'?",
        f"::warning file={hardly},line=1,col=7,title=PACK092::{UNTESTED}",
        f"::warning file={hardly},line=8,col=3,title=PACK090::{EMPTY}",
        "1 error, 2 warnings",
    ]
    clean = run("--format", "github", written(tmp_path, EXAMPLE))
    assert (clean.exit_code, clean.output) == (0, "No findings.\n")


def test_a_format_that_there_is_not(tmp_path: Path) -> None:
    path = written(tmp_path, EXAMPLE)
    assert run("--format", "xml", path).exit_code == 2
    assert "'text', 'json', 'github'" in run("--format", "xml", path).stderr
    assert run("--json", path).exit_code == 2


# -- What ships


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_a_shipped_pack_has_no_findings(path: Path) -> None:
    result = run(path)
    assert (result.exit_code, result.stderr, result.stdout.splitlines()[-1]) == (0, "", "No findings.")


def test_neither_has_a_new_one(tmp_path: Path) -> None:
    result = run(written(tmp_path, EXAMPLE))
    assert (result.exit_code, result.stderr, result.stdout.splitlines()[-1]) == (0, "", "No findings.")
