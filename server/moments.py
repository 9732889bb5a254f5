"""Moments: an episode as it stands, and its answer encoded, worked out once for all who come to it.

An episode follows from its case and its actions alone. Trainers play many episodes of one case at a time, and most of
those begin alike: they share their moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from engine.action import action_space
from engine.case import make_case
from engine.episode import Episode
from engine.pack import Pack
from server.answers import case_part, encode, fate_part

CASES = 1_024  # whose first moment is kept
MOMENTS = 8_192  # some kilobytes each


_BY = {by: f',"addressed_by":"{by}",'.encode() for by in ("id", "session", "cookie", "address")}


class Moment:
    """Immutable, as far as can be seen; `step` gives the next moment."""

    __slots__ = ("_known", "_parts", "end_reason", "episode", "steps")

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.steps = len(episode.steps)
        self.end_reason = episode.end_reason  # None while it goes on
        self._known = action_space(episode.case.pack).known
        self._parts: tuple[bytes, bytes] | None = None

    def step(self, action: Mapping[str, Any]) -> Moment:
        """Raises EpisodeOver where the episode is done."""
        try:
            key = frozenset(action.items())
            known = key in self._known
        except TypeError:  # a value that can't be looked up
            known = False
        # Anything else an agent says is worked out anew: there is no end to it.
        return _after(self, key) if known else Moment(self.episode.step(action))

    def answer(self, episode_id: str, addressed_by: str) -> tuple[bytes, bytes, bytes, bytes]:
        """What `encode` makes of `server.answers.answer`, in pieces, most of which all episodes here share."""
        if self._parts is None:
            self._parts = self._encoded()
        before, after = self._parts
        return before, encode(episode_id), _BY[addressed_by], after

    def _encoded(self) -> tuple[bytes, bytes]:
        """What stands before the episode's id, and what after how it was addressed."""
        episode = self.episode
        before = {"observation": episode.observation, "reward": episode.reward, "done": episode.done}
        after = encode(case_part(episode) | fate_part(episode))
        return encode(before)[:-1] + b',"metadata":{"episode_id":', after[1:] + b"}"


@lru_cache(maxsize=CASES)
def begin(pack: Pack, ticket_id: str, seed: int) -> Moment:
    """The first moment of a case."""
    return Moment(Episode.start(make_case(pack, ticket_id, seed)))


@lru_cache(maxsize=MOMENTS)
def _after(moment: Moment, action: frozenset[tuple[str, str]]) -> Moment:
    return Moment(moment.episode.step(dict(action)))
