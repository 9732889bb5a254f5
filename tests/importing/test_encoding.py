"""Bytes to text: a byte order mark, else UTF-8, else Windows-1252, and a place for what can't be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.importing.encoding import UNREADABLE, Decoded, UnknownEncoding, decode

TEXT = "Straße, 🙂, İstanbul\n"


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (b"\xef\xbb\xbf", "utf-8", "UTF-8"),
        (b"\xff\xfe", "utf-16-le", "UTF-16"),
        (b"\xfe\xff", "utf-16-be", "UTF-16"),
        (b"\xff\xfe\0\0", "utf-32-le", "UTF-32"),
        (b"\0\0\xfe\xff", "utf-32-be", "UTF-32"),
    ],
)
def test_a_byte_order_mark_says_what_it_is(mark: bytes, codec: str, name: str) -> None:
    assert decode(mark + TEXT.encode(codec)) == Decoded(TEXT, f"{name} with a byte order mark")


def test_without_a_mark_it_is_utf_8_if_it_can_be() -> None:
    assert decode(TEXT.encode()) == Decoded(TEXT, "UTF-8")
    assert decode(b"") == Decoded("", "UTF-8")


def test_utf_16_without_a_mark_is_known_by_its_nuls() -> None:
    for codec in ("utf-16-le", "utf-16-be"):
        assert decode("id,message\r\n1,hällo\r\n".encode(codec)).text == "id,message\r\n1,hällo\r\n"
    # Two NULs in a row are damage, not letters.
    assert decode(b"a\0\0b").encoding == "UTF-8"


def test_what_is_not_utf_8_is_windows_1252_and_says_so() -> None:
    found = decode("id\nGr\u00fc\u00dfe \u201eja\u201c \u20ac\n".encode("cp1252"))
    assert (found.text, found.encoding) == ("id\nGrüße „ja“ €\n", "Windows-1252")
    assert found.note == "line 2 isn't UTF-8, so all of it is read as Windows-1252; --encoding says otherwise"


def test_damaged_utf_8_stays_utf_8() -> None:
    """Three letters beyond ASCII that can be read, and one that was cut off: it isn't all turned into Ã¼."""
    found = decode("äöü\r\nß".encode()[:-1])
    assert (found.text, found.encoding) == (f"äöü\r\n{UNREADABLE}", "UTF-8")
    assert found.note == "not all of it is UTF-8: the first place that isn't is in line 2"


def test_its_owner_knows_better() -> None:
    assert decode("Größe".encode("cp850"), "cp850").text == "Größe"
    assert decode(b"\xef\xbb\xbfa", "utf-8").text == "a"
    # 0x81 is nothing in Windows-1252; half a pair is nothing anywhere.
    assert decode(b"a\x81b", "cp1252").text == f"a{UNREADABLE}b"
    assert decode(rb"a\ud800b", "raw_unicode_escape").text == f"a{UNREADABLE}b"
    for unknown in ("utf-9", "rot13", "hex", "undefined", "", "a\0b"):
        with pytest.raises(UnknownEncoding):
            decode(b"a", unknown)


def test_the_end_as_dos_marks_it_belongs_to_no_text() -> None:
    assert decode(b"a\x1ab\r\n\x1a\x1a").text == "a\x1ab\r\n"
    assert decode("a\x1a".encode("utf-16")).text == "a"
    assert decode(b"a\x1a", "cp850").text == "a"


@given(st.binary(max_size=300))
def test_any_bytes_are_text(content: bytes) -> None:
    """And a text that can be written again, but for what can't be read."""
    decode(content).text.replace(UNREADABLE, "").encode()


@given(st.text(max_size=100), st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_a_marked_text_comes_back(text: str, codec: str) -> None:
    # A text that begins with NUL would make UTF-32's mark of UTF-16's; one that ends in Ctrl-Z ends before it.
    text = f"x{text}x"
    assert decode(text.encode(codec)).text == text
