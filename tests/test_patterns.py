"""Patterns: which may be used, and that none of them can hang."""

from __future__ import annotations

import time
from bisect import bisect_right

import pytest

from engine.patterns import MAX_COST, Pattern, PatternError


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        (r"^ORD-[0-9]{5}$", "ORD-50231", True),
        (r"^ORD-[0-9]{5}$", "ORD-5023", False),
        (r"[^@\s]+@[^@\s]+\.[^@\s]+", "sam@example.org", True),
        (r"^(?:\d{1,3}\.){3}\d{1,3}$", "192.168.100.100", True),
        (r"^(\+\d{1,3} )?\d{4,}$", "+44 12345678", True),
        (r"^([A-Z0-9]{4} ){3}[A-Z0-9]{2}$", "AB12 CD34 EF56 GH", True),
        (r"^(red|green|blue)+$", "redblue", True),
        (r"^[\w .-]+$", "a name of some kind", True),
        (r"", "", True),
        (r"^.*$", "x" * 5000, True),
    ],
)
def test_an_ordinary_pattern_is_found(source: str, text: str, found: bool) -> None:
    pattern = Pattern(source)
    assert pattern.cost(len(text)) <= MAX_COST
    assert pattern.found_in(text) is found


@pytest.mark.parametrize(
    "source",
    [
        r"^(a+)+$", r"(a*)*b", r"(a|a)*b", r"(?:ab|a)*c", r"(a?){9}", r"((a{1,2}){1,9}){1,9}", r"(.*)\1", r"(?=a)b",
        r"(?<!a)b", r"(?i)abc", r"(?i:abc)", r"(?x) a", r"(?P<n>x)(?(n)a|b)", r"(?>a+)b", r"a++b", "[", "(",
        "a{99999999999}", "[[a]", "(" * 5000, "(" * 31 + "a" + ")" * 31, "(" * 240 + "a*" + ")" * 240,
    ],
)  # fmt: skip
def test_what_could_hang_or_is_no_pattern_is_refused(source: str) -> None:
    with pytest.raises(PatternError):
        Pattern(source)


@pytest.mark.parametrize(
    ("source", "length", "most"),
    [
        # One step each for '^', 'a', 'b', 'c' and '$'; and one at each later place, to see that it isn't the start.
        ("^abc$", 100, 5 + 100),
        # '^'; 0 to 100 of them, and the one that isn't there; '$' after each of the 101.
        ("^a*$", 100, 1 + 101 + 101 + 100),
        # 2 to 5 'a' are 4 ways, found in 6 steps; from each of them 11 ways through 'b*'; '$' after each of the 44.
        ("^a{2,5}b*$", 10, 1 + 6 + 4 * 11 + 44 + 10),
        # The repeat has to end where a 'c' stands: that is one way, which is looked for at 101 places.
        ("^[ab]*c", 100, 1 + 2 * 101 + 1 + 100),
        ("[ab]*c", 100, 101 * (2 * 101 + 1)),  # all of that from each of 101 places
        ("a", 100, 101),
        ("^(?:a*|b*)$", 10, 1 + 2 * 11 + 22 + 10),
        ("^(a?b?)$", 5, 1 + 2 + 2 * 2 + 4 + 5),
        ("^a{3}$", 100, 1 + 4 + 1 + 100),
        # The second repeat is gone through from each of the 101 places where the first may end.
        ("^[ab]*(?:a*c)", 100, 1 + 101 + 101 * (2 * 101 + 1) + 100),
        ("^(?:ab)*$", 100, 1 + 51 * 2 + 51 + 100),  # 50 pairs, and one that isn't there
        ("^(?:ab|cd)*$", 100, 1 + 51 * 4 + 51 + 100),
        # What takes up no text is repeated all the same.
        ("^(?:^){1000}", 1, 1 + 1001 + 1),
        ("^(?:a*)?$", 100, 1 + 2 * 101 + 102 + 100),
    ],
)
def test_what_a_pattern_may_cost(source: str, length: int, most: int) -> None:
    assert Pattern(source).cost(length) == most


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("^" + "a?" * 24 + "a" * 24 + "$", "a" * 24),
        ("a*a*a*a*a*a*b", "a" * 60),
        (".*.*.*x", "y" * 500),
        ("^(a{1,8}){8}b", "a" * 64),
        ("[ab]*[bc]*[cd]*x", "b" * 200),
        ("[ab]*c", "a" * 400_000),
        ("(?:ab)*c", "ab" * 200_000),
        ("a{9}b", "a" * 400_000),
        ("^[ab]*(?:a*c)", "a" * 400_000),
        ("^(?:^){4000000000}", "a"),
        (r"^(?:\b){4000000}", "a"),
        ("^(?:(?:){2000}){2000}", ""),
    ],
)
def test_an_explosive_pattern_costs_too_much_for_a_long_text(source: str, text: str) -> None:
    assert Pattern(source).cost(len(text)) > MAX_COST


@pytest.mark.parametrize(
    ("source", "letter"),
    [
        ("a*a*b", "a"), (".*.*x", "y"), ("^a*a*a*b", "a"), ("(?:a{9})*(?:a{7})*b", "a"), ("[ab]*[bc]*x", "b"),
        ("[ab]*c", "a"), ("(?:aa)*c", "a"), ("^[ab]*(?:a*c)", "a"), ("^(?:a{1,8}){8}b", "a"), ("(?:){3,}(?:)*b", "a"),
    ],
)  # fmt: skip
def test_what_is_allowed_is_over_soon(source: str, letter: str) -> None:
    pattern = Pattern(source)
    length = bisect_right(range(400_000), MAX_COST, key=pattern.cost) - 1  # the longest text that it is run on
    assert pattern.cost(length) <= MAX_COST < pattern.cost(length + 1)
    start = time.process_time()
    assert not pattern.found_in(letter * length)
    assert time.process_time() - start < 2  # it is some 0.05
