"""What the server says about an episode: the one serializer of all protocols.

Nothing here reads a ticket's category, answers, goal or unshown requirements; an episode's observation is the only
source of what an agent may see.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from engine.episode import Episode
from engine.pack import Pack


def answer(episode_id: str, addressed_by: str, episode: Episode) -> dict[str, Any]:
    """The answer to a reset or a step. `reward` is None after a reset, else a float in the reward range."""
    named = {"episode_id": episode_id, "addressed_by": addressed_by}
    return {
        "observation": episode.observation,
        "reward": episode.reward,
        "done": episode.done,
        "metadata": {**named, **case_part(episode), **fate_part(episode)},
    }


def case_part(episode: Episode) -> dict[str, Any]:
    """What the metadata say of the case."""
    case = episode.case
    return {**_pack(case.pack), "task_id": case.ticket.task, "seed": case.seed}


def fate_part(episode: Episode) -> dict[str, Any]:
    """What the metadata say of how things went."""
    fate: dict[str, Any] = {
        "outcome": episode.outcome,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "end_reason": episode.end_reason,
        "error": episode.error,
    }
    if episode.done:
        fate["score"] = episode.score()
        fate["optimal_steps"] = episode.optimal_steps
    return fate


def state(episode_id: str, end_reason: str | None, episode: Episode) -> dict[str, Any]:
    """What GET /state shows. An episode that was ended from outside, for `end_reason`, counts as truncated."""
    case = episode.case
    terminated = episode.terminated
    done = end_reason is not None or episode.done
    return {
        "episode_id": episode_id,
        "step_count": episode.step_count,
        **_pack(case.pack),
        "task_id": case.ticket.task,
        "ticket_id": case.ticket.id,
        "seed": case.seed,
        "remaining_steps": case.pack.max_steps - episode.step_count,
        "status": "resolved" if terminated else "open",
        "done": done,
        "terminated": terminated,
        "truncated": done and not terminated,
        "end_reason": end_reason or episode.end_reason,
    }


def _pack(pack: Pack) -> dict[str, str]:
    return {"pack": pack.name, "pack_version": pack.version, "pack_digest": pack.digest}


def encode(document: Any) -> bytes:
    """Compact JSON in UTF-8; the same document gives the same bytes."""
    try:
        return orjson.dumps(document)
    except TypeError:
        # An integer beyond 64 bits; or half of a surrogate pair, which has no UTF-8 but is JSON when it is escaped.
        return json.dumps(document, separators=(",", ":")).encode("ascii")
