"""The name that was most likely meant by one that isn't known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import nearest as module
from engine.nearest import COMPARED, LONGEST_NAME, nearest


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
        # The only one that begins with it, be it much longer; of three letters at the least.
        ("easy", ["easy-info-collection", "medium-complete-info"], "easy-info-collection"),
        ("easy", ["easy-info-collection", "easy-going-collection"], None),
        ("EAS", ["easy-info-collection"], "easy-info-collection"),
        ("ea", ["easy-info-collection"], None),
    ],
)
def test_the_nearest_name(name: str, names: list[str], near: str | None) -> None:
    assert nearest(name, names) == near


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of engine/nearest.py run."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename == module.__file__ else None

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
    """From the definition: the longest text that is left of both where characters are taken out; or a beginning."""

    @cache
    def common(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + common(i + 1, j + 1)
        return max(common(i + 1, j), common(i, j + 1))

    is_near = one == other or 2 * common(0, 0) > 0.6 * (len(one) + len(other))
    is_near = is_near or (len(one) >= 3 and other.startswith(one))
    assert (nearest(one, [other]) == other) == is_near
