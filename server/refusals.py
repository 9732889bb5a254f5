"""Why an episode can't be gone on with, as problems."""

from __future__ import annotations

from server.naming import told
from server.problems import Problem, quoted
from server.store import Record


def no_episode(episode_id: str) -> Problem:
    errors = [{"pointer": "/episode_id", "detail": f"unknown: {quoted(episode_id)}"}]
    return Problem(404, f"There is no episode {quoted(episode_id)}: POST /reset starts one.", errors)


def over(record: Record) -> Problem:
    episode_id, steps = told(record.key.episode_id)[1], len(record.steps)
    if record.end_reason == "superseded":
        why = (
            "was superseded: a later reset from the same address, without episode_id or cookie, took its place. "
            "Send an episode_id to play several at once."
        )
    elif record.end_reason == "expired":
        why = "expired: nobody stepped it for too long. POST /reset starts another attempt."
    else:
        why = f"is over ({record.end_reason} after {steps} steps): POST /reset starts another attempt."
    return Problem(409, f"Episode {quoted(episode_id)} {why}", episode_id=episode_id, step_count=steps)


def conflict(name: str, current: Record | None) -> Problem:
    episode_id = told(name)[1]
    if current is None:
        return no_episode(episode_id)
    if current.end_reason is not None:
        return over(current)
    steps = len(current.steps)
    detail = f"Another request came first: episode {quoted(episode_id)} is at step {steps} now. Look, and step again."
    return Problem(409, detail, episode_id=episode_id, step_count=steps)
