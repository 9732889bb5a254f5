"""What clients may send, and what is said of everything else."""

from __future__ import annotations

from typing import Any

import pytest

from server.body import MAX_BODY, MAX_DEPTH, MAX_SEED, ResetBody, StepBody, decode, query_id, reset_body, step_body
from server.problems import Problem


def problem(call: Any, *given: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        call(*given)
    return caught.value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"", None),
        (b" \r\n", None),
        (b"null", None),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),  # a byte order mark
        ('{"version": "版本⚠️"}'.encode(), {"version": "版本⚠️"}),
        (rb'{"a": "\ud83d\ude00"}', {"a": "😀"}),  # a whole pair
        (b'{"a": 1e308}', {"a": 1e308}),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
    ],
)
def test_good_json(raw: bytes, value: Any) -> None:
    decoded = decode(raw)
    assert value is None or decoded == value


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "line 1, column 2"),
        (b"{'a': 1}", "line 1, column 2"),
        (b'{"a": 1} x', "Extra data"),
        (b'{"a": NaN}', "NaN"),
        (b"[-Infinity]", "-Infinity"),
        (b'{"seed": 1e400}', "too large"),
        (b"[" + b"9" * 5_000 + b"]", "digits"),
        (b"[" * 30_000, "deeper than 64"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "deeper than 64"),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "deeper than 64"),
        (rb'{"a": "\ud800"}', "surrogate"),
        (rb'{"\udfff": 1}', "surrogate"),
        (b'{"a": "\xff"}', "UTF-8 (byte 7)"),
        (b'{"a": 1, "a": 2}', "same key twice"),
        (b'{"a": "\x01"}', "control character"),
    ],
)
def test_malformed_json(raw: bytes, reason: str) -> None:
    wrong = problem(decode, raw)
    assert wrong.status == 400
    assert reason in wrong.detail
    assert [error["pointer"] for error in wrong.errors] == [""]


def test_size() -> None:
    assert decode(b" " * (MAX_BODY - 2) + b"{}") == {}
    assert problem(decode, b" " * (MAX_BODY - 1) + b"{}").status == 413


def test_reset_body() -> None:
    assert reset_body(None) == ResetBody()
    assert reset_body({"seed": None, "options": {}, "num_envs": 3}) == ResetBody()
    assert reset_body({"seed": 7.0}) == ResetBody(seed=7)
    assert reset_body({"seed": MAX_SEED, "episode_id": "x" * 255, "ticket_id": ""}) == ResetBody(
        seed=9223372036854775807, episode_id="x" * 255, ticket_id=""
    )


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ([], [""]),
        ("reset", [""]),
        ({"seed": -1}, ["/seed"]),
        ({"seed": True}, ["/seed"]),
        ({"seed": "7"}, ["/seed"]),
        ({"seed": 7.5}, ["/seed"]),
        ({"seed": 2**63}, ["/seed"]),
        ({"seed": 1e300}, ["/seed"]),
        ({"episode_id": ""}, ["/episode_id"]),
        ({"episode_id": "x" * 256}, ["/episode_id"]),
        ({"episode_id": 5}, ["/episode_id"]),
        ({"request_id": {}}, ["/request_id"]),
        ({"seed": [], "task_id": 1, "ticket_id": False, "pack": 1.5}, ["/seed", "/task_id", "/ticket_id", "/pack"]),
    ],
)
def test_bad_reset_body(body: Any, pointers: list[str]) -> None:
    wrong = problem(reset_body, body)
    assert wrong.status == 422
    assert [error["pointer"] for error in wrong.errors] == pointers
    assert all(error["detail"] in wrong.detail for error in wrong.errors)


def test_step_body() -> None:
    assert step_body({"action": {}}) == StepBody({})
    assert step_body({"action": {"type": "x"}, "episode_id": "e", "request_id": "r", "timeout_s": 3}) == StepBody(
        {"type": "x"}, "e", "r"
    )


@pytest.mark.parametrize("word", ["type", "name", "action_type"])
def test_bare_action(word: str) -> None:
    asked = step_body({word: "x", "field": "order", "episode_id": "e", "request_id": "r", "timeout_s": 3})
    assert asked == StepBody({word: "x", "field": "order"}, "e", "r")


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (None, ["/action"]),
        ({}, ["/action"]),
        ({"episode_id": "e"}, ["/action"]),
        ({"action": None}, ["/action"]),
        ({"action": "resolve"}, ["/action"]),
        ({"action": [], "type": "resolve"}, ["/action"]),
        ({"action": 1, "episode_id": "", "request_id": 0}, ["/action", "/episode_id", "/request_id"]),
        ([{"type": "resolve"}], [""]),
    ],
)
def test_bad_step_body(body: Any, pointers: list[str]) -> None:
    wrong = problem(step_body, body)
    assert wrong.status == 422
    assert [error["pointer"] for error in wrong.errors] == pointers


def test_query() -> None:
    assert query_id(None) is None
    assert query_id("e") == "e"
    assert problem(query_id, "").status == 422
    assert problem(query_id, "x" * 256).status == 422
