"""The Model Context Protocol: the actions of the episode's pack as tools. JSON-RPC in, JSON-RPC out, no I/O.

An agent that plays here sees observations and nothing that is meant for its trainer: no reward, outcome, score or
metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.pack import Pack
from engine.tools import tools
from server import body, http, jsonrpc, openapi
from server.answers import encode
from server.batch import Spend
from server.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_ERROR, Fault
from server.mcp_tools import over, refusal, reset_name, reset_tool, result, unknown_argument
from server.problems import Problem
from server.service import Caller, Service
from server.sessions import Full, Session, Sessions, Unknown
from server.tools import told

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BATCHED = "2025-03-26"  # the only version with batches, and what is taken for granted where nobody names one

MAX_BATCH = 64  # messages, each of which may have a long answer
ENOUGH = 512 * 1024  # bytes of answers to a batch, after which no more of its messages are taken

SESSION_HEADER, VERSION_HEADER = "mcp-session-id", "mcp-protocol-version"

# Where there are tokens an address is nobody's own: the episode that such a call began would be nobody's either.
_HOMELESS = (
    "tools/call needs a session here: send initialize first, and with each message after it the header Mcp-Session-Id "
    "that its answer brought (or the session_id of openenv/session/create in params)"
)


@dataclass(slots=True)
class Sender:
    """Who sent a message. `session` is None where it has none (`initialize` gives it one); `socket`: a socket's own.

    `spend` counts the messages of a batch besides its first, and may raise Problem 429.
    """

    session: Session | None
    owner: str
    socket: bool = False
    address: str | None = None
    spend: Spend = lambda count: None

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
        """Raises Problem 413, 429."""
        try:
            message = jsonrpc.decoded(request.body)
        except Fault as fault:
            return http.answer(jsonrpc.refusal(None, fault))
        named = request.headers.get(SESSION_HEADER)
        sender = Sender(None, request.owner, address=request.address, spend=request.spend)
        # Whoever begins anew is not held to the session that it had.
        if named is not None and jsonrpc.method_of(message) != "initialize":
            try:
                sender.session = self.sessions.find(named, request.owner)
            except Unknown as unknown:
                # The one status besides 200: to a client of the protocol it says that it has to initialize again.
                return http.answer(jsonrpc.refusal(jsonrpc.id_of(message), unknown))._replace(status=404)
        before = sender.session
        reply = self._exchange(message, sender, request.headers.get(VERSION_HEADER))
        if reply is None:
            return http.Answer(202, b"")
        answer = http.Answer(200, reply)
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

    def receive(self, text: str, session: Session, spend: Spend = lambda count: None) -> str | None:
        """The reply to a frame on the WebSocket /mcp; None where it needs none."""
        sender = Sender(session, session.owner, socket=True, spend=spend)
        try:
            self.sessions.refresh(session)
            reply = self._exchange(jsonrpc.decoded(text.encode("utf-8", "surrogateescape")), sender)
        except (Fault, Problem) as reason:
            reply = encode(jsonrpc.refusal(None, reason))
        except Exception as error:
            reply = encode(jsonrpc.mistake(None, error))
        return None if reply is None else reply.decode()

    def handle(self, data: Any, session: Session) -> dict[str, Any]:
        """The response to a message on /ws, where even a notification has to be answered."""
        return self._reply(data, Sender(session, session.owner, socket=True)) or jsonrpc.result(None, {})

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

    def _exchange(self, message: Any, sender: Sender, version: str | None = None) -> bytes | None:
        """The reply to a message or a batch, as JSON; None where nothing is to be said. Raises Problem 429."""
        if not isinstance(message, list):
            reply = self._reply(message, sender)
            return None if reply is None else encode(reply)
        unfit = _unfit(message, (sender.session.protocol if sender.session is not None else None) or version)
        if unfit is not None:
            return encode(jsonrpc.refusal(None, unfit))
        sender.spend(len(message) - 1)
        replies: list[bytes] = []
        said = 0
        for one in message:
            reply = self._reply(one, sender, said)
            if reply is not None:
                replies.append(encode(reply))
                said += len(replies[-1])
        return b"[" + b",".join(replies) + b"]" if replies else None

    def _reply(self, message: Any, sender: Sender, said: int | None = None) -> dict[str, Any] | None:
        """None where none is needed: for a notification, and for an answer of the client's own.

        `said` is how many bytes of answers a batch has so far, None where the message stands alone.
        """
        try:
            jsonrpc.check(message)
            if "method" not in message or ("id" not in message and message["method"].startswith("notifications/")):
                return None
            method = self._methods.get(message["method"])
            if method is None:
                raise Fault(METHOD_NOT_FOUND, f"Method not found: {message['method'][:80]}")
            if said is not None:
                _check_in_batch(message["method"], said)
            params = message.get("params")
            if isinstance(params, list):
                raise Fault(INVALID_PARAMS, "params must be an object: parameters go by name")
            return jsonrpc.result(message.get("id"), method(params or {}, sender))
        except (Fault, Full, Unknown) as reason:
            return jsonrpc.refusal(jsonrpc.id_of(message), reason)
        except Exception as error:
            return jsonrpc.mistake(jsonrpc.id_of(message), error)

    # -- methods: params in, result out; they raise Fault, Full, Unknown

    def _initialize(self, params: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
        asked = jsonrpc.text_of(params, "protocolVersion")
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
        named = jsonrpc.text_of(params, "session_id")
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
        if caller.session is None and caller.address is None:
            raise Fault(INVALID_REQUEST, _HOMELESS)
        name = jsonrpc.text_of(params, "name")
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
        named = jsonrpc.text_of(params, "session_id")
        return Caller(session=self.sessions.find(named, sender.owner), owner=sender.owner)

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


def _unfit(batch: list[Any], version: str | None) -> Fault | None:
    """Why a batch can't be taken at all, if so."""
    if (version or BATCHED) != BATCHED:
        return Fault(INVALID_REQUEST, f"MCP {version} knows no batches: send one message at a time")
    if not 1 <= len(batch) <= MAX_BATCH:
        return Fault(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages, not {len(batch)}")
    return None


def _check_in_batch(method: str, said: int) -> None:
    """Whether a message may be part of a batch whose answers have so many bytes already. Raises Fault."""
    if method == "initialize":
        raise Fault(INVALID_REQUEST, "initialize can't be part of a batch")
    if said > ENOUGH:
        raise Fault(SERVER_ERROR, f"not taken: the answers to this batch have over {ENOUGH} bytes; send fewer messages")
