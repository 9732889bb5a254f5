"""The name that was most likely meant by one that isn't known."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

# The longest name for which a near one is looked for.
LONGEST_NAME = 200
# How much is compared with a name, in characters: bounds the time that hostile names take.
COMPARED = 1_000
# From which share of common characters on a name is near; and how long the beginning of one has to be.
LIKE, LEAST = 0.6, 3


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None where nothing is close.

    Two names are as close as the share that their longest common subsequence has in both. Where none is close, it is
    the only one that begins with the name.
    """
    if len(name) > LONGEST_NAME:
        return None
    folded = name.casefold()
    places: dict[str, int] = {}  # of each character in the name: one bit for each
    for index, character in enumerate(folded):
        places[character] = places.get(character, 0) | 1 << index
    names = tuple(candidates)
    left, best, closest = COMPARED, LIKE, None
    for candidate in _likely(folded, names):
        if left <= 0:
            break
        left -= 1
        if 2 * min(len(name), len(candidate)) <= best * (len(name) + len(candidate)):
            continue  # it is too long or too short, whatever stands in it
        left -= len(candidate)
        other = candidate.casefold()
        if other == folded:
            return candidate
        ratio = 2 * _common(places, len(folded), other) / (len(folded) + len(other))
        if ratio > best:
            best, closest = ratio, candidate
    return closest or _only_longer(folded, names)


def _only_longer(folded: str, names: tuple[str, ...]) -> str | None:
    """The only name that begins with one that isn't too short."""
    ordered = _ordered(names)
    begins = ordered[0] if ordered is not None else sorted(names, key=str.casefold)
    start = bisect_left(begins, folded, key=str.casefold)
    longer = [name for name in begins[start : start + 2] if name.casefold().startswith(folded)]
    return longer[0] if len(folded) >= LEAST and len(longer) == 1 else None


def _common(places: Mapping[str, int], length: int, text: str) -> int:
    """The length of the longest common subsequence: each row of the table is one number (Hyyrö 2004)."""
    row = every = (1 << length) - 1
    for character in text:
        here = row & places.get(character, 0)
        row = row + here | row - here
    return length - (row & every).bit_count()


def _likely(folded: str, names: tuple[str, ...]) -> Iterable[str]:
    """All of a few names; of many, first those that stand beside it in the order of beginnings, or of ends."""
    ordered = _ordered(names)
    if ordered is None:
        return names
    begins, ends = ordered
    from_beginning = _outwards(begins, bisect_left(begins, folded, key=str.casefold))
    from_end = _outwards(ends, bisect_left(ends, folded[::-1], key=_backwards))
    return (one for pair in zip(from_beginning, from_end, strict=True) for one in pair)


@lru_cache(maxsize=16)
def _ordered(names: tuple[str, ...]) -> tuple[list[str], list[str]] | None:
    """Names in the order of their beginnings, and of their ends; None where all of them can be compared."""
    if len(names) + sum(map(len, names)) <= COMPARED:
        return None
    return sorted(names, key=str.casefold), sorted(names, key=_backwards)


def _backwards(name: str) -> str:
    return name.casefold()[::-1]


def _outwards(names: list[str], middle: int) -> Iterator[str]:
    """All names, from the middle on towards both ends."""
    for distance in range(max(middle, len(names) - middle)):
        if middle + distance < len(names):
            yield names[middle + distance]
        if distance < middle:
            yield names[middle - 1 - distance]
