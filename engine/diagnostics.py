"""What is wrong with a pack, and where: findings with a place, a stable code, and the nearest valid name."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

from engine.lookalikes import difference

Severity = Literal["error", "warning"]

# One code per kind of mistake. A code keeps its meaning for good; 060-069 are about tickets that can't be played
# well, from 080 on about what is allowed but was hardly meant.
CODES: dict[str, str] = {
    "PACK001": "file can't be read",
    "PACK002": "not UTF-8",
    "PACK003": "character that can't stand here",
    "PACK004": "YAML syntax",
    "PACK005": "key given twice",
    "PACK006": "more than one document",
    "PACK007": "tag",
    "PACK008": "merge key",
    "PACK009": "key that isn't text",
    "PACK010": "text lost in a comment",
    "PACK011": "anchor or alias",
    "PACK012": "limit",
    "PACK013": "empty, or not a mapping",
    "PACK020": "text meant, something else given",
    "PACK021": "wrong type",
    "PACK022": "unknown key",
    "PACK023": "missing key",
    "PACK024": "value not allowed here",
    "PACK030": "unknown field",
    "PACK031": "unknown category",
    "PACK032": "unknown task",
    "PACK033": "unknown person",
    "PACK034": "unknown fact, or value it can't have",
    "PACK035": "unknown action or parameter, or value it can't have",
    "PACK036": "unknown phrase",
    "PACK037": "unknown ticket",
    "PACK040": "duplicate",
    "PACK041": "name taken by something else",
    "PACK042": "no way to answer",
    "PACK043": "no right value",
    "PACK044": "value not valid under its field's schema",
    "PACK045": "template",
    "PACK046": "contradiction",
    "PACK047": "pattern",
    "PACK048": "action without rules",
    "PACK049": "rewards",
    "PACK050": "field not in the contract",
    "PACK051": "grader",
    "PACK060": "ticket can't be resolved in time",
    "PACK061": "ticket's best return is not the range's maximum",
    "PACK062": "ticket not proved within the state budget",
    "PACK063": "observation not valid under the contract",
    "PACK070": "test of the pack fails",
    "PACK080": "template forgotten",
    "PACK081": "value stated but not known",
    "PACK082": "rule that never fires",
    "PACK083": "typographic quotes",
    "PACK084": "message given twice",
    "PACK085": "words that are never said",
    "PACK086": "file that isn't read",
    "PACK087": "message nearly given twice",
    "PACK088": "field that nothing uses",
    "PACK089": "person that no ticket names",
    "PACK090": "unbalanced categories",
    "PACK091": "message that gives the answer away",
    "PACK092": "pack without tests",
    "PACK093": "text still to be written",
    "PACK099": "more findings than are listed",
}

# How many findings are listed, and how many more are counted before the search is given up.
MAX_FINDINGS, MAX_COUNTED = 100, 5_000
# From this code on a finding is about what values mean. Where the form is wrong already, that follows from it.
MEANING = "PACK030"
# The longest message, and the longest name for which a near one is looked for.
LONGEST, LONGEST_NAME = 600, 200
# The widest piece of a source line that is shown.
SHOWN = 100
# How much is compared with a name, in characters: bounds the time that hostile names take.
COMPARED = 1_000
# From which share of common characters on a name is near.
LIKE = 0.6


class Place(NamedTuple):
    """A place in a file; line and column are 1-based, columns count characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def seen_from(self, other: Place) -> str:
        """The place in words, for somebody who looks at another one: the line alone, if it is in the same file."""
        return f"line {self.line}" if self.file == other.file else str(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake. `source` is the piece of its line that is shown, and `caret` the column in it, counted from 0."""

    code: str
    message: str
    place: Place
    severity: Severity = "error"
    expected: str | None = None
    nearest: str | None = None
    source: str | None = None
    caret: int = 0


class PackError(Exception):
    """A pack or a contract that can't be used. `findings` holds every mistake that was found."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(render(finding) for finding in self.findings))


class Where(Protocol):
    """What knows a place and the line that it stands in."""

    @property
    def place(self) -> Place: ...

    @property
    def line(self) -> tuple[str, str]:
        """The line, up to the place and from there on."""

    @property
    def excused(self) -> bool:
        """Whether a mistake in form was reported there."""


class Report:
    """Collects findings, up to a limit; only errors make it true."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}
        self._left_out: set[tuple[str, Place, str]] = set()
        self._errors = self._excused = 0
        self._more = False

    def __bool__(self) -> bool:
        return self._errors > 0

    @property
    def lists_more(self) -> bool:
        """Whether another finding would be listed, not just counted."""
        return len(self._found) < MAX_FINDINGS

    @property
    def full(self) -> bool:
        """Whether there is so much more than can be listed that looking on is of no use."""
        return self._more or len(self._left_out) >= MAX_COUNTED

    @property
    def count(self) -> int:
        """How many errors there were so far, those that follow from others and weren't reported among them."""
        return self._errors + self._excused

    def stop(self) -> None:
        """There is more, and nobody looks for it."""
        self._more = True

    def add(
        self,
        code: str,
        where: Where,
        message: str,
        *,
        expected: str | None = None,
        meant: tuple[str, Iterable[str]] | None = None,
    ) -> None:
        """Reports a mistake; `meant` is a name and the valid ones, of which the nearest is shown."""
        self._add("error", code, where, message, expected, meant)

    def warn(self, code: str, where: Where, message: str, *, expected: str | None = None) -> None:
        """Reports what is allowed but was hardly meant."""
        self._add("warning", code, where, message, expected, None)

    def _add(
        self,
        severity: Severity,
        code: str,
        where: Where,
        message: str,
        expected: str | None,
        meant: tuple[str, Iterable[str]] | None,
    ) -> None:
        if code >= MEANING and where.excused:
            self._excused += severity == "error"
            return
        message = message if len(message) <= LONGEST else message[:LONGEST] + "…"
        near, source, caret = None, "", 0
        if self.lists_more:
            near = nearest(*meant) if meant else None
            differs = difference(meant[0], near) if meant and near is not None else None
            message = f"{message} ({differs})" if differs else message
            source, caret = excerpt(*where.line)
        self.take(Finding(code, message, where.place, severity, expected, near, source, caret))

    def take(self, finding: Finding) -> None:
        """Adds a finding, unless it is there already."""
        key = (finding.code, finding.place, finding.message)
        if finding in self._found or key in self._left_out:
            return
        if self.lists_more:
            self._found[finding] = None
        elif len(self._left_out) < MAX_COUNTED:
            self._left_out.add(key)
        else:
            self._more = True
        self._errors += finding.severity == "error"

    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of their places."""
        found = sorted(self._found, key=lambda finding: (finding.place, finding.code))
        if self._left_out:
            more = f"{'at least ' if self.full else ''}{len(self._left_out):,} more"
            found.append(Finding("PACK099", f"and {more}", found[-1].place, "error" if self else "warning"))
        return tuple(found)


def render(finding: Finding) -> str:
    """The finding as lines of text: place, code and message, the source line with a caret, what was expected."""
    lines = [f"{finding.place}: {finding.code}: {finding.message}"]
    if finding.source:
        blank = "".join(_blank(character) for character in finding.source[: finding.caret])
        lines += [f"  {finding.source}", f"  {blank}^"]
    if finding.expected is not None:
        lines.append(f"  expected: {finding.expected}")
    if finding.nearest is not None:
        lines.append(f"  did you mean '{finding.nearest}'?")
    return "\n".join(lines)


def as_json(finding: Finding) -> dict[str, Any]:
    """The finding as JSON: `code, title, severity, message, file, line, column, expected, nearest, source`."""
    return {
        "code": finding.code,
        "title": CODES[finding.code],
        "severity": finding.severity,
        "message": finding.message,
        "file": finding.place.file,
        "line": finding.place.line,
        "column": finding.place.column,
        "expected": finding.expected,
        "nearest": finding.nearest,
        "source": finding.source,
    }


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None where nothing is close.

    Two names are as close as the share that their longest common subsequence has in both.
    """
    if len(name) > LONGEST_NAME:
        return None
    folded = name.casefold()
    places: dict[str, int] = {}  # of each character in the name: one bit for each
    for index, character in enumerate(folded):
        places[character] = places.get(character, 0) | 1 << index
    left, best, closest = COMPARED, LIKE, None
    for candidate in _likely(folded, tuple(candidates)):
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
    return closest


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


def excerpt(before: str, after: str) -> tuple[str, int]:
    """What of a line is shown, at most SHOWN characters around the place, and how many of them stand before it."""
    room = max(SHOWN * 2 // 3, SHOWN - len(after))
    left = before if len(before) <= room else "…" + before[1 - room :]
    right = after[: SHOWN - len(left)]
    shown = "".join(_printable(character) for character in left + right)
    return (shown + "…" if len(right) < len(after) else shown), len(left)


def _printable(character: str) -> str:
    """The character as it may be sent to a terminal: no control characters, nothing that turns the line around."""
    if character == "\t" or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _TURNING):
        return character
    return "\ufffd"


def _blank(character: str) -> str:
    """Blanks as wide as the character on a terminal."""
    if character == "\t":
        return character
    if unicodedata.combining(character) or character in _NO_WIDTH:
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "


_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_WIDTH = frozenset("\u200b\u200c\u200d\ufe0e\ufe0f\ufeff")
