"""The proof of packs as one HTML page that needs nothing from anywhere else, nor any script."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.automaton import Automaton
from engine.pack import REWARD_UNIT, Pack
from engine.proof import told
from engine.proof.chart import LEFT, SCALE, Chart, chart
from engine.proof.drawing import Drawing, draw
from engine.proof.result import Check, Numbers, PackProof, Variant, severity
from engine.proof.scene import Scene, best, play
from engine.proof.sheet import sheet
from engine.proof.told import Proved, Unproved, Verdict
from engine.solve import variants
from engine.symmetry import Symmetry
from engine.terminal import printable

# How many failures of a check are shown; how many graphs are drawn in a pack, and in how many characters, roughly.
FAILURES, DRAWINGS, ROOM = 20, 100, 5_000_000


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that doesn't hold, and the episode that shows it."""

    grave: str
    message: str
    place: str | None
    scene: Scene | None


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of a check, and how many more there are."""

    verdict: Verdict
    shown: tuple[Failed, ...]
    left: int


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of a variant of a ticket, in words. `figure` is the number of the drawing of its shape, if any."""

    ticket: str
    task: str
    known: str
    before: str
    first: bool
    numbers: tuple[str, ...] | None
    failed: str
    figure: int | None


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and the tickets whose graphs look like it."""

    number: int
    tickets: str
    named: str
    drawing: Drawing
    line: str
    steps: int
    episodes: str  # how many best lines there are; empty where none reaches the goal


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says of one pack."""

    pack: Pack
    proof: PackProof
    words: Mapping[str, str]
    counts: tuple[int, int]
    verdicts: tuple[Verdict, ...]
    failures: tuple[Failures, ...]
    unproved: tuple[Unproved, ...]
    unproved_left: int
    chart: Chart
    rows: tuple[Row, ...]
    figures: tuple[Figure, ...]
    undrawn: int


def page(proved: Sequence[Proved], budget: int) -> str:
    """The page; `budget` is how many different moves of a ticket were looked at, at the most."""
    sections = [_section(each, budget) for each in proved]
    return sheet("engine.proof", "page").render(sections=sections, left=LEFT, scale=SCALE, unit=REWARD_UNIT)


def _section(proved: Proved, budget: int) -> Section:
    pack, proof = proved.pack, proved.proof
    figures = _Figures(budget)
    verdicts = tuple(told.verdicts(proof))
    rows = tuple(_rows(pack, proof, figures))
    unproved = tuple(told.unproved(proof))
    return Section(
        pack=pack,
        proof=proof,
        words={
            "name": printable(proof.pack),
            "version": printable(proof.version),
            "description": told.lines(pack.description),
        },
        counts=told.tally([proof]),
        verdicts=verdicts,
        failures=tuple(_failures(pack, proof, verdicts)),
        unproved=unproved[:FAILURES],
        unproved_left=len(unproved[FAILURES:]),
        chart=chart(pack, proof),
        rows=rows,
        figures=tuple(figures.drawn()),
        undrawn=figures.undrawn,
    )


# -- What doesn't hold


def _failures(pack: Pack, proof: PackProof, verdicts: Iterable[Verdict]) -> Iterator[Failures]:
    by_code = {verdict.kind.code: verdict for verdict in verdicts}
    for code, checks in told.failures(proof).items():
        shown = tuple(_failed(pack, check, severity(proof.demands, code)) for check in checks[:FAILURES])
        yield Failures(by_code[code], shown, len(checks) - len(shown))


def _failed(pack: Pack, check: Check, grave: str) -> Failed:
    scene = play(pack, check.counterexample) if check.counterexample is not None else None
    return Failed(grave, told.lines(check.message), told.at(check.place) if check.place is not None else None, scene)


# -- Numbers


def _rows(pack: Pack, proof: PackProof, figures: _Figures) -> Iterator[Row]:
    failed: dict[str | None, list[str]] = {}
    for check in proof.checks:
        if check.status in ("fails", "not proved"):
            failed.setdefault(check.ticket, []).append(check.code)
    for ticket in proof.tickets:
        task = printable(pack.tickets[ticket.ticket].task)
        codes = ", ".join(failed.get(ticket.ticket, ()))
        machines = variants(pack, pack.tickets[ticket.ticket])
        for number, (variant, machine) in enumerate(zip(ticket.variants, machines, strict=True)):
            figure = figures.number(ticket.ticket, variant, machine)
            numbers = _numbers(variant.numbers) if variant.numbers is not None else None
            name = printable(ticket.ticket)
            known = ", ".join(map(printable, sorted(variant.known)))
            yield Row(name, task, known, told.before(variant.manner), number == 0, numbers, codes, figure)


def _numbers(known: Numbers) -> tuple[str, ...]:
    grades = known.random_grades
    return (
        f"{known.states:,}",
        told.units(known.optimum),
        told.units(known.worst),
        told.units(known.short),
        "-" if known.fewest_steps is None else str(known.fewest_steps),
        str(known.optimal_steps),
        told.many(known.optimal_episodes),
        *(told.decimal(one, 4) for one in (known.random_return, grades.easy, grades.medium, grades.hard)),
    )


# -- Drawings


@dataclass(eq=False)
class _Figures:
    """One drawing for all automata of a shape: of the first of them, as long as there is room."""

    budget: int
    _numbers: dict[Hashable, int | None] = field(default_factory=dict)
    _of: dict[int, list[str]] = field(default_factory=dict)  # the tickets of each drawing
    _drawn: dict[int, tuple[Drawing, str, int, int]] = field(default_factory=dict)
    _taken: int = 0
    undrawn: int = 0

    def number(self, ticket: str, variant: Variant, machine: Automaton) -> int | None:
        """The number of the drawing of a variant's shape, from 1; None where there is none."""
        shape = Symmetry(machine).shape()
        if shape not in self._numbers:
            self._numbers[shape] = self._draw(variant, machine)
        number = self._numbers[shape]
        if number is not None and ticket not in self._of[number]:
            self._of[number].append(ticket)
        return number

    def _draw(self, variant: Variant, machine: Automaton) -> int | None:
        if len(self._drawn) >= DRAWINGS or self._taken >= ROOM:
            self.undrawn += 1
            return None
        found = best(variant, machine, self.budget)
        if found.known is None or found.episode is None:
            return None
        number = len(self._drawn) + 1
        drawing = draw(found.known)
        line = told.brief(found.episode.actions)
        self._drawn[number] = drawing, line, found.known.optimal.steps, found.known.optimal.episodes
        self._of[number] = []
        self._taken += drawing.size
        return number

    def drawn(self) -> Iterator[Figure]:
        for number, (drawing, line, steps, episodes) in self._drawn.items():
            tickets = self._of[number]
            names = told.named(tickets), printable(tickets[0])
            yield Figure(number, *names, drawing, line, steps, told.many(episodes) if episodes else "")
