"""Episodes that an agent plays in this process, and a pack that is made for one that goes by keywords."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.case import make_case
from engine.episode import Episode
from engine.evaluation.agents import Agent
from engine.evaluation.spent import AgentStopped, Beginning
from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from engine.tools import tools

PACKS = Path(__file__).resolve().parent.parent / "packs"

# What stands in the messages decides what keywords find; people stall, refuse and are mistaken.
LAMPS = """
pack: lamps
version: 1.0.0
description: A lamp shop's desk.
instructions: |
  You sell lamps. Work like this.

  1. Classify.
     - late: parcels on their way. Needed: order, email.
     - broken: glass in
       splinters. Needed: order, photo.
  2. Ask for what is missing.
  3. look_up, once nothing is missing.
  4. Decide: refund (splinters, nothing else), or replace (parcel lost).
  5. resolve
fields:
  order: {description: Order number}
  email: {description: Address}
  photo: {description: A picture}
categories:
  late: {description: Something hasn't arrived, requires: [order, email]}
  broken: {description: Something came in pieces, requires: [order, photo]}
facts:
  looked: {values: [false, true]}
  decision: {values: [open, refunded, replaced]}
actions:
  refund: {description: Pay back}
  look_up: {description: Look at what is on record}
  replace: {description: Send another, parameters: {how: {description: By what, type: string, enum: [mail, courier]}}}
rules:
  look_up:
    - {outcome: seen, when: {missing: 0, wrong: 0}, then: {set: {looked: true}, say: The glass is in splinters.}}
    - {outcome: mismatch, when: {missing: 0}, then: {point_out: true, say: Something doesn't match.}}
    - {outcome: early, then: {waste: true, say: Not yet.}}
  refund:
    - {outcome: paid, when: {facts: {looked: true}}, then: {set: {decision: refunded}, say: Paid.}}
    - {outcome: blind, then: {waste: true, say: Look first.}}
  replace:
    - {outcome: sent, when: {facts: {looked: true}}, then: {set: {decision: replaced}, say: Sent.}}
    - {outcome: blind, then: {waste: true, say: Look first.}}
tickets:
  - id: splinters
    task: hard-efficient-resolution
    category: broken
    messages: [My lamp lies in SPLINTERS.]
    answers:
      order: [{say: Let me look.}, {say: "It's 8.", value: '8', wrong: true}, {say: "No, 9.", value: '9'}]
      photo: [{say: Why?, refuse: true}, {say: Here it is., value: p.png}]
    goal: {decision: refunded}
  - id: misleading
    task: hard-efficient-resolution
    category: broken
    messages: [The parcels arrived.]
    answers: {order: '7', photo: q.png, email: {say: None., waive: true}}
    goal: {decision: refunded}
  - id: visible
    task: easy-info-collection
    category: late
    messages: [Splinters everywhere!]
    answers: {order: '5', email: a@example.org}
    goal: {decision: refunded}
"""


def lamps(folder: Path) -> Pack:
    path = folder / "lamps.yaml"
    path.write_text(LAMPS, "utf-8")
    return load_pack(path)


def shipped() -> list[Pack]:
    return [load_pack(path) for path in shipped_packs()]


def played(agent: Agent, pack: Pack, ticket: str, seed: int = 0, name: str = "") -> Episode:
    """The episode that an agent plays to its end, or until it stops."""
    given = tools(pack)
    episode = Episode.start(make_case(pack, ticket, seed))
    if isinstance(agent, Beginning):
        agent.begin(episode, name)
    while not episode.done:
        try:
            action = agent(episode.observation, given, instructions=pack.instructions, episode_id=name)
        except AgentStopped:
            break
        episode = episode.step(action)
    return episode


def words(episode: Episode) -> list[str]:
    """What was done, in words: `ask_info order`."""
    return [" ".join(map(str, action.values())) for action in episode.actions]


def anew(value: Any) -> Any:
    """The same as JSON that came from elsewhere."""
    return json.loads(json.dumps(value))


def cases(pack: Pack, seeds: int) -> Iterator[tuple[str, int]]:
    return ((ticket, seed) for seed in range(seeds) for ticket in pack.tickets)
