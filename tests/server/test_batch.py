"""`/batch/reset` and `/batch/step`: every item in its place, none in the way of another."""

from __future__ import annotations

from typing import Any

from flask.testing import FlaskClient


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


def test_a_batch_that_is_none(client: FlaskClient) -> None:
    bodies: list[Any] = [{}, {"items": {}}, {"items": "x"}, []]
    for body in bodies:
        answer = client.post("/batch/step", json=body)
        assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    assert client.post("/batch/step", json={"items": [{}] * 4_097}).status_code in (413, 422)
