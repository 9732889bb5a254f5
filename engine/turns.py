"""What asking brings: for each field the script of its turns, the customer's own ways first, without their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from engine.pack import Noise, Pack, Person, Text, Ticket, Turn

Part = Literal["refusal", "stall", "turn"]


class Manner(NamedTuple):
    """What of a person decides what can happen in a ticket: `refuses` refusals, then `stalls` stalls, come before each
    answer under `fields`, those of the ticket's with an answer that this is about; None: under all of them.

    People of one manner have cases of one automaton.
    """

    refuses: int = 0
    stalls: int = 0
    fields: tuple[str, ...] | None = None

    def before(self, field: str) -> tuple[int, int]:
        """How many refusals, and how many stalls after them, come before the answer under a field."""
        behaves = self.fields is None or field in self.fields
        return (self.refuses, self.stalls) if behaves else (0, 0)


PLAIN = Manner()


def manner(ticket: Ticket, person: Person | None) -> Manner:
    """The manner of a person in a ticket."""
    if person is None or not (person.refuses or person.stalls):
        return PLAIN
    fields = tuple(name for name in ticket.answers if person.behaves_under(name))
    if not fields:
        return PLAIN
    return Manner(person.refuses, person.stalls, fields if len(fields) < len(ticket.answers) else None)


def manners(pack: Pack, ticket: Ticket) -> tuple[Manner, ...]:
    """The manner of each person that a seed may draw for a ticket, in their order: as many as there are people."""
    return tuple(manner(ticket, pack.people[name]) for name in ticket.people) or (PLAIN,)


def noise_under(pack: Pack, person: Person | None, field: str) -> Noise:
    """What a customer may say besides under a field: the person's own, else the pack's."""
    if person is not None and person.noise is not None and person.behaves_under(field):
        return person.noise
    return pack.noise


class Given(NamedTuple):
    """A value that a turn gives, by slot and source."""

    slot: int
    source: int
    wrong: bool


class Move(NamedTuple):
    """One turn of a script, without its words."""

    kind: str
    gives: tuple[Given, ...]


class Source(NamedTuple):
    """Where a value comes from: its text (None: the field's right value), and the field under which it was written."""

    text: Text | None
    field: str


@dataclass(frozen=True, slots=True)
class Script:
    """The turns that a field's asks play: the person's refusals, their stalls, then the ticket's own turns."""

    turns: tuple[Turn, ...] = ()
    moves: tuple[Move, ...] = ()
    refuses: int = 0
    stalls: int = 0

    @property
    def ahead(self) -> int:
        """How many turns of the person's come before the ticket's own."""
        return self.refuses + self.stalls

    def part(self, number: int) -> tuple[Part, int]:
        """What a turn is, and the how manieth of these, from 0."""
        if number < self.refuses:
            return "refusal", number
        return ("stall", number - self.refuses) if number < self.ahead else ("turn", number - self.ahead)


def scripts(pack: Pack, ticket: Ticket, how: Manner) -> tuple[tuple[Script, ...], list[Source]]:
    """The script of each of the pack's fields, and the places that their values come from; number 0 is none."""
    sources = [Source("", "")]
    slots = {name: index for index, name in enumerate(pack.fields)}

    def given(name: str, turn: Turn) -> Iterator[Given]:
        for value in turn.gives:
            yield Given(slots[value.field], len(sources), value.wrong)
            sources.append(Source(value.value, name))

    def script(name: str) -> Script:
        own = ticket.answers.get(name, ())
        if not own:
            return Script()
        refuses, stalls = how.before(name)
        turns = (*(Turn(None, "refusal"),) * refuses, *(Turn(None, "stall"),) * stalls, *own)
        moves = tuple(Move(turn.kind, tuple(given(name, turn))) for turn in turns)
        return Script(turns, moves, refuses, stalls)

    return tuple(script(name) for name in pack.fields), sources
