"""Findings: how they are shown, which name is near, and how many are listed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import diagnostics
from engine.diagnostics import (
    CODES,
    COMPARED,
    LONGEST_NAME,
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
        # Of a great many, those are looked at that begin like it or end like it.
        ("option 1037x", [f"option {n}" for n in range(1038)], "option 1037"),
        ("xoption 1037", [f"option {n}" for n in range(1038)], "option 1037"),
        # Twice what both have in the same order is more than 0.6 of both lengths: 14 of 23, 12 of 21.
        ("abcdefghij", ["a.b.c.d.e.f.g"], "a.b.c.d.e.f.g"),
        ("abcdefghij", ["a.b.c.d.e.f"], None),
    ],
)
def test_the_nearest_name(name: str, names: list[str], near: str | None) -> None:
    assert nearest(name, names) == near


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of engine/diagnostics.py run."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename == diagnostics.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


LETTERS = "abcdefghijklmnopqrst"


@pytest.mark.parametrize(
    "names",
    [
        [f"{LETTERS}-{n:05}" for n in range(20_000)],  # which are all alike
        [f"{n:05}-{LETTERS[n % 20] * 20}" for n in range(20_000)],  # which only begin alike
        [LETTERS[n % 20] * n for n in range(400)],  # of all lengths
        [LETTERS * n for n in range(1, 200)],  # very long ones
        list(map(chr, range(0x4E00, 0x9000))),  # as short as can be
    ],
    ids=lambda names: names[-1][:30],
)
@pytest.mark.parametrize("name", [f"{LETTERS}-1234x", LETTERS * 10, LETTERS[::-1], "t", "", f"00002-{'c' * 19}"])
def test_whatever_the_names_little_is_compared(name: str, names: list[str]) -> None:
    """Three lines for each character compared, and no more than twenty for each name that is looked at."""
    vocabulary = dict.fromkeys(names)
    nearest(name, vocabulary)  # they are sorted once
    longest = max(map(len, names))
    assert lines_run(lambda: nearest(name, vocabulary)) <= 20 * (COMPARED + longest)


def test_many_names_are_sorted_once() -> None:
    vocabulary = dict.fromkeys(f"t-{n}" for n in range(20_000))
    counts = [lines_run(lambda: nearest("t-x", vocabulary)) for _ in range(2)]
    assert counts[0] > 20_000 > counts[1]


def test_a_name_that_is_far_too_long_is_not_compared() -> None:
    def names() -> Iterator[str]:
        raise AssertionError("nobody needs them")
        yield ""

    assert nearest("x" * 16_384, names()) is None
    assert nearest("x" * (LONGEST_NAME + 1), names()) is None


@given(st.text("abc", min_size=1, max_size=12), st.text("abc", min_size=1, max_size=12))
def test_what_two_names_share_is_their_longest_common_subsequence(one: str, other: str) -> None:
    """From the definition: the longest text that is left of both where characters are taken out."""

    @cache
    def common(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + common(i + 1, j + 1)
        return max(common(i + 1, j), common(i, j + 1))

    is_near = one == other or 2 * common(0, 0) > 0.6 * (len(one) + len(other))
    assert (nearest(one, [other]) == other) == is_near


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
