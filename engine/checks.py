"""What must hold between the parts of a pack: every ticket can be answered, every name that is said has a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.diagnostics import Report
from engine.nodes import Map, Seq, Spot, entries, items
from engine.pack import Text, Ticket
from engine.template import Template
from engine.values import ValueCheck
from engine.vocabulary import Vocabulary

# A text that may be answered, the words it may hold besides fields and facts, and where it is written.
Said = tuple[Text, frozenset[str], Spot]


class TicketCheck:
    """Checks tickets that are sound in themselves, one by one."""

    def __init__(self, vocabulary: Vocabulary, values: ValueCheck, report: Report) -> None:
        self.fields, self.people = vocabulary.fields, vocabulary.people
        self.values, self.report = values, report

    def check(self, ticket: Ticket, node: Map, spot: Spot) -> None:
        """Reports what is wrong with a ticket, which is written in `node`."""
        self._answerable(ticket, spot)
        self._messages(ticket, items(node, "messages"))
        self._known(ticket, entries(node, "known"))
        self._answers(ticket, entries(node, "answers"))
        for person in ticket.people:
            for text in self.people[person].says:
                self._says(ticket, text, None, spot)

    def _answerable(self, ticket: Ticket, spot: Spot) -> None:
        """Every required field has a way to become rightly known, or to be waived."""
        for name in ticket.required:
            turns = ticket.answers.get(name, ())
            if ticket.right_value(name) is not None or any(turn.kind == "waive" for turn in turns):
                continue
            if turns:
                why = "but none of its answers gives a right value or waives it"
            else:
                why = "but the customer has no answer for it and the field has no sample"
            self.report.add("PACK042", spot, f"field '{name}' is required, {why}: the ticket can't be resolved")

    def _messages(self, ticket: Ticket, nodes: Seq) -> None:
        for index, message in enumerate(ticket.messages):
            for name in message.known:
                problem = self._problem(ticket, name, ())
                if problem is not None:
                    self.report.add("PACK043", nodes.item_spot(index), f"this message states '{name}', but {problem}")
            if isinstance(message.text, Template):
                self._says(ticket, message.text, None, nodes.item_spot(index))

    def _known(self, ticket: Ticket, nodes: Map) -> None:
        for name, text in ticket.known.items():
            if isinstance(text, Template):
                self._says(ticket, text, name, nodes.value_spot(name))
            elif self.values.problem(name, text) is not None:
                self.values.report_problem(name, text, nodes.value_spot(name))

    def _answers(self, ticket: Ticket, nodes: Map) -> None:
        for field in nodes:
            for index, turn in enumerate(ticket.answers[field]):
                if isinstance(turn.say, Template):
                    self._says(ticket, turn.say, field, _turn_spot(nodes, field, index, None))
                for given in turn.gives:
                    if isinstance(given.value, Template):
                        self._says(ticket, given.value, field, _turn_spot(nodes, field, index, given.field))
                    elif not given.wrong and self.values.problem(given.field, given.value) is not None:
                        where = _turn_spot(nodes, field, index, given.field)
                        self.values.report_problem(given.field, given.value, where)

    def said_everywhere(self, said: Iterable[Said], tickets: Iterable[Ticket]) -> None:
        """What may be answered in any ticket names only fields that have a right value in every ticket."""
        for text, words, spot in said:
            if not isinstance(text, Template):
                continue
            for name in sorted((text.plain - words | text.fields) & self.fields.keys()):
                found = ((ticket.id, self._problem(ticket, name, ())) for ticket in tickets)
                ticket_id, problem = next((pair for pair in found if pair[1] is not None), ("", None))
                if problem is not None:
                    message = f"this text names '{name}', but in ticket '{ticket_id}' {problem}"
                    self.report.add("PACK043", spot, message)

    def _says(self, ticket: Ticket, text: Text, own: str | None, spot: Spot) -> None:
        """Every field that a text names has a right value; in a field's own turns its sample does as well."""
        for problem in self._unmade(ticket, text, own, ()):
            self.report.add("PACK043", spot, f"this text can't be made: {problem}")

    def _unmade(self, ticket: Ticket, text: Text, own: str | None, above: tuple[str, ...]) -> Iterator[str]:
        for name in sorted(text.names) if isinstance(text, Template) else ():
            drawn = name == own and self.fields[name].sample is not None
            if name in self.fields and not drawn:
                problem = self._problem(ticket, name, above)
                if problem is not None:
                    yield problem

    def _problem(self, ticket: Ticket, name: str, above: tuple[str, ...]) -> str | None:
        """Why a field has no right value in a ticket, or None where it has one. `above` are made of this one's."""
        if name in above:
            return f"the value of '{name}' is made of itself"
        source = ticket.right_value(name)
        if source is None:
            return None if self.fields[name].sample is not None else f"'{name}' has no right value in this ticket"
        text, under = source
        return next(self._unmade(ticket, text, under, (*above, name)), None)


def _turn_spot(scripts: Map, field: str, index: int, given: str | None) -> Spot:
    """Where a turn of a field's script is written, or the value that it gives."""
    turn, spot = scripts[field], scripts.value_spot(field)
    if isinstance(turn, Seq):
        turn, spot = turn[index], turn.item_spot(index)
    if not isinstance(turn, Map) or given is None:
        return spot
    return turn.value_spot("value") if given == field else entries(turn, "gives").value_spot(given)
