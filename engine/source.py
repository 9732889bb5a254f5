"""YAML text to values that know their places.

One pass over libyaml's events. Everything that YAML would swallow or change in silence is a finding here: duplicate
keys, several documents, tags, merge keys, comments that cut a text short, aliases that explode.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from yaml import events
from yaml._yaml import CParser

from engine.diagnostics import Report
from engine.nodes import File, Map, NotJson, Seq, Spot, reading
from engine.syntax import explain

# Bounds for a whole pack: a hostile one is refused within a second and 100 MB.
MAX_BYTES: Final = 8_000_000
MAX_NODES: Final = 250_000
MAX_DEPTH: Final = 50

# What YAML forbids in a file, and U+0085, which it would turn into a space.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
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
    start = File(name, "").spot(0, 0)
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
    """The text of UTF-8 bytes. Characters that can't stand in a pack are reported, and replaced."""
    try:
        file = File(name, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = File(name, content[: error.start].decode("utf-8", "replace"))
        utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "this is UTF-16" if utf16 else f"byte 0x{content[error.start]:02x} is not UTF-8"
        report.add("PACK002", before.spot_at(len(before.text)), f"{what}; save the file as UTF-8")
        return None
    found = _FORBIDDEN.search(file.text)
    if found is not None:
        code = ord(found.group())
        instead = f'; write it as "\\x{code:02x}" in double quotes' if code < 0x100 else ""
        message = f"an invisible control character (U+{code:04X}) can't stand here{instead}"
        report.add("PACK003", file.spot_at(found.start()), message)
        file = File(name, _FORBIDDEN.sub("\ufffd", file.text))
    return file


def parse(file: File, budget: Budget, report: Report) -> Map | None:
    """The file's one document, a mapping. None, and a finding, where it can't be read to its end."""
    builder = _Builder(file, budget, report)
    try:
        document = builder.document()
    except yaml.MarkedYAMLError as error:
        mistake = explain(error, file.lines)
        if not (mistake.unclosed and builder.lost_text):
            report.add(mistake.code, file.spot(mistake.line, mistake.column), mistake.message)
        return None
    except yaml.YAMLError as error:
        report.add("PACK004", file.spot(0, 0), f"this is not YAML: {error}")
        return None
    except _Stop:
        return None
    if not isinstance(document, Map):
        what = "the file is empty" if document is None else "a mapping (key: value) is meant here"
        report.add("PACK013", file.spot(0, 0), what)
        return None
    return document


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
    size: int = 1
    key: str | None = None
    key_mark: int = 0
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
        self.root: Any = None
        self.lost_text = False

    def document(self) -> Any:
        documents = 0
        handlers: dict[type, Callable[[Any], None]] = {
            events.ScalarEvent: self.scalar,
            events.MappingStartEvent: self.start,
            events.SequenceStartEvent: self.start,
            events.MappingEndEvent: self.end,
            events.SequenceEndEvent: self.end,
            events.AliasEvent: self.alias,
        }
        while (event := self.parser.get_event()) is not None:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
            elif isinstance(event, events.DocumentStartEvent):
                documents += 1
                if documents == 2:
                    mark = _mark(event.start_mark)
                    self.stop("PACK006", mark, "a second document starts here; a pack is one document")
        for name, mark in self.idle.items():
            self.finding("PACK011", mark, f"nothing uses the anchor '&{name}'; if it is part of the text, quote it")
        return self.root

    def finding(self, code: str, mark: int, message: str) -> None:
        """Reports a mistake, once: what the schema says about the same place is left out."""
        spot = Spot(self.file, mark)
        self.report.add(code, spot, message)
        spot.excuse()

    def stop(self, code: str, mark: int, message: str) -> None:
        self.finding(code, mark, message)
        raise _Stop

    def scalar(self, event: Any) -> None:
        mark = _mark(event.start_mark)
        text = event.value
        value: Any = text
        raw: str | None = None
        if event.tag is not None:
            self.tag(event.tag, mark)
        elif event.implicit[0]:
            if text[:1] in _RESOLVERS:
                value = resolve(text)
            comment = _COMMENT.match(self.file.text, event.end_mark.index)
            if comment is not None and self.cuts(event, comment, mark):
                value = text
            if value is not text:
                self.file.raw[mark] = raw = text
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1, raw)
            self.idle[event.anchor] = mark
        self.put(value, mark, 1, raw)

    def start(self, event: events.MappingStartEvent | events.SequenceStartEvent) -> None:
        mark = _mark(event.start_mark)
        if event.tag is not None:
            self.tag(event.tag, mark)
        if len(self.stack) >= MAX_DEPTH:
            self.stop("PACK012", mark, f"nested too deep: {MAX_DEPTH} levels are the most")
        node: Map | Seq = (Map if type(event) is events.MappingStartEvent else Seq)(self.file, mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = (_Open, 0, None)
        self.stack.append(_Frame(node, event.anchor, bool(event.flow_style)))

    def end(self, event: events.MappingEndEvent | events.SequenceEndEvent) -> None:
        frame = self.stack.pop()
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (frame.node, frame.size, None)
        self.put(frame.node, frame.node.mark, frame.size, None)

    def alias(self, event: events.AliasEvent) -> None:
        mark = _mark(event.start_mark)
        name = event.anchor
        if name not in self.anchors:
            self.finding("PACK011", mark, f"'*' starts an alias, and nothing is named '&{name}'; quote the text")
            self.put(f"*{name}", mark, 1, None)
            return
        value, size, raw = self.anchors[name]
        self.idle.pop(name, None)
        if value is _Open:
            self.stop("PACK011", mark, f"the alias '*{name}' stands inside what it names")
        if raw is not None:
            self.file.raw[mark] = raw
        self.budget.nodes -= size - 1
        if self.budget.nodes < 0:
            self.stop("PACK012", mark, f"too many aliases: they come to more than {MAX_NODES:,} values")
        self.put(value, mark, size, raw)

    def put(self, value: Any, mark: int, size: int, raw: str | None) -> None:
        """Puts a finished value where it belongs: into the list or mapping that is open."""
        self.budget.nodes -= 1
        if self.budget.nodes < 0:
            self.stop("PACK012", mark, f"the pack is too large: {MAX_NODES:,} values are the most")
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        frame.size += size
        node = frame.node
        if isinstance(node, Seq):
            node.append(value)
            node.marks.append(mark)
        elif frame.key is None:
            self.key(frame, node, value, mark, raw)
        else:
            if not frame.skip:
                node[frame.key] = value
                node.marks += (frame.key_mark, mark)
            frame.key = None

    def key(self, frame: _Frame, node: Map, value: Any, mark: int, raw: str | None) -> None:
        """Takes note of a mapping's key. The value of one that can't be used is read, and left out."""
        frame.key_mark, frame.skip = mark, False
        spot = Spot(self.file, mark)
        if raw is not None:
            self.finding("PACK009", mark, f"a key must be text: {reading(value, raw)}; quote it")
            value = raw
        elif type(value) is not str:
            braces = spot.starts("{") and node.spot.starts("{{")
            what = "braces start a mapping; quote a text that begins with '{'" if braces else "a key must be text"
            self.finding("PACK009", node.mark, what)
            value, frame.skip = "", True
        elif value == "<<" and spot.starts("<<"):
            self.finding("PACK008", mark, "packs don't allow merge keys ('<<'); write the keys out")
            # What the merged keys would have brought is missing, here or further out.
            for outer in self.stack:
                outer.node.spot.excuse()
            frame.skip = True
        if value in node and not frame.skip:
            first = node.key_spot(value).place.line
            self.finding("PACK005", mark, f"'{value}' is given twice (first at line {first})")
            frame.skip = True
        frame.key = value

    def tag(self, tag: str, mark: int) -> None:
        self.finding("PACK007", mark, f"packs don't allow tags, and this is one ('{tag}'); if it is text, quote it")

    def cuts(self, event: Any, comment: re.Match[str], mark: int) -> bool:
        """Whether a comment that follows a plain text was probably meant as a part of it; if so, it is reported."""
        line, column = event.end_mark.line, event.end_mark.column + comment.end() - 1 - event.end_mark.index
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
        spot = self.file.spot(line, column)
        message = (
            f"'#' starts a comment here, so {what}; quote the text, or put a space behind '#' if a comment is meant"
        )
        self.report.add("PACK010", spot, message)
        Spot(self.file, mark).excuse()
        self.lost_text = True
        return True


def _mark(mark: Any) -> int:
    """libyaml's mark in one int, as Spot has it."""
    return int(mark.line << 24 | mark.column)
