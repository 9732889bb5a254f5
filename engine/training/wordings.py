"""Whether the tickets of a split are worded like those of another: what is trained on must not be what is tested."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.lints.near import Words, words
from engine.pack import Pack, Split, once
from engine.split import splits


class Shared(NamedTuple):
    """Two tickets that open with the same words, and in which splits they are."""

    ticket: str
    split: Split
    other: str
    other_split: Split

    def __str__(self) -> str:
        return (
            f"Ticket '{self.ticket}' ({self.split}) opens with the words of ticket '{self.other}' "
            f"({self.other_split}): to train on the one is to know the other. Give both the same split, or other words."
        )


def shared(pack: Pack, among: Iterable[Split]) -> Shared | None:
    """The first ticket of some splits that opens with the same words as one of any other; None where none does.

    Case, punctuation and forms of Unicode make no difference; in a template a name is a word.
    """
    wanted = {*among}
    return next((one for one in _all_shared(pack) if wanted & {one.split, one.other_split}), None)


@once
def _all_shared(pack: Pack) -> tuple[Shared, ...]:
    first: dict[Words, tuple[str, Split]] = {}
    found = []
    for split, tickets in splits(pack).items():
        for ticket in tickets:
            for message in pack.tickets[ticket].messages:
                said = words(message.text) or (str(message.text),)
                other, other_split = first.setdefault(said, (ticket, split))
                if other_split != split:
                    found.append(Shared(ticket, split, other, other_split))
    return tuple(found)
