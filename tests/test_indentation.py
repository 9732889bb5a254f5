"""Which of the lines above a line may go on with, by its indentation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.indentation import Line, above, fitting, key_beside, line_of

TEXT = """\
tickets:
  - id: t-1
    # a comment

    messages:
      - Hello: there
    answers:
      email:
        - {say: x}
"""


def lines(text: str) -> list[Line]:
    return [Line(number, text.index(each), each) for number, each in enumerate(text.splitlines(), 1)]


def test_a_line_is_found_by_one_of_its_characters() -> None:
    assert line_of(TEXT, TEXT.index("t-1"), 2) == Line(2, 9, "  - id: t-1")
    assert line_of("a\r\nbc\rd", 4, 2) == Line(2, 3, "bc")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_the_lines_above_are_told_upwards_without_comments_and_empty_ones(line_break: str) -> None:
    text = TEXT.replace("\n", line_break)
    here = line_of(text, text.index("answers"), 7)
    assert [(each.number, each.text.strip()) for each in above(text, here)] == [
        (6, "- Hello: there"), (5, "messages:"), (2, "- id: t-1"), (1, "tickets:"),
    ]  # fmt: skip
    assert all(text[each.start :].startswith(each.text) for each in above(text, here))
    assert above(text, line_of(text, 0, 1)) == []


def test_of_a_great_many_lines_the_nearest_are_told() -> None:
    text = "k: v\n" * 50_000 + "end"
    found = above(text, line_of(text, len(text), 50_001))
    # 100,000 characters are 20,000 lines; the first of them may be cut in two, and isn't told.
    assert (len(found), found[0].number, found[-1].number) == (19_999, 50_000, 30_002)
    assert all(each == Line(each.number, 5 * (each.number - 1), "k: v") for each in found)


# Below TEXT levels are open at 0, 4 and 6 for keys (lines 1, 7 and 8), and at 2 and 8 for items (lines 2 and 9);
# {say: x} is no key of a line.
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("   more: x", "4 spaces before it, as on line 7; or 6 spaces before it, as on line 8"),
        (" more: x", "no space before it, as on line 1; or 4 spaces before it, as on line 7"),
        ("       more: x", "6 spaces before it, as on line 8; or 4 spaces before it, as on line 7"),
        ("  more: x", "'- ' before it, as on line 2; or 4 spaces before it, as on line 7"),
        ("   - more", "2 spaces before it, as on line 2; or 8 spaces before it, as on line 9"),
        ("       - more", "8 spaces before it, as on line 9; or 2 spaces before it, as on line 2"),
        ("         more: x", None),  # the line above ends with a brace, which may have been closed too early
    ],
)
def test_what_an_ill_indented_line_needs(line: str, wanted: str | None) -> None:
    text = TEXT + line
    here = line_of(text, len(text), 10)
    assert fitting(here, above(text, here)) == wanted


def test_nothing_fits_where_nothing_is_open() -> None:
    assert fitting(Line(2, 5, "  - x"), lines("text\n")) is None
    assert fitting(Line(1, 0, "  x: y"), []) is None


@pytest.mark.parametrize(
    ("below", "key"),
    [
        ("    task: x\n", "task"),
        ("      deeper: x\n\n    task: x\n", "task"),
        ("    - an item\n    task: x\n", "task"),
        ("  task: x\n    task: x\n", None),
        ("    'task': x\n", None),
        ("    task\n", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_the_key_on_the_next_line_at_the_same_column(below: str, key: str | None, line_break: str) -> None:
    text = f"  - a: x\n    id: y\n{below}".replace("\n", line_break)
    assert key_beside(text, text.index("id"), 4) == key


@given(st.text(" -ab:\n\r#'}", max_size=60), st.data())
def test_whatever_stands_there_something_can_be_said(text: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(text)))
    here = line_of(text, index, 1 + index)
    found = above(text, here)
    assert all(each.start < here.start and each.text.strip() for each in found)
    wanted = fitting(here, found)
    assert wanted is None or "before it, as on line" in wanted
