"""The WebSocket protocol of OpenEnv, without the socket: a text frame in, at most one text frame out, in order.

`reset`, `step`, `state`, `mcp` and `close` are the words. A step's data is the action itself; `episode_id` and
`request_id` may stand in the data of reset and step, as on HTTP. A socket that plays no episode yet goes on with the
one that its first step names: so a client that has lost its connection comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from server import body
from server.answers import encode
from server.failures import problem_of
from server.mcp import Mcp
from server.problems import Problem
from server.service import Caller, Encoded, Service
from server.sessions import Full, Session, Unknown

# The members that a message of each type has; the second tuple holds those that may be left out.
_MEMBERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "reset": ((), ("data",)),
    "step": (("data",), ()),
    "state": ((), ()),
    "mcp": (("data",), ()),
    "close": ((), ()),
}


class Reply(NamedTuple):
    """What goes back for one frame. `close` ends the conversation, with code 1000."""

    frame: str | None
    close: bool = False


class _Invalid(Exception):
    """A message that isn't what its type takes; `errors` as pydantic writes them, which typed clients read."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__("the message is not what its type takes")
        self.errors = errors


class Conversation:
    """One socket's messages. Nothing is ever sent that wasn't asked for."""

    def __init__(self, service: Service, mcp: Mcp, session: Session) -> None:
        self._service = service
        self._mcp = mcp
        self._sessions = mcp.sessions
        self._session = session
        session.trained = True
        self._sessions.keep(session)
        self._caller = Caller(session=session, owner=session.owner)
        self._answers: Mapping[str, Callable[[Any], str]] = {
            "reset": self._reset,
            "step": self._step,
            "state": self._state,
            "mcp": self._rpc,
        }

    def receive(self, text: str) -> Reply:
        """The reply to a frame. Mistakes are error frames; the conversation goes on."""
        try:
            message = body.decode(text.encode("utf-8", "surrogateescape"))
        except Problem as problem:
            if problem.status == 413:
                return Reply(_invalid(problem.detail, [_error("bytes_too_long", [], problem.detail, None)]))
            return Reply(error("INVALID_JSON", problem.detail))
        try:
            self._sessions.refresh(self._session)
            kind = _kind(message)
            if kind is None:
                given = message.get("type") if isinstance(message, dict) else message
                return Reply(error("UNKNOWN_TYPE", f"Unknown message type: {str(given)[:80]}"))
            if kind == "close":
                return Reply(None, close=True)
            answer = self._answers[kind](message.get("data", {}))
            self._sessions.keep(self._session)
            return Reply(answer)
        except _Invalid as invalid:
            return Reply(_invalid("Invalid message", invalid.errors))
        except Exception as failure:
            told = problem_of(failure, "a message failed")
            if told.status == 422:
                return Reply(_invalid(told.detail, [_wrong(one, message.get("data")) for one in told.errors]))
            return Reply(error("EXECUTION_ERROR", told.detail, status=told.status))

    def _reset(self, data: Any) -> str:
        return _observation(self._service.reset_encoded(data, self._caller)[1])

    def _step(self, data: dict[str, Any]) -> str:
        answer = self._stepped(data)
        named = data.get("episode_id")
        if self._session.episode_id is None and isinstance(named, str):
            self._service.enter(self._caller, named)
        return answer

    def _stepped(self, data: dict[str, Any]) -> str:
        tools = self._mcp.as_action(data, self._session)
        if tools is not None:
            return _text({"type": "observation", "data": tools})
        if isinstance(data.get("action"), dict) and not any(name in data for name in body.ACTION_NAMES):
            return _observation(self._service.step_encoded(data, self._caller))  # as on HTTP
        envelope = {name: data[name] for name in body.ENVELOPE if name in data}
        action = {name: value for name, value in data.items() if name not in envelope}
        return _observation(self._service.step_encoded({**envelope, "action": action}, self._caller))

    def _state(self, _: Any) -> str:
        return _text({"type": "state", "data": self._service.state(None, self._caller)})

    def _rpc(self, data: Any) -> str:
        return _text({"type": "mcp", "data": self._mcp.handle(data, self._session)})


def refused(code: str, reason: Exception) -> str:
    """The frame for a socket that gets no session; `code` says which half of it failed."""
    if isinstance(reason, Full):
        return error("CAPACITY_REACHED", str(reason), **_capacity(reason))
    return error(code, _told(reason))


def refused_rpc(code: str, reason: Exception) -> str:
    """The same for a socket that speaks JSON-RPC."""
    data = _capacity(reason) if isinstance(reason, Full) else None
    return _text({"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": _told(reason), "data": data}})


def _capacity(full: Full) -> dict[str, int]:
    return {"active_sessions": full.active, "max_sessions": full.capacity}


def _told(reason: Exception) -> str:
    return str(reason) if isinstance(reason, Full | Unknown) else problem_of(reason, "a socket got no session").detail


def error(code: str, message: str, **more: Any) -> str:
    return _text({"type": "error", "data": {"message": message, "code": code, **more}})


def _invalid(message: str, errors: list[dict[str, Any]]) -> str:
    # A reply is never longer than clients take: of many mistakes the first ones are enough.
    return error("VALIDATION_ERROR", message, errors=errors[: body.MAX_REPORTED])


def _text(document: dict[str, Any]) -> str:
    return encode(document).decode()


def _observation(answer: Encoded) -> str:
    return b"".join((b'{"type":"observation","data":', *answer, b"}")).decode()


def _kind(message: Any) -> str | None:
    """The type of a message, None where there is no such type. Raises _Invalid."""
    if not isinstance(message, dict):
        raise _Invalid([_error("dict_type", [], "a message is an object", message)])
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _MEMBERS:
        return None
    needed, optional = _MEMBERS[kind]
    errors = []
    for name in (*needed, *optional):
        if name in message and not isinstance(message[name], dict):
            errors.append(_error("dict_type", [name], "Input should be a valid dictionary", message[name]))
        elif name not in message and name in needed:
            errors.append(_error("missing", [name], "Field required", message))
    for name, value in message.items():
        if name not in ("type", *needed, *optional):
            errors.append(_error("extra_forbidden", [name], "Extra inputs are not permitted", value))
    if errors:
        raise _Invalid(errors)
    return kind


def _wrong(place: Mapping[str, str], data: Any) -> dict[str, Any]:
    """A mistake in the data, at a place that a problem names by a JSON Pointer."""
    loc = [part.replace("~1", "/").replace("~0", "~") for part in place["pointer"].split("/")[1:]]
    for part in loc:
        data = data.get(part) if isinstance(data, dict) else None
    return _error("value_error", ["data", *loc], place["detail"], data)


def _error(kind: str, loc: list[str], message: str, given: Any) -> dict[str, Any]:
    return {"type": kind, "loc": loc, "msg": message, "input": given}
