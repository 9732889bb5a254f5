"""Keyed randomness: the same everywhere, and no draw disturbs another."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from engine.draw import choose, digest, fill, highest


def test_digest_is_sha256_of_the_key_as_json() -> None:
    assert digest("p", "t", 7, "message") == hashlib.sha256(b'["p","t",7,"message"]').digest()


def test_keys_do_not_run_together() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest(1) != digest("1")


def test_choose_is_the_digest_modulo_the_count() -> None:
    number = int(hashlib.sha256(b'["k"]').hexdigest(), 16)
    assert choose(10, "k") == number % 10


def test_fill() -> None:
    filled = fill(r"A-##-??-\#\?\\", "k")
    assert filled[:2] == "A-" and filled[2:4].isdigit() and filled[5:7].isupper() and filled[7:] == r"-#?\\"[:-1]
    assert fill("no pattern", "k") == "no pattern"


def test_draws_are_spread() -> None:
    counts = [0] * 10
    for seed in range(2000):
        counts[choose(10, "p", "t", seed, "x")] += 1
    # 200 expected each, standard deviation sqrt(2000 x 0.1 x 0.9) = 13.4; five of them either way.
    assert all(133 <= count <= 267 for count in counts)


@given(st.lists(st.text(), min_size=2, unique=True), st.integers(0, 2**40))
def test_adding_a_ticket_moves_a_pick_only_to_it(ids: list[str], seed: int) -> None:
    before, after = highest(ids[:-1], "p", seed), highest(ids, "p", seed)
    assert after in (before, ids[-1])


@given(st.lists(st.text(), min_size=1, unique=True), st.integers(0, 2**40))
def test_the_order_of_tickets_does_not_matter(ids: list[str], seed: int) -> None:
    assert highest(ids, "p", seed) == highest(reversed(ids), "p", seed)
