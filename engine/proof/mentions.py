"""Whether a text mentions a value: as a whole, in whatever case, form of Unicode, and breaks of lines.

A value inside a longer word isn't mentioned ("phone" in "headphones", "can" in "can't"; but "Sam" in "Sam's" is).
Scripts that set no blanks between words, which are those with wide characters, have no such bounds. A value with fewer
than three letters and digits (wide ones count twice) would be found everywhere: it is never mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, east_asian_width, normalize

from engine.pack import Text

# How many letters and digits a value needs to be looked for.
LONG_ENOUGH = 3
_WORDS = re.compile(r"[^\W_]+")
# What makes the word before it another one: an apostrophe and a letter, but for an s of its own.
_CONTRACTED = re.compile(r"(?<=[^\W\d_])['\u2019](?!s(?![^\W\d_]))[^\W\d_]")
_SAMPLED = {"#": "[0-9]", "?": "[a-z]"}


def folded(text: Text) -> str:
    """A text in the form in which texts are compared; of a template what stands in it as it is."""
    if not isinstance(text, str):
        text = "\0".join(piece if isinstance(piece, str) else "" for piece in ("", *text.pieces, ""))
    return " ".join(normalize("NFKC", text).casefold().split())


def parts(text: Text) -> str:
    """The words and numbers of a text, folded, with one blank between them: of a name, what it is made of."""
    return " ".join(_WORDS.findall(folded(text)))


def telling(value: str) -> bool:
    """Whether a folded value is long enough to be looked for."""
    return size(value) >= LONG_ENOUGH


def size(value: str) -> int:
    """How many letters and digits a folded value has; wide ones count twice."""
    return sum(1 + _wide(character) for character in value if character.isalnum())


def mentions(text: str, value: str) -> bool:
    """Whether a folded text mentions a folded value."""
    start = text.find(value)
    while start >= 0:
        if _whole(text, start, start + len(value)):
            return True
        start = text.find(value, start + 1)
    return False


def mentioned_like(text: str, sample: str) -> str | None:
    """What a folded text mentions that a field's sample pattern could have been drawn as."""
    pattern = _sampled(sample)
    if pattern is None:
        return None
    matches = pattern.finditer(text)
    return next((match[0] for match in matches if _whole(text, *match.span())), None)


@lru_cache(maxsize=256)
def _sampled(sample: str) -> re.Pattern[str] | None:
    """The regular expression of a sample's pattern; None where any number, or any word, is like it."""
    parts, blanks, fixed = [], set[str](), False
    for character, escaped in _characters(sample):
        if escaped or character not in _SAMPLED:
            parts.append(re.escape(folded(character) or character))
            fixed = fixed or character.isalnum()
        else:
            parts.append(_SAMPLED[character])
            blanks.add(character)
    return re.compile("".join(parts)) if fixed or len(blanks) > 1 else None


def _characters(sample: str) -> Iterator[tuple[str, bool]]:
    """Each character of a sample's pattern, and whether a backslash takes it as it is."""
    escaped = False
    for character in sample:
        if character == "\\" and not escaped:
            escaped = True
        else:
            yield character, escaped
            escaped = False


def _whole(text: str, start: int, end: int) -> bool:
    """Whether a piece of a text is no part of a longer word."""
    before = start > 0 and _joined(text[start - 1], text[start])
    after = end < len(text) and _joined(text[end - 1], text[end])
    return not before and not after and _CONTRACTED.match(text, end) is None


def _joined(left: str, right: str) -> bool:
    return _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    return (character.isalnum() or category(character)[0] == "M") and not _wide(character)


def _wide(character: str) -> bool:
    return east_asian_width(character) in "WF"
