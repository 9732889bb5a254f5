"""What Schemathesis can't know of the server. It loads this by tests/server/schemathesis.toml."""

from __future__ import annotations

import itertools
from typing import Any

import schemathesis

_numbers = itertools.count(1)


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """A repeated request_id gets its first answer, whatever else the body holds: each request has one of its own."""
    if case.operation.path == "/reset" and isinstance(case.body, dict):
        named = case.body.get("request_id")
        if isinstance(named, str) and 1 <= len(named) <= 255:
            case.body["request_id"] = f"request-{next(_numbers)}"
