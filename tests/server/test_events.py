"""What is logged of episodes, and when."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from server import batch
from server.service import Service
from tests.server.calls import ASK_ORDER, CLASSIFY, begin, step


def members(caplog: pytest.LogCaptureFixture) -> list[tuple[Any, ...]]:
    names = ("episode_id", "request_id", "pack", "step", "outcome", "reward")
    return [
        (record.message, *(getattr(record, name, None) for name in names))
        for record in caplog.records
        if record.name == "server"
    ]


def test_resets_and_steps_with_their_ids(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "server")
    begin(service, "e", request_id="r0")
    step(service, CLASSIFY, "e", request_id="r1")
    step(service, CLASSIFY, "e", request_id="r1")  # repeated: nothing happened
    for _ in batch.step(service, b'{"items":[{"episode_id":"e","action":{"type":"ask_info","field":"order"}}]}'):
        pass
    assert members(caplog) == [
        ("an episode began", "e", "r0", "lamps", 0, None, None),
        ("a step was taken", "e", "r1", "lamps", 1, "classify.right", 0.5),
        ("a step was taken", "e", None, "lamps", 2, "ask_info.answered", 0.25),
    ]


def test_nothing_by_default_and_never_what_was_said(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "server")
    begin(service)
    step(service, ASK_ORDER)
    assert members(caplog) == []
    caplog.set_level(logging.DEBUG, "server")
    step(service, {"type": "ask_info", "field": "a secret"})
    assert members(caplog) and not any("a secret" in str(vars(record)) for record in caplog.records)
