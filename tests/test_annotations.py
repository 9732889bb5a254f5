"""Findings as workflow commands, by the rules of GitHub's own documentation and toolkit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.annotations import annotation
from engine.diagnostics import Finding, Place

PLACE = Place("packs/p.yaml", 9, 14)


def test_an_error() -> None:
    finding = Finding("PACK030", "unknown field 'oss'", PLACE, "error", "os, browser", "os", "  [oss]", 3)
    assert annotation(finding) == (
        "::error file=packs/p.yaml,line=9,col=14,title=PACK030::"
        "unknown field 'oss'%0Aexpected: os, browser%0Adid you mean 'os'?"
    )


def test_a_warning() -> None:
    finding = Finding("PACK092", "this pack has no tests", PLACE, "warning")
    assert annotation(finding) == "::warning file=packs/p.yaml,line=9,col=14,title=PACK092::this pack has no tests"


@pytest.mark.parametrize(
    ("file", "message", "expected"),
    [
        # In a property ':' and ',' would end it; in the message they are themselves.
        ("C:\\a,b.yaml", "a: b, c", "::error file=C%3A\\a%2Cb.yaml,line=1,col=1,title=PACK004::a: b, c"),
        ("50%.yaml", "100%", "::error file=50%25.yaml,line=1,col=1,title=PACK004::100%25"),
        ("a\nb", "c\r\n::error::d", "::error file=a%0Ab,line=1,col=1,title=PACK004::c%0D%0A::error::d"),
        ("%0A", "%3A", "::error file=%250A,line=1,col=1,title=PACK004::%253A"),
        ("ä 中", "⚠️", "::error file=ä 中,line=1,col=1,title=PACK004::⚠️"),
    ],
)
def test_what_would_end_a_command_is_escaped(file: str, message: str, expected: str) -> None:
    assert annotation(Finding("PACK004", message, Place(file, 1, 1))) == expected


def unescaped(text: str) -> str:
    """As the runner does it: https://github.com/actions/runner, ActionCommand."""
    for escape, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, sign)
    return text


texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.text("%:,\r\n03ACD25:", max_size=12)


@given(texts, texts)
@settings(deadline=None)
def test_any_finding_is_one_command_that_reads_as_it_was(file: str, message: str) -> None:
    command = annotation(Finding("PACK004", message, Place(file, 3, 4)))
    assert "\n" not in command and "\r" not in command
    read = re.fullmatch(r"::error ([^:]*)::(.*)", command, re.DOTALL)
    assert read is not None
    properties = dict(part.split("=", 1) for part in read[1].split(","))
    assert {name: unescaped(value) for name, value in properties.items()} == {
        "file": file,
        "line": "3",
        "col": "4",
        "title": "PACK004",
    }
    escapes = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
    text = read[2]
    for escape, sign in escapes:
        text = text.replace(escape, sign)
    assert text == message
