"""YAML text to values that know their places.

One pass over libyaml's events. Everything that YAML would swallow or change in silence is a finding here: duplicate
keys, several documents, tags, merge keys, comments that cut a text short, aliases that explode.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from yaml import events
from yaml._yaml import CParser

from engine.diagnostics import Report
from engine.encoding import decode
from engine.indentation import key_beside
from engine.nodes import MAX_NODES, MERGE, File, Map, Seq, Spot, mark_of, reading
from engine.scalars import RESOLVERS, resolve
from engine.suspects import Around, look_closer
from engine.syntax import Mistake, explain

# Bounds for a whole pack: a hostile one is refused within a second and 100 MB.
MAX_BYTES: Final = 8_000_000
# How many texts a value is worth that isn't text; a mapping or list is worth two.
COSTLY: Final = 3
MAX_DEPTH: Final = 50

# How many characters of a text that is used again count as one value more.
CHARACTERS: Final = 100

# A number before a comma, behind which a key begins at once.
_COMMA = re.compile(r"(?<![0-9.])([0-9]+),$")

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
            why = "this link leads nowhere" if path.is_symlink() else "there is no such file"
            report.add("PACK001", start, "this is not a file" if path.exists() else why)
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
        is_reading = reading(document, document if isinstance(document, str) else "this")
        what = "the file is empty" if document is None else f"a mapping (key: value) is meant here, and {is_reading}"
        report.add("PACK013", file.spot(0), what)
        return None
    return document


def _report_syntax(mistake: Mistake, builder: _Builder, report: Report) -> None:
    file, at, around = builder.file, mistake.at, builder.around()
    closer = look_closer(mistake, file.text, around)
    if builder.lost_text and (mistake.unclosed or (closer is not None and closer.at == around.bracket)):
        return  # a comment may have swallowed the bracket
    if builder.braces == at.line:
        return  # what follows a mapping that was meant as text
    if closer is None:
        report.add(mistake.code, Spot(file, mark_of(at.offset, at.line, at.column)), mistake.message)
    else:
        report.add(mistake.code, file.spot(closer.at), closer.message, expected=closer.expected)


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
        # The line, from 0, of the last braces that were most likely meant as text.
        self.braces: int | None = None

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
                if not event.implicit[0] or value[:1] in RESOLVERS or self.comments or event.anchor is not None:
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
                self.stop("PACK012", mark, f"the pack is too large: {MAX_NODES:,} values are the most")
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
                if type(value) is not str or value in node or value == MERGE:
                    self.odd_key(frame, value, mark, raw)
            else:
                if not frame.skip:
                    node[frame.key] = value
                    node.marks += (frame.key_mark, mark)
                frame.key = None
        for name, mark in self.idle.items():
            self.finding("PACK011", mark, f"nothing uses the anchor '&{name}'; if it is part of the text, quote it")
        return root

    def around(self) -> Around:
        """Where the builder stands."""
        if not self.stack:
            return Around()
        frame, marks = self.stack[-1], self.stack[-1].node.marks
        key = marks[-2] >> 48 if marks and isinstance(frame.node, Map) else None
        return Around(frame.node.spot.offset if frame.flow else None, key, marks[-1] >> 48 if marks else None)

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
            message = f"too many aliases: what they stand for comes to more than {MAX_NODES:,} values"
            self.stop("PACK012", mark, message)
        if self.stack:
            self.stack[-1].inner += size - 1
        return value, mark, raw

    def odd_key(self, frame: _Frame, value: Any, mark: int, raw: str | None) -> None:
        """A key that isn't text, that was given before, or that may be a merge key: reports what is wrong with it."""
        node, spot = frame.node, Spot(self.file, mark)
        assert isinstance(node, Map)
        if raw is not None:
            number = _COMMA.search(self.file.text, max(0, spot.offset - 20), spot.offset)
            if frame.flow and number is not None:
                frame.skip = True
                message = f"a comma begins the next key here; write a number with a point: {number[1]}.{raw}"
                self.finding("PACK009", mark, message)
            else:
                self.finding("PACK009", mark, f"a key must be text: {reading(value, raw)}; quote it")
            frame.key = value = raw
        elif type(value) is not str:
            frame.key, frame.skip = "", True
            if spot.starts("{") and node.spot.starts("{{"):
                self.braces = node.mark >> 24 & 0xFFFFFF
                self.finding("PACK009", node.mark, "braces start a mapping; quote a text that begins with '{'")
            elif not spot.excused:
                node.spot.excuse()  # nobody knows which key it was to be
                self.finding("PACK009", mark, f"a key must be text, and {reading(value, None)}; quote it")
        elif value == MERGE and spot.starts(MERGE):
            # What the merged keys would have brought is missing, here or further out.
            for outer in self.stack:
                outer.node.spot.excuse()
            frame.skip = True
            node.again.add(MERGE)
            message = "packs don't allow merge keys ('<<'); write the keys out"
            if not self.report.repeats("PACK008", spot, message):
                self.finding("PACK008", mark, message)
        if not frame.skip and value in node:
            first = node.key_spot(value).place.line
            message = f"'{value}' is given twice (first at line {first})"
            if self.lacks_dash(frame, mark):
                self.finding("PACK005", mark, f"{message}; a new item of the list needs '- ' before it")
                self.next_item(frame, mark)
            else:
                frame.skip = True
                node.again.add(value)
                self.finding("PACK005", mark, message)

    def lacks_dash(self, frame: _Frame, mark: int) -> bool:
        """Whether the key that is given again most likely begins the next item of a list: it is the first one, and the
        one after it was given before as well."""
        node, parent = frame.node, self.stack[-2] if len(self.stack) > 1 else None
        if not isinstance(node, Map) or parent is None or parent.flow or not isinstance(parent.node, Seq):
            return False
        again = not frame.flow and frame.key == next(iter(node))
        return again and key_beside(self.file.text, mark >> 48, mark & 0xFFFFFF) in node

    def next_item(self, frame: _Frame, mark: int) -> None:
        """Goes on with a new item of the list."""
        parent = self.stack[-2].node
        assert isinstance(parent, Seq)
        parent.append(frame.node)
        parent.marks.append(frame.node.mark)
        frame.node = Map(self.file, mark)

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
