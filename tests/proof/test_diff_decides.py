"""`deskproof diff` where the numbers are the same: what decides tickets, and what makes no difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.load import load_pack
from engine.split import splits
from tests.commands import deskproof as run
from tests.proof.diffs import BASE, Packs, data


@pytest.fixture
def packs(tmp_path: Path) -> Packs:
    return Packs(tmp_path)


# -- What decides tickets, the numbers the same

ROUTES = """\
pack: routes
version: 1.0.0
description: Lamps.
fields: {model: {description: Model}, socket: {description: Socket}}
categories:
  dark: {description: No light, requires: [model]}
  loud: {description: Noise, requires: [socket]}
tickets:
  - {id: a, task: easy-info-collection, category: dark, messages: [A.], answers: {model: L-7, socket: E27}}
  - {id: b, task: easy-info-collection, category: loud, messages: [B.], answers: {model: L-7, socket: E27}}
"""


def test_a_ticket_that_moved_to_another_category(packs: Packs) -> None:
    """Its number of fields, steps and answers stays, so its numbers do; but who classified it rightly is wrong now."""
    old = packs.write("old.yaml", ROUTES)
    new = packs.write("new.yaml", ROUTES.replace("category: dark, messages", "category: loud, messages"))
    done = run("diff", old, new)
    assert done.exit_code == 1
    assert "  a: what it takes isn't what it was\n" in done.output
    assert "  1 ticket with the same numbers: " in done.output and "1 ticket changed" in done.output
    (change,) = data(old, new)["changed"]["a"]
    assert (change["what"], change["cases"]) == ("decides", None) and change["old"] != change["new"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("required: [model], answers: {model: L-7}", "required: [socket], answers: {socket: L-7}"),
        ("messages: [It stays dark.]", "messages: [It stays dark.], split: SPLIT"),
        ("answers: {model: L-7}", "answers: {model: L-7, socket: E14}"),
    ],
)
def test_what_a_ticket_takes(packs: Packs, old: str, new: str) -> None:
    """Another field of the same kind, another split, an answer to what nobody needs."""
    before = next(name for name, held in splits(load_pack(packs.base)).items() if "dark" in held)
    other = packs.changed(old, new.replace("SPLIT", "train" if before == "test" else "test"))
    found = data(packs.base, other)
    assert "dark" in found["changed"] and found["same"] == ["hum"] and found["decides"] is None


def test_what_makes_no_difference(packs: Packs) -> None:
    """Other texts and values, one more wording that states nothing, fields in another order, the split that it has."""
    split = next(name for name, held in splits(load_pack(packs.base)).items() if "hum" in held)
    text = BASE.replace("[It hums.]", f"[It sings., It whirrs.], split: {split}").replace("E27", "E14")
    fields = "{socket: {description: Its bulb}, model: {description: Model}}"
    other = packs.write(
        "other.yaml", text.replace("{model: {description: Model}, socket: {description: Socket}}", fields)
    )
    assert data(packs.base, other)["same"] == ["dark", "hum"]


DESK = """\
actions:
  lift: {description: Lift it}
  lower: {description: Lower it}
rules:
  lift:
    - {outcome: up, then: {waste: true, say: Up it goes.}}
  lower:
    - {outcome: down, then: {say: Down it goes.}}
"""


def test_rules_that_reward_another_action(packs: Packs) -> None:
    """Lifting is waste and lowering is free, then the other way round: no number is another one, and no ticket is as
    it was. It is said once, of the pack."""
    old = packs.write("old.yaml", BASE + DESK)
    up, down = ("{waste: true, say: Up it goes.}", "{say: Down it goes.}")
    swapped = DESK.replace(up, "UP").replace(down, up).replace("UP", down)
    new = packs.write("new.yaml", BASE + swapped)
    done = run("diff", old, new)
    assert done.exit_code == 1
    said = "  the pack's names, actions, rules, facts, rewards or tasks decide otherwise: that changes 2 tickets\n"
    assert done.output.splitlines(keepends=True)[1] == said
    assert len(done.output.splitlines()) == 3
    found = data(old, new)
    assert {each[0]["what"] for each in found["changed"].values()} == {"pack"}
    assert found["decides"]["old"] != found["decides"]["new"]
    assert run("diff", old, packs.write("said.yaml", BASE + DESK.replace("Down it", "There it"))).exit_code == 0
