"""Moments: an episode as it stands, and its answer encoded, worked out once for all who come to it.

An episode follows from its case and its actions alone. Trainers play many episodes of one case at a time, and most of
those begin alike: they share their moments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from engine.action import action_space, normalise
from engine.case import make_case
from engine.episode import Episode
from engine.pack import Pack
from server.answers import case_part, encode, fate_part
from server.body import MAX_BODY
from server.problems import Problem

CASES = 1_024  # whose first moment is kept
MOMENTS = 8_192  # that are kept as the next of another, some kilobytes each

MAX_ACTION = 16 * 1024  # bytes of an action as JSON: it is stored, and every later answer has it in its history
OWN = 16 * 1024  # bytes of an episode's own actions, beyond which it isn't kept at hand
MEMBERS = 64  # of an action; to look up one that has many more takes longer than to see that it is too large

_Members = tuple[tuple[str, Any], ...]  # an action's, in the order in which they came

_BY = {by: f',"addressed_by":"{by}",'.encode() for by in ("id", "session", "cookie", "address")}


class Moment:
    """Immutable, as far as can be seen; `step` gives the next moment.

    `shared`: other episodes may come to it. None does where the agent has said what nobody is expected to.
    """

    __slots__ = ("_next", "_parts", "_shared", "action", "end_reason", "episode", "size", "stays", "steps")

    def __init__(self, episode: Episode, shared: bool = True, size: int = 0) -> None:
        self.episode = episode
        self.steps = len(episode.steps)
        self.action: Mapping[str, Any] = episode.steps[-1].action if episode.steps else {}  # that led here, canonical
        self.end_reason = episode.end_reason  # None while it goes on
        self.size = size  # bytes of the actions so far that are nobody else's
        self.stays = self.end_reason is None and size <= OWN  # whether it may be kept at hand
        self._shared = shared
        self._next: dict[_Members, Moment] = {}
        self._parts: tuple[bytes, bytes] | None = None

    def step(self, action: Mapping[str, Any]) -> Moment:
        """Raises EpisodeOver where the episode is done, Problem 422 where the action is larger than MAX_ACTION."""
        if len(action) > MEMBERS:
            _checked_size(action)
        members = tuple(action.items())
        try:
            return self._next[members]
        except KeyError:
            known = frozenset(members) in action_space(self.episode.case.pack).known
        except TypeError:  # a value that can't be looked up
            known = False
        size = self.size if known else self.size + _checked_size(action)
        after = Moment(self.episode.step(action), known and self._shared, size)
        if after._shared:  # all else is worked out anew: there is no end to it
            self._keep(members, after)
        return after

    def _keep(self, members: _Members, after: Moment) -> None:
        self._next[members] = after
        _kept.append((self, members))
        if len(_kept) > MOMENTS:
            before, oldest = _kept.popleft()
            before._next.pop(oldest, None)

    def answer(self, episode_id: str, addressed_by: str) -> tuple[bytes, bytes, bytes, bytes]:
        """What `encode` makes of `server.answers.answer`, in pieces, most of which all episodes here share."""
        parts = self._parts
        if parts is None:
            parts = self._encoded()
            if self._shared:
                self._parts = parts
        try:
            name = orjson.dumps(episode_id)  # what `encode` tries first: each item of a batch comes here
        except TypeError:
            name = encode(episode_id)
        return parts[0], name, _BY[addressed_by], parts[1]

    def _encoded(self) -> tuple[bytes, bytes]:
        """What stands before the episode's id, and what after how it was addressed."""
        episode = self.episode
        before = {"observation": episode.observation, "reward": episode.reward, "done": episode.done}
        after = encode(case_part(episode) | fate_part(episode))
        return encode(before)[:-1] + b',"metadata":{"episode_id":', after[1:] + b"}"


def _checked_size(action: Mapping[str, Any]) -> int:
    """How many bytes it is as JSON. Raises Problem 422."""
    size = len(encode(action))
    if MAX_ACTION // 2 < size <= MAX_BODY:  # what its canonical form leaves out doesn't count
        size = len(encode(normalise(action)))
    if size > MAX_ACTION:
        detail = f"The action is {size} bytes of JSON; {MAX_ACTION} are the most."
        raise Problem(422, detail, [{"pointer": "/action", "detail": detail}])
    return size


# Where next moments are kept, the oldest first. Its methods are atomic, so threads need no lock here.
_kept: deque[tuple[Moment, _Members]] = deque()


@lru_cache(maxsize=CASES)
def begin(pack: Pack, ticket_id: str, seed: int) -> Moment:
    """The first moment of a case."""
    return Moment(Episode.start(make_case(pack, ticket_id, seed)))
