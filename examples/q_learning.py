"""Tabular Q-learning on the easy and the medium tickets of the default pack: `python -m examples.q_learning`.

The learner tells apart what looks different: two states with the same observation are one row of its table. So it knows
no more than an agent sees, and what it learns holds for every ticket that looks the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.load import load_pack, pack_path
from engine.pack import REWARD_UNIT
from engine.training.tables import Tables
from engine.training.tabulate import tabulate
from engine.training.vector_env import SupportVectorEnv

TASKS = ("easy-info-collection", "medium-complete-info")
# How many episodes run at once, and how many steps each of these takes.
ENVIRONMENTS, STEPS = 64, 3_000
# One action in so many is tried by chance.
EXPLORE = 0.2
# The policy is looked at after so many steps at first, then each time after a half more.
FIRST_LOOK = 4

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Learned:
    """`curve` holds points: episodes played so far, and the mean return of the greedy policy over all cases."""

    curve: tuple[tuple[int, float], ...]
    random: float
    best: float


def tables() -> Tables:
    """Of the tickets of both tasks."""
    pack = load_pack(pack_path("customer-support"))
    return tabulate(pack, [ticket.id for ticket in pack.tickets.values() if ticket.task in TASKS])


def exact(tables: Tables, pick: Any) -> float:
    """The mean return over all cases of a policy that knows the tables, worked out backwards from the last step.

    `pick` makes one number of those of a state's actions: `np.mean` is chance, `np.max` the best there is.
    """
    rewards = tables.reward / REWARD_UNIT
    worth = np.zeros(tables.states)
    for _ in range(tables.max_steps):
        worth = pick(rewards + worth[tables.next_state], axis=1)
    return float(worth[tables.start].mean())


def learn(tables: Tables, seed: int = 0) -> Learned:
    """Q-learning (Watkins 1989), each entry with the step size 1 / visits."""
    generator = np.random.default_rng(seed)
    _, looks = np.unique(tables.observation, axis=0, return_inverse=True)
    values = np.zeros((looks.max() + 1, len(tables.actions)))
    values[looks] = np.where(tables.action_mask, 0.0, -np.inf)  # what is pointless to see is never tried
    visits = np.zeros_like(values)
    env = SupportVectorEnv(ENVIRONMENTS, tables=tables, autoreset_mode="SameStep", masks=False)
    env.reset(seed=seed)
    curve, episodes, look_at = [(0, greedy(tables, looks, values))], 0, FIRST_LOOK
    for step in range(1, STEPS + 1):
        here = looks[env.states]
        # A random number for each action that isn't ruled out: the greatest is the choice of chance.
        by_chance = np.where(np.isinf(values[here]), -1.0, generator.random(values[here].shape)).argmax(axis=1)
        actions = np.where(generator.random(ENVIRONMENTS) < EXPLORE, by_chance, values[here].argmax(axis=1))
        _, rewards, terminated, truncated, _ = env.step(actions)
        over = terminated | truncated
        targets = rewards + np.where(over, 0.0, values[looks[env.states]].max(axis=1))
        for look, action, target in zip(here, actions, targets, strict=True):
            visits[look, action] += 1
            values[look, action] += (target - values[look, action]) / visits[look, action]
        episodes += int(over.sum())
        if step in (look_at, STEPS):
            curve.append((episodes, greedy(tables, looks, values)))
            look_at += look_at // 2
    return Learned(tuple(curve), exact(tables, np.mean), exact(tables, np.max))


def greedy(tables: Tables, looks: Array, values: Array) -> float:
    """The mean return of the policy that always takes the best known action, over all cases."""
    env = SupportVectorEnv(tables.cases, tables=tables, masks=False)
    env.reset(seed=0)  # environment i plays case i
    total, going = np.zeros(tables.cases), np.ones(tables.cases, bool)
    for _ in range(tables.max_steps):
        _, rewards, terminated, truncated, _ = env.step(values[looks[env.states]].argmax(axis=1))
        total += rewards * going
        going &= ~(terminated | truncated)
    return float(total.mean())


def main() -> None:
    learned = learn(tables())
    for episodes, mean in learned.curve:
        print(f"{episodes:7,} episodes: mean return {mean:6.3f}")
    print(f"chance returns {learned.random:.3f}, and {learned.best:.3f} is the best there is")


if __name__ == "__main__":
    main()
