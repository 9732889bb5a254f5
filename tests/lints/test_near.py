"""Near texts: which they are, by hand, and that none is missed, against a comparison of every pair."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.lints.near import near, near_earlier, words
from engine.template import compile_template


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My lamp's cord is too short!", ["my", "lamp's", "cord", "is", "too", "short"]),
        ("  „Die Straße“ – ist  GESPERRT?\n", ["die", "strasse", "ist", "gesperrt"]),  # casefold makes ss of ß
        ("e-mail: sam@example.org.", ["e-mail", "sam@example.org"]),
        ("包裹，还没到。", ["包", "裹", "还", "没", "到"]),
        ("我的iPhone坏了", ["我", "的", "iphone", "坏", "了"]),
        ("ﬁn", ["fin"]),  # one ligature, two letters
        ("की बात", ["की", "बात"]),  # the vowel signs stay
        ("!!! … ?", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == tuple(expected)


def test_in_a_template_a_name_is_a_word() -> None:
    text = compile_template("Where is {{ order_id | upper }}? It's {{ fields['⚠️ 版本?'] }}.")
    assert words(text) == ("where", "is", "{order_id}", "it's", "{⚠️ 版本?}")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # Ten words have nine pairs. With another word in the middle both have seven, of eleven: more than 3 in 5.
        ("a b c d e f g h i j", "a b c d x f g h i j", True),
        # Nine words: six of ten pairs, which is 3 in 5 and no more.
        ("a b c d e f g h i", "a b c d x f g h i", False),
        # At an end one pair goes: seven of nine.
        ("a b c d e f g h i", "a b c d e f g h x", True),
        # Two words of twenty, apart from each other: fifteen of 23. Three: thirteen of 25.
        ("a b c d e f g h i j k l m n o p q r s t", "a b c d x f g h i j k l m n y p q r s t", True),
        ("a b c d e f g h i j k l m n o p q r s t", "a b c d x f g h i y k l m n z p q r s t", False),
        # Of a few words: three of four pairs, and three of five.
        ("My parcel never came", "My parcel never came today", True),
        ("I can't sign in", "I can't sign in any more", False),
        # Fewer than four words are near when they are the same.
        ("It won't print", "it won't print!", True),
        ("It won't print", "It won't print it", False),
        ("no no", "no no no no", False),
        ("", "", False),
        # Nineteen characters have eighteen pairs; with two others in the middle fifteen of 21, with four 13 of 23.
        ("包裹显示已经签收可是我一直都没有收到它", "包裹显示已经签收可是我从来都没有收到它", True),
        ("包裹显示已经签收可是我一直都没有收到它", "包裹显示已经签收可是他们说还没有收到它", False),
        # The order of words counts.
        ("one two three four five six", "six five four three two one", False),
    ],
)
def test_near(one: str, other: str, expected: bool) -> None:
    assert near(words(one), words(other)) is expected
    assert near(words(other), words(one)) is expected


texts = st.lists(
    st.lists(st.sampled_from("abcde"), max_size=9).map(tuple) | st.lists(st.sampled_from("ab"), max_size=5).map(tuple),
    max_size=12,
)


@given(texts)
@settings(deadline=None)
def test_no_near_pair_is_missed(drawn: list[tuple[str, ...]]) -> None:
    expected = {later for earlier, later in combinations(range(len(drawn)), 2) if near(drawn[earlier], drawn[later])}
    pairs = [*near_earlier(drawn, lambda earlier, later: 1)]
    assert [later for _, later in pairs] == sorted(expected)
    assert all(near(drawn[earlier], drawn[later]) for earlier, later in pairs)


@given(texts, st.randoms())
@settings(deadline=None)
def test_the_order_makes_no_difference_to_whether_any_are_near(drawn: list[tuple[str, ...]], chance: Random) -> None:
    mixed = drawn[:]
    chance.shuffle(mixed)
    one, other = (any(True for _ in near_earlier(each, lambda *_: 1)) for each in (drawn, mixed))
    assert one == other


def test_the_weightiest_comes_first_then_the_most_alike_then_the_first() -> None:
    long = "a b c d e f g h i j".split()
    alike = [(*long[:9], "x"), (*long,), (*long,), (*long[:8], "x", "y"), (*long,)]
    # The last is the same as 1 and 2, and near to 0 (eight of ten pairs) and 3 (seven of eleven).
    assert [*near_earlier(alike, lambda *_: 1)][-1] == (1, 4)
    assert [*near_earlier(alike, lambda earlier, _: 2 if earlier in (0, 3) else 1)][-1] == (0, 4)
    assert [*near_earlier(alike, lambda earlier, _: earlier == 3)] == [(3, 4)]


def test_of_texts_that_are_all_alike_each_is_compared_with_few() -> None:
    compared = 0

    def weight(earlier: int, later: int) -> int:
        nonlocal compared
        compared += 1
        return 1

    alike = [(*"abcdefghij", f"word{number}") for number in range(1_500)]
    assert len([*near_earlier(alike, weight)]) == 1_499
    assert compared <= 50 * 1_500
