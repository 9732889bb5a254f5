"""Episodes as a service: dictionary in, dictionary out. It knows no protocol, and reads no environment.

State is a fold over the stored actions. The episodes that run are kept at hand, so that a step isn't a replay.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.contract import Contract
from engine.episode import Episode, EpisodeOver
from engine.pack import Pack
from server import events, refusals
from server.answers import answer, state
from server.body import ResetBody, query_id, reset_body, step_body
from server.catalogue import Catalogue
from server.choice import choose
from server.moments import Moment, begin
from server.naming import stored, told
from server.problems import Problem
from server.sessions import Session
from server.shelf import Shelf, Unserved
from server.store import Append, Conflict, EpisodeStore, Key, Record, Repeated, Start, Step, Unavailable


class Caller(NamedTuple):
    """How a request that names no episode is told apart: by its session, its cookie's episode id, else its address.

    `owner` is the name of the token that it came with; a caller with one has no address, since that isn't its own.
    """

    cookie: str | None = None
    address: str | None = None
    session: Session | None = None
    owner: str = ""

    @property
    def known_by(self) -> str:
        if self.session is not None:
            return "session"
        return "cookie" if self.cookie is not None else "address"


Encoded = tuple[bytes, ...]  # JSON, in pieces
Taken = tuple[str, str, Moment]  # what a request came to: the episode's id, how it was addressed, where it stands


@dataclass(slots=True)
class _Running:
    """An attempt, folded: where it stands, as far as is known here."""

    key: Key
    moment: Moment


class _AtHand:
    """Up to `capacity` episodes, folded; those that were begun or looked up first go first. A miss costs a replay.

    One whose agent said much that nobody else says is not kept: what is kept here stays small, whatever comes.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        # Each of its methods is atomic, so threads need no lock here.
        self._running: OrderedDict[str, _Running] = OrderedDict()
        self.get = self._running.get  # every step asks

    def put(self, key: Key, moment: Moment) -> _Running:
        running = _Running(key, moment)
        if not moment.stays:
            return running
        self._running[key.episode_id] = running
        if len(self._running) > self._capacity:
            self._running.popitem(last=False)
        return running

    def drop(self, episode_id: str) -> None:
        self._running.pop(episode_id, None)


class Service:
    """Everything that can be asked of the server.

    A client's mistake raises Problem and changes nothing; an agent's mistake is a step. `clock` gives seconds since
    the epoch, `draw_seed` the seed of a reset without one, `new_id` the id of an episode without one; `at_hand` is how
    many folded episodes are kept, `most` how many may be open at once. Any call may raise Unavailable.
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
        most: int = 1_000_000,
    ) -> None:
        self._contract = contract
        self._store = store
        self._shelf = Shelf((), store)
        self.adopt(packs)
        self.clock = clock
        self._draw_seed = draw_seed
        self.new_id = new_id
        self._at_hand = _AtHand(at_hand)
        self._most = most
        self._open_at, self._open_episodes = 0.0, 0

    def adopt(self, packs: Sequence[Pack]) -> None:
        """Serve these packs from now on; episodes that run go on with the packs that they began with.

        Raises ValueError where there is no pack, or two have one name.
        """
        catalogue = Catalogue(packs, self._contract)
        self._shelf.keep(packs)
        self.catalogue = catalogue

    @property
    def durable(self) -> bool:
        """Whether episodes outlive the process: then one write of several steps costs less than several."""
        return self._store.durable

    def check(self) -> None:
        """Raises Unavailable where the store doesn't work just now."""
        self._store.check()

    def open_episodes(self) -> int | None:
        """How many episodes are open; None where the store can't say."""
        try:
            return self._store.open_count()
        except Unavailable:
            return None

    def pack(self, digest: str) -> Pack:
        """A pack by its digest, served now or earlier. Raises Problem 409."""
        try:
            return self._shelf.pack(digest)
        except Unserved:
            detail = "The pack version that this episode began with is neither served nor kept: begin another episode."
            raise Problem(409, detail) from None

    def reset(self, body: Any, caller: Caller, **noted: Any) -> dict[str, Any]:
        """Begin an episode, or the next attempt at one. Raises Problem 404, 422, 503.

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

    def steps_encoded(self, bodies: Sequence[Any], caller: Caller) -> list[Encoded] | None:
        """What `step_encoded` gives for each of these, taken as one change of the store.

        None, and no change, where that can't be: each has to name another episode, and none may be in the wrong.
        """
        at, at_hand, owned = self.clock(), self._at_hand.get, stored(caller.owner, "")
        try:
            # One list after the other: each is made quicker than all of them are in one loop.
            asked = [step_body(body) for body in bodies]
            ids = [episode_id for _, episode_id, _ in asked if episode_id is not None]
            if len({*ids}) < len(bodies):
                return None
            runnings = [at_hand(owned + one) or self._load(owned + one, request) for _, one, request in asked if one]
            befores = [running.moment for running in runnings]
            came_to = [before.step(one[0]) for before, one in zip(befores, asked, strict=True)]
        except (Problem, Repeated):
            return None
        # Episodes that come to the same moment share the step that they took.
        shared = {after: Step(after.action, None, at) for after in {*came_to}}
        appends: list[Append] = [
            (
                running.key,
                before.steps,
                shared[after] if request_id is None else Step(after.action, request_id, at),
                after.end_reason,
            )
            for running, before, after, (_, _, request_id) in zip(runnings, befores, came_to, asked, strict=True)
        ]
        if not self._store.append_all(appends):
            return None
        for running, after in zip(runnings, came_to, strict=True):
            if after.stays:
                running.moment = after
            else:
                self._at_hand.drop(running.key.episode_id)
        if events.heard():
            for episode_id, after, (_, _, step, _) in zip(ids, came_to, appends, strict=True):
                events.log("a step was taken", episode_id, step.request_id, after)
        for after, number in Counter(came_to).items():
            events.stepped(after, number)
        return [after.answer(episode_id, "id") for episode_id, after in zip(ids, came_to, strict=True)]

    def _reset(self, body: Any, caller: Caller, noted: dict[str, Any]) -> Taken:
        asked = reset_body(body)
        by = "id" if asked.episode_id is not None else caller.known_by
        if asked.episode_id is not None and asked.request_id is not None:
            earlier = self._store.find(stored(caller.owner, asked.episode_id), asked.request_id)
            if earlier is not None:
                self._enter(caller, asked.episode_id)
                return self._again(earlier, by)
        self._check_room()
        start, moment = self._start(asked, noted)
        episode_id = asked.episode_id or self.new_id()
        try:
            record = self._store.create(stored(caller.owner, episode_id), start)
        except Repeated as repeated:
            return self._again(repeated.record, by)
        events.begun(moment)
        events.log("an episode began", episode_id, asked.request_id, moment)
        self._at_hand.put(record.key, moment)
        self._enter(caller, episode_id)
        if by == "address" and caller.address is not None:
            self._supersede(caller.address, record.key)
        return episode_id, by, moment

    def _step(self, body: Any, caller: Caller) -> Taken:
        asked_at = self.clock()
        action, named, request_id = step_body(body)
        episode_id, by = (named, "id") if named is not None else self._addressed(caller)
        name = stored(caller.owner, episode_id)
        try:
            running = self._at_hand.get(name) or self._load(name, request_id)
            try:
                after = self._append(running, action, request_id)
            except Conflict as conflict:
                # What was at hand may be older than this request, where another process stepped it: look once more.
                self._at_hand.drop(name)
                if conflict.current is None or conflict.current.changed >= asked_at:
                    raise
                after = self._append(self._open(conflict.current), action, request_id)
        except Repeated as repeated:
            return self._again(repeated.record, by)
        except Conflict as conflict:
            raise refusals.conflict(name, conflict.current) from None
        events.log("a step was taken", episode_id, request_id, after)
        return episode_id, by, after

    def state(self, episode_id: str | None, caller: Caller) -> dict[str, Any]:
        """Where an episode stands. Raises Problem 404, 422."""
        named = query_id(episode_id)
        if named is None:
            named, _ = self._addressed(caller)
        record = self.record(named, caller)
        if record is None:
            raise refusals.no_episode(named)
        return state(named, record.end_reason, self.fold(record))

    def playing(self, caller: Caller) -> str | None:
        """The id of the episode that a caller who names none goes on with."""
        if caller.session is not None:
            return caller.session.episode_id
        if caller.cookie is not None:
            return caller.cookie
        bound = self._store.bound(caller.address) if caller.address is not None else None
        return told(bound)[1] if bound is not None else None

    def record(self, episode_id: str, caller: Caller) -> Record | None:
        """The newest attempt at an episode of the caller's."""
        return self._store.get(stored(caller.owner, episode_id))

    def again(self, episode_id: str, request_id: str, caller: Caller) -> dict[str, Any] | None:
        """The first answer to a request, where it was answered."""
        record = self._store.find(stored(caller.owner, episode_id), request_id)
        return None if record is None else _answer(self._again(record, "id"))

    def touch(self, key: Key) -> None:
        """Note that somebody still holds an episode."""
        self._store.touch(key, self.clock())

    def end(self, key: Key, reason: str) -> None:
        """End an attempt from outside, unless it is over."""
        if self._store.end(key, reason, self.clock()):
            events.ended(reason)
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
        if self.record(episode_id, caller) is None:
            raise refusals.no_episode(episode_id)
        self._enter(caller, episode_id)

    def _enter(self, caller: Caller, episode_id: str) -> None:
        if caller.session is not None:
            caller.session.episode_id = episode_id

    def _supersede(self, address: str, key: Key) -> None:
        before = self._store.bind(address, key)
        if before is not None:
            self.end(before, "superseded")

    def _addressed(self, caller: Caller) -> tuple[str, str]:
        """The episode that a request without an id means, and how that is known."""
        found = self.playing(caller)
        if found is None:
            reset = "reset" if caller.session is not None else "POST /reset"
            raise Problem(404, f"There is no episode to go on with: {reset} first, or name one by episode_id.")
        return found, caller.known_by

    def _load(self, name: str, request_id: str | None) -> _Running:
        """The newest attempt. Raises Problem 404, and 409 where it is over; Repeated comes before that."""
        record = self._store.get(name)
        if record is None:
            raise refusals.no_episode(told(name)[1])
        if record.end_reason is not None and request_id is not None:
            earlier = self._store.find(name, request_id)
            if earlier is not None:
                raise Repeated(earlier)
        return self._open(record)

    def _open(self, record: Record) -> _Running:
        """Raises Problem 409 where the attempt is over."""
        if record.end_reason is not None:
            raise refusals.over(record)
        return self._at_hand.put(record.key, self._folded(record))

    def _append(self, running: _Running, action: Mapping[str, Any], request_id: str | None) -> Moment:
        """Where the episode stands after the action, stored. Raises Conflict, Repeated."""
        before = running.moment
        after = before.step(action)
        taken = Step(after.action, request_id, self.clock())
        self._store.append(running.key, before.steps, taken, after.end_reason)
        self._advance(running, after)
        events.stepped(after)
        return after

    def _advance(self, running: _Running, after: Moment) -> None:
        if after.stays:
            running.moment = after
        else:
            self._at_hand.drop(running.key.episode_id)

    def _check_room(self) -> None:
        """Raises Problem 503. They are counted once a second: a few more may come in."""
        now = self.clock()
        if not 0 <= now - self._open_at < 1:
            self._open_at, self._open_episodes = now, self._store.open_count()
        if self._open_episodes >= self._most:
            detail = f"There are {self._most} open episodes, the most there may be: end some, or try again later."
            raise Problem(503, detail, retry_after=60)

    def _again(self, record: Record, by: str) -> Taken:
        """The first answer, made anew: the record is cut off right after the request."""
        return told(record.key.episode_id)[1], by, self._folded(record)

    def fold(self, record: Record) -> Episode:
        """The episode that a record holds. Raises Problem 409 where it can't be played any more."""
        return self._folded(record).episode

    def _folded(self, record: Record) -> Moment:
        running = self._at_hand.get(record.key.episode_id)
        if running is not None and running.key == record.key:
            moment = running.moment  # once: another thread may take a step
            if moment.steps == len(record.steps):
                return moment
        pack = self.pack(record.start.pack_digest)
        try:
            moment = begin(pack, record.start.ticket_id, record.start.seed)
            for step in record.steps:
                moment = moment.step(step.action)
        except (KeyError, EpisodeOver):
            detail = "What is stored of this episode doesn't fit its pack: begin another one."
            raise Problem(409, detail) from None
        return moment


def _answer(taken: Taken) -> dict[str, Any]:
    episode_id, by, moment = taken
    return answer(episode_id, by, moment.episode)
