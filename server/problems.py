"""What a client did wrong, as a problem document (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A client's mistake: nothing was changed.

    `status` is an HTTP status, `detail` a sentence that names the mistake and the remedy. `errors` are places in the
    request, each `{"pointer": "/seed", "detail": "..."}`, the pointer a JSON Pointer. `members` are further members
    of the document, such as `step_count` for a conflict.
    """

    def __init__(self, status: int, detail: str, errors: Sequence[dict[str, str]] = (), **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = tuple(errors)
        self.members = members

    @property
    def title(self) -> str:
        # With the type "about:blank" the title is the status's own phrase (RFC 9457, 4.2.1).
        return HTTPStatus(self.status).phrase

    def document(self) -> dict[str, Any]:
        return {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "errors": list(self.errors),
            **self.members,
        }


def server_mistake() -> Problem:
    """What is shown of a mistake of the server's own."""
    return Problem(500, "The server made a mistake, and has logged it.")


def quoted(name: str) -> str:
    """A name as a detail shows it: in quotes, and never long."""
    return f"'{name}'" if len(name) <= 80 else f"'{name[:80]}...'"
