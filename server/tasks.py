"""The Task API: every pack is an environment, and its tickets are the tasks, in splits.

What a task says is public, and it is a body for POST /reset as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.nearest import nearest
from engine.pack import Pack, Split
from engine.split import SPLITS, splits
from server.body import MAX_ID, range_body, split_body, task_body
from server.choice import split_named, ticket_at
from server.http import Answer, Request, Route, answer
from server.problems import Problem, quoted
from server.service import Service

# What clients of these routes are told where a split or an index isn't one.
BAD = 400


def environments(service: Service) -> list[str]:
    """The names of the packs, the default one first."""
    default = service.catalogue.default.name
    return [default, *(name for name in service.catalogue.by_name if name != default)]


def environment(service: Service, name: str) -> Pack:
    """The pack of that name; upper and lower case make no difference where they aren't needed. Raises Problem 404."""
    packs = service.catalogue.by_name
    if name in packs:
        return packs[name]
    alike = [pack for pack in packs.values() if pack.name.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    near = nearest(name, packs) if len(name) <= MAX_ID else None
    hint = f"Did you mean {quoted(near)}? " if near is not None else ""
    raise Problem(404, f"There is no environment {quoted(name)}. {hint}GET /list_environments lists them.")


def _task(pack: Pack, split: Split, index: int) -> dict[str, Any]:
    """The public part of a ticket: nothing here depends on its category, answers, goal or requirements."""
    ticket = pack.tickets[splits(pack)[split][index]]
    task = pack.tasks[ticket.task]
    return {
        "id": ticket.id,
        "pack": pack.name,
        "ticket_id": ticket.id,
        "task_id": task.id,
        "split": split,
        "index": index,
        "description": task.description,
        "difficulty": task.difficulty,
        "max_steps": pack.max_steps,
        "instructions": pack.instructions,
    }


def _tasks(pack: Pack, split: Split, indices: Iterable[int]) -> list[dict[str, Any]]:
    return [_task(pack, split, index) for index in indices]


def _environments(service: Service, request: Request) -> Answer:
    return answer(environments(service))


def _splits(service: Service, request: Request, env: str) -> Answer:
    environment(service, env)
    return answer([{"name": split, "type": split} for split in SPLITS])


def _all(service: Service, request: Request, env: str) -> Answer:
    pack = environment(service, env)
    split = split_named(split_body(request.json()), BAD)
    return answer({"tasks": _tasks(pack, split, range(len(splits(pack)[split]))), "env_name": pack.name})


def _count(service: Service, request: Request, env: str) -> Answer:
    pack = environment(service, env)
    return answer({"num_tasks": len(splits(pack)[split_named(split_body(request.json()), BAD)])})


def _one(service: Service, request: Request, env: str) -> Answer:
    pack = environment(service, env)
    name, index = task_body(request.json())
    split = split_named(name, BAD)
    ticket_at(pack, split, index, BAD, from_end=True)
    return answer({"task": _task(pack, split, range(len(splits(pack)[split]))[index])})


def _range(service: Service, request: Request, env: str) -> Answer:
    pack = environment(service, env)
    name, part = range_body(request.json())
    split = split_named(name, BAD)
    return answer({"tasks": _tasks(pack, split, range(len(splits(pack)[split]))[part])})


ROUTES: Mapping[tuple[str, str], Route] = {
    ("GET", "/list_environments"): _environments,
    ("GET", "/<path:env>/splits"): _splits,
    ("POST", "/<path:env>/tasks"): _all,
    ("POST", "/<path:env>/num_tasks"): _count,
    ("POST", "/<path:env>/task"): _one,
    ("POST", "/<path:env>/task_range"): _range,
}
