"""Keyed randomness: a draw depends on its key alone, so no draw can disturb another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

Key = str | int


def digest(*key: Key) -> bytes:
    """SHA-256 of the key, written as a JSON array so that no two keys run together."""
    return hashlib.sha256(json.dumps(key, separators=(",", ":")).encode()).digest()


def choose(count: int, *key: Key) -> int:
    """An index in [0, count), the same for the same key on every machine. The bias of the modulus is below 2**-200."""
    return int.from_bytes(digest(*key), "big") % count


def highest(candidates: Iterable[str], pack: str, seed: int) -> str:
    """The candidate with the highest hash: adding one to the candidates moves few picks."""
    return max(candidates, key=lambda candidate: digest(pack, candidate, seed))


def fill(pattern: str, *key: Key) -> str:
    """`pattern` with each '#' a digit and each '?' a capital letter; '\\' takes the next character as it is."""
    filled: list[str] = []
    escaped = False
    for position, character in enumerate(pattern):
        if escaped:
            filled.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "#":
            filled.append(str(choose(10, *key, position)))
        elif character == "?":
            filled.append(chr(ord("A") + choose(26, *key, position)))
        else:
            filled.append(character)
    return "".join(filled)
