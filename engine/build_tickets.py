"""Tickets: messages, what is known and required, and the customer's scripts of turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from engine.nodes import Map, Seq, Spot, entries, items, string
from engine.pack import Field, Given, Message, Text, Ticket, Turn
from engine.split import SPLITS
from engine.template import Template, compile_template
from engine.vocabulary import Vocabulary

Kind = Literal["value", "wrong", "stall", "refusal", "waive"]
# A ticket, and where it is written.
Written = tuple[Ticket, Map, Spot]
# A turn of these alone has no contradiction in it.
_CONSISTENT = frozenset(("say", "value", "gives"))


class TicketBuilder:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.report = vocabulary.report
        # What a field with a sample answers where a ticket has no turns for it.
        self.drawn = {
            name: (drawn_turn(field),) for name, field in vocabulary.fields.items() if field.sample is not None
        }

    def build(self, nodes: Seq) -> tuple[dict[str, Ticket], list[Written]]:
        """The tickets by id, and those in which nothing is wrong so far."""
        tickets: dict[str, Ticket] = {}
        sound: list[Written] = []
        for index, node in enumerate(nodes):
            if self.report.full:
                break
            if not isinstance(node, Map):
                continue
            spot, before = nodes.item_spot(index), self.report.count
            ticket = self.ticket(node, spot)
            if ticket.id in tickets:
                first = tickets[ticket.id].place.seen_from(spot.place)
                self.report.add("PACK040", spot, f"ticket id '{ticket.id}' is taken (first at {first})")
                self.vocabulary.refused.paths.add(("tickets",))  # which id the one should have, nobody knows
            if "id" in node:
                tickets.setdefault(ticket.id, ticket)
            refused = spot in self.vocabulary.refused.spots
            if self.report.count == before and not refused and not node.spot.excused:
                sound.append((ticket, node, spot))
        return tickets, sound

    def ticket(self, node: Map, spot: Spot) -> Ticket:
        vocabulary = self.vocabulary
        task = string(node, "task")
        if "task" in node and task not in vocabulary.task_ids:
            vocabulary.unknown("PACK032", "task", task, vocabulary.task_ids, node.value_spot("task"))
        category = node.get("category")
        declared = vocabulary.categories.get(category) if isinstance(category, str) else None
        if isinstance(category, str) and declared is None:
            known_categories = vocabulary.categories
            vocabulary.unknown("PACK031", "category", category, known_categories, node.value_spot("category"))
        required = vocabulary.names(node, "required") if "required" in node else (declared.requires if declared else ())
        optional = vocabulary.names(node, "optional") if "optional" in node else ()
        for name in optional:
            if name in required:
                where = items(node, "optional").item_spot(list(node["optional"]).index(name))
                self.report.add(
                    "PACK046", where, f"'{name}' is required in this ticket, so it can't be optional as well"
                )
        known = self.known(node) if "known" in node else {}
        messages = self.messages(node)
        # A customer has a drawn value only for what the ticket is about, and makes nothing else up.
        needed = (*required, *optional, *(name for message in messages for name in message.known))
        return Ticket(
            id=string(node, "id"),
            task=task,
            category=declared.name if declared else None,
            messages=messages,
            required=required,
            optional=optional,
            known=MappingProxyType(known),
            answers=MappingProxyType(self.answers(node, known, needed)),
            facts=vocabulary.settings(node, "facts") if "facts" in node else _NONE,
            goal=vocabulary.settings(node, "goal") if "goal" in node else _NONE,
            people=vocabulary.named_people(node) if "person" in node else vocabulary.anybody,
            split=next((split for split in SPLITS if split == node.get("split")), None),
            place=spot.place,
        )

    def known(self, node: Map) -> dict[str, Text]:
        nodes = entries(node, "known")
        known = {}
        for name, value in nodes.items():
            if name in self.vocabulary.fields:
                known[name] = value if type(value) is str else self.vocabulary.text(value, nodes.value_spot(name))
            else:
                self.vocabulary.unknown_field(name, nodes.key_spot(name))
        return known

    def messages(self, node: Map) -> tuple[Message, ...]:
        nodes = items(node, "messages")
        return tuple(
            Message(message) if type(message) is str else self.message(message, nodes.item_spot(index))
            for index, message in enumerate(nodes)
        )

    def message(self, node: Any, spot: Spot) -> Message:
        if not isinstance(node, Map):
            return Message("")
        if "text" in node and "template" in node:
            self.report.add("PACK046", spot, "a message has either a `text` or a `template`, not both")
        elif "text" not in node and "template" not in node and not spot.excused:
            self.report.add("PACK023", spot, "'text' or 'template' is missing")
        known = self.vocabulary.names(node, "known")
        if "template" in node:
            return Message(self.vocabulary.template(string(node, "template"), node.value_spot("template")), known)
        return Message(string(node, "text"), known)

    def answers(self, node: Map, known: Mapping[str, Text], needed: Iterable[str]) -> dict[str, tuple[Turn, ...]]:
        """Each field's turns: the ticket's own, else the known value, else, where it is needed, the drawn one."""
        answers: dict[str, tuple[Turn, ...]] = {}
        if "answers" in node:
            nodes = entries(node, "answers")
            for name, script in nodes.items():
                if name not in self.vocabulary.fields:
                    self.vocabulary.unknown_field(name, nodes.key_spot(name))
                elif type(script) is str:
                    answers[name] = (_said(script, name),)
                else:
                    answers[name] = self.script(name, script, nodes.value_spot(name))
        for name in known:
            answers.setdefault(name, (_said(known[name], name),))
        for name in needed:
            if name in self.drawn:
                answers.setdefault(name, self.drawn[name])
        return answers

    def script(self, field: str, node: Any, spot: Spot) -> tuple[Turn, ...]:
        if isinstance(node, Seq):
            return tuple(
                _said(turn, field) if type(turn) is str else self.turn(field, turn, node.item_spot(index))
                for index, turn in enumerate(node)
            )
        return (self.turn(field, node, spot),)

    def turn(self, field: str, node: Any, spot: Spot) -> Turn:
        if not isinstance(node, Map):
            return Turn(None, "stall")
        if not node.keys() <= _CONSISTENT:
            self.contradictions(node)
        wrong = node.get("wrong") is True
        kind: Kind = "stall"
        gives: list[Given] = []
        if "value" in node:
            kind = "wrong" if wrong else "value"
            gives.append(Given(field, self.inner(node, "value"), wrong))
        elif node.get("waive") is True:
            kind = "waive"
        elif node.get("refuse") is True:
            kind = "refusal"
        if "gives" in node:
            gives += self.given(field, node)
        say = self.inner(node, "say") if "say" in node else (gives[0].value if "value" in node else None)
        return Turn(say, kind, tuple(gives))

    def inner(self, node: Map, key: str) -> Text:
        value = node[key]
        return value if type(value) is str else self.vocabulary.text(value, node.value_spot(key))

    def given(self, field: str, node: Map) -> list[Given]:
        nodes = entries(node, "gives")
        wrong = {name for name in items(node, "gives_wrong") if isinstance(name, str)}
        found = []
        for name in nodes:
            if name == field:
                message = f"'{name}' is the field that is asked for; its value goes under `value`"
                self.report.add("PACK046", nodes.key_spot(name), message)
            elif name not in self.vocabulary.fields:
                self.vocabulary.unknown_field(name, nodes.key_spot(name))
            else:
                found.append(Given(name, self.inner(nodes, name), name in wrong))
        return found

    def contradictions(self, node: Map) -> None:
        """Reports what can't stand in one turn together."""
        wrong, waive, refuse = (node.get(key) is True for key in ("wrong", "waive", "refuse"))
        add = self.report.add
        if waive and refuse:
            add("PACK046", node.key_spot("refuse"), "a turn can't both waive and refuse")
        for key, given in (("waive", waive), ("refuse", refuse)):
            if given and "value" in node:
                add("PACK046", node.key_spot(key), f"a turn with a value can't {key} it")
        if wrong and "value" not in node:
            add(
                "PACK046",
                node.key_spot("wrong"),
                "`wrong` goes with a `value`; those of `gives` are named in `gives_wrong`",
            )
        gives, listed_wrong = entries(node, "gives"), items(node, "gives_wrong")
        for index, name in enumerate(listed_wrong):
            if isinstance(name, str) and name not in gives:
                where = listed_wrong.item_spot(index)
                add("PACK046", where, f"'{name}' is not among the fields that this turn gives", meant=(name, gives))


def _said(value: Text, field: str) -> Turn:
    """A value, said as it is."""
    return Turn(value, "value", (Given(field, value),))


def drawn_turn(field: Field) -> Turn:
    """The drawn value, said as it is."""
    return _said(field_template(field.name), field.name)


def field_template(name: str) -> Template:
    """A template that is a field's value and nothing else, for any name."""
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return compile_template(f"{{{{ fields['{quoted}'] }}}}")


_NONE: Mapping[str, Any] = MappingProxyType({})
