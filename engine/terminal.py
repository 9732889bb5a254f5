"""What may be sent to a terminal, and how wide it is there: texts come from strangers."""

from __future__ import annotations

import shlex
import unicodedata

_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_WIDTH = frozenset("\u200b\u200c\u200d\ufe0e\ufe0f\ufeff")


def printable(text: str) -> str:
    """Text of a stranger's, for a terminal: what can't be printed comes as an escape, all but blanks of any width."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or unicodedata.category(character) == "Zs" else repr(character)[1:-1]
        for character in text
    )


def encodable(text: str) -> str:
    """The text with an escape for each half of a surrogate pair, which has no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def shell_word(text: str) -> str:
    """The text as one word of a command that is shown to be pasted into a shell, all of it printable."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_in_word, text))}'"


def shell_path(path: str) -> str:
    """A file's path as a word of a command, which never is an option."""
    return shell_word(f"./{path}" if path.startswith("-") else path)


def _in_word(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def in_place(text: str) -> str:
    """The text with U+FFFD for each control character and for what turns the line around: places stay what they are."""
    return "".join(map(_in_place, text))


def _in_place(character: str) -> str:
    if character == "\t" or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _TURNING):
        return character
    return "\ufffd"


def blanks(text: str) -> str:
    """Blanks as wide as the text on a terminal."""
    return "".join(map(_blank, text))


def _blank(character: str) -> str:
    if character == "\t":
        return character
    if unicodedata.combining(character) or character in _NO_WIDTH:
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
