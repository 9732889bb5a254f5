"""The description of the Model Context Protocol's route."""

from __future__ import annotations

from collections.abc import Mapping

from server.openapi_examples import Examples
from server.schemas import (
    FLAG,
    TEXT,
    Schema,
    answered,
    array_of,
    body,
    header,
    object_of,
    operation,
    parameter,
    ref,
)

TAG: Schema = {
    "name": "MCP",
    "description": "The actions of a pack as tools of the Model Context Protocol. An agent that plays this way sees no "
    "reward, outcome or score. The protocol is spoken on the WebSocket `/mcp` as well: each frame is one message. "
    "There is no stream of events, so `GET /mcp` is a 405. The page `docs/mcp.md` of the project says more.",
}

SCHEMAS: Mapping[str, Schema] = {
    "RpcReply": object_of(
        {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer", "null"]},
            "result": {"type": "object"},
            "error": object_of(
                {
                    "code": {"type": "integer"},
                    "message": TEXT,
                    "data": {"description": "Null where there is nothing more to say"},
                }
            ),
        },
        optional=("result", "error"),
        oneOf=[{"required": ["result"]}, {"required": ["error"]}],
        description="A JSON-RPC response",
    ),
}

_SESSION = "Mcp-Session-Id"


def paths(examples: Examples) -> dict[str, Schema]:
    """The paths, with what their methods do."""
    return {"/mcp": {"post": _post(examples), "delete": _delete()}}


def _message(method: str, **params: object) -> Schema:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **({"params": params} if params else {})}


def _post(examples: Examples) -> Schema:
    # Whatever stands in the body is answered in JSON-RPC's own terms, so any body is as good as any other here.
    taken: Schema = {"description": "A JSON-RPC 2.0 message, or a batch of them where the version has batches"}
    client = {"name": "curl", "version": "1"}
    messages = {
        "Begin a session": _message("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client),
        "List the tools": _message("tools/list"),
        "Call one, which is a step": _message("tools/call", name=examples.tool, arguments=examples.arguments),
    }
    reply = answered(
        "JSON-RPC's answer, also where it is an error",
        {"anyOf": [ref("RpcReply"), array_of(ref("RpcReply"))]},
        headers={_SESSION: header("The session; with the answer to `initialize`", required=False)},
    )
    post = operation(
        "mcp",
        TAG["name"],
        "Speak the Model Context Protocol: JSON-RPC messages in and out",
        reply,
        stored=True,
        description="Without a session the message is about the episode last reset from the same address. Where the "
        "server has tokens an address is nobody's own, and `tools/call` needs a session: send `initialize` first.",
        parameters=[
            parameter(_SESSION, TEXT, "The session that `initialize` gave", "header"),
            parameter("MCP-Protocol-Version", TEXT, "Where there is no session: which version is spoken", "header"),
        ],
        requestBody=body(taken, messages, required=False),
    )
    more: Schema = {
        "202": {"description": "Taken; there is nothing to answer, and no body"},
        "404": answered("The header names no session: initialize again", ref("RpcReply")),
    }
    responses = {**post["responses"], **more}
    return {**post, "responses": {code: responses[code] for code in sorted(responses)}}


def _delete() -> Schema:
    closed = object_of(
        {"session_id": TEXT, "closed": FLAG, "closing": {"const": True, "description": "Once its socket is closed"}},
        optional=("closing",),
    )
    errors = {"400": "No header names a session", "404": "There is no such session"}
    named = parameter(_SESSION, TEXT, "The session that `initialize` gave", "header", required=True)
    return operation(
        "mcp_end",
        TAG["name"],
        "End an MCP session",
        answered("It has ended", closed),
        errors,
        stored=True,
        description=f"Which one is in the header `{_SESSION}` of the answer to `initialize`; `curl -i` shows it.",
        parameters=[named],
    )
