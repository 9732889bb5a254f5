"""Moments: what is worked out once for all who come to it, and how large an action may be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.pack import Pack
from server.moments import MAX_ACTION, begin
from server.problems import Problem
from tests.server.calls import ASK_EMAIL, ASK_ORDER, CLASSIFY

STRANGE: dict[str, Any] = {"type": "say", "text": "hello"}


def test_who_does_the_same_shares_a_moment(lamps: Pack) -> None:
    first = begin(lamps, "t-1", 7)
    assert begin(lamps, "t-1", 7) is first
    assert first.step(CLASSIFY).step(ASK_ORDER) is first.step(dict(CLASSIFY)).step(dict(ASK_ORDER))


def test_what_nobody_is_expected_to_say_is_not_kept_nor_what_comes_after(lamps: Pack) -> None:
    """Else whoever says something long holds on to the server's memory long after the episode is over."""
    first = begin(lamps, "t-1", 7)
    after = first.step(STRANGE)
    assert first.step(STRANGE) is not after
    assert after.step(ASK_EMAIL) is not after.step(ASK_EMAIL)
    assert after.answer("e", "id") == first.step(STRANGE).answer("e", "id")
    assert after.answer("e", "id")[0] is not after.answer("e", "id")[0]


@pytest.mark.parametrize(
    "given",
    [
        lambda text: {"type": "say", "text": text},
        lambda text: {"name": "say", "parameters": {"text": text}, "arguments": None},
        lambda text: {"method": "tools/call", "params": {"name": "say", "arguments": {"text": text}}},
    ],
)
@pytest.mark.parametrize("character", ["x", "é"])
def test_an_action_may_be_so_large(lamps: Pack, given: Any, character: str) -> None:
    """In its canonical form, as compact JSON in UTF-8."""
    rest = MAX_ACTION - len(json.dumps({"type": "say", "text": ""}, separators=(",", ":")))
    text = character * (rest // len(character.encode()))
    text += "." * (rest - len(text.encode()))
    first = begin(lamps, "t-1", 7)
    assert first.step(given(text)).action == {"type": "say", "text": text}
    with pytest.raises(Problem) as refused:
        first.step(given(text + "."))
    assert refused.value.status == 422
    assert refused.value.detail == "The action is 16385 bytes of JSON; 16384 are the most."
    assert refused.value.errors[0]["pointer"] == "/action"
