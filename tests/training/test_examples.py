"""What stands in examples/ learns what its page says."""

from __future__ import annotations

import numpy as np
import pytest

from docs import learning
from engine.contract import load_contract
from engine.load import load_pack, pack_path
from engine.proof.prove import prove
from engine.proof.result import PackProof
from engine.training.tabulate import tables_of
from engine.training.vector_env import SupportVectorEnv
from examples import policy_gradient, q_learning, reads_messages


@pytest.fixture(scope="module")
def proof() -> PackProof:
    """The default pack's."""
    return prove(load_pack(pack_path("customer-support")), load_contract().observation_space)


def test_q_learning_comes_near_the_best_return() -> None:
    """The best return of every sound ticket is 2.0; the picture in the README is of this run."""
    learned = q_learning.learn(q_learning.tables())
    assert learned.curve[-1][1] >= 1.95
    assert learned.best == pytest.approx(2.0)
    assert learning.PICTURE.read_text("utf-8") == learning.draw(learned), "run: python -m docs.learning"


def test_chance_is_worth_what_the_proof_says(proof: PackProof) -> None:
    """Each of the learner's cases is one of a variant of a ticket, whose expectation is proved as a fraction."""
    tables = q_learning.tables()
    of_ticket = {ticket.ticket: [variant.numbers for variant in ticket.variants] for ticket in proof.tickets}
    single = {name: float(found[0].random_return) for name, found in of_ticket.items() if len(found) == 1 and found[0]}
    compared = 0
    for number, ticket in enumerate(tables.tickets):
        if ticket.id in single:
            cases = np.flatnonzero(tables.ticket == number)
            assert q_learning.exact(reads_messages.only(tables, cases), np.mean) == pytest.approx(single[ticket.id])
            compared += 1
    assert compared > 5


def test_a_policy_that_does_not_read_learns_all_but_the_hard_task(proof: PackProof) -> None:
    """It returns 2.0 where the requirements show. On the hard task 1.5 is what it has who asks for the category, and
    the proof's bound is the most."""
    tables = tables_of(load_pack(pack_path("customer-support")))
    weights = policy_gradient.train(SupportVectorEnv(policy_gradient.EPISODES, tables=tables))
    easy, medium, hard = (
        policy_gradient.played(tables, weights, task=task).rewards.sum(axis=0).mean() for task in tables.tasks
    )
    assert easy >= 1.95
    assert medium >= 1.95
    bound = float(proof.blind[reads_messages.HARD])
    assert 1.4 <= hard <= bound


def test_who_reads_returns_more_than_the_blind_bound_on_wordings_never_seen(
    proof: PackProof,
) -> None:
    pack = load_pack(pack_path("customer-support"))
    kept, held = reads_messages.split(tables_of(pack))
    assert not set(kept.message.tolist()) & set(held.message.tolist())
    assert {kept.tasks[kept.tickets[ticket].task] for ticket in held.ticket} == {reads_messages.HARD}
    weights, opening = reads_messages.learn(pack, kept)
    mean = policy_gradient.played(held, weights, opening.take).rewards.sum(axis=0).mean()
    assert mean > proof.blind[reads_messages.HARD]
