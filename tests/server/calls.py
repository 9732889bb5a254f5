"""Calls on a service, as the tests make them: most are about ticket t-1 of the small pack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from server.problems import Problem
from server.service import Caller, Service

NOBODY = Caller()
HOME = Caller(address="10.0.0.1")

CLASSIFY = {"type": "classify"}
ASK_ORDER = {"type": "ask_info", "field": "order"}
ASK_EMAIL = {"type": "ask_info", "field": "email"}
RESOLVE = {"type": "resolve"}


def problem(status: int, call: Callable[..., Any], *given: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        call(*given)
    assert caught.value.status == status, caught.value.detail
    return caught.value


def begin(service: Service, name: str = "e", caller: Caller = NOBODY, **asked: Any) -> dict[str, Any]:
    return service.reset({"episode_id": name, "ticket_id": "t-1", "seed": 7, **asked}, caller)


def step(
    service: Service, action: Mapping[str, Any], name: str | None = "e", caller: Caller = NOBODY, **more: Any
) -> Any:
    return service.step({"action": action, "episode_id": name, **more}, caller)
