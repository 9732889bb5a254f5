"""What must hold between the parts of a pack: every ticket can be answered, every name that is said has a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from engine.nodes import Map, Seq, Spot, entries, items
from engine.pack import Text, Ticket
from engine.template import Chain, Template
from engine.values import ValueCheck
from engine.vocabulary import Vocabulary

# How many values may be made of one another, one after the other.
MAX_CHAIN = 20
# How many characters a text may come to where names stand in it: values made of values grow with every link.
MAX_LENGTH = 100_000
# A text that may be answered, the words it may hold besides fields and facts, and where it is written.
Said = tuple[Text, frozenset[str], Spot]
Rights = Mapping[str, tuple[Text, str]]
# Of each of these words: how many characters it may have, and of how many items it is a list.
Words = Mapping[str, tuple[int, int]]


class TicketCheck:
    """Checks tickets that are sound in themselves, one by one. `said` is what may be answered in any of them."""

    def __init__(self, vocabulary: Vocabulary, values: ValueCheck, said: Sequence[Said]) -> None:
        self.fields, self.facts = vocabulary.fields, vocabulary.facts
        self.values, self.report = values, vocabulary.report
        # What is wrong with the value of a field, in the ticket that is being checked.
        self.found: dict[str, str | None] = {}
        # How many characters the value of a field may have, in that ticket, and how many values it is made of in turn.
        self.lengths: dict[str, int] = {}
        self.links: dict[str, int] = {}
        # Fields without a sample that a text names: what a person says, and what may be answered.
        self.in_person = {
            person.name: frozenset().union(*(self._undrawn(_names(text)) for text in person.texts))
            for person in vocabulary.people.values()
        }
        self.in_answers: dict[str, Spot] = {}
        self.said = (*said, *vocabulary.said, *vocabulary.noises)
        for text, words, spot in (*said, *vocabulary.noises):
            if isinstance(text, Template):
                for name in sorted(self._undrawn((text.plain - words) | text.fields)):
                    self.in_answers.setdefault(name, spot)
        # How many characters the values of these fields have at the most, in any ticket.
        self.longest = {name: 0 for text, *_ in self.said for name in _names(text) if name in self.fields}

    def _undrawn(self, names: frozenset[str]) -> frozenset[str]:
        return frozenset(name for name in names if name in self.fields and self.fields[name].sample is None)

    def check(self, ticket: Ticket, node: Map, spot: Spot) -> None:
        """Reports what is wrong with a ticket, which is written in `node`."""
        rights = ticket.right_values()
        self.found, self.lengths, self.links = {}, {}, {}
        self._answerable(ticket, rights, node, spot)
        self._messages(ticket, rights, items(node, "messages"))
        self._known(ticket, rights, entries(node, "known"))
        self._answers(ticket, rights, entries(node, "answers"))
        for person in ticket.people:
            for name in sorted(self.in_person[person] - rights.keys()):
                self.report.add("PACK043", spot, f"'{person}' says '{name}', but {_no_value(name)}")
        for name in sorted(self.in_answers.keys() - rights.keys()):
            message = f"this text names '{name}', but in ticket '{ticket.id}' {_no_value(name)}"
            self.report.add("PACK043", self.in_answers.pop(name), message)
        for name, longest in self.longest.items():
            if self._problem(rights, name) is None:
                self.longest[name] = max(longest, self._length_of(rights, name))

    def check_lengths(self, words: Words) -> None:
        """Reports answers that may come to too much; all tickets were checked before."""

        def length_of(known: frozenset[str], chain: Chain) -> int:
            name = chain.name
            if name is not None and name in known and not chain.is_field:
                characters, items = words[name]
                return characters + items * max(2, chain.longest_argument)
            return self.longest[name] if name in self.longest else self._length_of({}, name)

        for text, known, spot in self.said:
            if _length(text, partial(length_of, known)) > MAX_LENGTH:
                message = f"an answer comes to more than {MAX_LENGTH:,} characters, with the longest names and values"
                self.report.add("PACK043", spot, message)

    def _answerable(self, ticket: Ticket, rights: Rights, node: Map, spot: Spot) -> None:
        """Every required field has a way to become rightly known, or to be waived."""
        scripts = entries(node, "answers")
        for name in ticket.required:
            turns = ticket.answers.get(name, ())
            if name in rights or any(turn.kind == "waive" for turn in turns):
                continue
            if turns:
                why = "but none of its answers gives a right value or waives it"
                expected = "a turn with `value`, or with `waive: true`"
            else:
                why = "but the customer has no answer for it and the field has no sample"
                expected = f"'{name}' under `answers` or `known`, or a `sample` of the field"
            where = scripts.key_spot(name) if name in scripts else spot
            message = f"field '{name}' is required, {why}: the ticket can't be resolved"
            self.report.add("PACK042", where, message, expected=expected)

    def _messages(self, ticket: Ticket, rights: Rights, nodes: Seq) -> None:
        for index, message in enumerate(ticket.messages):
            problems = {name: self._problem(rights, name) for name in message.known}
            for name, problem in problems.items():
                if problem is not None:
                    self.report.add("PACK043", nodes.item_spot(index), f"this message states '{name}', but {problem}")
            if isinstance(message.text, Template) and not any(problems.values()):
                self._says(rights, message.text, None, nodes.item_spot(index))

    def _known(self, ticket: Ticket, rights: Rights, nodes: Map) -> None:
        for name, text in ticket.known.items():
            if isinstance(text, Template):
                self._says(rights, text, name, nodes.value_spot(name))
            elif self.values.problem(name, text) is not None:
                self.values.report_problem(name, text, nodes.value_spot(name))

    def _answers(self, ticket: Ticket, rights: Rights, nodes: Map) -> None:
        for field in nodes:
            for index, turn in enumerate(ticket.answers[field]):
                if isinstance(turn.say, Template):
                    self._says(rights, turn.say, field, turn_spot(nodes, field, index, None))
                for given in turn.gives:
                    if isinstance(given.value, Template):
                        self._says(rights, given.value, field, turn_spot(nodes, field, index, given.field))
                    elif not given.wrong and self.values.problem(given.field, given.value) is not None:
                        where = turn_spot(nodes, field, index, given.field)
                        self.values.report_problem(given.field, given.value, where)

    def _says(self, rights: Rights, text: Text, own: str | None, spot: Spot) -> None:
        """Every field that a text names has a right value; in a field's own turns its sample does as well."""
        problems = list(self._unmade(rights, text, own))
        if not problems and self._length(rights, text) > MAX_LENGTH:
            problems = [f"it comes to more than {MAX_LENGTH:,} characters"]
        for problem in problems:
            self.report.add("PACK043", spot, f"this text can't be made: {problem}")

    def _unmade(self, rights: Rights, text: Text, own: str | None, depth: int = 0) -> Iterator[str]:
        for name in sorted(_names(text)):
            if name in self.fields and not (name == own and self.fields[name].sample is not None):
                problem = self._problem(rights, name, depth)
                if problem is not None:
                    yield problem

    def _problem(self, rights: Rights, name: str, depth: int = 0) -> str | None:
        """Why a field has no right value in a ticket, or None where it has one."""
        if name not in rights:
            return None if self.fields[name].sample is not None else _no_value(name)
        text, under = rights[name]
        if not isinstance(text, Template):
            return None
        if text.names == {name} and under != name and self.fields[name].sample is not None:
            return f"'{name}' isn't drawn in a ticket that doesn't need it; list it under `optional`"
        too_many = f"'{name}' is made of other values, which are made of others, and so on"
        if depth >= MAX_CHAIN:
            return too_many
        if name not in self.found:
            # Whoever comes here again before this is known goes round in a circle.
            self.found[name] = f"the value of '{name}' is made of itself"
            self.found[name] = next(self._unmade(rights, text, under, depth + 1), None)
            self.links[name] = 1 + max((self.links.get(inner, 0) for inner in _names(text)), default=0)
            if self.found[name] is None and self.links[name] > MAX_CHAIN:
                self.found[name] = too_many
            if self.found[name] is None and self._length_of(rights, name) > MAX_LENGTH:
                self.found[name] = f"the value of '{name}' comes to more than {MAX_LENGTH:,} characters"
        return self.found[name]

    def _length(self, rights: Rights, text: Text) -> int:
        """How many characters a text may come to; what it names can be made."""
        return _length(text, lambda chain: self._length_of(rights, chain.name))

    def _length_of(self, rights: Rights, name: str | None) -> int:
        if name is None or (name not in self.fields and name not in self.facts):
            return 0
        if name in self.lengths:
            return self.lengths[name]
        if name not in self.fields:
            self.lengths[name] = max(len(str(value)) for value in (*self.facts[name].values, ""))
        else:
            sample = self.fields[name].sample or ""
            drawn = len(sample) if isinstance(sample, str) else max(map(len, sample))
            self.lengths[name] = drawn  # where it is its own name that its text names, that is the sample
            if name in rights:
                self.lengths[name] = max(drawn, self._length(rights, rights[name][0]))
        return self.lengths[name]


def _length(text: Text, length_of: Callable[[Chain], int]) -> int:
    """How many characters a text comes to, where names come to so much."""
    if not isinstance(text, Template):
        return len(text)
    return sum(len(part) if isinstance(part, str) else len(part.text) + length_of(part) for part in text.pieces)


def _names(text: Text) -> frozenset[str]:
    return text.names if isinstance(text, Template) else frozenset()


def _no_value(name: str) -> str:
    return f"'{name}' has no right value in this ticket"


def turn_spot(scripts: Map, field: str, index: int, given: str | None) -> Spot:
    """Where a turn of a field's script is written, or the value that it gives."""
    turn, spot = scripts[field], scripts.value_spot(field)
    if isinstance(turn, Seq):
        turn, spot = turn[index], turn.item_spot(index)
    if not isinstance(turn, Map) or given is None:
        return spot
    return turn.value_spot("value") if given == field else entries(turn, "gives").value_spot(given)
