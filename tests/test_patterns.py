"""Patterns: which may be used, and that none of them can hang."""

from __future__ import annotations

import time

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
        "a{99999999999}", "[[a]", "(" * 5000,
    ],
)  # fmt: skip
def test_what_could_hang_or_is_no_pattern_is_refused(source: str) -> None:
    with pytest.raises(PatternError):
        Pattern(source)


@pytest.mark.parametrize(
    ("source", "length", "most"),
    [
        ("^abc$", 100, 1),
        ("^a*$", 100, 101),  # 0 to 100 of them
        ("^a{2,5}b*$", 10, 4 * 11),
        ("^[ab]*c", 100, 1),  # the repeat has to end where a c stands
        ("a", 100, 101),  # may begin at each of 101 places
        ("^(?:a*|b*)$", 10, 22),
        ("^(a?b?)$", 5, 4),
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
    ],
)
def test_an_explosive_pattern_costs_too_much_for_a_long_text(source: str, text: str) -> None:
    assert Pattern(source).cost(len(text)) > MAX_COST


@pytest.mark.parametrize(
    ("source", "letter"),
    [("a*a*b", "a"), (".*.*x", "y"), ("^a*a*a*b", "a"), ("(?:a{9})*(?:a{7})*b", "a"), ("[ab]*[bc]*x", "b")],
)
def test_what_is_allowed_is_over_soon(source: str, letter: str) -> None:
    pattern = Pattern(source)
    length = max(n for n in range(1, 3000) if pattern.cost(n) <= MAX_COST)
    start = time.process_time()
    assert not pattern.found_in(letter * length)
    assert time.process_time() - start < 0.5
