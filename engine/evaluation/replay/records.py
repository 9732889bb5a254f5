"""One line of a run's records, played again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from engine.case import make_case
from engine.episode import Episode, EpisodeOver, replay
from engine.evaluation.limits import OF_RUNS, EpisodeLimits
from engine.evaluation.record import Record, line, recorded
from engine.evaluation.replay.finding import Apart, apart
from engine.pack import Pack


class Unplayable(ValueError):
    """Actions that no episode has; the text says why."""


def played_again(record: Record, packs: Mapping[str, Pack]) -> tuple[Episode, Record]:
    """What comes of a record's actions. Its status and its cause are the agent's affair, and taken as they are.

    Raises:
        Unplayable: they go on after the end, or are none.
    """
    case = make_case(packs[record.pack], record.ticket, record.seed)
    try:
        episode = replay(case, record.actions)
    except EpisodeOver:
        raise Unplayable("its actions go on after the end of the episode") from None
    stopped = record.status == "done" and not episode.done
    return episode, recorded(episode, record.trial, record.status, record.error, stopped)


def differences(raw: bytes, again: Record) -> Iterator[Apart]:
    """The members of a line that aren't what playing its actions again gives; or its form, where these are the same.

    Raises:
        Unplayable: there is no line for these actions.
    """
    try:
        made = line(again)
    except (ValueError, RecursionError):
        raise Unplayable("its actions aren't JSON, or nest too deep to be written again") from None
    if made != raw:
        written = json.loads(raw)
        found = [*apart(written, json.loads(made))]
        yield from found or [Apart("form", None, f"{len(raw)} bytes", f"{len(made)} bytes")]


def contradiction(record: Record, episode: Episode, limits: EpisodeLimits) -> str | None:
    """Why an episode can't have ended as its record says; None where it can."""
    cut_off = limits.max_steps is not None and len(record.actions) >= limits.max_steps
    if limits.max_steps is not None and len(record.actions) > limits.max_steps:
        return f"it has {len(record.actions)} steps, and the run's --max-steps is {limits.max_steps}"
    if record.status == "done":
        if cut_off and not episode.done:
            return f"it is done, though {limits.too_many()}"
        return None
    if episode.done:
        return f'its status is "{record.status}", though its actions end the episode'
    if record.status == "limit" and record.error not in [*_causes(limits, cut_off)]:
        return "the limit that it names isn't one that ended it"
    if record.status == "error" and cut_off:
        return f"the agent failed at a step that it wasn't asked for: {limits.too_many()}"
    return None


def _causes(limits: EpisodeLimits, cut_off: bool) -> Iterator[str]:
    yield from OF_RUNS
    if limits.seconds is not None:
        yield limits.too_long()
    if cut_off:
        yield limits.too_many()
