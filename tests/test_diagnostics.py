"""Findings: how they are shown, and how many are listed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from engine.diagnostics import (
    CODES,
    KEPT_PLACES,
    MAX_COUNTED,
    MAX_FINDINGS,
    Finding,
    PackError,
    Place,
    Report,
    as_json,
    excerpt,
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
        "also": [],
    }
    also = as_json(replace(FINDING, also=(Place("p.yaml", 12, 3),)))["also"]
    assert also == [{"file": "p.yaml", "line": 12, "column": 3}]


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


def test_a_mistake_that_is_made_again_is_one_finding_with_all_its_places() -> None:
    report = Report()
    report.add("PACK030", Here(Place("p", 3, 1)), "unknown field 'a'")
    assert report.repeats("PACK030", Here(Place("p", 9, 1)), "unknown field 'a'")
    assert report.repeats("PACK030", Here(Place("p", 7, 1)), "unknown field 'a'")
    assert report.repeats("PACK030", Here(Place("p", 3, 1)), "unknown field 'a'")  # the very same place
    assert not report.repeats("PACK030", Here(Place("p", 8, 1)), "unknown field 'b'")
    assert not report.repeats("PACK030", Here(Place("p", 8, 1), excused=True), "unknown field 'a'")
    [finding] = report.findings()
    assert finding.also == (Place("p", 7, 1), Place("p", 9, 1))
    assert render(finding) == "p:3:1: PACK030: unknown field 'a'\n  also at lines 7 and 9"
    assert report.count == 4  # who looks whether something was wrong sees that it was


@pytest.mark.parametrize(
    ("also", "more", "words"),
    [
        ([("p", 9)], 0, "line 9"),
        ([("p", 9), ("p", 9)], 0, "line 9"),
        ([("a", 4), ("p", 9)], 0, "line 9 and a:4:1"),
        ([("a", 4), ("a", 5), ("b", 1)], 0, "a:4:1, a:5:1 and b:1:1"),
        ([("p", n) for n in range(1, 11)], 90, "lines 1, 2, 3, 4, 5, 6, 7, 8 and 92 more"),
    ],
)
def test_where_else_a_mistake_is(also: list[tuple[str, int]], more: int, words: str) -> None:
    places = tuple(Place(file, line, 1) for file, line in also)
    finding = Finding("PACK030", "m", Place("p", 99, 1), also=places, more=more)
    assert render(finding).splitlines()[-1] == f"  also at {words}"


def test_of_a_great_many_places_the_first_are_kept() -> None:
    report = Report()
    report.add("PACK030", Here(Place("p", 1, 1)), "m")
    for line in range(2, 203):
        report.repeats("PACK030", Here(Place("p", line, 1)), "m")
    [finding] = report.findings()
    assert (len(finding.also), finding.more) == (KEPT_PLACES, 101)


def test_what_is_shown_can_be_printed() -> None:
    """A message may hold a name out of a pack, a place the name of a file."""
    finding = Finding(
        "PACK030", "unknown field '\x1b[31m\u202e'", Place("a\nb", 1, 1), expected="\x9b", nearest="\x07", source="x"
    )
    assert render(finding).split("\n") == [
        "a\\nb:1:1: PACK030: unknown field '\\x1b[31m\\u202e'",
        "  x",
        "  ^",
        "  expected: \\x9b",
        "  did you mean '\\x07'?",
    ]


def test_an_error_prints_all_its_findings() -> None:
    error = PackError([FINDING, FINDING])
    assert str(error) == render(FINDING) + "\n" + render(FINDING)
    assert error.findings == (FINDING, FINDING)


def test_each_kind_of_mistake_has_its_own_title() -> None:
    assert len(set(CODES.values())) == len(CODES)
