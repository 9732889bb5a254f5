"""YAML text to values that know their places.

One pass over libyaml's events. Everything that YAML would swallow or change in silence is a finding here: duplicate
keys, several documents, tags, merge keys, comments that cut a text short, aliases that explode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from yaml import events
from yaml._yaml import CParser

from engine.diagnostics import Report
from engine.nodes import File, Map, NotJson, Seq, Spot, mark_of, reading
from engine.suspects import look_closer
from engine.syntax import Mistake, explain

# Bounds for a whole pack: a hostile one is refused within a second and 100 MB.
MAX_BYTES: Final = 8_000_000
MAX_NODES: Final = 250_000
# How many texts a value is worth that isn't text; a mapping or list is worth two.
COSTLY: Final = 3
MAX_DEPTH: Final = 50

# YAML's own ways to recognise and to make a number take much time and memory where the text is long.
LONGEST_NUMBER: Final = 100
_NUMERIC = re.compile(r"[-+]?[0-9][0-9_.:]*")
# How many characters of a text that is used again count as one value more.
CHARACTERS: Final = 100

# What YAML forbids in a file, and the line ends that it would turn into spaces: U+0085, U+2028 and U+2029.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In JSON, a character outside the basic plane; and an escaped backslash, which must not be taken for its beginning.
_PAIR = re.compile(r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
# A tag as it is written.
_TAG = re.compile(r"![^\s,\[\]{}]*")
# A '#' that may cut a plain text short: right after a blank, or at the start of the next line, indented.
_COMMENT = re.compile(r"[ \t]+#(?=\S)|[ \t]*(?:\r\n?|\n)(?P<indent>[ \t]+)#(?=\S)")


class Budget:
    """What a pack may still take up, over all its files."""

    def __init__(self) -> None:
        self.bytes = MAX_BYTES
        self.nodes = MAX_NODES


def open_file(path: Path, budget: Budget, report: Report) -> File | None:
    """The file's text; None, and a finding, where it can't be read or is too large."""
    name = str(path)
    start = File(name, "").spot(0)
    try:
        if not path.is_file():
            report.add("PACK001", start, "this is not a file" if path.exists() else "there is no such file")
            return None
        with path.open("rb") as stream:
            content = stream.read(budget.bytes + 1)
    except (OSError, ValueError) as error:
        report.add("PACK001", start, f"the file can't be read: {getattr(error, 'strerror', None) or error}")
        return None
    if len(content) > budget.bytes:
        report.add("PACK012", start, f"the pack is too large: {MAX_BYTES // 1_000_000} MB are the most")
        return None
    budget.bytes -= len(content)
    return decode(name, content, report)


def decode(name: str, content: bytes, report: Report) -> File | None:
    """The text of UTF-8 bytes; None, and a finding, where they aren't, or hold what can't stand in a pack."""
    try:
        file = File(name, _paired(content.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        before = File(name, content[: error.start].decode("utf-8-sig", "replace"))
        utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "this is UTF-16" if utf16 else f"byte 0x{content[error.start]:02x} is not UTF-8"
        report.add("PACK002", before.spot(len(before.text)), f"{what}; save the file as UTF-8")
        return None
    found = _FORBIDDEN.search(file.text)
    if found is not None:
        code = ord(found.group())
        escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        instead = f'; write it as "{escape}" in double quotes' if code < 0xD800 else ""
        message = f"an invisible control character (U+{code:04X}) can't stand here{instead}"
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


def parse(file: File, budget: Budget, report: Report) -> Map | None:
    """The file's one document, a mapping. None, and a finding, where it can't be read to its end."""
    builder = _Builder(file, budget, report)
    try:
        document = builder.document()
    except yaml.MarkedYAMLError as error:
        _report_syntax(explain(error, file.line), builder, report)
        return None
    except yaml.YAMLError as error:
        report.add("PACK004", file.spot(0), f"this is not YAML: {error}")
        return None
    except _Stop:
        return None
    if not isinstance(document, Map):
        what = "the file is empty" if document is None else "a mapping (key: value) is meant here"
        report.add("PACK013", file.spot(0), what)
        return None
    return document


def _report_syntax(mistake: Mistake, builder: _Builder, report: Report) -> None:
    file, at = builder.file, mistake.at
    bracket = builder.stack[-1].node.spot.offset if builder.stack and builder.stack[-1].flow else None
    closer = look_closer(mistake, file.text, bracket)
    if builder.lost_text and (mistake.unclosed or (closer is not None and closer[0] == bracket)):
        return  # a comment may have swallowed the bracket
    spot = Spot(file, mark_of(at.offset, at.line, at.column)) if closer is None else file.spot(closer[0])
    report.add(mistake.code, spot, mistake.message if closer is None else closer[1])


class _Stop(Exception):
    """Nothing after this place can be read; the finding is already reported."""


class _Open:
    """What an anchor stands for as long as its mapping or list is not finished."""


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is being read. `key` is a mapping's key that waits for its value."""

    node: Map | Seq
    anchor: str | None
    flow: bool
    # How many values stand inside its values.
    inner: int = 0
    key: str | None = None
    key_mark: int = 0
    # The key can't be used: its value is read and left out.
    skip: bool = False


_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = yaml.resolver.Resolver.yaml_implicit_resolvers
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_CONSTRUCTORS: dict[str, Callable[[Any], Any]] = {
    "tag:yaml.org,2002:bool": _CONSTRUCTOR.construct_yaml_bool,
    "tag:yaml.org,2002:int": _CONSTRUCTOR.construct_yaml_int,
    "tag:yaml.org,2002:float": _CONSTRUCTOR.construct_yaml_float,
    "tag:yaml.org,2002:null": lambda node: None,
}


def resolve(text: str) -> Any:
    """What YAML 1.1 makes of a plain text: itself, a bool, an int, a finite float, None, or NotJson."""
    if len(text) > LONGEST_NUMBER:
        return NotJson("a number") if _NUMERIC.fullmatch(text) else text
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if not pattern.match(text):
            continue
        if tag == "tag:yaml.org,2002:timestamp":
            return NotJson("a date")
        if tag not in _CONSTRUCTORS:
            return text
        try:
            value = _CONSTRUCTORS[tag](yaml.ScalarNode(tag, text))
        except (ValueError, OverflowError):
            return NotJson("a number that can't be read")
        # Only inf and nan differ from 0 when they are taken from themselves.
        return NotJson("a number without end") if isinstance(value, float) and value - value != 0 else value
    return text


class _Builder:
    def __init__(self, file: File, budget: Budget, report: Report) -> None:
        self.file, self.budget, self.report = file, budget, report
        self.parser = CParser(file.text)
        self.stack: list[_Frame] = []
        # What an alias stands for: the value, how many values that is, and its raw text.
        self.anchors: dict[str, tuple[Any, int, str | None]] = {}
        # Anchors on texts that no alias has named yet: most often a text that begins with '&'.
        self.idle: dict[str, int] = {}
        # Whether there is any comment that may cut a text short.
        self.comments = " #" in file.text or "\t#" in file.text
        self.lost_text = False

    def document(self) -> Any:
        """The value that the whole file holds. This loop runs for every value of a pack, so it is written out."""
        next_event: Callable[[], Any] = self.parser.get_event
        stack, root, documents = self.stack, None, 0
        while (event := next_event()) is not None:
            kind, raw = type(event), None
            if kind is events.ScalarEvent:
                start = event.start_mark
                mark = start.index << 48 | start.line << 24 | start.column
                value: Any = event.value
                if not event.implicit[0] or value[:1] in _RESOLVERS or self.comments or event.anchor is not None:
                    value, raw = self.scalar(event, mark)
                if self.anchors and stack:
                    stack[-1].inner += len(event.value) // CHARACTERS
            elif kind is events.MappingStartEvent or kind is events.SequenceStartEvent:
                self.start(event)
                continue
            elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
                value = self.end()
                mark = value.mark
            elif kind is events.AliasEvent:
                value, mark, raw = self.alias(event)
            elif kind is events.DocumentStartEvent:
                documents += 1
                if documents == 2:
                    self.stop(
                        "PACK006", _mark(event.start_mark), "a second document starts here; a pack is one document"
                    )
                continue
            else:
                continue
            self.budget.nodes -= 1
            if self.budget.nodes < 0:
                self.stop("PACK012", mark, "the pack is too large: it holds too many values")
            if not stack:
                root = value
                continue
            frame = stack[-1]
            node: Any = frame.node
            if type(node) is Seq:
                node.append(value)
                node.marks.append(mark)
            elif frame.key is None:
                frame.key, frame.key_mark, frame.skip = value, mark, False
                if type(value) is not str or value in node or value == "<<":
                    self.odd_key(frame, value, mark, raw)
            else:
                if not frame.skip:
                    node[frame.key] = value
                    node.marks += (frame.key_mark, mark)
                frame.key = None
        for name, mark in self.idle.items():
            self.finding("PACK011", mark, f"nothing uses the anchor '&{name}'; if it is part of the text, quote it")
        return root

    def finding(self, code: str, mark: int, message: str) -> None:
        """Reports a mistake, once: what the schema says about the same place is left out."""
        spot = Spot(self.file, mark)
        self.report.add(code, spot, message)
        spot.excuse()
        if self.report.full:
            raise _Stop

    def stop(self, code: str, mark: int, message: str) -> NoReturn:
        self.finding(code, mark, message)
        raise _Stop

    def scalar(self, event: Any, mark: int) -> tuple[Any, str | None]:
        """What a scalar stands for, and its text where that isn't text."""
        text = event.value
        value: Any = text
        raw: str | None = None
        if event.tag is not None:
            self.tag(event.tag, mark)
        elif event.implicit[0]:
            value = resolve(text)
            comment = _COMMENT.match(self.file.text, event.end_mark.index) if self.comments else None
            if comment is not None and self.cuts(event, comment, mark):
                value = text
            if value is not text:
                self.budget.nodes -= COSTLY
                self.file.raw[mark] = raw = text
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1 + len(text) // CHARACTERS, raw)
            self.idle[event.anchor] = mark
        return value, raw

    def start(self, event: Any) -> None:
        mark = _mark(event.start_mark)
        if event.tag is not None:
            self.tag(event.tag, mark)
        if len(self.stack) >= MAX_DEPTH:
            self.stop("PACK012", mark, f"nested too deep: {MAX_DEPTH} levels are the most")
        self.budget.nodes -= 1
        node: Map | Seq = (Map if type(event) is events.MappingStartEvent else Seq)(self.file, mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = (_Open, 0, None)
        self.stack.append(_Frame(node, event.anchor, bool(event.flow_style)))

    def end(self) -> Map | Seq:
        frame = self.stack.pop()
        size = 1 + len(frame.node.marks) + frame.inner
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (frame.node, size, None)
        if self.stack:
            self.stack[-1].inner += size - 1
        return frame.node

    def alias(self, event: Any) -> tuple[Any, int, str | None]:
        mark = _mark(event.start_mark)
        name = event.anchor
        if name not in self.anchors:
            self.finding("PACK011", mark, f"'*' starts an alias, and nothing is named '&{name}'; quote the text")
            return f"*{name}", mark, None
        value, size, raw = self.anchors[name]
        self.idle.pop(name, None)
        if value is _Open:
            self.stop("PACK011", mark, f"the alias '*{name}' stands inside what it names")
        if raw is not None:
            self.file.raw[mark] = raw
        self.budget.nodes -= size - 1
        if self.budget.nodes < 0:
            self.stop("PACK012", mark, "too many aliases: what they stand for comes to too many values")
        if self.stack:
            self.stack[-1].inner += size - 1
        return value, mark, raw

    def odd_key(self, frame: _Frame, value: Any, mark: int, raw: str | None) -> None:
        """A key that isn't text, that was given before, or that may be a merge key: reports what is wrong with it."""
        node, spot = frame.node, Spot(self.file, mark)
        if raw is not None:
            self.finding("PACK009", mark, f"a key must be text: {reading(value, raw)}; quote it")
            frame.key = value = raw
        elif type(value) is not str:
            braces = spot.starts("{") and node.spot.starts("{{")
            what = "braces start a mapping; quote a text that begins with '{'" if braces else "a key must be text"
            frame.key, frame.skip = "", True
            self.finding("PACK009", node.mark, what)
        elif value == "<<" and spot.starts("<<"):
            # What the merged keys would have brought is missing, here or further out.
            for outer in self.stack:
                outer.node.spot.excuse()
            frame.skip = True
            self.finding("PACK008", mark, "packs don't allow merge keys ('<<'); write the keys out")
        if not frame.skip and isinstance(node, Map) and value in node:
            frame.skip = True
            first = node.key_spot(value).place.line
            self.finding("PACK005", mark, f"'{value}' is given twice (first at line {first})")

    def tag(self, tag: str, mark: int) -> None:
        written = _TAG.search(self.file.text, mark >> 48)
        what = written[0] if written else tag
        self.finding("PACK007", mark, f"packs don't allow tags, and this is one ('{what}'); if it is text, quote it")

    def cuts(self, event: Any, comment: re.Match[str], mark: int) -> bool:
        """Whether a comment that follows a plain text was probably meant as a part of it; if so, it is reported."""
        end, index = event.end_mark, comment.end() - 1
        line, column = end.line, end.column + index - end.index
        if comment["indent"] is not None:
            frame = self.stack[-1] if self.stack else None
            if frame is None or frame.flow or not event.value:
                return False
            # Only what stands deeper than the key or the dash can go on with the text.
            outer = frame.key_mark if isinstance(frame.node, Map) else frame.node.mark
            line, column = line + 1, len(comment["indent"])
            if column <= outer & 0xFFFFFF:
                return False
        what = f"the text ends at '{event.value[-40:]}'" if event.value else "there is no text"
        self.finding(
            "PACK010",
            mark_of(index, line, column),
            f"'#' starts a comment here, so {what}; quote the text, or put a space after '#' if a comment is meant",
        )
        Spot(self.file, mark).excuse()
        self.lost_text = True
        return True


def _mark(mark: Any) -> int:
    """libyaml's mark as ours."""
    return mark_of(mark.index, mark.line, mark.column)
