"""Agents of which is known how good they are: the numbers have to say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from engine.cli import main
from engine.load import load_pack


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


def test_chance_does_what_it_may_expect(tmp_path: Path, root: Path) -> None:
    """What the proof knows of the uniformly random policy lies in the intervals of one that was played: a ticket of
    each task, at 400 seeds. One in twenty may miss by itself: twice as far is four standard errors, which none may."""
    pack = load_pack(root / "scenarios" / "customer_support")
    first = {ticket.task: ticket.id for ticket in reversed([*pack.tickets.values()])}
    tickets = [word for name in first.values() for word in ("--ticket", name)]
    found = numbers("random", tmp_path / "run", "customer-support", "--seeds", "400", *tickets)
    assert len(found["tickets"]) == len(first) == 3
    inside = 0
    for group in found["tickets"]:
        known = {"normalised_return": 0.0}
        known |= {name: group["numbers"][f"random_{name}"]["value"] for name in ("return", "score")}
        for name, exactly in known.items():
            one = group["numbers"][name]
            half = (one["high"] - one["low"]) / 2
            assert half < 0.1 and abs(one["value"] - exactly) <= 2 * half, (group["ticket"], name)
            inside += one["low"] <= exactly <= one["high"]
    assert inside >= 7  # of nine
    overall = found["overall"]["numbers"]
    assert overall["return"]["low"] <= overall["random_return"]["value"] <= overall["return"]["high"]


def test_somebody_in_between(tmp_path: Path) -> None:
    """Who asks for everything gets there, and pays for what nobody needed."""
    found = numbers("ask-everything", tmp_path / "run", "it-helpdesk-de")["overall"]["numbers"]
    assert found["random_return"]["value"] < found["return"]["low"] and found["return"]["high"] < 2.0
    assert found["regret"]["value"] > 0.0
