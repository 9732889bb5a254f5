"""The Model Context Protocol: the actions of the episode's pack as tools. JSON-RPC in, JSON-RPC out, no I/O."""

from __future__ import annotations

from typing import Any

from server.service import Service
from server.sessions import Session, Sessions


class Mcp:
    """Answers JSON-RPC requests within a session."""

    def __init__(self, service: Service, sessions: Sessions) -> None:
        self._service = service
        self._sessions = sessions

    def handle(self, request: Any, session: Session) -> dict[str, Any]:
        """The response to one request."""
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Method not found", "data": None}}

    def receive(self, text: str, session: Session) -> str | None:
        """The reply to a frame on the WebSocket /mcp."""
        return None

    def as_action(self, data: dict[str, Any], session: Session) -> dict[str, Any] | None:
        """The answer to a step whose action is MCP's `list_tools` or `call_tool`; None for any other action."""
        return None
