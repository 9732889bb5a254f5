"""Messages that are nearly given twice, and those that give the answer away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import normalize

from engine.lints.near import LEAST, near_earlier, words
from engine.lints.note import Note
from engine.lints.written import is_open
from engine.nodes import Map, Spot, items, string
from engine.pack import Message, Pack, Split, Ticket
from engine.proof.leaks import told_in_messages
from engine.proof.mentions import LONG_ENOUGH, folded, mentions, parts, size
from engine.split import splits
from engine.template import Template

# How many letters a plain word needs to tell anything: may, one, out and can stand in many a message. Wide ones count
# twice.
PLAIN: Final = 4


@dataclass(frozen=True, slots=True)
class Written:
    """A message of a ticket, and where it is written; `agent`: it is the agent who classifies the ticket."""

    ticket: Ticket
    message: Message
    split: Split
    agent: bool
    spot: Spot


def _written(pack: Pack, document: Map) -> Iterator[Written]:
    split = {ticket: name for name, tickets in splits(pack).items() for ticket in tickets}
    for node in items(document, "tickets"):
        ticket, nodes = pack.tickets[string(node, "id")], items(node, "messages")
        agent = pack.tasks[ticket.task].classifier == "agent"
        for index, message in enumerate(ticket.messages):
            if not is_open(message.text):
                yield Written(ticket, message, split[ticket.id], agent, nodes.item_spot(index))


# -- Nearly given twice


def near_duplicates(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each message that an earlier one is near to: to the gravest of these, of another category first."""
    every = [*_written(pack, document)]
    texts = [words(one.message.text) for one in every]

    def weight(earlier: int, later: int) -> int:
        short, same = len(texts[later]) < LEAST, texts[earlier] == texts[later]
        return _weight(every[earlier], every[later], short, same)

    for earlier, later in near_earlier(texts, weight):
        yield Note(every[later].spot, _twice(every[earlier], every[later], texts[earlier] == texts[later]))


def _weight(one: Written, other: Written, short: bool, same: bool) -> int:
    """How much it matters that two messages are near, or have the same words. It doesn't, which is 0, of short ones, as
    anybody writes them, and of two that an agent has to treat in two ways: the words that differ may well decide."""
    if one.ticket is other.ticket:
        return int(one.message != other.message)  # the very same one twice is PACK084
    if not same and _treated(one.ticket) != _treated(other.ticket):
        return 0
    if _differ(one.ticket, other.ticket):
        return 4 if not short or one.agent or other.agent else 0
    return 0 if short else 3 if one.split != other.split else 2


def _treated(ticket: Ticket) -> tuple[Any, ...]:
    """What of a ticket decides what an agent has to do."""
    return ticket.category, frozenset(ticket.required), {**ticket.facts}, {**ticket.goal}


def _differ(one: Ticket, other: Ticket) -> bool:
    """Whether two tickets have a category each, and not the same one."""
    return one.category != other.category and one.category is not None and other.category is not None


def _twice(one: Written, other: Written, same: bool) -> str:
    where, nearly = one.spot.place.seen_from(other.spot.place), "the same words as" if same else "nearly the words of"
    if one.ticket is other.ticket:
        return f"this message has {nearly} the one at {where}: reword it, or leave it out"
    first = f"this message has {nearly} one of ticket '{one.ticket.id}' at {where}"
    apart = f"in another split ({one.split}, this one is in {other.split})" if one.split != other.split else ""
    if _differ(one.ticket, other.ticket):
        more = f" and {apart}" if apart else ""
        first += f", which is of another category, '{one.ticket.category}'{more}"
        return f"{first}: say in each what sets the two apart"
    if apart:
        return f"{first}, which is {apart}: reword it, or give both tickets the same `split`"
    return f"{first}: reword it, or leave it out"


# -- The answer given away


def given_away(pack: Pack, document: Map) -> Iterator[Note]:
    """A note for each message that names its category or says what has to be asked for."""
    every = [*_written(pack, document)]
    yield from _categories(pack, every)
    spots = {(one.ticket.id, id(one.message)): one.spot for one in every}
    for ticket, message, name, value in told_in_messages(pack):
        spot = spots.get((ticket.id, id(message)))
        stated = message.text.names if isinstance(message.text, Template) else frozenset()
        if spot is None or name not in ticket.required or name in stated:  # what is stated is PACK081
            continue
        if not _is_word(value) or _tells(pack, every, ticket, message, name, value):
            yield Note(spot, _told(ticket, name, value))


def _told(ticket: Ticket, name: str, value: str) -> str:
    says = f"this message says '{value}', a value of '{name}', which has to be asked for all the same"
    right = ticket.right_values().get(name, ("", ""))[0]
    if isinstance(right, str) and folded(right) == value:
        return f"{says}: list '{name}' under `known` of this message, or leave the value out"
    return f"{says}: leave it out, or write {{template: ...}} with the field's name, and `known`"


def _is_word(value: str) -> bool:
    """Whether a folded value is one plain word, which may well stand in a message by chance."""
    return value.isalpha()


def _tells(pack: Pack, every: Sequence[Written], ticket: Ticket, message: Message, name: str, word: str) -> bool:
    """Whether a word in a message tells a field's value: it isn't short, it has the value's capitals, and no message of
    a ticket with other values for the field has it."""
    written = [text for text in _values(pack, ticket, name) if folded(text) == word]
    if size(word) < PLAIN or not any(_has_capitals_of(message, text) for text in written or [word]):
        return False
    others = (one for one in every if word not in map(folded, _values(pack, one.ticket, name)))
    return not any(mentions(folded(one.message.text), word) for one in others)


def _values(pack: Pack, ticket: Ticket, name: str) -> Iterator[str]:
    """The values of a field in a ticket, as they are written."""
    sample = pack.fields[name].sample
    if name in ticket.answers and not isinstance(sample, str):
        yield from sample or ()
    given = (each for turns in ticket.answers.values() for turn in turns for each in turn.gives if each.field == name)
    yield from (text for text in (*(each.value for each in given), ticket.known.get(name)) if isinstance(text, str))


def _has_capitals_of(message: Message, value: str) -> bool:
    """Whether a message has a word with the capitals of a value; one without capitals may have any."""
    text = message.text if isinstance(message.text, str) else message.text.source
    return value == value.lower() or mentions(normalize("NFKC", text), normalize("NFKC", value))


def _categories(pack: Pack, every: Sequence[Written]) -> Iterator[Note]:
    """Messages that name their own category and no other, where no message of another category names it too."""
    if len(pack.categories) < 2:
        return
    named = [*zip(every, _named(pack, [parts(one.message.text) for one in every]), strict=True)]
    shared = {name for one, names in named for name in names if name != one.ticket.category}
    for one, names in named:
        name = one.ticket.category
        if names == [name] and name not in shared and one.agent:
            text = f"this message names its category, '{name}', and no message of another category does, so that alone"
            yield Note(one.spot, f"{text} tells it: reword this one, or let one of another category name it as well")


def _named(pack: Pack, texts: Sequence[str]) -> list[list[str]]:
    """Of each message, as the words that it has, the categories that it names."""
    everything = "\n".join(texts)
    found: list[list[str]] = [[] for _ in texts]
    for category in pack.categories:
        name = parts(category)
        if size(name) >= (PLAIN if _is_word(name) else LONG_ENOUGH) and name in everything:
            for text, names in zip(texts, found, strict=True):
                if mentions(text, name):
                    names.append(category)
    return found
