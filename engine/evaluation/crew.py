"""Who plays a run's episodes: this process, threads of it, or processes.

Each gives results as they come, in any order, and None where nothing came for a while. It takes more to play as it goes
on, never more than its workers need. `end` makes it take no more, and end what is being played at its next step.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol

from engine.case import make_case
from engine.episode import Episode
from engine.evaluation.agents import Agent, AgentUnusable
from engine.evaluation.limits import TIME_UP, EpisodeLimits
from engine.evaluation.plan import Plan, Wish
from engine.evaluation.playing import Player, Until
from engine.evaluation.record import Status, recorded
from engine.evaluation.result import Account, Result, result
from engine.load import rebuild

# How long a crew waits for a result until it says that none came.
TICK = 0.1

Factory = Callable[[], Agent]


class Crew(Protocol):
    def play(self, places: Iterator[int]) -> Iterator[Result | None]:
        """Plays until no places are left, or it is over. Raises AgentUnusable."""

    def end(self, why: str) -> None:
        """The run is over: `why` is the cause of what is being played."""

    def close(self) -> None:
        """Lets nothing go on. What is being played is lost."""


@dataclass(frozen=True, slots=True)
class Duties:
    """All that a player in another process needs to know. `ends` is on a clock that a machine's processes share."""

    sources: tuple[str, ...]
    wish: Wish
    factory: Factory
    limits: EpisodeLimits
    ends: float | None

    def taken_up(self, until: Until) -> tuple[Plan, Player]:
        plan = Plan([rebuild(source) for source in self.sources], self.wish)
        return plan, Player(plan.packs, self.factory, until)


def duties_of(plan: Plan, wish: Wish, factory: Factory, until: Until) -> Duties:
    return Duties(tuple(pack.source for pack in plan.packs.values()), wish, factory, until.limits, until.ends)


def unseen(plan: Plan, place: int, status: Status, cause: str, seconds: float) -> Result:
    """What is left of an episode where whoever played it is lost: nothing is known but how it began."""
    key = plan.key(place)
    episode = Episode.start(make_case(plan.packs[key.pack], key.ticket, key.seed))
    return result(place, recorded(episode, key.trial, status, cause), Account(seconds, None))


class Alone:
    """This process plays, one episode after the other."""

    def __init__(self, plan: Plan, factory: Factory, until: Until) -> None:
        self._plan = plan
        self._until = until
        self._over: str | None = None
        self._player = Player(plan.packs, factory, replace(until, over=lambda: self._over))

    def play(self, places: Iterator[int]) -> Iterator[Result | None]:
        for place in places:
            if self._over is not None or is_past(self._until):
                return
            yield self._player.play(place, self._plan.key(place))

    def end(self, why: str) -> None:
        self._over = why

    def close(self) -> None:
        self._player.close()


class _Seat:
    """A thread that plays, until it is given up: whatever it does then, nobody hears of it.

    What is in its hands changes under its lock only.
    """

    def __init__(self, plan: Plan, player: Player, results: _Results) -> None:
        self.player = player
        self.lock = threading.Lock()
        self.place: int | None = None
        self.since = 0.0
        self.given_up = False
        self._plan = plan
        self._results = results

    def play(self, next_place: Callable[[], int | None]) -> None:
        """What a thread does."""
        playing = True
        while playing:
            with self.lock:
                self.place, self.since = next_place(), monotonic()
                place = self.place
            found: Result | AgentUnusable | None = None
            if place is not None:
                try:
                    found = self.player.play(place, self._plan.key(place))
                except AgentUnusable as error:
                    found = error
            with self.lock:
                playing, self.place = isinstance(found, Result) and not self.given_up, None
                heard = not self.given_up
            if heard:
                self._results.put((self, found))
        self.player.close()

    def give_up(self, cause: str) -> Result | None:
        """Takes from it what it plays, as far as that went; None where it has nothing in its hands."""
        with self.lock:
            episode, place = self.player.episode, self.place
            if place is None or episode is None or episode.done:  # it has a moment more, to tell it by itself
                return None
            self.given_up = True
        record = recorded(episode, self._plan.key(place).trial, "limit", cause)
        account = self.player.account()
        self.player.close()  # a program that it waits for ends
        return result(place, record, account)


_Results = queue.Queue[tuple[_Seat, Result | AgentUnusable | None]]


class Threads:
    """Threads of this process play: with agents that wait for others most of the time.

    Where one plays beyond a limit of time it is given up, wherever it hangs, and another takes its seat.
    """

    def __init__(self, plan: Plan, factory: Factory, until: Until, workers: int) -> None:
        self._plan = plan
        self._factory = factory
        self._until = replace(until, over=lambda: self._over)
        self._workers = workers
        self._over: str | None = None
        self._lock = threading.Lock()
        self._results: _Results = queue.Queue(2 * workers)
        self._seats: list[_Seat] = []

    def play(self, places: Iterator[int]) -> Iterator[Result | None]:
        def next_place() -> int | None:
            with self._lock:
                return None if self._over is not None or is_past(self._until) else next(places, None)

        for _ in range(self._workers):
            self._seat(next_place)
        looked = monotonic()
        while self._seats:
            try:
                seat, found = self._results.get(timeout=TICK)
            except queue.Empty:
                yield None
            else:
                if isinstance(found, AgentUnusable):
                    raise found
                if found is None:
                    self._seats.remove(seat)
                else:
                    yield found
            if monotonic() - looked > TICK:
                for late in [*self._late()]:
                    self._seat(next_place)
                    yield late
                looked = monotonic()

    def end(self, why: str) -> None:
        self._over = why

    def close(self) -> None:
        self._over = self._over or TIME_UP
        for seat in self._seats:
            seat.given_up = True
            seat.player.close()
        with suppress(queue.Empty):
            while True:  # whoever waits to put something down
                self._results.get_nowait()

    def _seat(self, next_place: Callable[[], int | None]) -> None:
        seat = _Seat(self._plan, Player(self._plan.packs, self._factory, self._until), self._results)
        self._seats.append(seat)
        threading.Thread(target=seat.play, args=(next_place,), daemon=True).start()

    def _late(self) -> Iterator[Result]:
        """What was being played by those who are late, and are given up. Each has a moment to see it for itself."""
        limits, now = self._until.limits, monotonic() - TICK
        for seat in [*self._seats]:
            own = limits.seconds is not None and now > seat.since + limits.seconds
            if own or (self._until.ends is not None and now > self._until.ends):
                found = seat.give_up(limits.too_long() if own else TIME_UP)
                if found is not None:
                    self._seats.remove(seat)
                    yield found


def is_past(until: Until) -> bool:
    """Whether the run's time is up."""
    return until.ends is not None and monotonic() >= until.ends
