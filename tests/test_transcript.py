"""Transcripts: what stands in one, and that playing one again finds every changed byte."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import transcript as transcripts
from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack
from engine.pack import Pack
from engine.transcript import Difference, Unreadable, line, transcript

WORDS = ("type", "field", "name", "action_type", "parameters", "arguments", "metadata", "method", "params", "category")


def replay(raw: bytes, pack: Pack) -> Difference | None:
    return transcripts.replay(raw, lambda digest: pack)


@pytest.fixture(scope="module")
def desk(root: Any) -> Pack:
    return load_pack(root / "tests" / "server" / "lamps.yaml")


@pytest.fixture(scope="module")
def raw(desk: Pack) -> bytes:
    """An episode of lamps' t-1, which has four steps at its best; here with one wasted."""
    episode = Episode.start(make_case(desk, "t-1", 7))
    for action in ({}, {"type": "classify"}, {"type": "ask_info", "field": "order"}):
        episode = episode.step(action)
    return line(transcript(episode, {"episode_id": "ünï \udcff"}, "superseded"))


def test_what_stands_in_one(raw: bytes, desk: Pack) -> None:
    document = json.loads(raw)
    assert document["episode_id"] == "ünï \udcff"
    assert (document["pack"], document["pack_digest"], document["ticket_id"]) == ("lamps", desk.digest, "t-1")
    # Wasted -0.1, the classification 0.5, one of two missing fields 0.25 (design, section 5).
    assert (document["rewards"], document["return"]) == ([-0.1, 0.5, 0.25], 0.65)
    assert [seen["step_count"] for seen in document["observations"]] == [0, 1, 2, 3]
    assert (document["end_reason"], document["terminated"], document["optimal_steps"]) == ("superseded", False, 4)
    assert raw.count(b"\n") == 1 and raw.endswith(b"\n")


def test_played_again_it_is_the_same(raw: bytes, desk: Pack) -> None:
    assert replay(raw, desk) is None
    assert replay(raw.rstrip(b"\n"), desk) is None


@pytest.mark.parametrize(
    ("change", "member"),
    [
        (lambda document: document["rewards"].__setitem__(1, 0.25), "rewards[1]"),
        (lambda document: document["observations"][2].update(status="resolved"), "observations[2]"),
        (lambda document: document.update({"return": 2.0}), "return"),
        (lambda document: document.update(score=0.5), "score"),
        (lambda document: document["outcomes"].pop(), "outcomes[2]"),
        (lambda document: document.update(pack_version="9"), "pack_version"),
        (lambda document: document.pop("terminated"), "terminated"),
        (lambda document: document["actions"].__setitem__(0, {"type": "resolve"}), "outcomes[0]"),
    ],
)
def test_what_was_changed_is_found(raw: bytes, desk: Pack, change: Callable[[Any], Any], member: str) -> None:
    document = json.loads(raw)
    change(document)
    difference = replay(line(document), desk)
    assert difference is not None and difference.member == member
    assert difference.written != difference.played


def test_the_first_differing_byte(raw: bytes, desk: Pack) -> None:
    place = raw.index(b"0.65")
    difference = replay(raw[:place] + b"0.75" + raw[place + 4 :], desk)
    assert difference is not None
    assert (difference.byte, difference.member) == (place + 2, "return")
    spaced = replay(raw.replace(b'":', b'": ', 1), desk)
    assert spaced is not None and spaced.member == "form"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "no transcript"),
        (b'{"transcript": 3}', "no transcript"),
        (b'{"transcript": 1, "pack_digest": "d", "ticket_id": "t", "seed": "1", "actions": []}', "seed"),
        (b'{"transcript": 1, "pack_digest": "d", "ticket_id": "t", "seed": true, "actions": []}', "seed"),
        (b'{"transcript": 1, "pack_digest": "d", "ticket_id": "t", "seed": 1, "actions": [1]}', "actions"),
        (b'{"transcript": 1, "pack_digest": "d", "ticket_id": "no-such", "seed": 1, "actions": []}', "no ticket"),
    ],
)
def test_what_is_no_transcript_is_refused(text: bytes, message: str, desk: Pack) -> None:
    with pytest.raises(Unreadable, match=message):
        replay(text, desk)


def test_each_line_is_read_once_and_its_pack_is_found_by_its_digest(raw: bytes, desk: Pack) -> None:
    asked: list[str] = []
    calls: Counter[str] = Counter()

    def pack_of(digest: str) -> Pack:
        asked.append(digest)
        return desk

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in (json.loads.__code__, Episode.step.__code__):
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        found = transcripts.replay(raw, pack_of)
    finally:
        sys.setprofile(None)
    # It has three actions.
    assert (found, asked, calls) == (None, [desk.digest], {"loads": 1, "step": 3})


def in_options(document: Any, value: str) -> bytes:
    return line(document).replace(b'"transcript"', b'"options":{"a":[%s]},"transcript"' % value.encode(), 1)


def in_an_action(document: Any, value: str) -> bytes:
    return line(document).replace(b'"type":"classify"', b'"a":%s,"type":"classify"' % value.encode(), 1)


def as_the_seed(document: Any, value: str) -> bytes:
    return line(document).replace(b'"seed":7', b'"seed":%s' % value.encode(), 1)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5_000, "[" * 5_000])
@pytest.mark.parametrize("place", [in_options, in_an_action, as_the_seed])
def test_what_only_some_readers_take_for_json(
    place: Callable[[Any, str], bytes], value: str, raw: bytes, desk: Pack
) -> None:
    replay(place(json.loads(raw), "7"), desk)  # another value can be read there
    text = place(json.loads(raw), value)
    with pytest.raises(Unreadable, match="not JSON"):
        replay(text, desk)


@pytest.mark.parametrize("place", [in_options, in_an_action])
def test_however_deep_it_nests(place: Callable[[Any, str], bytes], raw: bytes, desk: Pack) -> None:
    document = json.loads(raw)
    for depth in (*range(80, 120), *range(120, 5_000, 61)):
        text = place(document, "[" * depth + "]" * depth)
        if depth < 90:
            replay(text, desk)
        elif depth >= 100:
            with pytest.raises(Unreadable, match=r"nests deeper than 100|not JSON"):
                replay(text, desk)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(["type", "method", "params"]), inner)
    ),
    max_leaves=5,
)


@given(st.data())
def test_whatever_a_transcript_says(raw: bytes, desk: Pack, data: st.DataObject) -> None:
    """It is played, or refused in a sentence."""
    document = json.loads(raw)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from([*document, "more", "options"]))
        if name == "actions" and data.draw(st.booleans()):
            document[name] = data.draw(st.lists(st.dictionaries(st.sampled_from(WORDS), VALUES), max_size=3))
        else:
            document[name] = data.draw(VALUES)
    with contextlib.suppress(Unreadable):
        replay(json.dumps(document).encode(), desk)


def test_nothing_in_it_steers_a_terminal(raw: bytes, desk: Pack) -> None:
    evil = "\x1b[2J\u202e\x9b1m\udcff"
    document = json.loads(raw)
    with pytest.raises(Unreadable) as caught:
        replay(line({**document, "ticket_id": evil}), desk)
    found = [
        replay(line({evil: 1, **document, "score": "\x9b1m\u202e"}), desk),
        replay(line({**document, "a": 1}), desk),
    ]
    for text in (str(caught.value), *(text for one in found if one is not None for text in one[1:])):
        assert text.isprintable()


def test_actions_after_the_end(raw: bytes, desk: Pack) -> None:
    document = json.loads(raw)
    document["actions"] += [{"type": "ask_info", "field": "email"}, {"type": "resolve"}, {"type": "resolve"}]
    with pytest.raises(Unreadable, match="ended after 5 steps"):
        replay(line(document), desk)
