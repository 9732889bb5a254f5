"""The Model Context Protocol: the actions of the episode's pack as tools. JSON-RPC in, JSON-RPC out, no I/O.

An agent that plays here sees observations and nothing that is meant for its trainer: no reward, outcome, score or
metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.pack import Pack
from server import body, http, openapi
from server.answers import encode
from server.failures import problem_of
from server.mcp_tools import over, refusal, reset_name, reset_tool, result, unknown_argument
from server.problems import Problem
from server.service import Caller, Service
from server.sessions import Full, Session, Sessions, Unknown
from server.tools import told, tools

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BATCHED = "2025-03-26"  # the only version with batches, and what is taken for granted where nobody names one

MAX_BATCH = 64  # messages, each of which may have a long answer

SESSION_HEADER, VERSION_HEADER = "mcp-session-id", "mcp-protocol-version"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, SERVER_ERROR = -32603, -32000


class Fault(Exception):
    """What a JSON-RPC error says."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(slots=True)
class Sender:
    """Who sent a message. `session` is None where it has none (`initialize` gives it one); `socket`: a socket's own."""

    session: Session | None
    owner: str
    socket: bool = False
    address: str | None = None

    @property
    def caller(self) -> Caller:
        return Caller(address=self.address, session=self.session, owner=self.owner)


class Mcp:
    """Answers JSON-RPC messages. `routes` are those of HTTP; `receive`, `handle` and `as_action` are for sockets."""

    def __init__(self, service: Service, sessions: Sessions) -> None:
        self._service = service
        self.sessions = sessions
        self._methods: Mapping[str, Callable[[Mapping[str, Any], Sender], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda params, sender: {},
            "tools/list": self._list,
            "tools/call": self._call,
            "openenv/session/create": self._create,
            "openenv/session/close": self._close,
        }
        self.routes: Mapping[tuple[str, str], http.Route] = {
            ("POST", "/mcp"): lambda service, request: self._post(request),
            ("DELETE", "/mcp"): lambda service, request: self._delete(request),
        }

    # -- ways in

    def _post(self, request: http.Request) -> http.Answer:
        """Raises Problem 413."""
        try:
            message = _decoded(request.body)
        except Fault as fault:
            return http.answer(_error(None, fault))
        named = request.headers.get(SESSION_HEADER)
        sender = Sender(None, request.owner, address=request.address)
        # Whoever begins anew is not held to the session that it had.
        if named is not None and _method(message) != "initialize":
            try:
                sender.session = self.sessions.find(named, request.owner)
            except Unknown as unknown:
                # The one status besides 200: to a client of the protocol it says that it has to initialize again.
                return http.answer(_error(_id(message), Fault(INVALID_PARAMS, str(unknown))))._replace(status=404)
        if isinstance(message, list):
            request.spend(max(0, len(message) - 1))
        before = sender.session
        reply = self._exchange(message, sender, request.headers.get(VERSION_HEADER))
        if reply is None:
            return http.Answer(202, b"")
        answer = http.answer(reply)
        if sender.session is None or sender.session is before:
            return answer
        return answer._replace(headers=(("Mcp-Session-Id", sender.session.id),))

    def _delete(self, request: http.Request) -> http.Answer:
        """Raises Problem 400, 404."""
        named = request.headers.get(SESSION_HEADER)
        if named is None:
            raise Problem(400, "The header Mcp-Session-Id has to say which session is to end.")
        try:
            return http.answer(self._closed(named, request.owner))
        except Unknown as unknown:
            raise Problem(404, f"{unknown}.") from None

    def receive(self, text: str, session: Session) -> str | None:
        """The reply to a frame on the WebSocket /mcp; None where it needs none."""
        try:
            self.sessions.refresh(session)
            reply = self._exchange(
                _decoded(text.encode("utf-8", "surrogateescape")), Sender(session, session.owner, socket=True)
            )
        except Fault as fault:
            reply = _error(None, fault)
        except Problem as problem:
            reply = _error(None, Fault(INVALID_REQUEST, problem.detail))
        except Exception as error:
            reply = _mistake(None, error)
        return None if reply is None else encode(reply).decode()

    def handle(self, data: Any, session: Session) -> dict[str, Any]:
        """The response to a message on /ws, where even a notification has to be answered."""
        return self._reply(data, Sender(session, session.owner, socket=True)) or _reply(None, {})

    def as_action(self, data: Mapping[str, Any], session: Session) -> dict[str, Any] | None:
        """The answer to a step whose action is OpenEnv's `list_tools` or `call_tool`; None for any other action.

        Such a step is a trainer's: it has its reward. Raises Problem 404, 409, 422.
        """
        kind = data.get("type")
        if kind not in ("list_tools", "call_tool"):
            return None
        caller = Caller(session=session, owner=session.owner)
        pack = self._pack(caller)
        if kind in pack.actions:
            return None
        if kind == "list_tools":
            listed = [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
                for tool in tools(pack)
            ]
            return {"observation": {"tools": listed}, "reward": None, "done": False}
        return self._tool_step(data, caller)

    # -- JSON-RPC

    def _exchange(self, message: Any, sender: Sender, version: str | None = None) -> Any:
        """The reply to a message, or to a batch of them; None where nothing is to be said."""
        if not isinstance(message, list):
            return self._reply(message, sender)
        version = (sender.session.protocol if sender.session is not None else None) or version or BATCHED
        if version != BATCHED:
            return _error(None, Fault(INVALID_REQUEST, f"MCP {version} knows no batches: send one message at a time"))
        if not 1 <= len(message) <= MAX_BATCH:
            return _error(None, Fault(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages, not {len(message)}"))
        replies = [self._reply(one, sender, batched=True) for one in message]
        return [reply for reply in replies if reply is not None] or None

    def _reply(self, message: Any, sender: Sender, batched: bool = False) -> dict[str, Any] | None:
        """None where none is needed: for a notification, and for an answer of the client's own."""
        try:
            _check(message)
            if "method" not in message or ("id" not in message and message["method"].startswith("notifications/")):
                return None
            method = self._methods.get(message["method"])
            if method is None:
                raise Fault(METHOD_NOT_FOUND, f"Method not found: {message['method'][:80]}")
            if batched and message["method"] == "initialize":
                raise Fault(INVALID_REQUEST, "initialize can't be part of a batch")
            params = message.get("params")
            if isinstance(params, list):
                raise Fault(INVALID_PARAMS, "params must be an object: parameters go by name")
            return _reply(message.get("id"), method(params or {}, sender))
        except (Fault, Full, Unknown) as error:
            return _error(_id(message), _fault(error))
        except Exception as error:
            return _mistake(_id(message), error)

    # -- methods: params in, result out; they raise Fault, Full, Unknown

    def _initialize(self, params: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
        asked = _text(params, "protocolVersion")
        if sender.session is None:
            sender.session = self.sessions.open(sender.owner)
        sender.session.protocol = asked if asked in VERSIONS else VERSIONS[-1]
        self.sessions.keep(sender.session)
        catalogue = self._service.catalogue
        return {
            "protocolVersion": sender.session.protocol,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": catalogue.contract.name, "version": catalogue.contract.version},
            "instructions": catalogue.default.instructions,
        }

    def _create(self, params: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
        session = sender.session if sender.session is not None and sender.socket else self.sessions.open(sender.owner)
        return {"session_id": session.id}

    def _close(self, params: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
        named = _text(params, "session_id")
        if sender.socket and sender.session is not None and named == sender.session.id:
            raise Fault(INVALID_REQUEST, "a socket's own session ends with the socket: close that")
        return self._closed(named, sender.owner)

    def _closed(self, session_id: str, owner: str) -> dict[str, Any]:
        closed = self.sessions.close(session_id, owner)
        return {"session_id": session_id, "closed": closed} | ({} if closed else {"closing": True})

    def _list(self, params: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise Fault(INVALID_PARAMS, "there is no such cursor: all tools come at once")
        catalogue = self._service.catalogue
        caller = self._caller(params, sender)
        pack = self._pack(caller)
        reset = _reset_name(pack, caller)
        listed = tools(pack) if reset is None else [*tools(pack), reset_tool(catalogue, reset)]
        shown = openapi.observation_schema(catalogue.contract)
        return {"tools": [{**tool, "outputSchema": shown} for tool in listed]}

    def _call(self, params: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
        caller = self._caller(params, sender)
        name = _text(params, "name")
        arguments = params.get("arguments")
        if not isinstance(arguments, dict | None):
            raise Fault(INVALID_PARAMS, "arguments must be an object")
        result = self._called(name, arguments or {}, caller)
        if caller.session is not None:
            self.sessions.keep(caller.session)
        return result

    # -- playing

    def _called(self, name: str, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """The result of a tool's call."""
        reset = _reset_name(self._pack(caller), caller)
        if reset is not None and name == reset:
            return self._reset(arguments, caller, reset)
        try:
            return self._step({"action": {"name": name, "arguments": arguments}}, caller)[1]
        except Problem as problem:
            return refusal(self._refusal(problem, caller, reset))

    def _caller(self, params: Mapping[str, Any], sender: Sender) -> Caller:
        """The session that params name, else the message's own, else the address. Raises Fault, Unknown."""
        if params.get("session_id") is None:
            return sender.caller
        return Caller(session=self.sessions.find(_text(params, "session_id"), sender.owner), owner=sender.owner)

    def _pack(self, caller: Caller) -> Pack:
        """The pack of the caller's episode; before any, the default pack."""
        catalogue = self._service.catalogue
        playing = self._service.playing(caller)
        record = self._service.record(playing, caller) if playing is not None else None
        try:
            return self._service.pack(record.start.pack_digest) if record else catalogue.default
        except Problem:
            return catalogue.default

    def _reset(self, arguments: dict[str, Any], caller: Caller, name: str) -> dict[str, Any]:
        catalogue = self._service.catalogue
        unknown = unknown_argument(reset_tool(catalogue, name), arguments)
        if unknown is not None:
            return refusal(unknown)
        try:
            began = self._service.reset(arguments, caller)
        except Problem as problem:
            return refusal(problem.detail)
        pack = self._service.pack(began["metadata"]["pack_digest"])
        # `initialize` has told the default pack's instructions only.
        first = () if pack is catalogue.default else (pack.instructions.strip(),)
        return result(began["observation"], _reset_name(pack, caller), first=first)

    def _step(self, asked: dict[str, Any], caller: Caller) -> tuple[dict[str, Any], dict[str, Any]]:
        """The answer to a step, and the tool result of it. Before any reset an episode begins. Raises Problem."""
        first: tuple[str, ...] = ()
        if "episode_id" not in asked and self._service.playing(caller) is None:
            began = self._service.reset({}, caller)
            asked = {**asked, "episode_id": began["metadata"]["episode_id"]}
            first = told(began["observation"])[:1]
        answered = self._service.step(asked, caller)
        pack = self._service.pack(answered["metadata"]["pack_digest"])
        mistake = answered["metadata"]["error"] is not None
        return answered, result(answered["observation"], _reset_name(pack, caller), first=first, mistake=mistake)

    def _tool_step(self, data: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """A step by OpenEnv's `call_tool`. Raises Problem 404, 409, 422."""
        name, arguments = data.get("tool_name"), data.get("arguments")
        errors = [] if isinstance(name, str) else [{"pointer": "/tool_name", "detail": "tool_name must be a string"}]
        if not isinstance(arguments, dict | None):
            errors.append({"pointer": "/arguments", "detail": "arguments must be an object"})
        if errors:
            raise Problem(422, f"This is no call of a tool: {'; '.join(one['detail'] for one in errors)}.", errors)
        envelope = {member: data[member] for member in body.ENVELOPE if data.get(member) is not None}
        answered, result = self._step({**envelope, "action": {"name": name, "arguments": arguments or {}}}, caller)
        error: dict[str, str] | None = None
        if result["isError"]:
            pack = self._service.pack(answered["metadata"]["pack_digest"])
            kind = "invalid_args" if name in pack.actions else "tool_not_found"
            error = {"error_type": kind, "message": answered["metadata"]["error"]}
        return {**answered, "observation": {"tool_name": name, "result": result, "error": error}}

    def _refusal(self, problem: Problem, caller: Caller, reset: str | None) -> str:
        """Why a step wasn't taken, in words that help who knows tools only."""
        playing = self._service.playing(caller)
        record = self._service.record(playing, caller) if playing is not None else None
        if record is None:
            return f"The episode is no longer kept. {over(reset)}"
        return over(reset) if record.end_reason is not None else problem.detail


def _reset_name(pack: Pack, caller: Caller) -> str | None:
    """The tool that begins an episode. There is none where a trainer does that, on /ws: its agent must not."""
    return None if caller.session is not None and caller.session.trained else reset_name(pack)


def _decoded(raw: bytes) -> Any:
    """Raises Fault where it isn't JSON, Problem 413 where it is too much."""
    if not raw.strip():
        raise Fault(PARSE_ERROR, "Parse error: there is nothing to parse")
    try:
        return body.decode(raw)
    except Problem as problem:
        if problem.status == 413:
            raise
        raise Fault(PARSE_ERROR, f"Parse error: {problem.detail}") from None


def _check(message: Any) -> None:
    """Whether it is a JSON-RPC 2.0 message at all. Raises Fault."""
    if not isinstance(message, dict):
        raise Fault(INVALID_REQUEST, "Invalid request: a message is an object")
    if message.get("jsonrpc") != "2.0":
        raise Fault(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"')
    if "method" not in message and not message.keys() & {"result", "error"}:
        raise Fault(INVALID_REQUEST, "Invalid request: there is no method")
    if "method" in message and not isinstance(message["method"], str):
        raise Fault(INVALID_REQUEST, "Invalid request: method must be a string")
    if not isinstance(message.get("params"), dict | list | None):
        raise Fault(INVALID_REQUEST, "Invalid request: params must be an object")
    if message.get("id") is not None and _id(message) is None:
        raise Fault(INVALID_REQUEST, "Invalid request: id must be a string or an integer")


def _method(message: Any) -> Any:
    return message.get("method") if isinstance(message, dict) else None


def _id(message: Any) -> str | int | float | None:
    """A message's id, None where it has none that could be one. JSON has one kind of number: 7.0 is an integer too."""
    named = message.get("id") if isinstance(message, dict) else None
    if isinstance(named, bool) or (isinstance(named, float) and not named.is_integer()):
        return None
    return named if isinstance(named, str | int | float) else None


def _text(params: Mapping[str, Any], name: str) -> str:
    """Raises Fault."""
    value = params.get(name)
    if not isinstance(value, str):
        raise Fault(INVALID_PARAMS, f"Invalid params: '{name}' is required, a string")
    return value


def _fault(error: Fault | Full | Unknown) -> Fault:
    match error:
        case Fault():
            return error
        case Full():
            counts = {"active_sessions": error.active, "max_sessions": error.capacity}
            return Fault(SERVER_ERROR, str(error), counts)
        case _:
            return Fault(INVALID_PARAMS, str(error))


def _reply(request_id: Any, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _mistake(request_id: Any, error: Exception) -> dict[str, Any]:
    """The answer where something failed that was not the client's doing."""
    return _error(request_id, Fault(INTERNAL_ERROR, problem_of(error, "an MCP message failed").detail))


def _error(request_id: Any, fault: Fault) -> dict[str, Any]:
    error = {"code": fault.code, "message": str(fault), "data": fault.data}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}
