"""Where episodes are kept: append-only records, and the protocol that every store follows.

A record holds what a reset fixed and the steps since then; everything else is a fold over the steps. So any worker can
serve any step, and a first answer can be made again at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


Append = tuple[Key, int, Step, str | None]  # what `append` takes


class Record(NamedTuple):
    """One attempt, so far.

    `end_reason` is None while it can be stepped, and where another attempt took its place before its end; `changed` is
    the time of its last change, `touched` that of the last sign of life without one.
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


class Unavailable(Exception):
    """The store can't be used just now; the text is a sentence that says why, and what to do.

    When the cause is gone the next call works again. What raised it changed nothing, with two exceptions. What goes
    through many attempts or notes may have done a part of it. And where a server's answer was lost, a write may have
    happened: repeating it with the same request id heals that.
    """


class Unusable(Exception):
    """The store can't be opened; the text says what is there, and what to do about it."""


class EpisodeStore(Protocol):
    """Each method is callable from any thread, and may raise Unavailable.

    Each is atomic; those that go through many attempts or notes (`expire`, `prune`, `records`, `forget`) are so for
    each of these.

    Ids, names and all text in actions and options may be any `str`; actions and options are JSON. Times are in seconds
    since the epoch. An attempt is *open* while it can be stepped; it is *over* once it has ended, or another attempt
    at its episode has begun.
    """

    @property
    def durable(self) -> bool:
        """Whether episodes outlive the process: then one write of several steps costs less than several."""

    def create(self, episode_id: str, start: Start) -> Record:
        """Begin the next attempt at an episode; older attempts are kept.

        Raises Repeated where the episode knows the request id.
        """

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        """Add a step to the attempt that has `index` steps, and its end where the step ends it.

        Raises Repeated where the episode knows the request id; else Conflict where `key` isn't the episode's newest
        attempt, is over, or has another number of steps.
        """

    def append_all(self, appends: Sequence[Append]) -> bool:
        """What `append` does for each of these, which are of different episodes, as one change.

        False, and no change, where one of them would raise Conflict or Repeated.
        """

    def get(self, episode_id: str) -> Record | None:
        """The newest attempt."""

    def find(self, episode_id: str, request_id: str) -> Record | None:
        """The attempt in which a request was answered, cut off right after it; its `end_reason` is None."""

    def end(self, key: Key, reason: str, at: float) -> bool:
        """End an attempt from outside. False where it has ended already, or is gone: it stays as it is."""

    def touch(self, key: Key, at: float) -> None:
        """Note a sign of life of an attempt, over or not."""

    def expire(self, before: float, at: float) -> int:
        """End every open attempt that changed and showed a sign of life before `before` only; returns how many.

        Their `end_reason` is "expired", and `at` is when they ended. An attempt that changes meanwhile is left alone.
        """

    def prune(self, before: float) -> int:
        """Forget every attempt that is over and changed before `before` only; returns how many.

        Their request ids go with them, and with an episode's last attempt the addresses that were bound to it. The
        attempts at one episode go in their order: none goes before an older one.
        """

    def open_count(self) -> int:
        """How many attempts are open. It costs little enough to be asked every second."""

    def records(self) -> Iterator[Record]:
        """Every attempt, in the order of their creation.

        They are read a few at a time, so that any number takes little memory. Each is whole; one that is created or
        pruned meanwhile may be among them or not.
        """

    def bind(self, address: str, key: Key) -> Key | None:
        """Make an attempt the address's own, and return the one that was."""

    def bound(self, address: str) -> str | None:
        """The episode id that the address was last bound to."""

    def keep_pack(self, digest: str, source: str) -> None:
        """Keep a pack's text by its digest. It may be kept before."""

    def pack(self, digest: str) -> str | None:
        """The text that was kept."""

    def recall(self, name: str) -> str | None:
        """The note of that name."""

    def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
        """Put `new` in the place of the note `old`; None stands for no note. False where it isn't `old` now."""

    def forget(self, prefix: str, before: float) -> int:
        """Drop the notes whose names begin with `prefix` and that were last swapped before `before`; returns how many.

        Swapping a note for itself counts.
        """

    def count(self, prefix: str) -> int:
        """How many notes there are whose names begin with `prefix`."""

    def check(self) -> None:
        """Read and write a little. Raises Unavailable where that doesn't work just now."""

    def close(self) -> None:
        """Let go of files and connections; the store isn't used afterwards."""
