"""The description of the Model Context Protocol's route."""

from __future__ import annotations

from collections.abc import Mapping

from server.schemas import FLAG, TEXT, Schema, array_of, object_of, operation, parameter, ref

ROUTES: Mapping[str, str] = {
    "/mcp": "POST: the actions as tools, in the Model Context Protocol; DELETE: end its session; WebSocket too",
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

_SESSION = parameter("Mcp-Session-Id", TEXT, "The session that `initialize` gave", "header")
_VERSION = parameter("MCP-Protocol-Version", TEXT, "Where there is no session: which version is spoken", "header")


def paths() -> dict[str, Schema]:
    """The paths, with what their methods do."""
    return {"/mcp": {"post": _post(), "delete": _delete()}}


def _post() -> Schema:
    # Whatever stands in the body is answered in JSON-RPC's own terms, so any body is as good as any other here.
    taken: Schema = {"description": "A JSON-RPC 2.0 message, or a batch of them where the version has batches"}
    post = operation(
        "mcp",
        "Speak MCP: JSON-RPC messages in and out",
        {"anyOf": [ref("RpcReply"), array_of(ref("RpcReply"))]},
        ("413",),
        parameters=[_SESSION, _VERSION],
        requestBody={"required": False, "content": {"application/json": {"schema": taken}}},
    )
    answers = post["responses"]
    answers["200"]["headers"] = {"Mcp-Session-Id": {"schema": TEXT, "description": "With the answer to `initialize`"}}
    answers["202"] = {"description": "Taken; there is nothing to answer"}
    answers["404"] = {
        "description": "The header names no session: initialize again",
        "content": {"application/json": {"schema": ref("RpcReply")}},
    }
    return post


def _delete() -> Schema:
    closed = object_of(
        {"session_id": TEXT, "closed": FLAG, "closing": {"const": True, "description": "Once its socket is closed"}},
        optional=("closing",),
    )
    delete = operation("mcp_end", "End an MCP session", closed, ("400", "404"), parameters=[_SESSION])
    delete["responses"]["400"] = {**delete["responses"]["400"], "description": "No header names a session"}
    delete["responses"]["404"] = {**delete["responses"]["404"], "description": "There is no such session"}
    return delete
