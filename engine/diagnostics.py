"""What is wrong with a pack, and where: findings with a place, a stable code, and the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

from engine.lookalikes import difference
from engine.nearest import nearest
from engine.terminal import blanks, in_place, printable

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
    "PACK014": "no pack at all",
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
    "PACK094": "text cut at a comma",
    "PACK095": "message without words",
    "PACK096": "character that nobody sees",
    "PACK099": "more findings than are listed",
}

# How many findings are listed, and how many more are counted before the search is given up.
MAX_FINDINGS, MAX_COUNTED = 100, 5_000
# From this code on a finding is about what values mean. Where the form is wrong already, that follows from it.
MEANING = "PACK030"
# The longest message.
LONGEST = 600
# The widest piece of a source line that is shown.
SHOWN = 100
# How many other places a finding keeps, and how many of them are shown.
KEPT_PLACES, SHOWN_PLACES = 100, 8


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
    """One mistake. `source` is the piece of its line that is shown, and `caret` the column in it, counted from 0.

    `also` are the other places of the same mistake, the first of them, and `more` is how many there are besides.
    """

    code: str
    message: str
    place: Place
    severity: Severity = "error"
    expected: str | None = None
    nearest: str | None = None
    source: str | None = None
    caret: int = 0
    also: tuple[Place, ...] = ()
    more: int = 0


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
        # Of each listed finding, by code and message: itself, and the other places that it names.
        self._said: dict[tuple[str, str], tuple[Finding, dict[Place, None]]] = {}
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
        near: str | None = None,
    ) -> None:
        """Reports a mistake; `meant` is a name and the valid ones, of which the nearest is shown, or else `near`."""
        self._add("error", code, where, message, expected, meant, near)

    def repeats(self, code: str, where: Where, message: str) -> bool:
        """Whether the same mistake was reported at another place. It is one mistake: the finding names this one too."""
        said = self._said.get((code, message))
        if said is None or (code >= MEANING and where.excused):
            return False
        finding, places = said
        if where.place != finding.place and len(places) < MAX_COUNTED:
            places[where.place] = None
        self._excused += finding.severity == "error"
        return True

    def warn(self, code: str, where: Where, message: str, *, expected: str | None = None) -> None:
        """Reports what is allowed but was hardly meant."""
        self._add("warning", code, where, message, expected, None, None)

    def _add(
        self,
        severity: Severity,
        code: str,
        where: Where,
        message: str,
        expected: str | None,
        meant: tuple[str, Iterable[str]] | None,
        near: str | None,
    ) -> None:
        if code >= MEANING and where.excused:
            self._excused += severity == "error"
            return
        short = message if len(message) <= LONGEST else message[:LONGEST] + "…"
        if not self.lists_more:
            self.take(Finding(code, short, where.place, severity))
            return
        near = near or (nearest(*meant) if meant else None)
        differs = difference(meant[0], near) if meant and near is not None else None
        short = f"{short} ({differs})" if differs else short
        finding = Finding(code, short, where.place, severity, expected, near, *excerpt(*where.line))
        self.take(finding)
        self._said.setdefault((code, message), (finding, {}))

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
        also = {finding: places for finding, places in self._said.values() if places}
        every = (_everywhere(finding, also[finding]) if finding in also else finding for finding in self._found)
        found = sorted(every, key=lambda finding: (finding.place, finding.code))
        if self._left_out:
            more = f"{'at least ' if self.full else ''}{len(self._left_out):,} more"
            found.append(Finding("PACK099", f"and {more}", found[-1].place, "error" if self else "warning"))
        return tuple(found)


def _everywhere(finding: Finding, places: Iterable[Place]) -> Finding:
    first, *others = sorted(places)
    also = (first, *others[: KEPT_PLACES - 1])
    return replace(finding, also=also, more=1 + len(others) - len(also))


def render(finding: Finding) -> str:
    """The finding as lines of text, all of them printable: place, code and message, the source line with a caret, what
    was expected, where else the same mistake is."""
    lines = [printable(f"{finding.place}: {finding.code}: {finding.message}")]
    if finding.source:
        lines += [f"  {finding.source}", f"  {blanks(finding.source[: finding.caret])}^"]
    return "\n".join((*lines, *(f"  {printable(line)}" for line in hints(finding))))


def hints(finding: Finding) -> Iterator[str]:
    """What is said of a finding below its message, line by line."""
    if finding.expected is not None:
        yield f"expected: {finding.expected}"
    if finding.nearest is not None:
        yield f"did you mean '{finding.nearest}'?"
    if finding.also:
        yield f"also at {_places(finding)}"


def _places(finding: Finding) -> str:
    """Where else the mistake is: line 9; lines 9 and 12; lines 9, 12, more.yaml:3:5 and 7 more."""
    shown = finding.also[:SHOWN_PLACES]
    lines = dict.fromkeys(str(place.line) for place in shown if place.file == finding.place.file)
    words = [*lines, *(str(place) for place in shown if place.file != finding.place.file)]
    more = len(finding.also) - len(shown) + finding.more
    if more:
        words.append(f"{'at least ' if more + len(shown) >= MAX_COUNTED else ''}{more:,} more")
    *most, last = words
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{'line' if len(lines) == 1 else 'lines'} {listed}" if lines else listed


def as_json(finding: Finding) -> dict[str, Any]:
    """The finding as JSON: `code, title, severity, message, file, line, column, expected, nearest, source, also`; the
    last is a list of other places of the same mistake, each with `file, line, column`."""
    return {
        "code": finding.code,
        "title": CODES[finding.code],
        "severity": finding.severity,
        "message": finding.message,
        **finding.place._asdict(),
        "expected": finding.expected,
        "nearest": finding.nearest,
        "source": finding.source,
        "also": [place._asdict() for place in finding.also],
    }


def excerpt(before: str, after: str) -> tuple[str, int]:
    """What of a line is shown, at most SHOWN characters around the place, and how many of them stand before it."""
    room = max(SHOWN * 2 // 3, SHOWN - len(after))
    left = before if len(before) <= room else "…" + before[1 - room :]
    right = after[: SHOWN - len(left)]
    shown = in_place(left + right)
    return (shown + "…" if len(right) < len(after) else shown), len(left)
