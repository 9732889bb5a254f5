"""The packs that are served, and what can be said of them to anyone: no ticket's category, answers or goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.action import action_schema
from engine.contract import Contract
from engine.nearest import nearest
from engine.pack import Pack, Ticket
from server import openapi
from server.body import MAX_ID
from server.problems import Problem, quoted
from server.proved import verdict


class Catalogue:
    """Packs by name. The default pack is the one named like the contract, else the first.

    Raises ValueError where there is no pack, or two have one name.
    """

    def __init__(self, packs: Sequence[Pack], contract: Contract) -> None:
        if not packs:
            raise ValueError("there is no pack to serve")
        self.contract = contract
        self.by_name: dict[str, Pack] = {}
        for pack in packs:
            if pack.name in self.by_name:
                first = self.by_name[pack.name].place.file
                raise ValueError(f"two packs are called '{pack.name}': {first} and {pack.place.file}")
            self.by_name[pack.name] = pack
        self.default = self.by_name.get(contract.name, packs[0])

    def pack(self, name: str | None) -> Pack:
        """Raises Problem 404."""
        if name is None:
            return self.default
        if name not in self.by_name:
            raise _unknown("pack", name, self.by_name, f"There is no pack {quoted(name)}.", "GET /packs lists them.")
        return self.by_name[name]

    def ticket(self, pack: Pack, ticket_id: str) -> Ticket:
        """Raises Problem 404."""
        if ticket_id not in pack.tickets:
            what = f"Pack {quoted(pack.name)} has no ticket {quoted(ticket_id)}."
            elsewhere = next((other.name for other in self.by_name.values() if ticket_id in other.tickets), None)
            if elsewhere is not None:
                raise _unknown(
                    "ticket_id", ticket_id, (), what, f"Pack {quoted(elsewhere)} has: send its name as pack."
                )
            raise _unknown("ticket_id", ticket_id, pack.tickets, what, "GET /tasks lists them.")
        return pack.tickets[ticket_id]

    def check_task(self, pack: Pack, task_id: str) -> None:
        """Raises Problem 404 where the task is unknown, or the pack has no ticket for it."""
        if not any(ticket.task == task_id for ticket in pack.tickets.values()):
            tasks = dict.fromkeys(ticket.task for ticket in pack.tickets.values())
            what = f"Pack {quoted(pack.name)} has no tickets of a task {quoted(task_id)}."
            raise _unknown("task_id", task_id, tasks, what, "GET /tasks lists them.")

    def metadata(self) -> dict[str, Any]:
        """What GET /metadata shows."""
        contract = self.contract
        return {
            "name": contract.name,
            "description": contract.description,
            "version": contract.version,
            "tags": list(contract.tags),
            "default_pack": self.default.name,
            "packs": [self._summary(pack) | {"instructions": pack.instructions} for pack in self.by_name.values()],
        }

    def packs(self) -> dict[str, Any]:
        """What GET /packs shows."""
        packs = [self._summary(pack) | {"proved": verdict(pack)} for pack in self.by_name.values()]
        return {"default": self.default.name, "packs": packs}

    def tasks(self, name: str | None) -> dict[str, Any]:
        """What GET /tasks shows of a pack. Raises Problem 404."""
        pack = self.pack(name)
        return {
            "pack": pack.name,
            "pack_version": pack.version,
            "pack_digest": pack.digest,
            "instructions": pack.instructions,
            "tasks": [
                {
                    "id": task.id,
                    "description": task.description,
                    "difficulty": task.difficulty,
                    "max_steps": pack.max_steps,
                    "tickets": [ticket.id for ticket in pack.tickets.values() if ticket.task == task.id],
                }
                for task in pack.tasks.values()
            ],
        }

    def schema(self, name: str | None) -> dict[str, Any]:
        """What GET /schema shows of a pack: JSON Schemas, enums filled in. Raises Problem 404."""
        pack = self.pack(name)
        observation = openapi.observation_schema(self.contract)
        reward = openapi.reward_schema(pack.rewards.minimum, pack.rewards.maximum)
        return {
            "action": action_schema(pack),
            "observation": openapi.with_reward(observation, reward),
            "state": openapi.STATE,
            "reset_observation": openapi.with_reward(observation, {"type": "null"}),
            "reset": openapi.reset_schema(tuple(self.by_name), tuple(pack.tasks)),
        }

    def openapi(self) -> dict[str, Any]:
        """What GET /openapi.json shows."""
        return openapi.document(self.contract, self.default, tuple(self.by_name))

    def _summary(self, pack: Pack) -> dict[str, Any]:
        return {
            "name": pack.name,
            "version": pack.version,
            "digest": pack.digest,
            "language": pack.language,
            "description": pack.description,
            "max_steps": pack.max_steps,
            "tickets": len(pack.tickets),
        }


def _unknown(member: str, name: str, names: Iterable[str], what: str, remedy: str) -> Problem:
    """404: a sentence, the nearest valid name, and where to look. `member` is the one that holds the name."""
    # A name that is far longer than any other is near to none; comparing it would only cost time.
    near = nearest(name, names) if len(name) <= MAX_ID else None
    hint = f"Did you mean {quoted(near)}? " if near is not None else ""
    errors = [{"pointer": f"/{member}", "detail": f"unknown: {quoted(name)}"}]
    return Problem(404, f"{what} {hint}{remedy}", errors)
