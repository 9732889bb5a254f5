"""Episodes as a service: dictionary in, dictionary out. It knows no protocol, and reads no environment.

State is a fold over the stored actions. The episodes that run are kept at hand, so that a step isn't a replay.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from engine.contract import Contract
from engine.episode import Episode
from engine.pack import Pack
from server.answers import answer, state
from server.body import ResetBody, StepBody, query_id, reset_body, step_body
from server.catalogue import Catalogue
from server.choice import choose
from server.moments import Moment, begin
from server.problems import Problem, quoted
from server.sessions import Session
from server.store import Conflict, EpisodeStore, Key, Record, Repeated, Start, Step


class Caller(NamedTuple):
    """How a request that names no episode is told apart: by its session, its cookie's episode id, else its address."""

    cookie: str | None = None
    address: str | None = None
    session: Session | None = None

    @property
    def known_by(self) -> str:
        if self.session is not None:
            return "session"
        return "cookie" if self.cookie is not None else "address"


Running = tuple[Key, Moment]  # an attempt, folded
Encoded = tuple[bytes, ...]  # JSON, in pieces
Taken = tuple[str, str, Moment]  # what a request came to: the episode's id, how it was addressed, where it stands


class _AtHand:
    """Up to `capacity` episodes, folded; those that were begun or looked up first go first. A miss costs a replay."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        # Each of its methods is atomic, so threads need no lock here.
        self._running: OrderedDict[str, Running] = OrderedDict()

    def get(self, episode_id: str) -> Running | None:
        return self._running.get(episode_id)

    def put(self, key: Key, moment: Moment) -> None:
        self._running[key.episode_id] = (key, moment)
        if len(self._running) > self._capacity:
            self._running.popitem(last=False)

    def drop(self, episode_id: str) -> None:
        self._running.pop(episode_id, None)


class Service:
    """Everything that can be asked of the server.

    A client's mistake raises Problem and changes nothing; an agent's mistake is a step. `clock` gives seconds since
    the epoch, `draw_seed` the seed of a reset without one, `new_id` the id of an episode without one; `at_hand` is how
    many folded episodes are kept.
    """

    def __init__(
        self,
        packs: Sequence[Pack],
        store: EpisodeStore,
        contract: Contract,
        *,
        clock: Callable[[], float] = time.time,
        draw_seed: Callable[[], int] = lambda: secrets.randbelow(2**31),
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        at_hand: int = 4_096,
    ) -> None:
        self.catalogue = Catalogue(packs, contract)
        self._store = store
        self.clock = clock
        self._draw_seed = draw_seed
        self.new_id = new_id
        self._at_hand = _AtHand(at_hand)

    def reset(self, body: Any, caller: Caller, **noted: Any) -> dict[str, Any]:
        """Begin an episode, or the next attempt at one. Raises Problem 404, 422.

        `noted` is kept in the record, beside the options that the body has.
        """
        return _answer(self._reset(body, caller, noted))

    def step(self, body: Any, caller: Caller) -> dict[str, Any]:
        """Take one action. Raises Problem 404, 409, 422."""
        return _answer(self._step(body, caller))

    def reset_encoded(self, body: Any, caller: Caller) -> tuple[str, Encoded]:
        """What `reset` does: the episode's id, and the answer as JSON."""
        episode_id, by, moment = self._reset(body, caller, {})
        return episode_id, moment.answer(episode_id, by)

    def step_encoded(self, body: Any, caller: Caller) -> Encoded:
        """What `step` does, its answer as JSON."""
        episode_id, by, moment = self._step(body, caller)
        return moment.answer(episode_id, by)

    def _reset(self, body: Any, caller: Caller, noted: dict[str, Any]) -> Taken:
        asked = reset_body(body)
        by = "id" if asked.episode_id is not None else caller.known_by
        if asked.episode_id is not None and asked.request_id is not None:
            earlier = self._store.find(asked.episode_id, asked.request_id)
            if earlier is not None:
                self._enter(caller, asked.episode_id)
                return self._again(earlier, by)
        start, moment = self._start(asked, noted)
        try:
            record = self._store.create(asked.episode_id or self.new_id(), start)
        except Repeated as repeated:
            return self._again(repeated.record, by)
        self._at_hand.put(record.key, moment)
        self._enter(caller, record.key.episode_id)
        if by == "address" and caller.address is not None:
            self._supersede(caller.address, record.key)
        return record.key.episode_id, by, moment

    def _step(self, body: Any, caller: Caller) -> Taken:
        asked_at = self.clock()
        asked = step_body(body)
        episode_id, by = (asked.episode_id, "id") if asked.episode_id is not None else self._addressed(caller)
        try:
            running = self._at_hand.get(episode_id) or self._load(episode_id, asked.request_id)
            try:
                after = self._append(running, asked)
            except Conflict as conflict:
                # What was at hand may be older than this request, where another process stepped it: look once more.
                self._at_hand.drop(episode_id)
                if conflict.current is None or conflict.current.changed >= asked_at:
                    raise
                after = self._append(self._open(conflict.current), asked)
        except Repeated as repeated:
            return self._again(repeated.record, by)
        except Conflict as conflict:
            raise _conflict(episode_id, conflict.current) from None
        return episode_id, by, after

    def state(self, episode_id: str | None, caller: Caller) -> dict[str, Any]:
        """Where an episode stands. Raises Problem 404, 422."""
        named = query_id(episode_id)
        if named is None:
            named, _ = self._addressed(caller)
        record = self._store.get(named)
        if record is None:
            raise _no_episode(named)
        return state(record, self.fold(record))

    def playing(self, caller: Caller) -> str | None:
        """The id of the episode that a caller who names none goes on with."""
        if caller.session is not None:
            return caller.session.episode_id
        if caller.cookie is not None:
            return caller.cookie
        return self._store.bound(caller.address) if caller.address is not None else None

    def record(self, episode_id: str) -> Record | None:
        """The newest attempt at an episode."""
        return self._store.get(episode_id)

    def again(self, episode_id: str, request_id: str) -> dict[str, Any] | None:
        """The first answer to a request, where it was answered."""
        record = self._store.find(episode_id, request_id)
        return None if record is None else _answer(self._again(record, "id"))

    def touch(self, key: Key) -> None:
        """Note that somebody still holds an episode."""
        self._store.touch(key, self.clock())

    def end(self, key: Key, reason: str) -> None:
        """End an attempt from outside, unless it is over."""
        self._store.end(key, reason, self.clock())
        self._at_hand.drop(key.episode_id)

    def _start(self, asked: ResetBody, noted: dict[str, Any]) -> tuple[Start, Moment]:
        """The case that a reset asks for; `noted` is kept beside what was asked."""
        pack = self.catalogue.pack(asked.pack)
        seed = self._draw_seed() if asked.seed is None else asked.seed
        ticket_id = choose(self.catalogue, pack, asked, seed)
        names = ("pack", "task_id", "ticket_id", "split", "index", "seed")
        options = {name: getattr(asked, name) for name in names if getattr(asked, name) is not None} | noted
        start = Start(pack.digest, ticket_id, seed, options, asked.request_id, self.clock())
        return start, begin(pack, ticket_id, seed)

    def enter(self, caller: Caller, episode_id: str) -> None:
        """Let a session go on with an episode. Raises Problem 404."""
        if self._store.get(episode_id) is None:
            raise _no_episode(episode_id)
        self._enter(caller, episode_id)

    def _enter(self, caller: Caller, episode_id: str) -> None:
        if caller.session is not None:
            caller.session.episode_id = episode_id

    def _supersede(self, address: str, key: Key) -> None:
        before = self._store.bind(address, key)
        if before is not None:
            self._store.end(before, "superseded", self.clock())
            self._at_hand.drop(before.episode_id)

    def _addressed(self, caller: Caller) -> tuple[str, str]:
        """The episode that a request without an id means, and how that is known."""
        found = self.playing(caller)
        if found is None:
            reset = "reset" if caller.session is not None else "POST /reset"
            raise Problem(404, f"There is no episode to go on with: {reset} first, or name one by episode_id.")
        return found, caller.known_by

    def _load(self, episode_id: str, request_id: str | None) -> Running:
        """The newest attempt. Raises Problem 404, and 409 where it is over; Repeated comes before that."""
        record = self._store.get(episode_id)
        if record is None:
            raise _no_episode(episode_id)
        if record.end_reason is not None and request_id is not None:
            earlier = self._store.find(episode_id, request_id)
            if earlier is not None:
                raise Repeated(earlier)
        return self._open(record)

    def _open(self, record: Record) -> Running:
        """Raises Problem 409 where the attempt is over."""
        if record.end_reason is not None:
            raise _over(record)
        return record.key, self._folded(record)

    def _append(self, running: Running, asked: StepBody) -> Moment:
        """Where the episode stands after the action, stored. Raises Conflict, Repeated."""
        key, moment = running
        after = moment.step(asked.action)
        taken = Step(after.episode.steps[-1].action, asked.request_id, self.clock())
        self._store.append(key, moment.steps, taken, after.end_reason)
        if after.end_reason is None:
            self._at_hand.put(key, after)
        else:
            self._at_hand.drop(key.episode_id)
        return after

    def _again(self, record: Record, by: str) -> Taken:
        """The first answer, made anew: the record is cut off right after the request."""
        return record.key.episode_id, by, self._folded(record)

    def fold(self, record: Record) -> Episode:
        """The episode that a record holds. Raises Problem 409 where its pack is no longer served."""
        return self._folded(record).episode

    def _folded(self, record: Record) -> Moment:
        running = self._at_hand.get(record.key.episode_id)
        if running is not None and running[0] == record.key and running[1].steps == len(record.steps):
            return running[1]
        pack = self.catalogue.by_digest.get(record.start.pack_digest)
        if pack is None:
            detail = "The pack version that this episode began with is no longer served: POST /reset starts a new one."
            raise Problem(409, detail, episode_id=record.key.episode_id)
        moment = begin(pack, record.start.ticket_id, record.start.seed)
        for step in record.steps:
            moment = moment.step(step.action)
        return moment


def _answer(taken: Taken) -> dict[str, Any]:
    episode_id, by, moment = taken
    return answer(episode_id, by, moment.episode)


def _no_episode(episode_id: str) -> Problem:
    errors = [{"pointer": "/episode_id", "detail": f"unknown: {quoted(episode_id)}"}]
    return Problem(404, f"There is no episode {quoted(episode_id)}: POST /reset starts one.", errors)


def _over(record: Record) -> Problem:
    episode_id, steps = record.key.episode_id, len(record.steps)
    if record.end_reason == "superseded":
        why = (
            "was superseded: a later reset from the same address, without episode_id or cookie, took its place. "
            "Send an episode_id to play several at once."
        )
    else:
        why = f"is over ({record.end_reason} after {steps} steps): POST /reset starts another attempt."
    return Problem(409, f"Episode {quoted(episode_id)} {why}", episode_id=episode_id, step_count=steps)


def _conflict(episode_id: str, current: Record | None) -> Problem:
    if current is None:
        return _no_episode(episode_id)
    if current.end_reason is not None:
        return _over(current)
    steps = len(current.steps)
    detail = f"Another request came first: episode {quoted(episode_id)} is at step {steps} now. Look, and step again."
    return Problem(409, detail, episode_id=episode_id, step_count=steps)
