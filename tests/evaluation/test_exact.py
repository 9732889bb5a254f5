"""What is proved of single cases, against the automata of these cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.case import make_case
from engine.contract import load_contract
from engine.dynamics.grades import expected_grades
from engine.dynamics.graph import explore
from engine.dynamics.optimal import optimal
from engine.dynamics.values import values
from engine.evaluation.exact import Exact, Proved
from engine.load import load_pack
from engine.pack import REWARD_UNIT, Pack
from engine.proof.certificate import certificate
from engine.proof.prove import BUDGET, prove
from engine.solve import Budget

SPACE = load_contract().observation_space
TASKS = ("easy-info-collection", "medium-complete-info", "hard-efficient-resolution")
# Two openings and three kinds of people: six variants of the first three tickets, one of the last.
KINDS = (
    """
pack: kinds
version: 1.0.0
description: Cases of one ticket that aren't worth the same to chance.
max_steps: 7
fields:
  a: {description: A field}
  b: {description: Another}
people:
  plain: {description: Answers at once}
  slow: {description: Stalls, stalls: 1}
  shy: {description: Refuses one thing, refuses: 1, fields: [b]}
tickets:
"""
    + "".join(
        f"""
  - id: k-{number}
    task: {task}
    messages: [Hello., {{template: "A is {{{{ a }}}}.", known: [a]}}]
    required: [a, b]
    answers: {{a: x, b: y}}
    person: [plain, slow, shy]
"""
        for number, task in enumerate(TASKS)
    )
    + f"""
  - {{id: plain, task: {TASKS[0]}, messages: [Hello.], required: [b], answers: {{b: y}}}}
"""
)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    path: Path = tmp_path_factory.mktemp("packs") / "kinds.yaml"
    path.write_text(KINDS, "utf-8")
    return load_pack(path)


def proved(pack: Pack, budget: int = BUDGET) -> Proved:
    return Proved(pack, certificate([(pack, prove(pack, SPACE, budget=budget))], "1.0.0"))


def test_each_case_has_the_numbers_of_its_own_automaton(kinds: Pack) -> None:
    """Worked out anew from the automaton that the case is compiled to, whose variant nobody names."""
    known = proved(kinds)
    for number, ticket in enumerate(("k-0", "k-1", "k-2")):
        met = set()
        for seed in range(40):
            found = known.of(ticket, seed)
            graph = explore(make_case(kinds, ticket, seed).automaton, Budget(100_000))
            worth = values(graph)
            grades = expected_grades(graph, optimal(worth).steps)
            score = (grades.easy, grades.medium, grades.hard)[number]
            assert found == Exact(Fraction(worth.optimum, REWARD_UNIT), worth.expected, score)
            met.add(found.random_return)
        assert len(met) == 5  # all came up; where `a` is stated, a stall and a refusal before `b` come to the same
    assert known.of("plain", 0) is known.of("plain", 1)


def test_a_known_case_is_one_object(kinds: Pack) -> None:
    """So what follows from it is worked out once."""
    known = proved(kinds)
    assert len({id(known.of("k-0", seed)) for seed in range(200)}) == 6


def test_what_is_not_proved(kinds: Pack) -> None:
    """With so few moves to look at, a ticket is proved where nobody stalls, and not where everybody does."""
    known = proved(kinds, budget=15)
    people = set()
    for seed in range(40):
        person = make_case(kinds, "k-0", seed).person
        assert person is not None
        people.add(person.name)
        if person.name != "shy":
            assert (known.of("k-0", seed) is None) == (person.name == "slow")
    assert people == {"plain", "slow", "shy"}


def test_a_grader_that_the_proof_does_not_know(kinds: Pack) -> None:
    def grade_easy(record: Any) -> float:
        return 1.0

    tasks = {name: replace(task, grader=grade_easy) for name, task in kinds.tasks.items()}
    found = Proved(replace(kinds, tasks=tasks), certificate([(kinds, prove(kinds, SPACE))], "1.0.0")).of("plain", 0)
    assert found is not None and found.random_score is None


def test_a_certificate_of_another_pack(kinds: Pack, desk: Pack) -> None:
    with pytest.raises(ValueError, match="isn't about desk"):
        Proved(desk, certificate([(kinds, prove(kinds, SPACE))], "1.0.0"))


def test_normalised() -> None:
    """Between -0.5, what chance may expect, and 2 there are 2.5 to earn."""
    known = Exact(Fraction(2), Fraction(-1, 2), None)
    assert known.normalised(Fraction(2)) == 1
    assert known.normalised(Fraction(-1, 2)) == 0
    assert known.normalised(Fraction(3, 4)) == Fraction(1, 2)
    assert known.normalised(Fraction(-1)) == Fraction(-1, 5)  # worse than chance
    assert Exact(Fraction(0), Fraction(0), None).normalised(Fraction(0)) is None
