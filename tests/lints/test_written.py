"""PACK092 and PACK093, what is still to be written; and how grave lints are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.diagnostics import CODES
from engine.lints.lint import LINTS
from engine.lints.written import is_open
from engine.pack import Severity
from engine.template import compile_template
from tests.lints.marked import HEAD, TESTS, found, linted, ticket

ONE = ticket("a", "late", "Where is it?") + ticket("b", "exchange", "Another colour, please.")


# -- Tests

UNTESTED = (
    "this pack has no tests, so nothing notices when a change breaks one of its tickets: say under `tests` how an "
    "episode must go"
)


def test_a_pack_without_tests() -> None:
    assert found(HEAD.replace("pack: lamps", "pack: ▲lamps") + ONE, "PACK092") == [UNTESTED]
    assert found(HEAD + ONE + "▲tests: []\n", "PACK092") == [UNTESTED]
    assert found(HEAD + ONE + TESTS, "PACK092") == []


# -- TODO


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TODO", True),
        (" TODO\n", True),
        ("TODO: what it is", True),
        ("TODO:", True),
        ("todo", False),
        ("TODO list", False),
        ("My TODO: is empty", False),
        ("TODOS", False),
        ("", False),
    ],
)
def test_which_texts_are_still_to_be_written(text: str, expected: bool) -> None:
    assert is_open(text) is expected
    assert is_open(compile_template(text)) is expected


OPEN = [
    ("pack: lamps", "pack: lamps\ndescription: ▲TODO", "", "what the pack is about, in a sentence"),
    ("description: The number on the order confirmation", "description: ▲TODO", "", "fields / order: what it is"),
    ("What doesn't come", '▲"TODO: what belongs here"', "what belongs here", "categories / late: what belongs to it"),
    ("- Where is it?", "- ▲TODO", "", "tickets / a: an opening message"),
    ("- Where is it?", "- {text: ▲TODO, known: []}", "", "tickets / a: the words"),
    ("L-4821,", "[{say: ▲'TODO: ask Kim', value: L-4821}],", "ask Kim", "tickets / a / order: what the customer says"),
    ("id: b", "id: ▲TODO", "", "tickets: its id, unique in the pack"),
    ("it is classified", "▲TODO", "", "tests: what it shows"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "rest", "expected"), OPEN, ids=[case[1][:30] for case in OPEN])
def test_what_is_to_be_written_is_said(old: str, new: str, rest: str, expected: str) -> None:
    text = (HEAD + ONE + TESTS).replace(old, new, 1)
    assert found(text, "PACK093") == ["this is still to be written" + (f": {rest}" if rest else "")]
    [finding] = [finding for finding in linted(text) if finding.code == "PACK093"]
    assert finding.expected == expected


def test_a_name_is_a_text_too() -> None:
    text = (HEAD + ONE + TESTS).replace("  late:", "  ▲TODO:").replace("category: late", "category: ▲TODO")
    assert found(text, "PACK093") == ["this is still to be written"] * 2
    expected = [finding.expected for finding in linted(text) if finding.code == "PACK093"]
    assert expected == ["categories: what a ticket can be about, by name", "tickets / a: one of the pack's categories"]


# -- How grave they are

# Nothing is right here: TODO stands there, there are no tests, nothing uses `email`, 'late' alone says it, and so on.
ALL = (
    HEAD.replace(
        "categories:\n", "  email: {description: TODO}\npeople: {slow: {says: [Hm.]}}\ncategories:\n  other: {}\n"
    ).replace(
        "tickets:\n",
        "noise: [Sorry, the dog barks.]\nrules:\n  resolve:\n    - {outcome: done}\n    - {outcome: x, then: "
        "{say: x}}\ntickets:\n",
    )
    + ticket(
        "a", "late", "It is late, and I wait here.", "It is late, and I wait here!", task="hard-efficient-resolution"
    )
    + ticket(
        "b",
        "exchange",
        "“Another one.”",
        "''",
        "It's {{ colour }}.",
        "{template: '{{ colour }}?'}",
        '"\\u202e?"',
        "“Another one.”",
    )
)


def test_every_lint_is_a_warning_by_default() -> None:
    assert {finding.code: finding.severity for finding in linted(ALL)} == dict.fromkeys(LINTS, "warning")
    assert LINTS.keys() <= CODES.keys()


severities: st.SearchStrategy[dict[str, Severity]] = st.dictionaries(
    st.sampled_from(sorted(LINTS)), st.sampled_from(["error", "warning", "ignore"])
)


@given(severities, severities)
@settings(deadline=None)
def test_the_pack_says_how_grave_they_are_and_the_caller_before_it(
    own: dict[str, Severity], asked: dict[str, Severity]
) -> None:
    lines = "".join(f"  {code}: {severity}\n" for code, severity in own.items())
    text = ALL + (f"lints:\n{lines}" if lines else "")
    expected = {code: asked.get(code, own.get(code, "warning")) for code in LINTS}
    seen = {finding.code: finding.severity for finding in linted(text, asked)}
    assert seen == {code: severity for code, severity in expected.items() if severity != "ignore"}
