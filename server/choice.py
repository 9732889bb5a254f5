"""Which ticket is asked for: by its id, by its place in a split, or by a seed among several."""

from __future__ import annotations

from engine.case import pick_ticket
from engine.nearest import nearest
from engine.pack import Pack, Split
from engine.split import SPLITS, splits
from server.body import MAX_ID, ResetBody
from server.catalogue import Catalogue
from server.problems import Problem, quoted


def choose(catalogue: Catalogue, pack: Pack, asked: ResetBody, seed: int) -> str:
    """The id of the ticket that a reset asks for.

    Raises Problem 404 where it names a task or a ticket that the pack hasn't, 422 where its split or index doesn't
    exist, or what it names doesn't agree.
    """
    if asked.task_id is not None:
        catalogue.check_task(pack, asked.task_id)
    if asked.ticket_id is not None:
        catalogue.ticket(pack, asked.ticket_id)
    split = split_named(asked.split) if asked.split is not None else None
    if asked.index is not None:
        ticket_id = ticket_at(pack, split, asked.index)
        if asked.ticket_id not in (None, ticket_id):
            raise _contradiction("index", f"index {asked.index}{_of(split)} is the ticket {quoted(ticket_id)}")
    elif asked.ticket_id is not None:
        ticket_id = asked.ticket_id
    else:
        return _pick(pack, asked.task_id, split, seed)
    if split is not None and ticket_id not in splits(pack)[split]:
        own = next(name for name in SPLITS if ticket_id in splits(pack)[name])
        raise _contradiction("split", f"ticket {quoted(ticket_id)} is in the split '{own}'")
    task = pack.tickets[ticket_id].task
    if asked.task_id not in (None, task):
        raise _contradiction("task_id", f"ticket {quoted(ticket_id)} belongs to the task {quoted(task)}")
    return ticket_id


def split_named(name: str, status: int = 422) -> Split:
    """Raises Problem `status` where there is no such split."""
    for split in SPLITS:
        if name == split:
            return split
    near = nearest(name, SPLITS) if len(name) <= MAX_ID else None
    hint = f"Did you mean '{near}'? " if near is not None else ""
    errors = [{"pointer": "/split", "detail": f"unknown: {quoted(name)}"}]
    raise Problem(status, f"There is no split {quoted(name)}. {hint}The splits are {', '.join(SPLITS)}.", errors)


def ticket_at(pack: Pack, split: Split | None, index: int, status: int = 422, *, from_end: bool = False) -> str:
    """The ticket at an index of a split, or of the whole pack; `from_end` lets -1 be the last.

    Raises Problem `status` where there is none.
    """
    among = tuple(pack.tickets) if split is None else splits(pack)[split]
    if (-len(among) if from_end else 0) <= index < len(among):
        return among[index]
    whose = f"Pack {quoted(pack.name)}" if split is None else f"The split '{split}' of pack {quoted(pack.name)}"
    if not among:
        raise Problem(status, f"{whose} has no tickets.", [{"pointer": "/split", "detail": "it has no tickets"}])
    detail = f"index must be from 0 to {len(among) - 1}"
    many = "1 ticket" if len(among) == 1 else f"{len(among)} tickets"
    raise Problem(status, f"{whose} has {many}: {detail}.", [{"pointer": "/index", "detail": detail}])


def _pick(pack: Pack, task_id: str | None, split: Split | None, seed: int) -> str:
    try:
        return pick_ticket(pack, seed, task_id, split)
    except LookupError:
        kind = f" of the task {quoted(task_id)}" if task_id is not None else ""
        detail = f"the split '{split}' of pack {quoted(pack.name)} has no tickets{kind}"
        raise Problem(422, f"{detail[0].upper()}{detail[1:]}.", [{"pointer": "/split", "detail": detail}]) from None


def _of(split: Split | None) -> str:
    return f" of the split '{split}'" if split is not None else ""


def _contradiction(member: str, detail: str) -> Problem:
    errors = [{"pointer": f"/{member}", "detail": detail}]
    return Problem(422, f"The body contradicts itself: {detail}. Leave {member} out.", errors)
