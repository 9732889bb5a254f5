"""A run as CSV, as JUnit's XML and as Markdown: what other programs read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from engine.evaluation.ledger import EPISODES
from engine.evaluation.played import Played, played
from engine.evaluation.report.csv_file import COLUMNS, csv_file
from engine.evaluation.report.junit import junit
from engine.evaluation.report.markdown import as_code, markdown, table
from engine.evaluation.report.survey import survey
from tests.evaluation.reports import BROKEN, lamps_run

# What elements may have and hold, as Jenkins' schema for JUnit's XML says (xunit-plugin, junit-10.xsd): first what it
# requires. GitLab reads classname, name, failure, error and skipped of the same document.
SCHEMA = {
    "testsuites": ((), ("name", "time", "tests", "failures", "errors"), ("testsuite",)),
    "testsuite": (("name", "tests", "failures", "errors"), ("skipped", "time"), ("testcase",)),
    "testcase": (("name",), ("classname", "time"), ("failure", "error", "skipped")),
    "failure": ((), ("message", "type"), ()),
    "error": ((), ("message", "type"), ()),
    "skipped": ((), ("message", "type"), ()),
}


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    return lamps_run(tmp_path)


def change(run: Path, *changes: tuple[str, str]) -> Played:
    """The run with its records changed."""
    text = (run / EPISODES).read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (run / EPISODES).write_text(text, "utf-8")
    return played(run)


# -- CSV


def rows(run: Played) -> list[dict[str, str]]:
    return [*csv.DictReader(StringIO("".join(csv_file(run)), newline=""))]


def test_a_row_for_each_episode(lamps: Path) -> None:
    """Chance has four actions. With n steps left and the field known it may expect F(n) = 1.5 / 4 + (F(n - 1) - 0.25)
    3/4: 0.1875, 0.328125, 0.43359375. With it not known M(n) = (0.5 + F(n - 1)) / 4 + (M(n - 1) - 0.25) 3/4: -0.0625,
    -0.0625, -0.02734375, 0.025390625. It asks for the field in four steps with a chance of 1 - (3/4)^4."""
    found = rows(played(lamps))
    assert [*found[0]] == [*COLUMNS]
    assert [(row["ticket"], row["seed"], row["status"]) for row in found] == [
        *(("dark", "0", "done"), ("dark", "1", "done"), ("dark", "2", "error")),
        *(("hum", "0", "done"), ("hum", "1", "done"), ("hum", "2", "done")),
    ]
    hasty = dict(found[4])
    assert hasty.pop("pack_digest") == played(lamps).run.plan.packs["lamps"].digest
    assert hasty == {
        **{"pack": "lamps", "task": "easy-info-collection", "ticket": "hum", "seed": "1", "trial": "1"},
        **{"status": "done", "error": "", "end_reason": "max_steps", "resolved": "false", "score": "0"},
        **{"return": "-1", "regret": "3", "steps": "4", "optimal_steps": "2", "best_return": "2"},
        **{"random_return": "0.0253906", "random_score": "0.683594"},
        **{"dearest_step": "3", "dearest_outcome": "resolve.premature", "actions": "resolve (x4)"},
    }
    assert found[0]["dearest_step"] == "" and found[0]["actions"] == "ask_info model, resolve"


def test_what_is_not_done_has_no_numbers(lamps: Path) -> None:
    row = rows(played(lamps))[2]
    assert (row["status"], row["steps"]) == ("error", "0")
    assert {row[name] for name in ("resolved", "score", "return", "regret", "end_reason")} == {""}


def test_every_column_is_documented(root: Path) -> None:
    told = (root / "docs" / "evaluation.md").read_text("utf-8")
    assert all(f"`{column}`" in told for column in COLUMNS)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "＝", "＋", "－", "＠"])
def test_no_cell_is_a_formula(lamps: Path, start: str) -> None:
    """Text gets an apostrophe before it, which makes it text to a spreadsheet; numbers below 0 stay numbers."""
    cause = f'{start}HYPERLINK("http://x","y")'
    run = change(lamps, (json.dumps(BROKEN), json.dumps(cause, ensure_ascii=False)))
    assert rows(run)[2]["error"] == f"'{cause}"
    assert rows(run)[4]["return"] == "-1"


@pytest.mark.parametrize("start", ["\t", "\r", "\n", "\0"])
def test_a_row_is_a_line(lamps: Path, start: str) -> None:
    run = change(lamps, (json.dumps(BROKEN), json.dumps(f"{start}=1+1")))
    text = "".join(csv_file(run))
    assert len(text.split("\n")) == 8 and text.isascii() and not {"\t", "\r", "\0"} & set(text)
    assert rows(run)[2]["error"] == repr(start)[1:-1] + "=1+1"


# -- JUnit


def document(run: Played) -> ElementTree.Element:
    root = ElementTree.fromstring("".join(junit(run, survey(run))))
    valid(root)
    return root


def valid(element: ElementTree.Element) -> None:
    required, others, inside = SCHEMA[element.tag]
    assert set(required) <= set(element.attrib) <= {*required, *others}, element.attrib
    for child in element:
        assert child.tag in inside
        valid(child)


def told(cases: Iterable[ElementTree.Element]) -> list[tuple[str, str | None]]:
    return [(case.get("name", ""), case[0].tag if len(case) else None) for case in cases]


def test_a_case_for_each_episode(lamps: Path) -> None:
    root = document(played(lamps))
    (suite,) = root
    counts = {"tests": "6", "failures": "2", "errors": "1"}
    assert root.attrib == {"name": "deskproof eval mine", **counts}
    assert suite.attrib == {"name": "lamps", **counts, "skipped": "0"}
    assert {case.get("classname") for case in suite} == {"lamps.easy-info-collection"}
    assert told(suite) == [
        *(("dark, seed 0", None), ("dark, seed 1", "failure"), ("dark, seed 2", "error")),
        *(("hum, seed 0", None), ("hum, seed 1", "failure"), ("hum, seed 2", None)),
    ]
    failure, error = suite[4][0], suite[2][0]
    assert failure.attrib == {"message": "not resolved (max_steps): return -1, score 0", "type": "max_steps"}
    assert (failure.text or "").splitlines()[0::3] == ["4 steps", "3. resolve: resolve.premature, cost 1.75"]
    assert error.attrib == {"message": BROKEN, "type": "AgentError"}


def test_what_says_nothing_of_the_agent_is_skipped(lamps: Path) -> None:
    """One that a limit ended, and one that wasn't played: the last line is taken away."""
    lines = (lamps / EPISODES).read_text("utf-8").splitlines(keepends=True)
    (lamps / EPISODES).write_text("".join(lines[:-1]), "utf-8")
    run = change(lamps, ('"status":"error"', '"status":"limit"'))
    (suite,) = document(run)
    assert (suite.get("tests"), suite.get("errors"), suite.get("skipped")) == ("6", "0", "2")
    assert told(suite)[2] == ("dark, seed 2", "skipped") and told(suite)[5] == ("hum, seed 2", "skipped")
    assert suite[5][0].get("message") == "not played" and suite[2][0].get("message") == BROKEN


def test_xml_has_no_character_that_it_may_not_have(lamps: Path) -> None:
    """XML 1.0, production 2: no control characters, no half of a surrogate pair, neither U+FFFE nor U+FFFF."""
    run = change(lamps, (json.dumps(BROKEN), json.dumps("]]>\0\x1b[2J\x7f\x85\u202e\ud800\ufffe\uffff")))
    (suite,) = document(run)
    assert suite[2][0].get("message") == r"]]>\x00\x1b[2J\x7f\x85\u202e\ud800\ufffe\uffff"


# -- Markdown


def test_a_summary(lamps: Path) -> None:
    run = played(lamps)
    text = "".join(markdown(run, survey(run)))
    assert text.startswith("## `mine`\n\n**5 of 6 episodes done (83.3%), 2 tickets** of `lamps` `1.0.0`\n")
    lines = text.splitlines()
    assert "| the ticket was resolved | 3 | 50.0% |" in lines
    assert "| `resolve.premature` | 4 | 3.00 | 92.3% |" in lines
    # dark: (2 + 0.5) / 2; hum: (1.75 - 1 + 2) / 3. Scores are 1 where the field was asked for.
    assert "| `lamps` `dark` | 2 of 3 | 1.000 | 1.250 | 0.500, at least 0.333 |" in lines
    assert "| `lamps` `hum` | 3 | 0.667 | 0.917 | 0.667 |" in lines
    cells = [line for line in lines if line.startswith("| success rate")]
    assert cells[0].startswith("| success rate | 0.583 |")


@pytest.mark.parametrize("text", ["a", "`", "``a`", " ", "", "<b>|</b>", "@you #1 **x**", "a\nb", "\\", "\\|"])
def test_a_text_is_code_and_nothing_else(text: str) -> None:
    """In a table, where a bar is written with a backslash before it, and a reader takes that away."""
    lines = "\n".join(table(("a", "b"), [(as_code(text), "c")]))
    tokens = [token for token in MarkdownIt("commonmark").enable("table").parse(lines) if token.type == "inline"]
    assert tokens[2].children is not None
    (cell,) = tokens[2].children
    assert cell.type == "code_inline" and len(tokens) == 4
    assert cell.content.strip() == text.replace("\n", "\\n").strip()
