"""A case: a ticket made concrete by a seed, one message, one set of values, one script of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.automaton import Automaton, Transition, automaton
from engine.draw import Key, choose, fill, highest
from engine.pack import Message, Pack, Person, Split, Text, Ticket
from engine.split import splits
from engine.template import Template
from engine.turns import Source, manner, noise_under


def pick_ticket(pack: Pack, seed: int, task_id: str | None = None, split: Split | None = None) -> str:
    """The id of the ticket that a seed picks, of all the pack's tickets, or of one task's, one split's, or both.

    Raises:
        LookupError: the pack has no such ticket.
    """
    among = pack.tickets if split is None else splits(pack)[split]
    ids = [ticket for ticket in among if task_id is None or pack.tickets[ticket].task == task_id]
    if not ids:
        where = f" in the split '{split}'" if split is not None else ""
        raise LookupError(f"pack '{pack.name}' has no ticket for the task '{task_id}'{where}")
    return highest(ids, pack.name, seed)


class _Values(Mapping[str, str]):
    """The right value of each field in a case, worked out when it is first asked for."""

    def __init__(self, pack: Pack, ticket: Ticket, seed: int) -> None:
        self._pack, self._ticket, self._seed = pack, ticket, seed
        self._written = ticket.right_values()
        self._right: dict[str, str] = {}
        self._sampled: dict[str, str] = {}

    def sample(self, name: str) -> str | None:
        """The drawn value of a field with a sample."""
        source = self._pack.fields[name].sample
        if source is None:
            return None
        if name not in self._sampled:
            key = (self._pack.name, self._ticket.id, self._seed, "sample", name)
            drawn = fill(source, *key) if isinstance(source, str) else source[choose(len(source), *key)]
            self._sampled[name] = drawn
        return self._sampled[name]

    def text(self, text: Text, own: str | None = None) -> str:
        """`text` with its names filled in. In a field's own turns its name stands for the drawn sample."""
        if not isinstance(text, Template):
            return text
        facts = self._pack.facts
        values: dict[str, Any] = {
            name: self._ticket.facts.get(name, facts[name].initial) for name in text.names if name in facts
        }
        for name in text.names:
            if name in self._pack.fields:
                sampled = self.sample(name) if name == own else None
                values[name] = sampled if sampled is not None else self[name]
        return text.render(values)

    def __getitem__(self, name: str) -> str:
        if name not in self._right:
            source = self._written.get(name)
            if source is None:
                drawn = self.sample(name)
                if drawn is None:
                    raise KeyError(name)
                self._right[name] = drawn
            else:
                self._right[name] = self.text(*source)
        return self._right[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pack.fields)

    def __len__(self) -> int:
        return len(self._pack.fields)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One concrete ticket. `message` is the opening message; everything said later comes from `say`.

    A turn is the pair (slot, number) of a script.
    """

    pack: Pack
    ticket: Ticket
    seed: int
    message: str
    automaton: Automaton
    person: Person | None
    _values: _Values
    _said: dict[tuple[int, int], str] = field(default_factory=dict)
    _heard: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    _known: dict[int, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return make_case, (self.pack, self.ticket.id, self.seed)

    def value(self, source: int) -> str:
        """The text of a value, by its source in the automaton."""
        if source not in self._known:
            origin: Source = self.automaton.sources[source]
            if origin.text is None:
                self._known[source] = self._values[origin.field]
            else:
                self._known[source] = self._values.text(origin.text, origin.field)
        return self._known[source]

    def fill(self, text: Text) -> str:
        """A text with its names filled in: fields are their right values, facts what they are at the start."""
        return self._values.text(text)

    def say(self, transition: Transition) -> str:
        """What the customer or the desk says in a transition, all of it."""
        said = self.bare(transition)
        return said if transition.turn is None else self.with_noise(transition.turn, said)

    def bare(self, transition: Transition) -> str:
        """The same without noise: what the turn itself says, or the rule."""
        if transition.turn is not None:
            return self.turn(transition.turn, transition.words)
        return self._phrase(transition.text, transition.words)

    def with_noise(self, at: tuple[int, int], said: str) -> str:
        """What a turn says, with the noise around it."""
        before, after = self.noise(at)
        return " ".join(part for part in (before, said, after) if part) if before or after else said

    def turn(self, at: tuple[int, int], words: Mapping[str, Any]) -> str:
        """What a turn says, without noise; `words` are those that a phrase needs where it has no words of its own."""
        if at not in self._said:
            slot, number = at
            name = self.automaton.fields[slot]
            turn, own = self.automaton.scripts[slot].turns[number], self.own_words(at)
            if turn.say is not None:
                self._said[at] = self._values.text(turn.say, name)
            elif own is not None:
                self._said[at] = own
            else:  # it may speak of what is still missing, which isn't always the same
                return self._phrase(self.pack.phrases[turn.kind], words)
        return self._said[at]

    def own_words(self, at: tuple[int, int]) -> str | None:
        """What the person says in a turn of their own; None in the ticket's, and where a phrase is meant."""
        slot, number = at
        part, index = self.automaton.scripts[slot].part(number)
        if part == "turn" or self.person is None:
            return None
        texts = self.person.refuses_with if part == "refusal" else self.person.says
        if not texts:
            return None
        return self._values.text(texts[self._choose(len(texts), part, self.automaton.fields[slot], index)])

    def noise(self, at: tuple[int, int]) -> tuple[str, str]:
        """What is said before a turn, and after it; one of them, or both, is nothing."""
        if at not in self._heard:
            slot, number = at
            name = self.automaton.fields[slot]
            noise = noise_under(self.pack, self.person, name)
            key = (name, *self.automaton.scripts[slot].part(number))
            heard = ("", "")
            if noise.texts and not self._choose(noise.one_in, "noise", *key):
                index = self._choose(len(noise.texts), "noise text", *key)
                said = self._values.text(noise.texts[index])
                heard = (said, "") if index < len(noise.before) else ("", said)
            self._heard[at] = heard
        return self._heard[at]

    def _choose(self, count: int, *purpose: Key) -> int:
        return choose(count, self.pack.name, self.ticket.id, self.seed, *purpose)

    def _phrase(self, text: Text, words: Mapping[str, Any]) -> str:
        if not isinstance(text, Template):
            return text
        plain = {name: self._values[name] for name in text.plain if name not in words}
        return text.render({**plain, **words}, {name: self._values[name] for name in text.fields})


def drawn(pack: Pack, ticket: Ticket, seed: int) -> tuple[Message, Person | None]:
    """The message that opens a ticket, and who its customer is, as a seed draws them."""
    key = (pack.name, ticket.id, seed)
    message = ticket.messages[choose(len(ticket.messages), *key, "message")]
    person = pack.people[ticket.people[choose(len(ticket.people), *key, "person")]] if ticket.people else None
    return message, person


def make_case(pack: Pack, ticket_id: str, seed: int) -> Case:
    """The case that a seed makes of a ticket.

    Raises:
        KeyError: the pack has no such ticket.
    """
    ticket = pack.tickets[ticket_id]
    message, person = drawn(pack, ticket, seed)
    known = frozenset((*ticket.known, *message.known))
    machine = automaton(pack, ticket.id, known, manner(ticket, person))
    values = _Values(pack, ticket, seed)
    return Case(pack, ticket, seed, values.text(message.text), machine, person, values)
