"""Which pack and which episode a trainer asks for."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from engine.case import Case, make_case, pick_ticket
from engine.contract import load_contract
from engine.load import load_pack, pack_path
from engine.nearest import nearest
from engine.pack import Pack
from engine.split import SPLITS, splits
from engine.training.wordings import shared

# What is drawn where no seed is given is below this.
DRAWN = 2**31
# How many names are listed where none is near.
LISTED = 20


def load(pack: Pack | Path | str | None) -> Pack:
    """A pack, by its path or the name of a shipped one; None is the contract's own.

    Raises:
        LookupError: there is no such path, nor such a shipped pack.
        PackError: what is there is no sound pack.
    """
    return pack if isinstance(pack, Pack) else load_pack(path_of(pack))


def path_of(pack: Path | str | None) -> Path:
    """The path of a pack, given as `load` takes it. Raises LookupError."""
    return pack_path(str(pack) if pack is not None else load_contract().name)


def choose(pack: Pack, seed: Any = None, task: Any = None, split: Any = None, ticket: Any = None) -> Case:
    """The case of a ticket at a seed; without a ticket the seed picks one, of a task's and of a split's.

    Without a seed, one is drawn.

    Raises:
        ValueError: the seed is none, there is no such task, split or ticket, the ticket isn't of the task or the split,
            or a wording of the split's stands in another one too.
    """
    seed = secrets.randbelow(DRAWN) if seed is None else whole(seed)
    for given, valid, kind in ((ticket, pack.tickets, "ticket"), (task, pack.tasks, "task"), (split, SPLITS, "split")):
        if given is not None and given not in [*valid]:
            near = nearest(str(given), valid)
            hint = f": did you mean '{near}'?" if near is not None else f", but {_listed([*valid])}"
            raise ValueError(f"pack '{pack.name}' has no {kind} '{given}'{hint}")
    if ticket is not None:
        _agree(pack, ticket, task, split)
    else:
        found = shared(pack, [split]) if split is not None else None
        if found is not None:
            raise ValueError(str(found))
        try:
            ticket = pick_ticket(pack, seed, task, split)
        except LookupError as error:
            raise ValueError(str(error)) from None
    return make_case(pack, ticket, seed)


def _agree(pack: Pack, ticket: str, task: str | None, split: str | None) -> None:
    """Raises ValueError where a ticket isn't of the task, of the split, that is asked for too."""
    own = next(name for name, tickets in splits(pack).items() if ticket in tickets)
    for kind, given, found in (("task", task, pack.tickets[ticket].task), ("split", split, own)):
        if given not in (None, found):
            raise ValueError(f"ticket '{ticket}' is of the {kind} '{found}', not '{given}'")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def whole(given: Any) -> int:
    """A seed as an `int`. It may be any integer, or a float that is whole, as a data set's column makes them.

    Raises:
        ValueError: it is neither, or less than 0.
    """
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, Integral) or given < 0:
        raise ValueError(f"seed must be a whole number from 0 up, not {given!r}")
    return int(given)
