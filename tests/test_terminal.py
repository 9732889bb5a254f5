"""What may be sent to a terminal."""

from __future__ import annotations

import pytest

from engine.terminal import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Where is it? 中文 ⚠️", "Where is it? 中文 ⚠️"),
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),  # blanks of any width are no harm
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\u202e\u2066\u200b", "\\u202e\\u2066\\u200b"),
        ("\ud800", "\\ud800"),
        ("", ""),
    ],
)
def test_what_can_not_be_printed_comes_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
