"""P09: what comes to play, by brute force over small packs; and what is said of what doesn't."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.action import action_space
from engine.case import Case, make_case
from engine.contract import load_contract
from engine.dynamics.graph import explore
from engine.episode import Episode, replay
from engine.load import check_draft
from engine.pack import Pack, Person
from engine.proof.live import Played, played
from engine.proof.prove import prove
from engine.proof.result import Check
from engine.solve import Budget
from tests.proof.brute import cases, episodes
from tests.proof.small_packs import COSTLY, documents, loaded

CONTRACT = load_contract()


def pack_of(tmp_path: Path, text: str) -> Pack:
    path = tmp_path / "pack.yaml"
    path.write_text("pack: small\nversion: 1.0.0\n" + text, encoding="utf-8")
    pack, findings = check_draft(path, CONTRACT)
    assert pack is not None, findings
    return pack


def p09(pack: Pack, budget: int = 100_000) -> list[Check]:
    proof = prove(pack, CONTRACT.observation_space, budget=budget)
    return [check for check in proof.checks if check.code == "P09"]


def said(pack: Pack, check: Check) -> Episode:
    """The episode that is shown."""
    assert check.counterexample is not None
    case = make_case(pack, check.counterexample.ticket, check.counterexample.seed)
    return replay(case, check.counterexample.actions)


def brute_played(case: Case) -> tuple[set[int], set[tuple[int, int]]]:
    """The rules that fire, by identity, and the turns that are played, in any episode: (slot, number)."""
    machine = case.automaton
    rules = {id(rule.then): id(rule) for action in case.pack.actions.values() for rule in action.rules}
    fired, heard = set[int](), set[tuple[int, int]]()
    for episode in episodes(Episode.start(case)):
        if not episode.done:
            for choice in action_space(case.pack).choices:
                move = machine.apply(episode.state, choice)
                fired |= {rules[id(move.then)]} if id(move.then) in rules else set()
                if move.then.learn and move.asked is not None:
                    heard.add((move.asked, episode.state.slots[move.asked].turn))
    return fired, heard


def behaves(person: Person | None, field: str) -> TypeGuard[Person]:
    return person is not None and (person.fields is None or field in person.fields)


@pytest.mark.parametrize("steps", [1, 2, 3])
@COSTLY
@given(data=st.data())
def test_what_comes_to_play_is_what_brute_force_finds(steps: int, data: st.DataObject) -> None:
    pack = loaded(data.draw(documents(steps)))
    if pack is None:
        return
    fired, heard, people = set[int](), set[tuple[str, str, int]](), set[tuple[str, str, int]]()
    for ticket in pack.tickets.values():
        for case in cases(pack, ticket):
            machine = case.automaton
            rules, turns = brute_played(case)
            graph = explore(machine, Budget(100_000))
            kinds = {(graph.symmetry.kind(slot), number) for slot, number in turns}
            assert played(graph) == Played(frozenset(rules), frozenset(kinds))
            fired |= rules
            for slot, number in turns:
                field, person = machine.fields[slot], case.person
                refuses, stalls = (person.refuses, person.stalls) if behaves(person, field) else (0, 0)
                heard.add((ticket.id, field, number - refuses - stalls))
                if person is not None and number < refuses + stalls:
                    part = ("refusal", number + 1) if number < refuses else ("stall", number + 1 - refuses)
                    people.add((person.name, *part))
    checks = p09(pack)
    for rule in (rule for action in pack.actions.values() for rule in action.rules):
        if rule.place.file.endswith("pack.yaml"):
            assert any(check.place == rule.place for check in checks) == (id(rule) not in fired)
    for ticket in pack.tickets.values():
        for name, script in ticket.answers.items():
            for number in range(len(script)):
                text = f"ticket '{ticket.id}': turn {number + 1} under '{name}' is never played"
                assert any(text in check.message for check in checks) == ((ticket.id, name, number) not in heard)
    for one in pack.people.values():
        tickets = [ticket for ticket in pack.tickets.values() if one.name in ticket.people]
        answered = {field for ticket in tickets for field in ticket.answers}
        # Of those that there is an answer to be kept back from, the first turn that is never heard is named.
        own = [("refusal", n) for n in range(1, one.refuses + 1)] + [("stall", n) for n in range(1, one.stalls + 1)]
        dead = [f"{part} {n} of the person" for part, n in own if (one.name, part, n) not in people]
        told = [check.message for check in checks if f"of the person '{one.name}' is never played" in check.message]
        there = dead[:1] if any(behaves(one, field) for field in answered) else []
        assert [text.split(" '")[0] for text in told] == there
        # A field of theirs that none of their tickets has an answer for is named.
        text = f"no ticket of the person '{one.name}' has an answer for"
        missing = [name for name in one.fields or () if tickets and name not in answered]
        assert [check.message for check in checks if text in check.message] == [
            f"{text} '{name}', one of their fields" for name in missing
        ]


def test_a_turn_needs_one_variant_that_plays_it(tmp_path: Path) -> None:
    text = """\
max_steps: 3
fields: {order: {}}
people: {slow: {stalls: 2, says: [Hm.]}, quick: {}}
tickets:
  - {id: q-1, task: easy-info-collection, messages: [Oh.], required: [order], person: PERSON,
     answers: {order: [{say: One moment.}, A1]}}
"""
    # Two stalls of the person's and the first turn are three asks: the second turn needs the quick one.
    assert [check.status for check in p09(pack_of(tmp_path, text.replace("PERSON", "[slow, quick]")))] == ["holds"]
    turn, person = p09(pack := pack_of(tmp_path, text.replace("PERSON", "slow")))
    assert "person 'quick'" in person.message
    assert "turn 2 under 'order'" in turn.message and "4 asks" in turn.message
    assert turn.place is not None and turn.place.line == 7
    # Below two lines that each pack has; 'quick' is the 42nd character of its line, 'slow' the 10th.
    assert person.place is not None and person.place[1:] == (5, 42)
    assert [step.text for step in said(pack, turn).steps] == ["Hm.", "Hm.", "One moment."]


def test_a_turn_behind_a_rule_that_lets_nobody_answer(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
fields: {order: {}, colour: {}}
rules:
  ask_info:
    - {outcome: rude, when: {parameters: {field: colour}}, then: {waste: true, say: One doesn't ask that.}}
tickets:
  - {id: q-1, task: easy-info-collection, messages: [Oh.], required: [order],
     answers: {order: A1, colour: red}}
""",
    )
    (check,) = p09(pack)
    assert "turn 1 under 'colour' is never played: no ask gets that far" in check.message
    assert said(pack, check).outcome == "ask_info.rude"


def test_of_two_rules_with_one_outcome_the_right_one_is_shown(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
fields: {order: {}}
facts: {paid: {values: [false, true]}}
actions: {pay: {description: Pay, parameters: {how: {enum: [cash, card]}}}}
rules:
  pay:
    - {outcome: paid, when: {parameters: {how: [cash, card]}}, then: {set: {paid: true}, say: Thanks.}}
    - {outcome: paid, when: {parameters: {how: card}}, then: {set: {paid: true}, say: Thanks.}}
tickets:
  - {id: q-1, task: easy-info-collection, messages: [Oh.], required: [order], answers: {order: A1}}
""",
    )
    (check,) = p09(pack)
    # The dead rule is about cards: with cash, it wouldn't have answered.
    assert said(pack, check).actions == ({"type": "pay", "how": "card"},)
    shown = check.counterexample
    assert shown is not None and shown.rule is not None and shown.rule.place.line == 8 and shown.paid == 1
    assert check.place is not None and check.place.line == 9


def test_default_rules_need_not_come_to_play(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tickets: [{id: q-1, task: easy-info-collection, messages: [Thanks!]}]
""",
    )
    # Nothing can be asked here, so that no default rule of the asking action ever fires.
    assert [check.status for check in p09(pack)] == ["holds"]


def test_what_was_not_looked_at_may_come_to_play(tmp_path: Path) -> None:
    text = """\
fields: {order: {}}
facts: {told: {values: [false, true]}}
actions: {tell: {description: Tell}}
rules: {tell: [{outcome: told, then: {set: {told: true}, say: I see.}}]}
tickets:
  - {id: q-1, task: easy-info-collection, messages: [Oh.], required: [order], answers: {order: [{say: Hm.}, A1]}}
"""
    assert [check.status for check in p09(pack_of(tmp_path, text))] == ["holds"]
    (check,) = p09(pack_of(tmp_path, text), budget=2)
    assert check.status == "not proved" and "1 rules and 2 turns" in check.message and "'q-1'" in check.message


def test_the_fields_that_a_ticket_may_have_to_do_with(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
fields: {needed: {}, free: {}, filed: {}, stated: {}, told: {}, given: {}, idle: {}}
categories: {late: {description: Late, requires: [idle]}}
tickets:
  - id: q-1
    task: easy-info-collection
    messages: [{text: Oh., known: [stated]}]
    required: [needed]
    optional: [free]
    known: {filed: F1}
    answers: {needed: {say: A1 B2., value: A1, gives: {given: B2}}, free: {say: No., waive: true}, told: C3, stated: D4}
""",
    )
    (check,) = p09(pack)
    # A category that no ticket has needs it, which is not enough.
    assert check.status == "fails" and "field 'idle'" in check.message
