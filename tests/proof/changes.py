"""Packs whose mutants can be told by hand, and how they are read."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from engine.contract import load_contract
from engine.diagnostics import Report
from engine.episode import Episode
from engine.load import load_pack, read_pack, shipped_packs
from engine.nodes import Map
from engine.pack import Pack

CONTRACT = load_contract()
PATHS = {path.name: path for path in shipped_packs()}

# One ticket, an action of the pack's own with two rules, a goal; one test, which looks at little.
TINY = """\
pack: tiny
version: 1.0.0
description: A shop for lamps.
fields:
  name: {description: The lamp's name}
  color: {description: Its colour}
categories:
  lamp: {description: Lamps, requires: [name]}
facts:
  called: {values: [false, true]}
actions:
  call: {description: Call the customer}
rules:
  call:
    - {outcome: made, when: {facts: {called: false}}, then: {set: {called: true}, say: It rings.}}
    - {outcome: again, then: {waste: true, say: Not again.}}
tickets:
  - id: k-1
    task: easy-info-collection
    category: lamp
    messages: [It is dark.]
    answers:
      name:
        - say: Let me look.
        - {say: It's the Lumo., value: Lumo}
      color: {say: Is that your business?, refuse: true}
    goal: {called: true}
tests:
  - name: once through
    ticket: k-1
    steps:
      - {do: {type: classify}, expect: {outcome: classify.right}}
      - {do: {type: ask_info, field: name}, expect: {outcome: ask_info.stalled}}
      - {do: {type: ask_info, field: name}, expect: {outcome: ask_info.answered, reward: 0.5}}
      - {do: {type: call}, expect: {outcome: call.made}}
      - {do: {type: resolve}, expect: {outcome: resolve.done}}
    final: {return: 2.0}
"""


def read(path: Path) -> tuple[Pack, Map]:
    document, _ = read_pack(path, Report())
    assert document is not None
    return load_pack(path, CONTRACT), document


def written(folder: Path, text: str) -> tuple[Pack, Map]:
    path = folder / "pack.yaml"
    path.write_text(text, "utf-8")
    return read(path)


@cache
def shipped(name: str) -> tuple[Pack, Map]:
    return read(PATHS[name])


def seen(episode: Episode) -> dict[str, Any]:
    """What a test may expect, and the whole history, but for noise."""
    bare = iter([step.bare for step in episode.steps])
    answered = [
        {**item, "text": next(bare)} if item["step"] and item["role"] != "agent" else item for item in episode.history
    ]
    return {
        **episode.observation,
        "history": answered,
        "outcome": episode.outcome,
        "reward": episode.reward,
        "says": answered[-1].get("text"),
        "terminated": episode.terminated,
        "score": episode.score(),
    }
