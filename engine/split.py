"""Which split a ticket is in: the one it names, else one by its hash, so that adding a ticket moves no other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from engine.draw import choose, digest
from engine.pack import Pack, Split, once

SPLITS: tuple[Split, ...] = get_args(Split)

# Three fifths train; the tickets of a pack are few, and a tenth of them would measure nothing.
_SHARES: tuple[Split, ...] = ("train", "train", "train", "validation", "test")

# A pack of so many tickets has one in every split.
FULL_FROM = 6


def assign(pack: str, named: Mapping[str, Split | None]) -> dict[str, Split]:
    """The split of each of a pack's tickets; `named` holds what each ticket says of itself, by its id.

    A ticket that names a split is in it. Any other is where its hash puts it. From FULL_FROM tickets on, each split
    that is empty then gets one ticket (train first, then validation, then test): of those that name none and aren't
    the only one where they are, the one with the highest hash of (pack, id, "split", the empty split). A split stays
    empty only where there is no such ticket. The order of the tickets makes no difference.
    """
    found = {
        ticket: own if own is not None else _SHARES[choose(len(_SHARES), pack, ticket, "split")]
        for ticket, own in named.items()
    }
    if len(found) >= FULL_FROM:
        for empty in SPLITS:
            held = list(found.values())
            free = [ticket for ticket in found if named[ticket] is None and held.count(found[ticket]) > 1]
            if empty not in held and free:
                found[max(free, key=lambda ticket: digest(pack, ticket, "split", empty))] = empty
    return found


@once
def splits(pack: Pack) -> Mapping[Split, tuple[str, ...]]:
    """The ids of the tickets in each split, in the pack's order; every split is there, also an empty one."""
    found = assign(pack.name, {ticket.id: ticket.split for ticket in pack.tickets.values()})
    return MappingProxyType(
        {split: tuple(ticket for ticket in pack.tickets if found[ticket] == split) for split in SPLITS}
    )
