"""JSON-RPC 2.0: what a message may be, and what an answer looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server import body
from server.failures import problem_of
from server.problems import Problem
from server.sessions import Full, Unknown

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, SERVER_ERROR = -32603, -32000


class Fault(Exception):
    """What a JSON-RPC error says."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def decoded(raw: bytes) -> Any:
    """Raises Fault where it isn't JSON, Problem 413 where it is too much."""
    if not raw.strip():
        raise Fault(PARSE_ERROR, "Parse error: there is nothing to parse")
    try:
        return body.decode(raw)
    except Problem as problem:
        if problem.status == 413:
            raise
        raise Fault(PARSE_ERROR, f"Parse error: {problem.detail}") from None


def check(message: Any) -> None:
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
    if message.get("id") is not None and id_of(message) is None:
        raise Fault(INVALID_REQUEST, "Invalid request: id must be a string or an integer")


def method_of(message: Any) -> Any:
    return message.get("method") if isinstance(message, dict) else None


def id_of(message: Any) -> str | int | float | None:
    """A message's id, None where it has none that could be one. JSON has one kind of number: 7.0 is an integer too."""
    named = message.get("id") if isinstance(message, dict) else None
    if isinstance(named, bool) or (isinstance(named, float) and not named.is_integer()):
        return None
    return named if isinstance(named, str | int | float) else None


def text_of(params: Mapping[str, Any], name: str) -> str:
    """Raises Fault."""
    value = params.get(name)
    if not isinstance(value, str):
        raise Fault(INVALID_PARAMS, f"Invalid params: '{name}' is required, a string")
    return value


def result(request_id: Any, found: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": found}


def error(request_id: Any, fault: Fault) -> dict[str, Any]:
    said = {"code": fault.code, "message": str(fault), "data": fault.data}
    return {"jsonrpc": "2.0", "id": request_id, "error": said}


def refusal(request_id: Any, reason: Fault | Full | Unknown | Problem) -> dict[str, Any]:
    """The error for what was the client's doing, or nobody's."""
    match reason:
        case Fault():
            return error(request_id, reason)
        case Full():
            counts = {"active_sessions": reason.active, "max_sessions": reason.capacity}
            return error(request_id, Fault(SERVER_ERROR, str(reason), counts))
        case Problem(status=429):
            return error(request_id, Fault(SERVER_ERROR, reason.detail))
        case Problem():
            return error(request_id, Fault(INVALID_REQUEST, reason.detail))
        case _:
            return error(request_id, Fault(INVALID_PARAMS, str(reason)))


def mistake(request_id: Any, failure: Exception) -> dict[str, Any]:
    """The answer where something failed that was not the client's doing."""
    return error(request_id, Fault(INTERNAL_ERROR, problem_of(failure, "an MCP message failed").detail))
