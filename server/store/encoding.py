"""Starts and steps as compact JSON, from which exactly what was given is read; and any text as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from server.store import Start, Step

_thorough = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=dict).encode


def encode_start(start: Start) -> bytes:
    return _encode(start._asdict())


def encode_step(step: Step) -> bytes:
    action, request_id, at = step
    return _encode({"action": action, "request_id": request_id, "at": at})


def decode_start(raw: bytes) -> Start:
    return Start(**json.loads(raw))


def decode_steps(raw: Iterable[bytes]) -> tuple[Step, ...]:
    return tuple(Step(**step) for step in json.loads(b"[%b]" % b",".join(raw)))


def to_bytes(text: str) -> bytes:
    """UTF-8; halves of surrogate pairs are written as if they were characters, so different texts stay different."""
    return text.encode("utf-8", "surrogatepass")


def from_bytes(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _encode(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # long integers, halves of surrogate pairs, mappings that aren't dictionaries
        return to_bytes(_thorough(value))
