"""What tools and instructions say of a desk: its actions by what they are for, and keywords."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.action import action_space
from engine.evaluation.desk import Desks, Keywords, choices, read_desk, roles
from engine.load import load_pack
from engine.tools import explained, tools
from tests.evaluation.desks import PACKS, lamps, shipped


def test_what_the_contracts_actions_are_for() -> None:
    known = roles()
    assert (known.asks, known.classifies) == ({"ask_info": "field"}, {"classify": "category"})
    assert known.resolves == {"resolve"}


@pytest.mark.parametrize("pack", [*shipped(), load_pack(PACKS / "desk.yaml")], ids=lambda pack: pack.name)
def test_the_choices_are_those_of_the_engine(pack: Any) -> None:
    assert choices(tools(pack)) == action_space(pack).choices


def test_a_desk(tmp_path: Path) -> None:
    pack = lamps(tmp_path)
    desk = read_desk(tools(pack), pack.instructions)
    assert list(desk.asks) == ["order", "email", "photo"]
    assert desk.classify == {"type": "classify"}
    assert [action["category"] for action in desk.filed] == ["late", "broken"]
    assert desk.resolve == {"type": "resolve"}
    # A line with a number begins with look_up; refund and replace are named within one.
    assert desk.procedure == ({"type": "look_up"},)
    replace = [{"type": "replace", "how": how} for how in ("mail", "courier")]
    assert desk.decisions == ({"type": "refund"}, *replace)


def test_a_desk_is_read_once(tmp_path: Path) -> None:
    """Tools that come anew at each episode are the same ones."""
    pack, desks = lamps(tmp_path), Desks()
    first = desks(tools(pack), pack.instructions)
    assert desks(tools(pack), pack.instructions) is first
    assert desks(tools(pack)[:1], pack.instructions) is not first
    assert desks(tools(pack), "Be quick.") is not first


# -- Keywords


def test_words_that_tell_things_apart_count() -> None:
    """Of three things two are lamps: the word weighs ln 3/2, each other one ln 3. A thing's score is the sum of the
    weights of its words in the text, by the root of the sum of all its weights' squares."""
    known = Keywords(["Crimson lamp", "Yellow lamp", "Parcel"])
    lamp, other = log(3 / 2), log(3)
    length = sqrt(lamp**2 + other**2)
    assert known.scores("My CRIMSON LAMPS!") == pytest.approx([(lamp + other) / length, lamp / length, 0])
    assert known.scores("parcels, and parcels") == pytest.approx([0, 0, 1])  # once is as good as twice
    assert known.scores("red") == [0, 0, 0]


def test_words_that_are_said_of_all_and_short_ones_say_nothing() -> None:
    assert Keywords(["The lamp is out", "The lamp is off"]).scores("the lamp is out") == [0, 0]
    assert Keywords([]).scores("lamp") == []
    assert Keywords([""]).scores("lamp") == [0]


def test_what_the_instructions_say_of_one_category_is_about_it(tmp_path: Path) -> None:
    """`splinters` stands in the second line of an item; order and photo are names of fields, which say nothing."""
    pack = lamps(tmp_path)
    late, broken = read_desk(tools(pack), pack.instructions).categories.scores("splinters")
    assert (late, broken > 0) == (0, True)
    assert read_desk(tools(pack), pack.instructions).categories.scores("photo order email") == [0, 0]
    late, broken = read_desk(tools(pack), "").categories.scores("in pieces")  # from its description
    assert (late, broken > 0) == (0, True)


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=20), min_size=1, max_size=4), st.text())
def test_no_text_makes_it_fail(meanings: dict[str, str], instructions: str) -> None:
    """Names and meanings of any kind, lines that look like others' among them."""
    parameter = {"enum": list(meanings), "description": explained("", meanings)}
    schema = {"type": "object", "properties": {"category": parameter}, "required": []}
    given_tools = [
        {"name": "classify", "description": "", "inputSchema": schema},
        {"name": "[(", "description": "", "inputSchema": {"type": "object", "properties": {}}},
    ]
    desk = read_desk(given_tools, f"{instructions}\n1. [(\n2. " + "\n".join(meanings))
    assert len(desk.categories.scores(instructions)) == len(meanings)
    assert desk.procedure == ({"type": "[("},)
