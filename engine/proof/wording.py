"""What an observation space asks of words, and of which of a pack's words it can't be seen whether they meet it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.pack import Pack, Text, Ticket
from engine.template import Template

# Keywords under which words don't matter; those that hold schemas of the same thing, of things in it, and lists.
_WORDLESS = frozenset(
    {"type", "title", "description", "required", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "$comment", "$schema"}
)
_BESIDE, _INSIDE, _LISTS = ("not", "if", "then", "else"), ("items", "additionalProperties"), ("allOf", "anyOf", "oneOf")
# What an observation is valid by, part by part; and a history, item by item, once its length is right.
_BY_PARTS = frozenset({"type", "title", "description", "required", "properties", "additionalProperties", "$schema"})
_BY_ITEMS = frozenset({"type", "title", "description", "items", "minItems", "maxItems"})
# The parts in which drawn words stand; what of a history item isn't drawn; and what else may be inside a part.
_PARTS, _COUNTED = ("customer_message", "known_info", "history"), frozenset({"role", "step", "action"})
_ITEM, _OTHER = "item", "other"


class Wording:
    """`judged` are the parts of an observation whose words a schema looks at."""

    def __init__(self, pack: Pack, space: Mapping[str, Any]) -> None:
        self._pack = pack
        properties = space.get("properties", {})
        across = {key: value for key, value in space.items() if key not in _BY_PARTS}
        history = properties.get("history", True)
        by_items = isinstance(history, bool) or history.keys() <= _BY_ITEMS
        self._as_a_whole = not by_items or "'history'" in str(across)
        self.judged = frozenset(
            part for part in _PARTS if not (_wordless(across, "") and _wordless(properties.get(part, True), part))
        )

    def escaped(self, ticket: Ticket) -> str | None:
        """Why there may be words of a ticket that break the contract and were not seen; None where all were."""
        if self._as_a_whole:
            return "the contract says of histories what can't be seen from their items"
        drawn = {part for part in self.judged if any(self._is_drawn(text) for text in self._texts(ticket, part))}
        drawn |= self.judged & ({"history"} if any(map(_is_chosen, self._people(ticket))) else set())
        if drawn:
            return f"the contract looks at words of `{min(drawn)}` that are drawn"
        return None

    def _is_drawn(self, text: Text) -> bool:
        return isinstance(text, Template) and not text.names.isdisjoint(self._pack.fields)

    def _people(self, ticket: Ticket) -> Iterator[tuple[Sequence[Text], bool]]:
        """The texts of which people say one at a time, and whether they may say none."""
        people = [self._pack.people[name] for name in ticket.people]
        yield from ((texts, False) for person in people for texts in (person.refuses_with, person.says))
        for noise in (self._pack.noise, *(person.noise for person in people if person.noise is not None)):
            yield noise.texts, noise.one_in > 1

    def _texts(self, ticket: Ticket, part: str) -> Iterator[Text]:
        """The texts that may stand in a part."""
        if part != "known_info":
            yield from (message.text for message in ticket.messages)
        turns = [turn for script in ticket.answers.values() for turn in script]
        if part != "customer_message":
            yield from (*ticket.known.values(), *(given.value for turn in turns for given in turn.gives))
        if part == "history":
            yield from self._said(turn.say for turn in turns)
            yield from self._said(rule.then.say for action in self._pack.actions.values() for rule in action.rules)
            yield from self._pack.phrases.values()
            yield from (text for texts, _ in self._people(ticket) for text in texts)

    def _said(self, texts: Iterable[Text | None]) -> Iterator[Text]:
        yield from (text for text in texts if text is not None)


def _is_chosen(words: tuple[Sequence[Text], bool]) -> bool:
    texts, or_none = words
    return len(texts) > 1 or (or_none and bool(texts))


def _wordless(schema: Any, part: str) -> bool:
    """Whether a schema comes to the same whatever words are drawn for what it is about: "" is all of an observation."""
    if isinstance(schema, bool):
        return True
    return all(key in _WORDLESS or _wordless_under(key, value, part) for key, value in schema.items())


def _wordless_under(key: str, value: Any, part: str) -> bool:
    if key in _BESIDE:
        return _wordless(value, part)
    if key in _LISTS:
        return all(_wordless(each, part) for each in value)
    if key == "properties" and not part:
        return all(_wordless(each, name) for name, each in value.items() if name in _PARTS)
    if key == "properties":
        counted = _COUNTED if part == _ITEM else frozenset()
        return all(_wordless(each, _OTHER) for name, each in value.items() if name not in counted)
    if key in _INSIDE:
        return _wordless(value, _ITEM if (part, key) == ("history", "items") else _OTHER)
    return False
