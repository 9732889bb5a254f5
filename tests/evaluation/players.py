"""Agents for tests of runs: what they do follows from the episode's id, so that every run of a plan comes to the same.

A third of all episodes is `odd`: there some of them hang, fail, or take their process with them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.evaluation.spent import Spent

Seen = Mapping[str, Any]


def drawn(episode_id: str, step: int) -> bytes:
    return sha256(f"{episode_id} {step}".encode()).digest()


def odd(episode_id: str) -> bool:
    return drawn(episode_id, -1)[0] % 3 == 0


def quick(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """Any action, with any of the values that it takes."""
    at = drawn(episode_id, observation["step_count"])
    tool = tools[at[0] % len(tools)]
    parameters = tool["inputSchema"]["properties"]
    return {"type": tool["name"], **{name: one["enum"][at[1] % len(one["enum"])] for name, one in parameters.items()}}


def slow(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    time.sleep(0.002)
    return quick(observation, tools, episode_id)


def hangs(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """In some episodes it waits for ever before its third step."""
    if odd(episode_id) and observation["step_count"] == 2:
        time.sleep(3_600)
    return quick(observation, tools, episode_id)


def stubborn(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """The same, but it doesn't let itself be interrupted."""
    while odd(episode_id) and observation["step_count"] == 2:
        try:
            time.sleep(3_600)
        except BaseException:
            continue
    return quick(observation, tools, episode_id)


def fails(observation: Seen, tools: Sequence[Seen], episode_id: str) -> Any:
    """In some episodes it raises at its second step, or gives what is no action, no JSON, or more than a line holds."""
    if not odd(episode_id) or observation["step_count"] != 1:
        return quick(observation, tools, episode_id)
    which = drawn(episode_id, -1)[1] % 4
    if which == 0:
        raise ValueError("my model is out of order")
    nested: Any = {}
    for _ in range(60):
        nested = {"in": nested}
    return ("what?", {"type": quick}, {"type": "ask_info", "field": nested})[which - 1]


def fails_until(observation: Seen, tools: Sequence[Seen], episode_id: str) -> Any:
    """Fails in some episodes while the file that MENDED names isn't there."""
    if odd(episode_id) and not Path(os.environ["MENDED"]).exists():
        raise RuntimeError("not mended yet")
    return quick(observation, tools, episode_id)


def dies(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """In some episodes it ends its process at its second step."""
    if odd(episode_id) and observation["step_count"] == 1:
        os._exit(7)
    return quick(observation, tools, episode_id)


def dies_once(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """The first of these episodes ends its process, and leaves the file that DIED names."""
    if odd(episode_id) and observation["step_count"] == 1:
        with suppress(FileExistsError):
            Path(os.environ["DIED"]).touch(exist_ok=False)
            os._exit(7)
    return quick(observation, tools, episode_id)


def dies_here(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """The same, and the episode that FATAL names ends its process whenever it is played."""
    if episode_id == os.environ["FATAL"] and observation["step_count"] == 1:
        os._exit(7)
    return dies_once(observation, tools, episode_id)


def leaves(observation: Seen, tools: Sequence[Seen], episode_id: str) -> dict[str, Any]:
    """The same, the way that Python programs end."""
    if odd(episode_id) and observation["step_count"] == 1:
        raise SystemExit(7)
    return quick(observation, tools, episode_id)


class Paid:
    """Costs half a dollar and 100 tokens a step, 60 of them its own."""

    name = "paid"

    def __init__(self) -> None:
        self.steps = 0

    @property
    def spent(self) -> Spent:
        return Spent(40 * self.steps, 60 * self.steps, 0.5 * self.steps)

    def __call__(
        self, observation: Seen, tools: Any, *, instructions: str = "", episode_id: str = ""
    ) -> dict[str, Any]:
        self.steps += 1
        return quick(observation, tools, episode_id)


def patient(observation: Seen) -> dict[str, Any]:
    missing = observation["missing_required"]
    return {"type": "ask_info", "field": missing[0]} if missing else {"type": "resolve"}
