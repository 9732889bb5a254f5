"""Findings: how they are shown, which name is near, and how many are listed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.diagnostics import (
    CODES,
    MAX_COUNTED,
    MAX_FINDINGS,
    Finding,
    PackError,
    Place,
    Report,
    as_json,
    excerpt,
    nearest,
    render,
)

FINDING = Finding(
    "PACK030",
    "unknown field 'brwser'",
    Place("p.yaml", 9, 14),
    "error",
    "browser, os",
    "browser",
    "    required: [brwser]",
    13,
)


@dataclass(frozen=True)
class Here:
    place: Place
    line: tuple[str, str] = ("", "")
    excused: bool = False


def test_a_finding_is_place_code_message_line_caret_expectation_and_hint() -> None:
    assert render(FINDING).split("\n") == [
        "p.yaml:9:14: PACK030: unknown field 'brwser'",
        "      required: [brwser]",
        "  " + " " * 13 + "^",
        "  expected: browser, os",
        "  did you mean 'browser'?",
    ]


def test_a_finding_without_a_line_is_one_line() -> None:
    assert (
        render(Finding("PACK001", "there is no such file", Place("x", 1, 1))) == "x:1:1: PACK001: there is no such file"
    )


def test_json_names_every_part() -> None:
    assert as_json(FINDING) == {
        "code": "PACK030",
        "title": "unknown field",
        "severity": "error",
        "message": "unknown field 'brwser'",
        "file": "p.yaml",
        "line": 9,
        "column": 14,
        "expected": "browser, os",
        "nearest": "browser",
        "source": "    required: [brwser]",
    }


@pytest.mark.parametrize(
    ("before", "blanks"),
    [
        ("ab", "  "),
        ("a\tb", " \t "),  # a tab stays a tab, so that it is as wide above as below
        ("中文", "    "),  # two columns each on a terminal
        ("e\u0301", " "),  # a combining mark takes no column
        ("⚠\ufe0f", " "),
    ],
)
def test_the_caret_stands_under_the_place(before: str, blanks: str) -> None:
    finding = Finding("PACK004", "m", Place("p", 1, len(before) + 1), source=before + "X", caret=len(before))
    assert render(finding).split("\n")[2] == f"  {blanks}^"


def test_a_long_line_is_cut_around_the_place() -> None:
    source, caret = excerpt("a" * 5000, "X" + "b" * 5000)
    assert (source[caret], source[0], source[-1]) == ("X", "…", "…")
    assert len(source) <= 102


def test_a_short_line_is_shown_whole() -> None:
    assert excerpt("a" * 40, "X" + "b" * 40) == ("a" * 40 + "X" + "b" * 40, 40)


def test_nothing_is_shown_that_could_steer_a_terminal() -> None:
    assert excerpt("\x1b[31m\u202e", "x")[0] == "\ufffd[31m\ufffdx"


@pytest.mark.parametrize(
    ("name", "names", "near"),
    [
        ("brwoser", ["order_id", "browser"], "browser"),
        ("Browser", ["browse", "browser"], "browser"),
        ("timing_4", ["timing_1", "timing_2"], "timing_1"),
        ("操作系充", ["版本", "操作系统"], "操作系统"),
        ("colour", ["order_id", "browser"], None),
        ("", ["a"], None),
        ("x" * 100_000, ["x" * 100_001], None),
        (
            "I confirm that I read the manual and searched for reports",
            ["I confirm that I read the manual and looked for reports"],
            "I confirm that I read the manual and looked for reports",
        ),
        ("option 1039", [f"option {n}" for n in range(1038)], "option 103"),
    ],
)
def test_the_nearest_name(name: str, names: list[str], near: str | None) -> None:
    assert nearest(name, names) == near


def test_findings_come_in_the_order_of_their_places_and_once() -> None:
    report = Report()
    for line in (3, 1, 2, 1):
        report.add("PACK004", Here(Place("p", line, 1)), f"line {line}")
    assert [finding.message for finding in report.findings()] == ["line 1", "line 2", "line 3"]


def test_at_most_a_hundred_findings_are_listed_and_the_rest_is_counted() -> None:
    report = Report()
    for line in range(1, MAX_FINDINGS + 8):
        report.add("PACK004", Here(Place("p", line, 1)), "m")
    report.add("PACK004", Here(Place("p", MAX_FINDINGS + 7, 1)), "m")  # the same once more
    found = report.findings()
    assert len(found) == MAX_FINDINGS + 1
    assert (found[-1].code, found[-1].message) == ("PACK099", "and 7 more")
    assert not report.full


def test_counting_ends_somewhere() -> None:
    report = Report()
    for line in range(1, MAX_FINDINGS + MAX_COUNTED + 10):
        report.add("PACK004", Here(Place("p", line, 1)), "m")
    assert report.findings()[-1].message == "and at least 5,000 more"
    assert report.full


def test_a_warning_is_no_error() -> None:
    report = Report()
    report.warn("PACK080", Here(Place("p", 1, 1)), "m")
    assert (bool(report), report.count, [one.severity for one in report.findings()]) == (False, 0, ["warning"])


def test_where_the_form_is_wrong_nothing_is_said_about_the_meaning() -> None:
    report = Report()
    report.add("PACK030", Here(Place("p", 1, 1), excused=True), "m")
    report.add("PACK023", Here(Place("p", 1, 1), excused=True), "m")
    assert [one.code for one in report.findings()] == ["PACK023"]


def test_a_message_is_never_as_long_as_a_hostile_name() -> None:
    report = Report()
    report.add("PACK030", Here(Place("p", 1, 1)), "unknown field '" + "x" * 1_000_000)
    assert len(report.findings()[0].message) <= 601


def test_an_error_prints_all_its_findings() -> None:
    error = PackError([FINDING, FINDING])
    assert str(error) == render(FINDING) + "\n" + render(FINDING)
    assert error.findings == (FINDING, FINDING)


def test_each_kind_of_mistake_has_its_own_title() -> None:
    assert len(set(CODES.values())) == len(CODES)
