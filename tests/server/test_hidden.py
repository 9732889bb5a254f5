"""Nothing hidden leaves the server: every byte that is served before a classification is walked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from engine.load import load_pack
from engine.pack import Pack
from server.app import create_app

LAMPS = Path(__file__).with_name("lamps.yaml")
HARD = ("t-3", "t-4")
GETS = ("/", "/health", "/metadata", "/schema", "/tasks", "/packs", "/openapi.json", "/state?episode_id=e")
EARLY: tuple[dict[str, Any], ...] = (
    {},
    {"type": "fly"},
    {"type": "ask_info", "field": "shoe"},
    {"type": "classify", "category": "shoes"},
    {"type": "resolve"},
)


def served(client: FlaskClient, ticket: str, *actions: dict[str, Any]) -> list[bytes]:
    """Everything that a client gets to see of an episode that goes this far."""
    bodies: list[bytes] = [client.post("/reset", json={"episode_id": "e", "ticket_id": ticket, "seed": 1}).data]
    for action in actions:
        bodies.append(client.post("/step", json={"episode_id": "e", "action": action}).data)
        bodies.append(client.get("/state?episode_id=e").data)
    bodies += [client.get(path).data for path in GETS]
    mistakes = ({"ticket_id": ticket, "task_id": "easy-info-collection"}, {"ticket_id": ticket + "x"}, {"pack": "lamp"})
    return bodies + [client.post("/reset", json=asked).data for asked in mistakes]


def answers(pack: Pack) -> set[str]:
    return {
        str(text)
        for ticket in pack.tickets.values()
        for turns in ticket.answers.values()
        for turn in turns
        for text in (turn.say, *(given.value for given in turn.gives))
        if text is not None
    }


@pytest.mark.parametrize("ticket", HARD)
def test_no_answer_leaves_before_it_is_given(lamps: Pack, ticket: str) -> None:
    assert {"C-3003", "kim@example.net", "pale teal", "deep ochre"} <= answers(lamps)
    seen = b"\n".join(served(create_app([lamps]).test_client(), ticket, *EARLY)).decode("utf-8")
    assert [text for text in answers(lamps) if text in seen] == []


@pytest.mark.parametrize("ticket", HARD)
def test_requirements_are_shown_after_the_classification(lamps: Pack, ticket: str) -> None:
    client = create_app([lamps]).test_client()
    first: Any = client.post("/reset", json={"ticket_id": ticket}).json
    steps: list[Any] = [client.post("/step", json={"action": action}).json for action in EARLY]
    for answer in (first, *steps):
        seen = answer["observation"]
        assert (seen["required"], seen["missing_required"], seen["info_progress"]) == ([], [], 0.0)
    after: Any = client.post("/step", json={"type": "classify"}).json
    assert after["observation"]["required"] == list(lamps.tickets[ticket].required)


@pytest.mark.parametrize(
    ("hidden", "instead"),
    [
        ("category: exchange\n    messages: [This is not", "category: delivery\n    messages: [This is not"),
        ("order: C-3003", "order: [{say: Wait.}, {say: No., refuse: true}, Z-9]"),
        (
            "category: exchange\n    messages: [This is not",
            "required: [email]\n    category: exchange\n    messages: [This is not",
        ),
    ],
    ids=["category", "answers", "requirements"],
)
def test_what_is_hidden_makes_no_difference(lamps: Pack, tmp_path: Path, hidden: str, instead: str) -> None:
    """The same pack with another secret: not one byte differs, the pack's digest aside."""
    text = LAMPS.read_text("utf-8")
    assert text.count(hidden) == 1
    variant = tmp_path / "lamps.yaml"
    variant.write_text(text.replace(hidden, instead), "utf-8")
    other = load_pack(variant)
    assert other.digest != lamps.digest
    # What is proved of a pack is about what is hidden, too: neither says anything of that here.
    ours = served(create_app([load_pack(LAMPS)]).test_client(), "t-3", *EARLY)
    theirs = served(create_app([other]).test_client(), "t-3", *EARLY)
    assert [body.replace(other.digest.encode(), lamps.digest.encode()) for body in theirs] == ours
