"""Pack mutation testing: who notices which mutants, and that what is told of the others is so."""

from __future__ import annotations

import json
import os
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.case import make_case
from engine.episode import Episode
from engine.load import rebuild
from engine.nodes import Map
from engine.pack import Pack
from engine.pack_tests import run_tests
from engine.proof.apart import Difference
from engine.proof.mutant import KINDS, Mutant, changed
from engine.proof.mutants import mutants, some
from engine.proof.mutate import KILLED, Judged, mutate
from engine.proof.prove import prove
from tests.proof.changes import CONTRACT, PATHS, TINY, read, seen, shipped, written

# All mutants in a soak; otherwise some.
WHOLE = bool(os.environ.get("SOAK"))

# Every mutant of TINY: its line, what it does, and its fate with the reason for it.
ALL_OF_TINY = {
    # With nothing required, the first ask is wasted: `ask_info.unneeded` where the test expects `stalled`.
    (8, "lets the category 'lamp' do without 'name'"): "tested",
    # The customer never tells the colour.
    (8, "requires 'color' in the category 'lamp'"): "refused",
    # The call is `call.again`.
    (10, "begins with 'called' true"): "tested",
    # The test names an outcome that no rule has then.
    (15, "drops the rule call.made"): "refused",
    # The test calls once only. But then the rule call.again can never fire: P09.
    (15, "lets the rule call.made fire whatever 'called' is"): "proved",
    # The whole returns 1.9.
    (15, "lets the rule call.made waste the step"): "tested",
    # Without the call, the goal is unmet: `resolve.unmet`.
    (15, "lets the rule call.made leave 'called' alone"): "tested",
    # Nobody calls twice. A second call is `call.no_effect` then.
    (16, "drops the rule call.again"): "survived",
    (16, "lets the rule call.again not waste the step"): "survived",
    # They pay the same.
    (1, "pays 0.5 for the fields and 0.5 for the classification"): "equivalent",
    # No step of the test looks at what is required, and nobody has to read under easy: no P07.
    (1, "shows the requirements of 'easy-info-collection' after classifying"): "survived",
    # A classification without a category is `classify.shown` then.
    (1, "lets the agent classify in 'easy-info-collection'"): "tested",
    # The test looks at no score.
    (19, "gives ticket 'k-1' the task 'medium-complete-info'"): "survived",
    # At the end it has been called, so that is `resolve.unmet`.
    (27, "closes ticket 'k-1' only with 'called' false"): "tested",
    # What isn't needed is done all the same, and costs nothing.
    (27, "closes ticket 'k-1' whatever 'called' is"): "survived",
    # As with the category. (An optional field may be asked for, but earns nothing: 0 for the 0.5 that is expected.)
    (18, "lets ticket 'k-1' do without 'name'"): "tested",
    (18, "makes 'name' optional in ticket 'k-1'"): "tested",
    (18, "requires 'color' in ticket 'k-1'"): "refused",
    # The test doesn't ask for the colour.
    (18, "makes 'color' optional in ticket 'k-1'"): "survived",
    # To ask for it is wasted then: `ask_info.known`.
    (18, "lets ticket 'k-1' know 'name' from the start"): "tested",
    # The first ask is answered.
    (24, "drops answer 1 for 'name' in ticket 'k-1'"): "tested",
    (24, "swaps answers 1 and 2 for 'name' in ticket 'k-1'"): "tested",
    # Nothing right is ever said.
    (25, "drops answer 2 for 'name' in ticket 'k-1'"): "refused",
    (25, "gives a wrong value in answer 2 for 'name' in ticket 'k-1'"): "refused",
    # Then no ticket has anything to do with the field: P09.
    (26, "drops the answer for 'color' in ticket 'k-1'"): "proved",
    # Needless asks are needless whatever is answered, and the words stay.
    (26, "no longer refuses in the answer for 'color' in ticket 'k-1'"): "equivalent",
}


def built(document: Map, mutant: Mutant) -> Pack:
    """A mutant as a pack, whether or not a test of it passes."""
    return rebuild(json.dumps(changed(document, mutant.at, mutant.value)), CONTRACT)


# -- Which there are, and who notices them


def test_every_mutant_of_a_tiny_pack_and_its_fate(tmp_path: Path) -> None:
    pack, document = written(tmp_path, TINY)
    found = mutate(pack, document, CONTRACT, mutants(pack, document))
    fates = {(one.mutant.place.line, one.mutant.what): one.fate for one in found.judged}
    assert fates == ALL_OF_TINY and len(found.judged) == len(ALL_OF_TINY)
    # 26, of which 2 can't be told apart; 6 survive.
    assert (len(found.of("survived")), len(found.of("equivalent")), found.score) == (6, 2, Fraction(18, 24))
    assert {one.by.partition(":")[0] for one in found.of("proved")} == {"P09"}


def test_a_test_that_is_asked_for_notices(tmp_path: Path) -> None:
    """What is told of each survivor, made a test, passes in the pack; and then the mutant doesn't survive."""
    pack, document = written(tmp_path, TINY)
    for one in mutate(pack, document, CONTRACT, mutants(pack, document)).of("survived"):
        pack, document = written(tmp_path, TINY + as_test(one))
        assert list(run_tests(pack)) == []
        assert mutate(pack, document, CONTRACT, [one.mutant]).of(*KILLED), one.mutant.what


def as_test(survivor: Judged) -> str:
    told = survivor.test
    assert told is not None and told.actions, survivor.mutant.what
    steps: list[dict[str, Any]] = [{"do": choice.canonical()} for choice in told.actions]
    test: dict[str, Any] = {"name": "asked for", "ticket": told.ticket, "seed": told.seed, "steps": steps}
    if told.what == "score":
        test["final"] = {told.what: told.first}
    else:
        steps[-1]["expect"] = {told.what: told.first}
    return f"  - {json.dumps(test, ensure_ascii=False)}\n"


# One step: to resolve, which earns all there is, or to do something else. Nothing is missing, so easy and medium grade
# alike: 1 if resolved, else 0.
ONE_STEP = """\
pack: one-step
version: 1.0.0
description: Nothing to ask.
max_steps: 1
tickets: [{id: o-1, task: easy-info-collection, messages: [Hello.], required: []}]
"""


def test_what_only_the_task_tells_apart_survives(tmp_path: Path) -> None:
    pack, document = written(tmp_path, ONE_STEP)
    found = mutate(pack, document, CONTRACT, [one for one in mutants(pack, document) if one.kind == "task"])
    told = [(one.mutant.what, one.fate, one.test) for one in found.judged]
    assert told == [("gives ticket 'o-1' the task 'medium-complete-info'", "survived", None)]
    assert found.judged[0].by == "only the ticket's task tells it from the pack"


# -- What is told of those that nobody noticed


def untested(name: str) -> tuple[Pack, Map]:
    """A shipped pack without its tests: most mutants go unnoticed."""
    _, document = read(PATHS[name])
    document.drop({"tests"})
    return rebuild(json.dumps(document), CONTRACT), document


@pytest.mark.soak
@pytest.mark.parametrize("name", PATHS)
def test_episodes_that_tell_survivors_apart_do(name: str) -> None:
    pack, document = untested(name)
    of_all = [*mutants(pack, document)]
    of_kinds = [[one for one in of_all if one.kind == kind] for kind in KINDS]
    tried = [one for of_kind in of_kinds for one in some(pack, of_kind, 8 if WHOLE else 1)]
    survivors = [one for one in mutate(pack, document, CONTRACT, tried).of("survived") if one.test is not None]
    assert len(survivors) > len(tried) / 4
    for one in survivors:
        told = one.test
        assert told is not None
        answers = [seen(played(each, told)) for each in (pack, built(document, one.mutant))]
        assert (answers[0][told.what], answers[1][told.what]) == (told.first, told.second), one.mutant.what


def played(pack: Pack, told: Difference) -> Episode:
    episode = Episode.start(make_case(pack, told.ticket, told.seed))
    for choice in told.actions:
        episode = episode.step(choice.canonical())
    return episode


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "kind", "what"),
    [
        # What is looked up was verified before, and only what was looked up is decided.
        ("bank_disputes", "condition", "whatever 'verified' is"),
        # Some customers refuse what isn't needed.
        ("customer_support", "reply", "no longer refuses"),
    ],
)
def test_chance_tells_no_equivalent_mutant_apart(name: str, kind: str, what: str) -> None:
    pack, document = shipped(name)
    tried = [one for one in mutants(pack, document) if one.kind == kind and what in one.what]
    equivalent = mutate(pack, document, CONTRACT, tried if WHOLE else some(pack, tried, 12)).of("equivalent")
    assert equivalent
    rng = random.Random(7)
    for one in equivalent:
        other = built(document, one.mutant)
        for _ in range(1_000 if WHOLE else 40):
            ticket, seed = one.mutant.ticket or rng.choice([*pack.tickets]), rng.randrange(1_000)
            episodes = [Episode.start(make_case(each, ticket, seed)) for each in (pack, other)]
            while not episodes[0].done:
                choice = rng.choice(episodes[0].case.automaton.actions.choices).canonical()
                episodes = [episode.step(choice) for episode in episodes]
                assert seen(episodes[0]) == seen(episodes[1]), one.mutant.what


@pytest.mark.soak
@pytest.mark.parametrize("name", PATHS)
def test_what_the_proof_notices_is_what_it_says_of_the_mutant_itself(name: str) -> None:
    """Of a ticket's mutant only the ticket is proved anew; a proof of the whole mutant fails in the same cases."""
    pack, document = untested(name)
    assert not prove(pack, CONTRACT.observation_space).failed("warning")
    of_tickets = [one for one in mutants(pack, document) if one.ticket is not None]
    hiding = [one for one in of_tickets if "which message" in one.what]
    judged = mutate(pack, document, CONTRACT, (*hiding, *some(pack, of_tickets, 40 if WHOLE else 6))).judged
    # A message that states what has to be asked for all the same: P11.
    assert hiding and all(one.fate == "proved" and one.by.startswith("P11: ") for one in judged[: len(hiding)])
    for one in judged[0 if WHOLE else len(hiding) - 1 :]:
        if one.fate in ("proved", "survived"):
            proof = prove(built(document, one.mutant), CONTRACT.observation_space)
            failed = {check.code for check in (*proof.failed("error"), *proof.failed("warning"))}
            assert bool(failed) == (one.fate == "proved"), one.mutant.what
            assert one.fate == "survived" or one.by.partition(":")[0] in failed


# -- The shipped packs


@pytest.mark.soak
@pytest.mark.parametrize("name", PATHS)
def test_the_shipped_packs_notice(name: str) -> None:
    """All mutants in a soak; otherwise so many that 0.95 of them mean something."""
    pack, document = shipped(name)
    of_all = [*mutants(pack, document)]
    found = mutate(pack, document, CONTRACT, of_all if WHOLE else some(pack, of_all, 120))
    assert found.score >= 0.95, [one.mutant.what for one in found.of("survived")]
    # What is left out is little: nobody hides behind it.
    assert len(found.of("equivalent")) <= 0.05 * len(found.judged)
