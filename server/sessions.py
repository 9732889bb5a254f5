"""Sessions: what a socket or an MCP client holds on to between messages, and the limit on how many there are.

A socket's own session is kept in its process, and ends with it. An MCP client's is a note in the store, so that any
worker goes on with it. Either belongs to whoever opened it: to anybody else it isn't there.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from server.naming import stored

CAPACITY = 4_096
NOTED_EVERY = 60.0  # seconds; more often a session's signs of life need not be stored
SPARED = 2 * NOTED_EVERY  # seconds in which a session may be silent without being in anybody's way
PREFIX = "mcp:"  # of the notes' names

_SHARED = ("episode_id", "trained", "protocol")  # what one worker may learn from another


@dataclass(slots=True)
class Session:
    """`episode_id` is the episode that the session plays, `owner` the name of the token that it was opened with.

    `own`: it is a socket's own, and ends with it. `trained`: it was held by a socket that speaks OpenEnv's protocol,
    whose client resets and reads rewards. `protocol` is the version of MCP that was agreed on. `holds`: it is looked at
    by the socket that holds it. `seen` is the last sign of life that is stored; `stored` what else is.
    """

    id: str
    owner: str = ""
    own: bool = False
    holds: bool = False
    closing: bool = False
    episode_id: str | None = None
    trained: bool = False
    protocol: str | None = None
    seen: float = 0.0
    stored: dict[str, Any] = field(default_factory=dict)


class Full(Exception):
    """There are as many sessions as there may be."""

    def __init__(self, active: int, capacity: int) -> None:
        super().__init__(f"all {capacity} sessions are taken; close one, or try again later")
        self.active = active
        self.capacity = capacity


class Unknown(Exception):
    """There is no such session, or it can't be had."""


class Notes(Protocol):
    """The part of a store that sessions are kept in."""

    def recall(self, name: str) -> str | None: ...

    def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool: ...

    def forget(self, prefix: str, before: float) -> int: ...

    def count(self, prefix: str) -> int: ...


class Sessions:
    """The sessions of one process, and those of all that share `notes` with it; callable from any thread.

    Where there is no room for another one, those go that were silent for longest: for `idle` seconds; if there are none
    for less, down to SPARED. Those that a socket holds are not silent until it was for `idle` seconds. `clock` is in
    seconds, the same for all that share the notes. What the notes raise passes through.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        capacity: int = CAPACITY,
        idle: float = 3600.0,
        *,
        notes: Notes,
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._capacity = capacity
        self._idle = idle
        self._notes = notes
        self._own: dict[str, Session] = {}
        self._crowded = -math.inf  # when nobody could make room
        self._lock = threading.Lock()

    def open(self, owner: str = "", *, socket: bool = False) -> Session:
        """A new session; `socket` for one that a socket holds and that ends with it. Raises Full."""
        with self._lock:
            if self._active() >= self._capacity and not self._make_room():
                raise Full(self._capacity, self._capacity)
            session = Session(self._new_id(), owner, own=socket)
            if socket:
                self._own[session.id] = session
            else:
                state = {"held": None, "closing": False, "seen": self._clock(), **_shared(session)}
                self._notes.swap(_name(session), None, json.dumps(state), state["seen"])
                _update(session, state)
            return session

    def find(self, session_id: str, owner: str = "") -> Session:
        """The session; the call counts as a sign of life. Raises Unknown."""
        session = self._socket(session_id, owner)
        if session is None:
            session = Session(session_id, owner)
            _update(session, self._state(session)[1])
            self.keep(session)
        if session.closing:
            raise _unknown(session_id)
        return session

    def keep(self, session: Session) -> None:
        """Store what became of a session; the call counts as a sign of life."""
        if session.own:
            return
        changed = {name: value for name, value in _shared(session).items() if value != session.stored.get(name)}
        if changed or self._clock() - session.seen >= NOTED_EVERY:
            if session.holds:
                changed["held"] = self._clock()
            with suppress(Unknown):  # it was closed while it was in use
                _update(session, self._change(session, lambda state: {**state, **changed}))

    def refresh(self, session: Session) -> None:
        """Let a session that is held know what became of it elsewhere."""
        if not session.own:
            self.keep(session)
            with suppress(Unknown):
                _update(session, self._state(session)[1])

    def attach(self, session_id: str, owner: str = "") -> Session:
        """The session, held by a socket from now on. Raises Unknown where another one holds it."""

        def hold(state: dict[str, Any]) -> dict[str, Any]:
            if state["closing"]:
                raise _unknown(session_id)
            if self._is_held(state):
                raise Unknown(f"session '{session_id[:80]}' is held by another socket")
            return {**state, "held": self._clock()}

        if self._socket(session_id, owner) is not None:
            raise Unknown(f"session '{session_id[:80]}' is another socket's own")
        session = Session(session_id, owner, holds=True)
        _update(session, self._change(session, hold))
        return session

    def detach(self, session: Session) -> None:
        """The socket is gone: the session goes too if it was the socket's own, or was to be closed."""
        if session.own:
            self._own.pop(session.id, None)
            return
        self.keep(session)
        with suppress(Unknown):
            self._change(session, lambda state: None if state["closing"] else {**state, "held": None})

    def close(self, session_id: str, owner: str = "") -> bool:
        """Close a session: True, or False where a socket holds it, and it closes with that. Raises Unknown."""
        session = self._socket(session_id, owner)
        if session is not None:
            session.closing = True
            return False

        def end(state: dict[str, Any]) -> dict[str, Any] | None:
            return {**state, "closing": True} if self._is_held(state) else None

        return self._change(Session(session_id, owner), end) is None

    def _socket(self, session_id: str, owner: str) -> Session | None:
        """The session of that id that is a socket's own."""
        session = self._own.get(session_id)
        return session if session is not None and session.owner == owner else None

    def _is_held(self, state: dict[str, Any]) -> bool:
        """Whether a socket holds it. One that has said nothing for so long went without a goodbye, with its worker."""
        return state["held"] is not None and bool(self._clock() - state["held"] < self._idle)

    def _active(self) -> int:
        return len(self._own) + self._notes.count(PREFIX)

    def _make_room(self) -> bool:
        """Drop those that were silent for longest. In steps, lest somebody who fills the room in no time empties it."""
        now = self._clock()
        if 0 <= now - self._crowded < 1:
            return False  # to look at all of them costs something, and whoever is refused asks again at once
        for silence in (self._idle, self._idle / 4, self._idle / 16, SPARED):
            if silence >= SPARED and self._notes.forget(PREFIX, now - silence):
                return True
        self._crowded = now
        return False

    def _state(self, session: Session) -> tuple[str, dict[str, Any]]:
        """A session's note, and what it says. Raises Unknown."""
        note = self._notes.recall(_name(session))
        if note is None:
            raise _unknown(session.id)
        return note, json.loads(note)

    def _change(
        self, session: Session, change: Callable[[dict[str, Any]], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        """What a session's note says now; None where the change is that it goes. Raises Unknown."""
        while True:
            note, state = self._state(session)
            now = self._clock()
            changed = change(state)
            if changed is not None:
                changed["seen"] = now
            heard = now if changed is None or not self._is_held(changed) else now + self._idle
            if self._notes.swap(_name(session), note, None if changed is None else json.dumps(changed), heard):
                return changed


def _name(session: Session) -> str:
    return PREFIX + stored(session.owner, session.id)


def _shared(session: Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in _SHARED}


def _update(session: Session, state: dict[str, Any] | None) -> None:
    if state is not None:
        session.stored = {name: state[name] for name in _SHARED}
        session.closing, session.seen = state["closing"], state["seen"]
        for name, value in session.stored.items():
            setattr(session, name, value)


def _unknown(session_id: str) -> Unknown:
    return Unknown(f"there is no session '{session_id[:80]}'")
