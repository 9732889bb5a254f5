"""What clients may send, and what is said of everything else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.body import (
    MAX_BATCH,
    MAX_BODY,
    MAX_DEPTH,
    MAX_PARTS,
    MAX_SEED,
    ResetBody,
    StepBody,
    decode,
    query_id,
    reset_body,
    step_body,
)
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
        (rb'["\u005c"]', ["\\"]),
        (rb'["\\","\"' + b"[" * 199 + b'"]', ["\\", '"' + "[" * 199]),
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
        (b"[" + b"9" * 309 + b"]", "too large"),
        (b"[" + b"9" * 5_000 + b"]", "too large"),
        (b"[" * 30_000, "deeper than 64"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "deeper than 64"),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "deeper than 64"),
        (rb'{"a": "\ud800"}', "surrogate"),
        (rb'{"\udfff": 1}', "surrogate"),
        (b'{"a": "\xed\xa0\x80"}', "UTF-8 (byte 7)"),  # the other half's bytes
        (b'{"a": "\xff"}', "UTF-8 (byte 7)"),
        (b'{"a": 1, "a": 2}', "same key twice"),
        (rb'{"\u0061": 1, "a": 1}', "same key twice"),
        (rb'[{"\"": 1, "\u0022": "\\"}]', "same key twice"),
        (b'{"a": 1, "a": 100000000000000000000}', "same key twice"),
        (b'{"a": "\x01"}', "control character"),
    ],
)
def test_malformed_json(raw: bytes, reason: str) -> None:
    wrong = problem(decode, raw)
    assert wrong.status == 400
    assert reason in wrong.detail
    assert [error["pointer"] for error in wrong.errors] == [""]


def strictly(raw: bytes) -> Any:
    """The standard library's reader, told to be strict by hooks that it calls for every object and number."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) < len(members):
            raise ValueError("a key twice")
        return found

    def number(digits: str) -> Any:
        if not math.isfinite(float(digits)):
            raise ValueError("too large")
        return float(digits) if set(digits) & set(".eE") else int(digits)

    def none(name: str) -> Any:
        raise ValueError(name)

    text = raw.decode("utf-8-sig")
    if not text.strip(" \t\r\n"):
        return None
    value = json.loads(text, object_pairs_hook=pairs, parse_int=number, parse_float=number, parse_constant=none)
    json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair has no UTF-8
    return value


BLANKS = st.sampled_from(["", "", " ", "\t", " \r\n "])
SCALARS = st.sampled_from(
    ["0", "-0", "1.0", "1e5", "0.1e1", "1e400", "NaN", "9" * 20, "-9223372036854775809", "9" * 308, "9" * 309, "true"]
    + [
        rf'"{text}"'
        for text in (
            "",
            "a",
            "a b",
            r"\"",
            r"\\",
            r"\\\"",
            r"\u0061",
            "[[{",
            r"\u005c",
            r"\ud83d\ude00",
            r"\ud800",
            "é",
        )
    ]
)


def array(items: list[str], blank: str) -> str:
    return "[" + blank + f"{blank},{blank}".join(items) + blank + "]"


def an_object(members: list[tuple[str, str]], blank: str) -> str:
    return "{" + f"{blank},".join(f"{blank}{name}{blank}:{blank}{value}" for name, value in members) + blank + "}"


KEYS = st.sampled_from(['"a"', '"b"', r'"\u0061"', '"a b"', '"ab"', r'"\""', r'"a\\"', '":"'])
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.builds(array, st.lists(inner, max_size=4), BLANKS)
        | st.builds(an_object, st.lists(st.tuples(KEYS, inner), max_size=4), BLANKS)
    ),
    max_leaves=12,
)


@given(DOCUMENTS, st.integers(0, 200), st.sampled_from(["", "", "", "]", '"', "\\", ",", "{", "\x01", "\ufeff"]))
def test_whatever_is_sent_is_read_as_a_strict_reader_does(document: str, at: int, piece: str) -> None:
    raw = (document[:at] + piece + document[at:]).encode()
    try:
        expected = strictly(raw)
    except ValueError:
        assert problem(decode, raw).status == 400
    else:
        assert repr(decode(raw)) == repr(expected)


def test_parts() -> None:
    """As many objects and arrays as there may be, and one more."""
    most = b"[" + b"[]," * (MAX_PARTS - 2) + b'{},"[]{}"]'
    assert len(decode(most, MAX_BATCH)) == MAX_PARTS
    wrong = problem(decode, most[:-1] + b",{}]", MAX_BATCH)
    assert (wrong.status, "more than 131072 objects and arrays" in wrong.detail) == (400, True)


PIECES = 40_000
WIDE = b'{"a" : "b", "c":"' + b"d" * 80 + b'"}'  # 98 bytes


def many(piece: bytes, last: bytes = b"0]") -> bytes:
    return b"[" + (piece + b",") * PIECES + last


@pytest.mark.parametrize("piece", [WIDE, b"9" * 25, rb'"\u0061 \u0061"', b'"[[[[[[[["', rb'"\"\"\"\"\\"', b'"a:"'])
def test_large_bodies(piece: bytes) -> None:
    value = decode(many(piece), MAX_BATCH)
    assert (len(value), value[7]) == (PIECES + 1, json.loads(piece))


@pytest.mark.parametrize(
    "raw",
    [
        many(WIDE, b"]"),
        many(b"9" * 25, b"NaN]"),
        many(b"[" * 50 + b"]" * 50),
        many(rb'"\u0061 \u0061"', b'{"a":1,"a":1}]'),
        b"[" * MAX_BATCH,
        b'["' + rb"\"" * (MAX_BATCH // 2 - 1),
        b'"' * MAX_BATCH,
        b"9" * MAX_BATCH,
    ],
    ids=lambda raw: str(raw[:12]),
)
def test_large_bodies_that_are_wrong(raw: bytes) -> None:
    """Were the time more than in proportion to the size, some of these would never end."""
    assert problem(decode, raw, MAX_BATCH).status == 400


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
