"""The sdk's own server with the small pack in it, to compare ours with: `python -m tests.server.ors_reference PORT`.

The routes, their statuses and the form of everything are the sdk's; the engine plays.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ors import Environment, Server
from ors.types import Blocks, ListToolsOutput, RunToolOutput, RunToolSuccess, Split, TextBlock, ToolOutput, ToolSpec

from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack
from engine.split import SPLITS, splits
from engine.tools import tools
from server.answers import answer
from server.tools import told
from tests.server.ors_packs import LAMPS

PACK = load_pack(LAMPS)


class Lamps(Environment):
    def __init__(self, task_spec: Mapping[str, Any] = {}, secrets: dict[str, str] = {}) -> None:  # noqa: B006
        super().__init__(task_spec, secrets)
        self.episode = Episode.start(make_case(PACK, task_spec["ticket_id"], task_spec.get("seed", 7)))

    @classmethod
    def name(cls) -> str:
        return PACK.name

    @classmethod
    @functools.cache
    def list_splits(cls) -> Sequence[Split | str]:
        return SPLITS

    @classmethod
    def list_tasks(cls, split: str) -> Sequence[Mapping[str, Any]]:
        tasks = [(ticket, PACK.tasks[PACK.tickets[ticket].task]) for ticket in splits(PACK)[split]]  # type: ignore[index]
        return [
            {
                "id": ticket,
                "pack": PACK.name,
                "ticket_id": ticket,
                "task_id": task.id,
                "split": split,
                "index": index,
                "description": task.description,
                "difficulty": task.difficulty,
                "max_steps": PACK.max_steps,
                "instructions": PACK.instructions,
            }
            for index, (ticket, task) in enumerate(tasks)
        ]

    @classmethod
    @functools.cache
    def list_tools(cls) -> ListToolsOutput:
        return ListToolsOutput(
            tools=[
                ToolSpec(name=tool["name"], description=tool["description"], input_schema=tool["inputSchema"])
                for tool in tools(PACK)
            ]
        )

    def get_prompt(self) -> Blocks:
        start = Episode.start(self.episode.case)
        return [TextBlock(text=text) for text in (PACK.instructions, *told(start.observation))]

    async def _call_tool(self, name: str, input: Mapping[str, Any]) -> RunToolOutput:
        self.episode = self.episode.step({"name": name, "arguments": input})
        document = answer("the-session", "id", self.episode)
        output = ToolOutput(
            blocks=[TextBlock(text=text) for text in told(document["observation"])],
            metadata=document["metadata"],
            reward=document["reward"],
            finished=document["done"],
        )
        return RunToolOutput(RunToolSuccess(output=output))


if __name__ == "__main__":
    Server([Lamps]).run("127.0.0.1", int(sys.argv[1]))
