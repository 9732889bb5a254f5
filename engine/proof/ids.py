"""Whether the ids of tickets predict their category, which agents see before they read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import factorial, prod

from engine.pack import Pack, Ticket
from engine.proof.mentions import parts, telling
from engine.proof.result import Check, Counterexample

_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
# A word with or without a number at its end: "late" of "late07", and nothing of "9bc7", which may be anything.
_WORD = re.compile(r"([^\W\d_]+)\d*")
# How seldom chance may number tickets category by category for that to count, once in so many times.
_SELDOM = 100

Kinds = Mapping[str, Sequence[Ticket]]


def id_leaks(pack: Pack) -> Iterator[Check]:
    """What of the ids predicts the category, the plainest alone:

    - the category's own name is part of the id;
    - a word of the ids (`late` in `late-07`) stands in those of one category only: of at least two of its tickets, and
      of at least half of them;
    - ids are numbers, but for a common beginning, and the tickets of each category are numbered one after the other.
      By chance that happens in few packs of a few tickets only: it counts where chance would do it less often than
      once in a hundred times.
    """
    kinds: dict[str, list[Ticket]] = {}
    for ticket in pack.tickets.values():
        if ticket.category is not None:
            kinds.setdefault(ticket.category, []).append(ticket)
    if len(kinds) > 1:
        yield from [*_named(kinds)] or [*_worded(pack, kinds)] or [*_numbered(kinds)]


def _named(kinds: Kinds) -> Iterator[Check]:
    for category, tickets in kinds.items():
        name = parts(category)
        found = [ticket for ticket in tickets if telling(name) and f" {name} " in f" {parts(ticket.id)} "]
        if found:
            yield _check(found, f"the id of ticket '{found[0].id}' names its category, '{category}'{_more(found)}")


def _worded(pack: Pack, kinds: Kinds) -> Iterator[Check]:
    having: dict[str, list[Ticket]] = {}
    for ticket in pack.tickets.values():
        for word in dict.fromkeys(match[1] for part in parts(ticket.id).split() if (match := _WORD.fullmatch(part))):
            having.setdefault(word, []).append(ticket)
    for word, found in having.items():
        category = found[0].category
        if category is None or len(found) < 2 or any(ticket.category != category for ticket in found):
            continue
        if 2 * len(found) >= len(kinds[category]):
            text = f"'{word}' in the id of ticket '{found[0].id}' tells its category, '{category}'{_more(found)}"
            yield _check(found, text)


def _numbered(kinds: Kinds) -> Iterator[Check]:
    tickets = [ticket for own in kinds.values() for ticket in own]
    matches = [match for ticket in tickets if (match := _NUMBERED.fullmatch(ticket.id)) is not None]
    if len(matches) < len(tickets) or len({match[1] for match in matches}) > 1:
        return
    numbers = {match[0]: int(match[2]) for match in matches}
    ordered = sorted(tickets, key=lambda ticket: numbers[ticket.id])
    blocks = 1 + sum(one.category != other.category for one, other in pairwise(ordered))
    by_chance = factorial(len(kinds)) * prod(factorial(len(own)) for own in kinds.values())
    if blocks == len(kinds) and by_chance * _SELDOM < factorial(len(ordered)):
        text = f"the tickets are numbered category by category, from '{ordered[0].id}' to '{ordered[-1].id}'"
        yield _check(ordered, f"{text}: a number tells the category of those around it")


def _more(found: Sequence[Ticket]) -> str:
    return f" (and {len(found) - 1} more do)" if len(found) > 1 else ""


def _check(found: Sequence[Ticket], message: str) -> Check:
    return Check("P11", "fails", None, message, found[0].place, Counterexample(found[0].id, 0, ()))
