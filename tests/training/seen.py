"""What an encoded observation has to be, worked out of the engine's own observation; and a small pack for hand-work."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

from engine.episode import Episode
from engine.pack import Pack
from tests.proof.small_packs import loaded

# One field, one category, three steps: a wasted one costs 1.0 / 3, in ten-thousandths and towards zero 3333.
LAMP: dict[str, Any] = {
    "pack": "lamp",
    "version": "1",
    "max_steps": 3,
    "fields": {"model": {}},
    "categories": {"dark": {"requires": ["model"]}},
    "tickets": [
        {
            "id": "lamp",
            "task": "easy-info-collection",
            "category": "dark",
            "split": "train",
            "messages": ["Help!", "It's dark."],
            "answers": {"model": "L-7"},
        }
    ],
}


# Another lamp, whose owner first names a model that it isn't.
OTHER_LAMP = {
    **LAMP["tickets"][0],
    "id": "other",
    "messages": ["Help me!"],
    "answers": {"model": [{"say": "L-6?", "value": "L-6", "wrong": True}, {"say": "No, L-7.", "value": "L-7"}]},
}


def two_lamps(**more: Any) -> Pack:
    """Both, and what else the other's ticket says."""
    pack = loaded({**LAMP, "tickets": [*LAMP["tickets"], {**OTHER_LAMP, **more}]})
    assert pack is not None
    return pack


def two_alike() -> Pack:
    """One is trained on, the other tested, and both open with the same words."""
    return two_lamps(split="test", messages=["HELP"])


def lamp() -> Pack:
    pack = loaded(LAMP)
    assert pack is not None
    return pack


def columns_of(episode: Episode) -> list[int]:
    """The columns as `engine.training.columns` documents them."""
    pack, seen = episode.case.pack, episode.observation
    found: list[int] = []
    for field in pack.fields:
        found += [field in seen[what] for what in ("known_info", "required", "missing_required")]
    for before, now in zip(episode.case.automaton.initial.facts, episode.state.facts, strict=True):
        found.append(before != now)
    found.append(list(pack.tasks).index(episode.case.ticket.task))
    found.append(floor(Fraction(seen["info_progress"]).limit_denominator(1_000) * 100 + Fraction(1, 2)))
    found.append(episode.case.ticket.category is not None and episode.state.classified != "none")
    found.append(min(seen["remaining_steps"], 255))
    return [int(number) for number in found]
