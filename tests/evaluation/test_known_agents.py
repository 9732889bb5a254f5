"""Agents of which is known how good they are: the numbers have to say so."""

from __future__ import annotations

import json
import os
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.cli import main
from engine.load import load_pack, pack_path

PACKS = ("bank-disputes", "customer-support", "it-helpdesk-de")
SEEDS = 20_000 if os.environ.get("SOAK") else 200


def numbers(agent: str, output: Path, *options: str) -> Any:
    """What a run comes to, as data."""
    done = CliRunner().invoke(main, ["eval", agent, *options, "-o", str(output), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_best_there_is(tmp_path: Path) -> None:
    """Of every ticket that ships the proof knows a line that is worth 2.0: whoever follows it misses nothing."""
    found = numbers("oracle", tmp_path / "run", "--seeds", "2")
    for group in (found["overall"], *found["packs"], *found["tasks"], *found["tickets"]):
        values = {name: one["value"] for name, one in group["numbers"].items()}
        assert [values[name] for name in ("score", "success", "normalised_return", "pass^2")] == [1.0] * 4
        assert (values["return"], values["best_return"]) == (2.0, 2.0)
        assert (values["regret"], values["excess_steps"]) == (0.0, 0.0)
        assert group["coverage"] == 1.0


@pytest.mark.soak
@pytest.mark.parametrize("name", PACKS)
def test_chance_does_what_it_may_expect(tmp_path: Path, name: str) -> None:
    """What the proof knows of the uniformly random policy lies in the intervals of one that was played: a ticket of
    each task of each pack, at 200 seeds; 20,000 in a soak. One in twenty may miss by itself: twice as far is four
    standard errors, which none may. What happens less than three times in so many seeds need not have happened."""
    pack = load_pack(pack_path(name))
    first = {ticket.task: ticket.id for ticket in reversed([*pack.tickets.values()])}
    tickets = [word for ticket in first.values() for word in ("--ticket", ticket)]
    found = numbers("random", tmp_path / "run", name, "--seeds", str(SEEDS), *tickets)
    assert len(found["tickets"]) == len(first) == 3
    assert found["overall"]["done"] == 3 * SEEDS
    inside = 0
    for group in found["tickets"]:
        known = {"normalised_return": 0.0}
        known |= {number: group["numbers"][f"random_{number}"]["value"] for number in ("return", "score")}
        for number, exactly in known.items():
            one = group["numbers"][number]
            half = (one["high"] - one["low"]) / 2
            rare = 3 / SEEDS
            assert half < 2.5 / sqrt(SEEDS), (group["ticket"], number)
            assert abs(one["value"] - exactly) <= 2 * half + rare, (group["ticket"], number)
            inside += one["low"] - rare <= exactly <= one["high"] + rare
    assert inside >= 7  # of nine
    overall = found["overall"]["numbers"]
    assert overall["return"]["low"] <= overall["random_return"]["value"] <= overall["return"]["high"]


@pytest.mark.parametrize("name", PACKS)
def test_somebody_in_between(tmp_path: Path, name: str) -> None:
    """Who asks for everything gets further than chance, and pays for what nobody needed."""
    found = numbers("ask-everything", tmp_path / "run", name)["overall"]["numbers"]
    assert found["random_return"]["value"] < found["return"]["low"] and found["return"]["high"] < 2.0
    assert found["random_score"]["value"] < found["score"]["value"] < 1.0
    assert found["regret"]["value"] > 0.0
