"""Adding a pack is adding YAML: a pack of another domain, with an action of its own, is written, loaded and served."""

from __future__ import annotations

from pathlib import Path

from engine.load import load_pack
from server.app import create_app

PACK = """
pack: hotel
version: 1.0.0
description: A hotel's front desk.
fields:
  room: {description: Room number, schema: {pattern: '^[0-9]{3}$'}}
categories:
  noise: {description: Something is loud, requires: [room]}
facts:
  moved: {values: [false, true]}
actions:
  move_guest:
    description: Give the guest another room
    parameters: {floor: {description: Which floor, type: integer, enum: [1, 2]}}
rules:
  move_guest:
    - {outcome: unknown_room, when: {missing: {minimum: 1}}, then: {waste: true, say: Which room is it?}}
    - {outcome: full, when: {parameters: {floor: 1}}, then: {waste: true, say: The first floor is full.}}
    - outcome: moved
      when: {facts: {moved: false}}
      then: {set: {moved: true}, say: {template: 'Moved from {{ room }}.'}}
    - {outcome: again, then: {waste: true, say: The guest has moved already.}}
tickets:
  - id: h-1
    task: easy-info-collection
    category: noise
    messages: [I can't sleep here!]
    answers: {room: '204'}
    goal: {moved: true}
"""


def test_a_new_domain_is_yaml_alone(tmp_path: Path) -> None:
    path = tmp_path / "hotel.yaml"
    path.write_text(PACK, encoding="utf-8")
    client = create_app([load_pack(path)]).test_client()
    client.post("/reset", json={"episode_id": "e", "ticket_id": "h-1"})
    played = []
    for action in (
        {"type": "classify"},
        {"type": "move_guest", "floor": 2},
        {"type": "ask_info", "field": "room"},
        {"type": "resolve"},
        {"type": "move_guest", "floor": 1},
        {"type": "move_guest", "floor": 2},
        {"type": "resolve"},
    ):
        answer = client.post("/step", json={"episode_id": "e", "action": action}).get_json()
        text = answer["observation"]["history"][-1]["text"]
        played.append((answer["metadata"]["outcome"], answer["reward"], text))
    # 0.5 for the category, 0.5 for the only field; three wasted steps; resolving pays the other 1.0.
    assert played == [
        ("classify.right", 0.5, "Category: noise. Needed: room."),
        ("move_guest.unknown_room", -0.1, "Which room is it?"),
        ("ask_info.answered", 0.5, "204"),
        ("resolve.unmet", -0.1, "It isn't settled yet. Something still has to be done."),
        ("move_guest.full", -0.1, "The first floor is full."),
        ("move_guest.moved", 0.0, "Moved from 204."),
        ("resolve.done", 1.0, "Thank you, that settles it."),
    ]
    assert answer["done"] is True
    # Classify, ask, move, resolve: four steps are the fewest. Easy: the one missing field was collected.
    assert (answer["metadata"]["optimal_steps"], answer["metadata"]["score"]) == (4, 1.0)
    schema = client.get("/schema").get_json()["action"]
    assert schema["properties"]["type"]["enum"] == ["ask_info", "classify", "resolve", "move_guest"]
