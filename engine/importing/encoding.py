"""Bytes to text, by rules that can be told: a byte order mark, else UTF-8, else Windows-1252."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from typing import Final

# Stands where bytes can't be read. No text has it: it is half of a pair.
UNREADABLE: Final = "\udc80"
# Ctrl-Z: old programs write it, once or up to the end of a block.
_END: Final = "\x1a"
# How many bytes are looked at for NULs.
_SAMPLE = 4096
# Longer marks first: the first bytes of one are another one.
_MARKS: tuple[tuple[bytes, str, str], ...] = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


# Half of a pair, which some encodings let through.
_HALF = re.compile("[\ud800-\udfff]")


class UnknownEncoding(ValueError):
    """There is no encoding of this name, or none for text."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text, UNREADABLE where bytes can't be read; its encoding, as people call it, and a word about that."""

    text: str
    encoding: str
    note: str | None = None


def decode(content: bytes, encoding: str | None = None) -> Decoded:
    """The text of a file, without DOS's mark of its end. `encoding` is what its owner says.

    Raises:
        UnknownEncoding: there is no such encoding.
    """
    decoded = _decoded(content, encoding)
    return replace(decoded, text=decoded.text.rstrip(_END))


def _decoded(content: bytes, encoding: str | None) -> Decoded:
    if encoding is not None:
        return Decoded(_read(content, encoding).removeprefix("\ufeff"), encoding)
    for mark, codec, name in _MARKS:
        if content.startswith(mark):
            return Decoded(_read(content[len(mark) :], codec), f"{name} with a byte order mark")
    for codec, zeros, others in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        sample = content[:_SAMPLE]
        if 3 * sample[zeros::2].count(0) > len(sample) // 2 and not sample[others::2].count(0):
            return Decoded(_read(content, codec), "UTF-16")
    return _unmarked(content)


def _unmarked(content: bytes) -> Decoded:
    text = _read(content, "utf-8")
    broken = text.count(UNREADABLE)
    if not broken:
        return Decoded(text, "UTF-8")
    beyond = len(text) - len(text.encode("ascii", "ignore")) - broken
    if beyond > broken:  # most likely it is UTF-8 that was damaged, or cut off inside a character
        return Decoded(text, "UTF-8", f"not all of it is UTF-8: the first place that isn't is in line {_line(text)}")
    note = f"line {_line(text)} isn't UTF-8, so all of it is read as Windows-1252; --encoding says otherwise"
    return Decoded(_read(content, "cp1252"), "Windows-1252", note)


def _line(text: str) -> int:
    """The line, from 1, of the first place that can't be read."""
    before = text[: text.index(UNREADABLE)].replace("\r\n", "\n")
    return before.count("\n") + before.count("\r") + 1


def _read(content: bytes, encoding: str) -> str:
    try:
        return _HALF.sub(UNREADABLE, content.decode(encoding, _HANDLER))
    except (LookupError, UnicodeError, ValueError):
        raise UnknownEncoding(encoding) from None


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return UNREADABLE, error.end


_HANDLER = "deskproof.unreadable"
codecs.register_error(_HANDLER, _mark)
