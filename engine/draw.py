"""Keyed randomness: a draw depends on its key alone, so no draw can disturb another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache

Key = str | int

_ENCODER = json.JSONEncoder(separators=(",", ":"))


def digest(*key: Key) -> bytes:
    """SHA-256 of the key, written as a JSON array so that no two keys run together."""
    return hashlib.sha256(_ENCODER.encode(key).encode()).digest()


def choose(count: int, *key: Key) -> int:
    """An index in [0, count), the same for the same key on every machine. The bias of the modulus is below 2**-200."""
    return _index(count, digest(*key))


def _index(count: int, drawn: bytes) -> int:
    return int.from_bytes(drawn, "big") % count


def highest(candidates: Iterable[str], pack: str, seed: int) -> str:
    """The candidate with the highest hash: adding one to the candidates moves few picks."""
    return max(candidates, key=lambda candidate: _ended(_known_beginning(pack, candidate), seed))


def _beginning(*key: Key) -> bytes:
    """The beginning of a key as `digest` writes it, for several keys that only end differently."""
    return _ENCODER.encode(key).encode()[:-1] + b","


_known_beginning = lru_cache(maxsize=65_536)(_beginning)


def _ended(beginning: bytes, end: int) -> bytes:
    """What `digest` makes of the key that begins and ends like this."""
    return hashlib.sha256(b"%b%d]" % (beginning, end)).digest()


def fill(pattern: str, *key: Key) -> str:
    """`pattern` with each '#' a digit and each '?' a capital letter; '\\' takes the next character as it is."""
    filled: list[str] = []
    beginning = _beginning(*key)
    escaped = False
    for position, character in enumerate(pattern):
        if escaped:
            filled.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "#":
            filled.append(str(_index(10, _ended(beginning, position))))
        elif character == "?":
            filled.append(chr(ord("A") + _index(26, _ended(beginning, position))))
        else:
            filled.append(character)
    return "".join(filled)
