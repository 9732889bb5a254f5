"""Texts that differ in a few words only: pairs of them, found without comparing every text with every other.

Two texts are near where both have more than three in five of all pairs of neighbouring words that either has: one word
in ten may be another, or more at an end. Case, forms of Unicode and punctuation make no difference. In scripts without
blanks between words, each character counts as one; in a template a name is a word.

Such texts share one of the rarer pairs of either (Bayardo, Ma and Srikant 2007), so an index of these finds them. Of
those that it finds for a text, no more than LOOKED are compared with it: time grows with the number of texts alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Final
from unicodedata import normalize

from engine.pack import Text

Words = tuple[str, ...]

# Texts of fewer words are near where they are the same only: of so few, one says all.
LEAST: Final = 4
# Near texts have more than this share of their pairs in common: 3 in 5.
ALIKE: Final = (3, 5)
# How many texts are compared with one, at the most.
LOOKED: Final = 50

# Scripts that set no blanks between words: Thai, Lao, Burmese, Khmer, Kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_PART = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡¿«»‹›“”„‟‘’‚‛–—―…·•、。〈〉《》「」『』【】〜।"


def words(text: Text) -> Words:
    """The words of a text, as they are compared."""
    if isinstance(text, str):
        return tuple(_words(text))
    return tuple(
        word
        for piece in text.pieces
        for word in (_words(piece) if isinstance(piece, str) else (f"{{{piece.name or piece.text}}}",))
    )


def _words(text: str) -> Iterator[str]:
    for part in _PART.findall(normalize("NFKC", text).casefold()):
        word = part.strip(_MARKS)
        if word:
            yield word


def near_earlier(texts: Sequence[Words], weight: Callable[[int, int], int]) -> Iterator[tuple[int, int]]:
    """For each text that an earlier one is near to, the earlier one and itself, by their indices.

    Of several the one of the greatest `weight(earlier, later)` is taken, then the one that has most in common, then the
    first. A pair of weight 0 doesn't count.
    """
    numbers: dict[Words, int] = {}
    shingles = [frozenset([numbers.setdefault(one, len(numbers)) for one in _shingles(text)]) for text in texts]
    often = Counter(chain.from_iterable(shingles))
    index: dict[int, list[int]] = {one: [] for one, times in often.items() if times > 1}
    for later, own in enumerate(shingles):
        # So few are too few to be all that near ones don't have in common.
        rarest = sorted(sorted(own), key=often.__getitem__)[: len(own) - len(own) * ALIKE[0] // ALIKE[1]]
        held = [index[one] for one in rarest if one in index]
        shares = ((one, _share(shingles[one], own)) for one in _first(held))
        found = [(weight(one, later), share, -one) for one, share in shares if share]
        best = max(found, default=(0, 0.0, 0))
        if best[0]:
            yield -best[2], later
        for each in held:
            each.append(later)


def near(one: Words, other: Words) -> bool:
    """Whether two texts are near."""
    return _share(frozenset(_shingles(one)), frozenset(_shingles(other))) > 0


def _shingles(text: Words) -> Iterable[Words]:
    """What of a text is compared: its pairs of neighbouring words, or all of it where it is short."""
    if len(text) < LEAST:
        return (("", *text),) if text else ()
    return pairwise(text)


def _first(held: Sequence[Sequence[int]]) -> dict[int, None]:
    return dict.fromkeys(islice(chain.from_iterable(held), LOOKED))


def _share(one: frozenset[Hashable], other: frozenset[Hashable]) -> float:
    """The share of the shingles of two texts that both have; 0 where they aren't near."""
    common = len(one & other)
    every = len(one) + len(other) - common
    return common / every if common * ALIKE[1] > every * ALIKE[0] else 0.0
