"""A file's bytes to its text: UTF-8, without what can't stand in a pack."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from engine.diagnostics import SHOWN, Report
from engine.nodes import MAX_NODES, File

# What YAML forbids in a file, and the line ends that it would turn into spaces: U+0085, U+2028 and U+2029.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In JSON, a character outside the basic plane; and an escaped backslash, which must not be taken for its beginning.
_PAIR = re.compile(r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def decode(name: str, content: bytes, report: Report) -> File | None:
    """The text of UTF-8 bytes; None, and a finding, where they aren't, or hold what can't stand in a pack."""
    content = content.removeprefix(BOM_UTF8)
    if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) or 0 in content[:2]:
        report.add("PACK002", File(name, "").spot(0), "this is UTF-16; save the file as UTF-8")
        return None
    try:
        file = File(name, _paired(content.decode()))
    except UnicodeDecodeError as error:
        before, after = content[: error.start].decode(), content[error.start :][:SHOWN]
        spot = File(name, before + after.decode(errors="replace")).spot(len(before))
        character = after[:1].decode("cp1252", "ignore")
        meant = f" (in Windows-1252 it is '{character}')" if character.isprintable() and character else ""
        report.add("PACK002", spot, f"byte 0x{after[:1].hex()} is not UTF-8{meant}; save the file as UTF-8")
        return None
    found = _FORBIDDEN.search(file.text)
    if found is not None:
        code = ord(found.group())
        escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        instead = f', or write it as "{escape}" in double quotes' if code < 0xD800 else ""
        message = f"an invisible control character (U+{code:04X}) can't stand here; take it out{instead}"
        report.add("PACK003", file.spot(found.start()), message)
        return None
    return file


def _paired(text: str) -> str:
    """JSON with each pair of escapes that means one character as the one escape that YAML has for it."""
    if not text.lstrip().startswith("{") or not any(found[1] for found in _PAIR.finditer(text)):
        return text
    # JSON that holds more values than a pack may needn't be read; this also bounds the time and memory for it.
    if sum(map(text.count, ",[{")) > MAX_NODES:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text

    def one(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0]
        return f"\\U{0x10000 + (int(found[1], 16) - 0xD800) * 0x400 + int(found[2], 16) - 0xDC00:08x}"

    return _PAIR.sub(one, text)
