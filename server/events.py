"""What is noted of episodes: each is counted, and with LOG_LEVEL=debug each request that changed one is logged."""

from __future__ import annotations

import logging

from engine.automaton import INVALID
from server.moments import Moment
from server.tally import COUNTED, EPISODES_ENDED, EPISODES_STARTED, INVALID_STEPS, STEPS

logger = logging.getLogger("server")


def begun(first: Moment) -> None:
    """Count an episode that began."""
    COUNTED.add(EPISODES_STARTED, (first.episode.case.pack.name,))


def stepped(after: Moment, number: int = 1) -> None:
    """Count the episodes that came to a moment by a step."""
    pack = after.episode.case.pack.name
    COUNTED.add(STEPS, (pack,), number)
    if after.episode.outcome == INVALID:
        COUNTED.add(INVALID_STEPS, (pack,), number)
    if after.end_reason is not None:
        COUNTED.add(EPISODES_ENDED, (pack, after.end_reason), number)


def ended(reason: str) -> None:
    """Count an episode that was ended from outside. Nobody has looked at it, so its pack isn't known."""
    COUNTED.add(EPISODES_ENDED, ("", reason))


def heard() -> bool:
    """Whether anybody wants to know of single requests."""
    return logger.isEnabledFor(logging.DEBUG)


def log(event: str, episode_id: str, request_id: str | None, moment: Moment) -> None:
    """Say what a request came to. No text of the customer's or the agent's is logged."""
    if not heard():
        return
    episode = moment.episode
    members = {
        "episode_id": episode_id,
        "request_id": request_id,
        "pack": episode.case.pack.name,
        "ticket_id": episode.case.ticket.id,
        "step": episode.step_count,
        "outcome": episode.outcome,
        "reward": episode.reward,
        "end_reason": episode.end_reason,
    }
    logger.debug(event, extra={name: value for name, value in members.items() if value is not None})
