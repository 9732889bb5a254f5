"""A policy gradient with action masks, on all tickets of the default pack: `python -m examples.policy_gradient`.

The policy is linear in the columns of an observation and in what it did before. It doesn't read, so on the hard task
the proof's blind bound is the most that it can come to: `examples.reads_messages` goes past it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.load import load_pack, pack_path
from engine.training.tables import Tables
from engine.training.tabulate import tables_of
from engine.training.vector_env import SupportVectorEnv

# How many episodes an update is made of, how many updates there are, and how far each goes.
EPISODES, UPDATES, RATE = 256, 120, 0.1
# What it is worth to keep trying several actions, at the start; it declines to nothing.
ENTROPY = 0.05

Array = np.ndarray[Any, np.dtype[Any]]
# Actions, (N,), of what is seen and of the masks; and those of the first step, of the messages' numbers.
Act = Callable[[Array, Array], Array]
Opening = Callable[[Array], Array]


@dataclass(frozen=True)
class Batch:
    """Whole episodes, T steps of N: what was seen, (T, N, F), which actions were worth trying, (T, N, A), the actions
    and rewards, (T, N), and whether an episode was still going and its action the policy's, (T, N)."""

    features: Array
    masks: Array
    actions: Array
    rewards: Array
    own: Array


def width(tables: Tables) -> int:
    """F, how many features there are: a constant, the columns, and for each action whether it was taken before."""
    return 1 + len(tables.columns) + len(tables.actions)


def probabilities(weights: Array, seen: Array, masks: Array) -> Array:
    """(..., A), of a softmax over the actions that aren't masked."""
    scores = np.where(masks, seen @ weights, -np.inf)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Array = scores / scores.sum(axis=-1, keepdims=True)
    return found


def play(env: SupportVectorEnv, seed: int, act: Act, opening: Opening | None = None) -> Batch:
    """An episode in each environment; `opening` takes the first action, where it is given."""
    observations, info = env.reset(seed=seed)
    most = np.array([max(column.most, 1) for column in env.tables.columns])
    taken = np.zeros((env.num_envs, len(env.tables.actions)))
    going = np.ones(env.num_envs, bool)
    rows = []
    for step in range(env.tables.max_steps):
        seen = np.hstack((np.ones((env.num_envs, 1)), observations / most, taken))
        masks = info["action_mask"].astype(bool)
        own = opening is None or step > 0
        actions = act(seen, masks) if opening is None or step > 0 else opening(info["message_index"])
        observations, rewards, terminated, truncated, info = env.step(actions)
        rows.append((seen, masks, actions, rewards * going, going & own))
        taken[np.arange(env.num_envs), actions] = 1.0
        going = going & ~(terminated | truncated)
    return Batch(*map(np.array, zip(*rows, strict=True)))


def train(env: SupportVectorEnv, opening: Opening | None = None, seed: int = 0) -> Array:
    """The weights, (F, A), after REINFORCE (Williams 1992) with a baseline that is linear too, and Adam (Kingma and Ba
    2015)."""
    generator = np.random.default_rng(seed)
    size = width(env.tables), len(env.tables.actions)
    weights, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)

    def act(seen: Array, masks: Array) -> Array:
        chances = probabilities(weights, seen, masks).cumsum(axis=1)
        drawn: Array = (generator.random((len(chances), 1)) * chances[:, -1:] >= chances).sum(axis=1)
        return drawn

    for update in range(1, UPDATES + 1):
        batch = play(env, update * env.num_envs, act, opening)
        found = gradient(weights, batch, ENTROPY * (1 - update / UPDATES))
        mean, square = 0.9 * mean + 0.1 * found, 0.999 * square + 0.001 * found**2
        step = (mean / (1 - 0.9**update)) / (np.sqrt(square / (1 - 0.999**update)) + 1e-8)
        weights = weights + RATE * step
    return weights


def gradient(weights: Array, batch: Batch, entropy: float) -> Array:
    """(F, A): of the expected return, and of the policy's entropy by its share."""
    to_go = batch.rewards[::-1].cumsum(axis=0)[::-1]
    seen, masks, actions, target = (part[batch.own] for part in (batch.features, batch.masks, batch.actions, to_go))
    advantage = target - seen @ np.linalg.lstsq(seen, target, rcond=None)[0]
    chances = probabilities(weights, seen, masks)
    logs = np.log(np.maximum(chances, 1e-12))
    push = -chances * advantage[:, None]
    push[np.arange(len(actions)), actions] += advantage
    push -= entropy * chances * (logs - (chances * logs).sum(axis=1, keepdims=True))
    found: Array = seen.T @ push / len(seen)
    return found


def played(tables: Tables, weights: Array, opening: Opening | None = None, **which: str) -> Batch:
    """Each case of a task, or of a split, by the policy that takes its likeliest action."""
    env = SupportVectorEnv(len(tables.choose(**which)), tables=tables, **which)  # type: ignore[arg-type]
    return play(env, 0, lambda seen, masks: probabilities(weights, seen, masks).argmax(axis=1), opening)


def main() -> None:
    tables = tables_of(load_pack(pack_path("customer-support")))
    weights = train(SupportVectorEnv(EPISODES, tables=tables))
    for task in tables.tasks:
        print(f"{task}: mean return {played(tables, weights, task=task).rewards.sum(axis=0).mean():.3f}")


if __name__ == "__main__":
    main()
