"""P11: no hidden value stands in a message, id, description or state; ids do not predict the category.

Hidden are the values, right and wrong, that a ticket's answers give, and where they are drawn, what the field's sample
can be drawn as. What a message or a ticket lists under `known` is stated on purpose. They are looked for, as whole
words (`engine.proof.mentions`), where an agent reads before it asked for them:

- in the ticket's messages, its id, and what is known of other fields;
- in what is said under other fields, unless one of the turns so far gives the field;
- in the texts that all tickets share: descriptions, instructions, phrases, what rules say. These name no
  ticket, so a plain word counts there only where it is the one value that the field has in the whole pack. What a
  field's schema lists in `enum` is public there; a sample's pattern isn't looked for, as a description may well show
  what a value looks like. Values that a rule or phrase fills in aren't looked for either: rules say when they fire;
- in what people say of their own and in noise, which may come up at any time: in the same way, with the tickets where
  it may be heard for the whole pack, and values that it fills in count as well. Noise names no category either.

Values that several fields can have, and those that answer yes, no or nothing, tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.case import make_case
from engine.diagnostics import Place
from engine.pack import Message, Pack, Text, Ticket
from engine.proof.episodes import asked
from engine.proof.ids import id_leaks
from engine.proof.mentions import folded, mentioned_like, mentions, parts, telling
from engine.proof.result import Check, Counterexample
from engine.template import Template

_TRUTHS = frozenset({"yes", "none", "true", "false", "null", "off"})
# How many seeds are tried for each of a ticket's messages until one makes it.
_TRIES = 64


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value of a field, as it is compared; `drawn`: a sample's pattern that it is drawn from, as written."""

    field: str
    value: str
    drawn: bool = False

    def found_in(self, text: str) -> str | None:
        """What of a folded text is this value."""
        if self.drawn:
            return mentioned_like(text, self.value)
        return self.value if mentions(text, self.value) else None


def leaks(pack: Pack) -> tuple[Check, ...]:
    """The checks of the whole pack: one that holds, else one for each leak."""
    hidden = _hidden_values(pack)
    checks: list[Check] = []
    for ticket in pack.tickets.values():
        own = hidden[ticket.id]
        checks += (*_at_the_start(pack, ticket, own), *_in_answers(pack, ticket, own))
    checks += (*_in_texts(pack, _shared_texts(pack), hidden.values()), *_in_speech(pack, hidden), *id_leaks(pack))
    return tuple(checks) or (Check("P11", "holds"),)


# -- What is hidden


def _hidden_values(pack: Pack) -> Mapping[str, tuple[Hidden, ...]]:
    """By ticket; what several fields can have is left out."""
    values = {ticket.id: tuple(dict.fromkeys(_values(pack, ticket))) for ticket in pack.tickets.values()}
    fields: dict[str, set[str]] = {}
    for one in (one for own in values.values() for one in own):
        fields.setdefault(one.value, set()).add(one.field)
    return {ticket: tuple(one for one in own if len(fields[one.value]) == 1) for ticket, own in values.items()}


def _values(pack: Pack, ticket: Ticket) -> Iterator[Hidden]:
    for name, turns in ticket.answers.items():
        for given in (given for turn in turns for given in turn.gives):
            if isinstance(given.value, str):
                value = folded(given.value)
                if telling(value) and value not in _TRUTHS:
                    yield Hidden(given.field, value)
            elif given.value.names == {name} == {given.field}:
                yield from _drawn(pack, given.field)


def _drawn(pack: Pack, name: str) -> Iterator[Hidden]:
    sample = pack.fields[name].sample
    if isinstance(sample, str):
        yield Hidden(name, sample, drawn=True)
    else:
        values = map(folded, sample or ())
        yield from (Hidden(name, value) for value in values if telling(value) and value not in _TRUTHS)


# -- Where it may stand in a ticket


def _at_the_start(pack: Pack, ticket: Ticket, hidden: Iterable[Hidden]) -> Iterator[Check]:
    for number, message in enumerate(ticket.messages, 1):
        known = {*ticket.known, *message.known}
        stated = message.text.names & pack.fields.keys() if isinstance(message.text, Template) else frozenset()
        found = {name: "" for name in pack.fields if name in stated and name not in known}
        found.update(_told(ticket, message, hidden))
        for name, value in found.items():
            what = f"says '{value}', a value of" if value else "states"
            text = f"ticket '{ticket.id}': message {number} {what} '{name}', which has to be asked for all the same"
            episode = Counterexample(ticket.id, _seed(pack, ticket, message), ())
            yield Check("P11", "fails", None, text, ticket.place, episode)
    episode = Counterexample(ticket.id, 0, ())
    for name, value in _mentioned(ticket.id, hidden, (), ()).items():
        text = f"ticket '{ticket.id}': the id says '{value}', a value of '{name}'"
        yield Check("P11", "fails", None, text, ticket.place, episode)
    for known_field, known_text in ticket.known.items():
        for name, value in _mentioned(known_text, hidden, ticket.known, ()).items():
            text = f"ticket '{ticket.id}': what is known of '{known_field}' says '{value}', a value of '{name}'"
            yield Check("P11", "fails", None, text, ticket.place, episode)


def told_in_messages(pack: Pack) -> Iterator[tuple[Ticket, Message, str, str]]:
    """What messages say in plain text and agents have to ask for: the ticket, its message, the field, its value."""
    for ticket_id, hidden in _hidden_values(pack).items():
        ticket = pack.tickets[ticket_id]
        for message in ticket.messages:
            for name, value in _told(ticket, message, hidden).items():
                yield ticket, message, name, value


def _told(ticket: Ticket, message: Message, hidden: Iterable[Hidden]) -> dict[str, str]:
    known = {*ticket.known, *message.known}
    return _mentioned(message.text, hidden, known, _known_texts(ticket, hidden, known))


def _known_texts(ticket: Ticket, hidden: Iterable[Hidden], known: Iterable[str]) -> tuple[str, ...]:
    names = set(known)
    written = (folded(text) for text in ticket.known.values())
    return (*written, *(one.value for one in hidden if one.field in names))


def _mentioned(text: Text, hidden: Iterable[Hidden], given: Iterable[str], stated: Iterable[str]) -> dict[str, str]:
    """The first value of each field, but for those `given`, that a text mentions; not what is part of one `stated`."""
    looked_at, open_to_all = folded(text), set(given)
    found: dict[str, str] = {}
    for one in hidden:
        if one.field not in open_to_all and one.field not in found:
            value = one.found_in(looked_at)
            if value is not None and not any(mentions(known, value) for known in stated):
                found[one.field] = value
    return found


def _in_answers(pack: Pack, ticket: Ticket, hidden: Iterable[Hidden]) -> Iterator[Check]:
    """What is said under one field and is a value of another that isn't given. Each is told once for each field."""
    for name, turns in ticket.answers.items():
        given, stated, told = {name, *ticket.known}, [folded(text) for text in ticket.known.values()], set[str]()
        for number, turn in enumerate(turns):
            given.update(one.field for one in turn.gives)
            stated += [folded(one.value) for one in turn.gives]
            found = _mentioned(turn.say, hidden, given, stated) if turn.say is not None else {}
            names = turn.say.names if isinstance(turn.say, Template) else frozenset()
            found.update({other: "" for other in pack.fields if other in names and other not in given})
            for other in found.keys() - told:
                told.add(other)
                said = f"'{found[other]}', a value of '{other}'," if found[other] else f"'{other}'"
                text = f"ticket '{ticket.id}': turn {number + 1} under '{name}' says {said} and doesn't give it"
                yield Check("P11", "fails", None, text, ticket.place, asked(pack, ticket, name, number + 1))


def _seed(pack: Pack, ticket: Ticket, message: Message) -> int:
    """The least seed whose case opens with a message; 0 where none of many does."""
    plain = {other.text for other in ticket.messages if isinstance(other.text, str)}
    for seed in range(_TRIES * len(ticket.messages)):
        opening = make_case(pack, ticket.id, seed).message
        if opening == message.text or (isinstance(message.text, Template) and opening not in plain):
            return seed
    return 0


# -- Where it may stand in a pack


class Shown(NamedTuple):
    """A text that is shown with many tickets, what it belongs to, in words, and where that is written."""

    where: str
    text: Text
    place: Place | None = None


def _in_texts(pack: Pack, shared: Iterable[Shown], hidden: Iterable[Iterable[Hidden]]) -> Iterator[Check]:
    """Values of some tickets, of which `hidden` has each one's, that texts mention."""
    values: dict[str, dict[str, None]] = {}
    for one in (one for own in hidden for one in own if not one.drawn):
        values.setdefault(one.field, {})[one.value] = None
    texts = [(one, folded(one.text)) for one in shared]
    everything = "\n".join(text for _, text in texts)
    for name, own in values.items():
        public = {folded(str(value)) for value in pack.fields[name].schema.get("enum", ())}
        for value in own:
            plain = value.isalpha() and len(own) > 1
            if not plain and value not in public and mentions(everything, value):
                told = next(shown for shown, text in texts if mentions(text, value))
                text = f"{told.where} says '{value}', a value of '{name}' that has to be asked for"
                yield Check("P11", "fails", None, text, told.place or pack.place)


def _shared_texts(pack: Pack) -> Iterator[Shown]:
    """The texts that come with every ticket; instructions last, as they may be made of the others."""
    yield Shown("the pack's description", pack.description)
    for field in pack.fields.values():
        yield Shown(f"the description of the field '{field.name}'", field.description, field.place)
    for category in pack.categories.values():
        yield Shown(f"the description of the category '{category.name}'", category.description, category.place)
    for task in pack.tasks.values():
        yield Shown(f"the description of the task '{task.id}'", task.description)
    for action in pack.actions.values():
        yield Shown(f"the description of the action '{action.name}'", action.description)
    for action in pack.actions.values():
        for parameter in action.parameters:
            yield Shown(f"the description of '{parameter.name}' of '{action.name}'", parameter.description)
        for rule in action.rules:
            if rule.then.say is not None:
                yield Shown(f"the rule '{rule.outcome}' at {rule.place}", rule.then.say, rule.place)
    yield from (Shown(f"the phrase '{name}'", text) for name, text in pack.phrases.items())
    yield Shown("the instructions", pack.instructions)


# -- Where it may stand in what people say at any time


def _in_speech(pack: Pack, hidden: Mapping[str, tuple[Hidden, ...]]) -> Iterator[Check]:
    every = tuple(pack.tickets.values())
    noises = [("the pack's noise", pack.noise, every, pack.noise.place)]
    for person in pack.people.values():
        tickets = tuple(ticket for ticket in every if person.name in ticket.people) or every
        texts = (*person.refuses_with, *person.says)
        own = [Shown(f"the person '{person.name}'", text, person.place) for text in texts]
        yield from _in_texts(pack, own, _not_known(tickets, hidden))
        yield from _filled_in(pack, own, tickets)
        if person.noise is not None:
            noises.append((f"the noise of the person '{person.name}'", person.noise, tickets, person.noise.place))
    for where, noise, tickets, place in noises:
        own = [Shown(where, text, place) for text in noise.texts]
        yield from _in_texts(pack, own, _not_known(tickets, hidden))
        yield from _filled_in(pack, own, tickets)
        yield from _categories_in(pack, own)


def _not_known(tickets: Iterable[Ticket], hidden: Mapping[str, tuple[Hidden, ...]]) -> Iterator[list[Hidden]]:
    yield from ([one for one in hidden[ticket.id] if one.field not in ticket.known] for ticket in tickets)


def _filled_in(pack: Pack, shown: Iterable[Shown], tickets: Iterable[Ticket]) -> Iterator[Check]:
    """Fields whose values are filled in although somebody has to ask for them. Each is told once."""
    asked_for = {name: ticket for ticket in tickets for name in ticket.answers if name not in ticket.known}
    filled = [(one, one.text.names) for one in shown if isinstance(one.text, Template)]
    for name in pack.fields:
        one = next((one for one, names in filled if name in names), None)
        if one is not None and name in asked_for:
            text = f"{one.where} states '{name}', which has to be asked for in ticket '{asked_for[name].id}'"
            yield Check("P11", "fails", None, text, one.place or pack.place)


def _categories_in(pack: Pack, shown: Iterable[Shown]) -> Iterator[Check]:
    said = [(one, parts(one.text)) for one in shown]
    for category in pack.categories if len(pack.categories) > 1 else ():
        name = parts(category)
        one = next((one for one, text in said if telling(name) and mentions(text, name)), None)
        if one is not None:
            yield Check("P11", "fails", None, f"{one.where} names the category '{category}'", one.place or pack.place)
