"""Learns to read: a bag-of-words classifier opens, a policy does the rest: `python -m examples.reads_messages`.

Of each hard ticket one wording is held out: both learn from all others alone, and are scored on these. What is made of
a message is worked out once for each message, and looked up from then on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.contract import load_contract
from engine.load import load_pack, pack_path
from engine.pack import Pack
from engine.proof.prove import prove
from engine.training.tables import Tables
from engine.training.tabulate import tables_of
from engine.training.vector_env import SupportVectorEnv
from examples.policy_gradient import EPISODES, played, probabilities, train

HARD = "hard-efficient-resolution"
# Words count by how they begin, so that "deliver" and "delivered" are one; shorter ones than this say little.
LETTERS, SHORTEST = 5, 3
# Of the logistic regression: how many updates, how far each goes, and how much weights shrink.
UPDATES, RATE, SHRINK = 300, 2.0, 0.003

# How many of the policy's lessons begin with the right category; the others begin with a guess.
RIGHT = 0.7

Array = np.ndarray[Any, np.dtype[Any]]


class Reader:
    """Files messages under categories, by their words. `classify` holds the action of each category."""

    def __init__(self, pack: Pack, tables: Tables) -> None:
        named = {action["category"]: number for number, action in enumerate(tables.actions) if "category" in action}
        self.classify = np.array([named[category] for category in pack.categories])
        # What the instructions say of each category is read as well: one more text of it.
        described = [f"{name.replace('_', ' ')} {category.description}" for name, category in pack.categories.items()]
        self._bags = [_bag(text) for text in (*described, *tables.messages)]
        self._categories = len(described)

    def openings(self, messages: Array, right: Array) -> Array:
        """(M,): the classification of every message there is, learned from `messages`, with the number of the right
        category of each."""
        texts = np.concatenate((np.arange(self._categories), messages + self._categories))
        answers = np.concatenate((np.arange(self._categories), right))
        seen = _weighed(self._bags, texts)
        weights = _regression(seen[texts], answers, self._categories)
        found: Array = self.classify[(seen[self._categories :] @ weights).argmax(axis=1)]
        return found


def _bag(text: str) -> set[str]:
    return {word[:LETTERS] for word in re.findall(r"\w+", text.lower()) if len(word) >= SHORTEST}


def _weighed(bags: Sequence[set[str]], learned: Array) -> Array:
    """(texts, words): the words of the texts that are learned from, each weighed by how few of these have it; every
    text has the length 1."""
    words = sorted(set().union(*(bags[number] for number in learned)))
    held = np.array([[word in bag for word in words] for bag in bags], float)
    held *= np.log(len(learned) / held[learned].sum(axis=0)) + 1
    found: Array = held / np.maximum(np.linalg.norm(held, axis=1, keepdims=True), 1e-12)
    return found


def _regression(seen: Array, right: Array, classes: int) -> Array:
    """(words, classes): logistic regression by gradient descent."""
    weights = np.zeros((seen.shape[1], classes))
    wanted, everything = np.eye(classes)[right], np.ones((len(seen), classes), bool)
    for _ in range(UPDATES):
        off = wanted - probabilities(weights, seen, everything)
        weights += RATE * (seen.T @ off / len(seen) - SHRINK * weights)
    return weights


def only(tables: Tables, cases: Array) -> Tables:
    """The same tables with these cases alone."""
    return replace(tables, **{name: getattr(tables, name)[cases] for name in ("start", "message", "ticket", "seed")})


def split(tables: Tables) -> tuple[Tables, Tables]:
    """What is learned from, and what is scored: of each hard ticket the cases with the last of its wordings."""
    hard = tables.choose(HARD)
    last = np.zeros(len(tables.tickets), int)
    np.maximum.at(last, tables.ticket[hard], tables.message[hard])
    held = hard[tables.message[hard] == last[tables.ticket[hard]]]
    kept = np.setdiff1d(np.arange(tables.cases), held)
    return only(tables, kept), only(tables, held)


def learn(pack: Pack, tables: Tables, seed: int = 0) -> tuple[Array, Array]:
    """The policy's weights, and the opening of each message.

    The policy learns with openings that are wrong now and then, as the reader will be, to know what to do about it.
    """
    reader, generator = Reader(pack, tables), np.random.default_rng(seed)
    # Of all classifications only the right one earns.
    right = tables.reward[tables.start][:, reader.classify].argmax(axis=1)
    known = np.zeros(len(tables.messages), int)
    known[tables.message] = reader.classify[right]

    def opening(messages: Array) -> Array:
        guessed = generator.choice(reader.classify, len(messages))
        return np.where(generator.random(len(messages)) < RIGHT, known[messages], guessed)

    weights = train(SupportVectorEnv(EPISODES, tables=tables, task=HARD), opening)
    return weights, reader.openings(tables.message, right)


def main() -> None:
    pack = load_pack(pack_path("customer-support"))
    kept, held = split(tables_of(pack))
    weights, opening = learn(pack, kept)
    rewards = played(held, weights, opening.take).rewards
    blind = float(prove(pack, load_contract().observation_space).blind[HARD])
    print(f"{(rewards[0] > 0).mean():.0%} of the wordings never seen before are filed rightly")
    print(f"mean return {rewards.sum(axis=0).mean():.3f}; without reading {blind:.3f} is the most")


if __name__ == "__main__":
    main()
