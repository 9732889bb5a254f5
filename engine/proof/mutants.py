"""All mutants of a pack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from engine.draw import digest
from engine.nodes import Map, items
from engine.pack import Pack
from engine.proof.mutant import Mutant
from engine.proof.pack_mutants import pack_mutants
from engine.proof.ticket_mutants import TicketMutants


def mutants(pack: Pack, document: Map) -> Iterator[Mutant]:
    """Every mutant of each kind, in the order written: what tickets share, then the tickets.

    `document` is what the pack was built from.
    """
    yield from pack_mutants(pack, document)
    nodes = items(document, "tickets")
    for index, node in enumerate(nodes):
        yield from TicketMutants(pack, node, nodes.item_spot(index), index).all()


def some(pack: Pack, all_of_them: Sequence[Mutant], most: int) -> tuple[Mutant, ...]:
    """At most so many of a pack's mutants, in their order: those with the lowest hashes, so that the choice is always
    the same, and one more mutant changes it little."""
    seen: Counter[str] = Counter()
    keys = []
    for mutant in all_of_them:
        keys.append(digest(pack.name, "mutant", mutant.what, seen[mutant.what]))
        seen[mutant.what] += 1
    chosen = set(sorted(keys)[:most])
    return tuple(mutant for mutant, key in zip(all_of_them, keys, strict=True) if key in chosen)
