"""A pack for calculations by hand, and episodes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode, replay
from engine.load import check_draft
from engine.pack import Pack

# Five steps: a wasted one costs 1.0 / 5 = 0.2. 'hard' takes four of them, 'tell' one that is wasted by the pack's rule.
SMALL = """
pack: small
version: 1.0.0
description: d
max_steps: 5
fields: {order: {description: Order}, email: {description: Address}, device: {description: Device}}
categories:
  delivery: {description: Late, requires: [order, email]}
  repair: {description: Broken, requires: [device]}
facts: {told: {values: [false, true]}}
actions: {tell: {description: Tell}}
rules: {tell: [{outcome: told, then: {set: {told: true}, waste: true, say: Told.}}]}
tickets:
  - {id: hard, task: hard-efficient-resolution, category: delivery, messages: [Hi], answers: {order: A-1, email: a@b.c}}
  - {id: tell, task: easy-info-collection, messages: [Hi], goal: {told: true}}
"""
FLY = {"type": "fly"}
ORDER, EMAIL = ({"type": "ask_info", "field": name} for name in ("order", "email"))
DELIVERY, REPAIR = ({"type": "classify", "category": name} for name in ("delivery", "repair"))
SHOW, RESOLVE, TELL = {"type": "classify"}, {"type": "resolve"}, {"type": "tell"}
Action = Mapping[str, Any]


def draft(path: Path, text: str = SMALL) -> Pack:
    path.write_text(text, encoding="utf-8")
    pack, _ = check_draft(path, load_contract())
    assert pack is not None
    return pack


def played(pack: Pack, ticket: str, *actions: Action) -> Episode:
    return replay(make_case(pack, ticket, 0), actions)
