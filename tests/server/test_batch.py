"""`/batch/reset` and `/batch/step`: every item in its place, none in the way of another."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from flask.testing import FlaskClient

from engine.contract import Contract
from engine.pack import Pack
from server import batch as batches
from server.answers import encode
from server.service import Service
from server.store import Append, EpisodeStore
from server.store.memory import MemoryStore
from tests.server.calls import ASK_EMAIL, ASK_ORDER, CLASSIFY, RESOLVE, begin, problem, step


def batch(client: FlaskClient, what: str, items: Any) -> Any:
    answer = client.post(f"/batch/{what}", json={"items": items})
    assert answer.status_code == 200
    return answer.get_json()["items"]


def test_each_item_is_answered_like_the_route_alone(client: FlaskClient) -> None:
    items = [{"episode_id": f"b-{number}", "ticket_id": "t-1", "seed": number} for number in range(3)]
    begun = batch(client, "reset", items)
    assert [one["metadata"]["episode_id"] for one in begun] == ["b-0", "b-1", "b-2"]
    stepped = batch(
        client, "step", [{"episode_id": f"b-{number}", "action": {"type": "classify"}} for number in range(3)]
    )
    alone = client.post("/reset", json={**items[0], "episode_id": "alone"})
    assert alone.get_json()["observation"] == begun[0]["observation"]
    step = client.post("/step", json={"episode_id": "alone", "action": {"type": "classify"}}).get_json()
    assert (step["observation"], step["reward"]) == (stepped[0]["observation"], stepped[0]["reward"])


def test_a_bad_item_is_an_error_in_its_place(client: FlaskClient) -> None:
    good = {"episode_id": "good", "ticket_id": "t-1", "seed": 1}
    items = batch(client, "reset", [good, {"seed": -1}, {"ticket_id": "no-such"}, 5, {**good, "episode_id": "also"}])
    assert [one.get("status") for one in items] == [None, 422, 404, 422, None]
    steps = [
        {"episode_id": "good", "action": {"type": "classify"}},
        {"action": {}},
        {"episode_id": "nobody", "action": {}},
    ]
    assert [one.get("status") for one in batch(client, "step", steps)] == [None, 422, 404]


def test_two_items_for_one_episode_are_taken_in_order(client: FlaskClient) -> None:
    batch(client, "reset", [{"episode_id": "twice", "ticket_id": "t-1", "seed": 1}])
    steps = batch(client, "step", [{"episode_id": "twice", "action": {"type": "classify"}}] * 2)
    assert [one["observation"]["step_count"] for one in steps] == [1, 2]
    assert [one["reward"] for one in steps] == [0.5, -0.1]


def test_an_answer_that_would_be_too_large(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SLICE", 2)
    begun = batch(client, "reset", [{"episode_id": f"b-{number}", "ticket_id": "t-1"} for number in range(5)])
    # Two answers alone are larger than this: the third slice isn't taken, and changes nothing.
    monkeypatch.setattr(batches, "MOST", len(json.dumps(begun[:2])))
    noisy = {"type": "shout", "text": "x" * 1_000}
    steps = batch(client, "step", [{"episode_id": f"b-{number}", "action": noisy} for number in range(5)])
    assert [one.get("status") for one in steps] == [None, None, 413, 413, 413]
    assert "send it in another" in steps[2]["detail"]
    again = batch(client, "step", [{"episode_id": f"b-{number}", "action": noisy} for number in (1, 2)])
    assert [one["observation"]["step_count"] for one in again] == [2, 1]


def test_a_batch_that_is_none(client: FlaskClient) -> None:
    bodies: list[Any] = [{}, {"items": {}}, {"items": "x"}, []]
    for body in bodies:
        answer = client.post("/batch/step", json=body)
        assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert client.post("/batch/step", json={"items": [{}] * 4_097}).status_code in (413, 422)


# -- A slice is taken as one change where it can be, and item by item where it can't


def taken(service: Service, items: Sequence[Any]) -> list[Any]:
    """The answers to a batch of steps."""
    work = batches.step(service, json.dumps({"items": items}).encode())
    while True:
        try:
            next(work)
        except StopIteration as end:
            answers: list[Any] = json.loads(end.value)["items"]
            return answers


def act(name: str, action: dict[str, Any] = CLASSIFY, **more: Any) -> dict[str, Any]:
    return {"episode_id": name, "action": action, **more}


def test_together_or_not_the_answers_are_the_same(worker: Callable[[], Service]) -> None:
    service = worker()
    names = [f"b-{number}" for number in range(100)]
    for name in names:
        begin(service, name)
    begin(service, "alone")
    backwards = {"field": "order", "type": "ask_info"}
    for action in (
        CLASSIFY,
        ASK_ORDER,
        {"type": "fly"},
        {"type": ["x"]},
        backwards,
        {"type": True},
        {"name": "resolve"},
    ):
        together = taken(service, [act(name, action) for name in names[:70]])
        # What can't be taken is in the way of taking its slice as a whole.
        apart = taken(service, [act(name, action) for name in names[70:]] + [act("nobody")])
        alone = step(service, action, "alone")
        expected = [{**alone, "metadata": {**alone["metadata"], "episode_id": name}} for name in names]
        assert encode([*together, *apart[:-1]]) == encode(expected)
        assert apart[-1]["status"] == 404


def test_one_that_is_refused_is_in_nobodys_way(worker: Callable[[], Service], store: EpisodeStore) -> None:
    service = worker()
    for name in ("a", "b", "c"):
        begin(service, name)
    for action in (CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE):
        step(service, action, "b")
    answers = taken(service, [act("a"), act("b"), act("c"), act("a", ASK_ORDER)])
    assert [one.get("status") for one in answers] == [None, 409, None, None]
    assert [answers[place]["observation"]["step_count"] for place in (0, 2, 3)] == [1, 1, 2]
    records = [store.get(f"/{name}") for name in "abc"]
    assert [len(record.steps) for record in records if record] == [2, 4, 1]


def test_the_end_of_an_episode(worker: Callable[[], Service]) -> None:
    service = worker()
    for name in ("a", "b"):
        begin(service, name)
    for action, reward in ((CLASSIFY, 0.5), (ASK_ORDER, 0.25), (ASK_EMAIL, 0.25), (RESOLVE, 1.0)):
        assert [one["reward"] for one in taken(service, [act("a", action), act("b", action)])] == [reward] * 2
    assert [one["status"] for one in taken(service, [act("a"), act("b")])] == [409, 409]
    problem(409, lambda: step(service, CLASSIFY, "a"))


def test_a_repeated_request_in_a_batch(worker: Callable[[], Service]) -> None:
    service = worker()
    for name in ("a", "b"):
        begin(service, name)
    first = taken(service, [act("a", request_id="r1"), act("b", request_id="r1")])
    assert taken(service, [act("a", ASK_ORDER, request_id="r1"), act("b", ASK_ORDER, request_id="r2")]) == [
        first[0],
        step(service, CLASSIFY, "b", request_id="r2"),
    ]
    assert [one["observation"]["step_count"] for one in taken(service, [act("a"), act("b")])] == [2, 3]


def test_episodes_that_another_worker_stepped(worker: Callable[[], Service]) -> None:
    one, two = worker(), worker()
    for name in ("a", "b"):
        begin(one, name)
    assert [answer["reward"] for answer in taken(two, [act("a"), act("b")])] == [0.5, 0.5]
    answers = taken(one, [act("a", ASK_ORDER), act("b", ASK_ORDER)])
    assert [answer["observation"]["step_count"] for answer in answers] == [2, 2]


def test_a_store_that_fails(lamps: Pack, contract: Contract, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        def append_all(self, appends: Sequence[Append]) -> bool:
            super().append_all(appends)
            raise OSError("it may have been written")

    store = Broken()
    service = Service([lamps], store, contract)
    for name in ("a", "b"):
        begin(service, name)
    # Taken or not: nothing is tried a second time.
    assert [one["status"] for one in taken(service, [act("a"), act("b")])] == [500, 500]
    assert [len(record.steps) for record in map(store.get, ("/a", "/b")) if record] == [1, 1]
    assert "it may have been written" in caplog.text
