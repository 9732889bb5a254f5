"""Records: what stands in a line, and what is no record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.case import make_case
from engine.episode import Episode, replay
from engine.evaluation.record import Key, Record, Status, line, parse, recorded
from engine.transcript import Unreadable
from tests.evaluation.runs import lamps

# t-1 needs the order, which comes at the second ask. By hand: classifying pays 0.5, the order 0.5, resolving 1.0, a
# stalled ask nothing, and an invalid action costs 0.1.
ASK: dict[str, Any] = {"type": "ask_info", "field": "order"}
ACTIONS = [{"type": "classify"}, ASK, ASK, {"type": "dance", "speed": 2}, {"type": "resolve"}]
LINE = (
    '{"pack":"lamps","pack_digest":"DIGEST","task":"easy-info-collection","ticket":"t-1","seed":7,"trial":2,'
    '"status":"done","error":null,'
    '"actions":[{"type":"classify"},{"type":"ask_info","field":"order"},{"type":"ask_info","field":"order"},'
    '{"type":"dance","speed":2},{"type":"resolve"}],'
    '"outcomes":["classify.right","ask_info.stalled","ask_info.answered","invalid","resolve.done"],'
    '"rewards":[0.5,0.0,0.5,-0.1,1.0],"return":1.9,"score":1.0,"resolved":true,"steps":5,"optimal_steps":4,'
    '"end_reason":"resolved","regrets":[0.0,0.0,0.0,0.1,0.0]}\n'
)


def played(folder: Path, actions: list[dict[str, Any]]) -> Episode:
    return replay(make_case(lamps(folder), "t-1", 7), actions)


def test_a_line_has_everything_in_its_order(tmp_path: Path) -> None:
    episode = played(tmp_path, ACTIONS)
    record = recorded(episode, 2)
    assert line(record).decode() == LINE.replace("DIGEST", episode.case.pack.digest)
    assert record.total == 19_000 and record.rewards == (5_000, 0, 5_000, -1_000, 10_000)
    assert record.key == Key("lamps", "t-1", 7, 2)
    assert parse(line(record)) == record


def test_an_episode_that_was_cut_off_is_recorded_as_far_as_it_went(tmp_path: Path) -> None:
    record = recorded(played(tmp_path, ACTIONS[:1]), 1, "error", "It broke.")
    assert (record.status, record.error, record.end_reason, record.resolved) == ("error", "It broke.", None, False)
    assert (record.steps, record.total, record.score) == (1, 5_000, 0.0)
    assert recorded(played(tmp_path, []), 1, stopped=True).end_reason == "stopped"


T = TypeVar("T")
texts = st.text(max_size=8)
ten_thousandths = st.integers(-20_000, 20_000)


@st.composite
def any_record(draw: st.DrawFn) -> Record:
    steps = draw(st.integers(0, 4))

    def many(one: st.SearchStrategy[T]) -> tuple[T, ...]:
        return tuple(draw(st.lists(one, min_size=steps, max_size=steps)))

    status: Status = draw(st.sampled_from(get_args(Status)))
    rewards = many(ten_thousandths)
    return Record(
        pack=draw(texts),
        pack_digest=draw(texts),
        task=draw(texts),
        ticket=draw(texts),
        seed=draw(st.integers(0, 2**63 - 1)),
        trial=draw(st.integers(1, 9)),
        status=status,
        error=None if status == "done" else draw(texts),
        actions=many(st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts)),
        outcomes=many(texts),
        rewards=rewards,
        total=sum(rewards),
        score=draw(st.floats(0, 1)),
        resolved=draw(st.booleans()),
        steps=steps,
        optimal_steps=draw(st.none() | st.integers(0, 99)),
        end_reason=draw(st.none() | texts),
        regrets=many(ten_thousandths) if draw(st.booleans()) else None,
    )


@given(any_record())
def test_what_is_written_is_read(record: Record) -> None:
    raw = line(record)
    assert raw.count(b"\n") == 1 and raw.endswith(b"\n")
    assert parse(raw) == record
    assert line(parse(raw)) == raw


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": -1}, 'this line is no record: it has something else as its "seed"'),
        ({"seed": True}, 'this line is no record: it has something else as its "seed"'),
        ({"trial": 0}, 'this line is no record: it has something else as its "trial"'),
        ({"status": "fine"}, 'this line is no record: it has something else as its "status"'),
        ({"rewards": [0.00001]}, 'this line is no record: it has something else as its "rewards"'),
        ({"score": 1.5}, 'this line is no record: it has something else as its "score"'),
        ({"score": float("nan")}, 'this line is no record: it has something else as its "score"'),
        ({"actions": ["resolve"]}, 'this line is no record: it has something else as its "actions"'),
        ({"regrets": [0.0]}, "this record contradicts itself: it doesn't have one of everything for each of 5 steps"),
        ({"return": 2.0}, 'this record contradicts itself: its "return" isn\'t the sum of its rewards'),
        (
            {"status": "error"},
            'this record contradicts itself: a cause stands in "error" where it isn\'t done, and only there',
        ),
    ],
)
def test_what_is_no_record_is_refused(change: dict[str, Any], told: str) -> None:
    document = {**json.loads(LINE), **change}
    with pytest.raises(Unreadable) as refused:
        parse(json.dumps(document).encode())
    assert str(refused.value) == told


def test_what_is_not_there_is_missed() -> None:
    document = json.loads(LINE)
    for name in document:
        less = {key: value for key, value in document.items() if key != name}
        with pytest.raises(Unreadable, match=f'^this line is no record: it has no "{name}"$'):
            parse(json.dumps(less).encode())


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(Unreadable, match="this line is "):
        parse(raw)
