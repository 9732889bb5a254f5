"""Sessions: what a socket or an MCP client holds on to between messages, and the limit on how many there are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

CAPACITY = 4_096


@dataclass(slots=True)
class Session:
    """`episode_id` is the episode that the session plays; `seen` the registry's time of its last message.

    `attached`: a socket holds it. `own`: it ends with its socket. `trained`: it was held by a socket that speaks
    OpenEnv's protocol, whose client resets and reads rewards. `protocol` is the version of MCP that was agreed on.
    """

    id: str
    seen: float
    own: bool
    attached: bool
    closing: bool = False
    episode_id: str | None = None
    trained: bool = False
    protocol: str | None = None


class Full(Exception):
    """There are as many sessions as there may be."""

    def __init__(self, active: int, capacity: int) -> None:
        super().__init__(f"all {capacity} sessions are taken; close one, or try again later")
        self.active = active
        self.capacity = capacity


class Unknown(Exception):
    """There is no such session, or it can't be had."""


class Sessions:
    """The sessions of one process, callable from any thread.

    One that no socket holds and that was silent for `idle` seconds goes when another one is opened.
    """

    def __init__(
        self, clock: Callable[[], float], new_id: Callable[[], str], capacity: int = CAPACITY, idle: float = 3600.0
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._capacity = capacity
        self._idle = idle
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def open(self, *, socket: bool = False) -> Session:
        """A new session; `socket` for one that a socket holds and that ends with it. Raises Full."""
        with self._lock:
            if len(self._sessions) >= self._capacity:
                self._drop_idle()
            if len(self._sessions) >= self._capacity:
                raise Full(len(self._sessions), self._capacity)
            session = Session(self._new_id(), self._clock(), socket, socket)
            self._sessions[session.id] = session
            return session

    def find(self, session_id: str) -> Session:
        """The session; the call counts as a sign of life. Raises Unknown."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or session.closing:
                raise _unknown(session_id)
            session.seen = self._clock()
            return session

    def attach(self, session_id: str) -> Session:
        """The session, held by a socket from now on. Raises Unknown where another one holds it."""
        session = self.find(session_id)
        with self._lock:
            if session.attached:
                raise Unknown(f"session '{session_id[:80]}' is held by another socket")
            session.attached = True
            return session

    def detach(self, session: Session) -> None:
        """The socket is gone: the session goes too if it was the socket's own, or was to be closed."""
        with self._lock:
            session.attached = False
            session.seen = self._clock()
            if session.own or session.closing:
                self._sessions.pop(session.id, None)

    def close(self, session_id: str) -> bool:
        """Close a session: True, or False where a socket holds it, and it closes with that. Raises Unknown."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                raise _unknown(session_id)
            if session.attached:
                session.closing = True
                return False
            del self._sessions[session_id]
            return True

    def _drop_idle(self) -> None:
        oldest = self._clock() - self._idle
        for session in [one for one in self._sessions.values() if not one.attached and one.seen < oldest]:
            del self._sessions[session.id]


def _unknown(session_id: str) -> Unknown:
    return Unknown(f"there is no session '{session_id[:80]}'")
