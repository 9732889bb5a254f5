"""Where episodes are kept: append-only records, and the protocol that every store follows.

A record holds what a reset fixed and the steps since then; everything else is a fold over the steps. So any worker can
serve any step, and a first answer can be made again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Key(NamedTuple):
    """One attempt at an episode; attempts count from 1."""

    episode_id: str
    attempt: int


class Start(NamedTuple):
    """What a reset fixes. `options` is what the client asked for; `at` is in seconds since the epoch."""

    pack_digest: str
    ticket_id: str
    seed: int
    options: Mapping[str, Any]
    request_id: str | None
    at: float


class Step(NamedTuple):
    """One action in its canonical form, as it was taken; `at` is in seconds since the epoch."""

    action: Mapping[str, Any]
    request_id: str | None
    at: float


class Record(NamedTuple):
    """One attempt, so far.

    `end_reason` is None while it can be stepped; `changed` is the time of its last change, `touched` that of the last
    sign of life without one.
    """

    key: Key
    start: Start
    steps: tuple[Step, ...]
    end_reason: str | None
    changed: float
    touched: float | None = None


class Conflict(Exception):
    """The append came too late: `current` is the episode's newest attempt as it is now, None where it is gone."""

    def __init__(self, current: Record | None) -> None:
        super().__init__("another writer came first")
        self.current = current


class Repeated(Exception):
    """The request id was answered before: `record` is what `find` returns for it."""

    def __init__(self, record: Record) -> None:
        super().__init__("the request was answered before")
        self.record = record


class EpisodeStore(Protocol):
    """Each method is atomic, and callable from any thread."""

    def create(self, episode_id: str, start: Start) -> Record:
        """Begin the next attempt at an episode; older attempts are kept.

        Raises Repeated where the episode knows the request id.
        """

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        """Add a step to the attempt that has `index` steps, and its end where the step ends it.

        Raises Repeated where the episode knows the request id; else Conflict where `key` isn't the episode's newest
        attempt, is over, or has another number of steps.
        """

    def get(self, episode_id: str) -> Record | None:
        """The newest attempt."""

    def find(self, episode_id: str, request_id: str) -> Record | None:
        """The attempt in which a request was answered, cut off right after it; its `end_reason` is None."""

    def end(self, key: Key, reason: str, at: float) -> None:
        """End an attempt from outside. One that is over, or gone, stays as it is."""

    def touch(self, key: Key, at: float) -> None:
        """Note a sign of life of an attempt, over or not."""

    def bind(self, address: str, key: Key) -> Key | None:
        """Make an attempt the address's own, and return the one that was."""

    def bound(self, address: str) -> str | None:
        """The episode id that the address was last bound to."""
