"""A step of the engine against a loop that only builds the same observation. Prints times and their ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack, shipped_packs

ROUNDS, REPEATS = 7, 2000


def seconds(run: Callable[[], object]) -> float:
    """The median time of one call, of ROUNDS rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(REPEATS):
            run()
        times.append((time.perf_counter() - begin) / REPEATS)
    return statistics.median(times)


def build(seen: dict[str, Any]) -> dict[str, Any]:
    """The observation made by hand from its parts, as an environment with nothing to decide would."""
    return {
        "ticket_id": seen["ticket_id"],
        "customer_message": seen["customer_message"],
        "history": [dict(item) for item in seen["history"]],
        "known_info": dict(seen["known_info"]),
        "required": list(seen["required"]),
        "missing_required": list(seen["missing_required"]),
        "info_progress": 1 - len(seen["missing_required"]) / (len(seen["required"]) or 1),
        "status": seen["status"],
        "step_count": seen["step_count"],
        "remaining_steps": 10 - seen["step_count"],
    }


def main() -> None:
    pack = load_pack(next(path for path in shipped_packs() if path.name == "customer_support"))
    ticket = next(ticket for ticket in pack.tickets.values() if len(ticket.required) > 2 and ticket.category)
    start = Episode.start(make_case(pack, ticket.id, 0))
    actions: list[dict[str, Any]] = [{"type": "classify"}]
    actions += [{"type": "ask_info", "field": field} for field in pack.fields]
    actions += [{"type": "resolve"}]

    def play() -> None:
        episode = start
        for action in actions:
            episode = episode.step(action)
            _ = (episode.observation, episode.reward, episode.done)
            if episode.done:
                break

    observations = []
    episode = start
    for action in actions:
        episode = episode.step(action)
        observations.append(episode.observation)
        if episode.done:
            break

    def build_all() -> None:
        for seen in observations:
            build(seen)

    steps = len(observations)
    engine, loop = seconds(play) / steps, seconds(build_all) / steps
    print(f"engine step with observation  {engine * 1e6:8.2f} us")
    print(f"building the observation      {loop * 1e6:8.2f} us")
    print(f"ratio                         {engine / loop:8.2f}")


if __name__ == "__main__":
    main()
