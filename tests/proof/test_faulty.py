"""Eleven faulty packs, one for each check: each fails, and what is shown for it shows the fault when it is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.action import action_space
from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode
from engine.load import check_draft, shipped_packs
from engine.pack import Pack
from engine.proof.prove import prove
from engine.proof.result import KINDS, Check, Counterexample, PackProof
from graders import grade_easy, grade_hard, grade_medium

CONTRACT = load_contract()
SPACE = CONTRACT.observation_space
HERE = Path(__file__).parent / "faulty"


def loaded(name: str) -> Pack:
    """A pack of tests/proof/faulty; whether its tickets can be resolved isn't asked when it is loaded."""
    pack, findings = check_draft(HERE / f"{name}.yaml", CONTRACT)
    assert pack is not None, findings
    return pack


def with_waste(pack: Pack, waste: int) -> Pack:
    """No pack file may say what these tests need: wasted steps that pay, or that cost more than the range has."""
    return replace(pack, rewards=replace(pack.rewards, waste=waste))


def failed(proof: PackProof, code: str) -> list[Check]:
    return [check for check in proof.checks if check.code == code and check.status == "fails"]


def fault(pack: Pack, code: str, space: Any = SPACE) -> tuple[Check, list[Episode]]:
    """The first check of a code that fails, and what it shows: the episode at its start, and after each action."""
    check = failed(prove(pack, space), code)[0]
    assert check.place is not None and check.place.file.endswith(".yaml")
    return check, played(pack, check.counterexample)


def played(pack: Pack, shown: Counterexample | None) -> list[Episode]:
    assert shown is not None
    moments = [Episode.start(make_case(pack, shown.ticket, shown.seed))]
    for action in shown.actions:
        moments.append(moments[-1].step(action))
    return moments


def rewards(moments: Sequence[Episode]) -> list[float | None]:
    return [moment.reward for moment in moments[1:]]


def test_p01_all_steps_are_taken_and_the_ticket_is_open() -> None:
    check, moments = fault(loaded("p01"), "P01")
    last = moments[-1]
    assert last.truncated and not last.terminated
    # The first two asks are stalls; the third learns the one field, which is all of 0.5.
    assert rewards(moments) == [0.0, 0.0, 0.5]
    assert "3 steps" in check.message


def test_p02_a_return_below_the_range() -> None:
    # Ten wasted steps of -0.2 are -2.0, and the range ends at -1.0.
    check, moments = fault(with_waste(loaded("clean"), -2000), "P02")
    assert moments[-1].step_count == 10 and moments[-1].total == -2.0
    assert "-2.0" in check.message


def test_p02_a_step_below_the_range() -> None:
    check, moments = fault(with_waste(loaded("clean"), -15_000), "P02")
    assert rewards(moments) == [-1.5] and check.counterexample is not None and check.counterexample.paid == 1
    assert check.counterexample.rule is not None and check.counterexample.rule.then.waste


def test_p03_the_best_line_holds_a_wasted_step() -> None:
    check, moments = fault(loaded("p03"), "P03")
    # The ask learns the one field, 0.5, and is wasted, -0.1; the end pays 2.0 - 0.5, as there is no category.
    assert rewards(moments) == [0.4, 1.5] and moments[-1].total == 1.9
    assert check.counterexample is not None and check.counterexample.paid == 1
    rule = check.counterexample.rule
    assert rule is not None and rule.outcome == "ask_info.curious" and rule.place.line == 8


def test_p04_all_is_paid_before_the_end() -> None:
    check, moments = fault(loaded("p04"), "P04")
    last = moments[-1]
    # One field and the category, 1.0 each, are all of V*: nothing is left for the end.
    assert last.total == 2.0 and not last.terminated and last.step_count == 2
    assert check.counterexample is not None and check.counterexample.paid == 1


def test_p05_a_loop_that_pays() -> None:
    check, moments = fault(with_waste(loaded("clean"), 100), "P05")
    states = [moment.state for moment in moments]
    start = states.index(states[-1])
    # Round the loop nothing has changed but the return: 0.01 for each of its steps.
    assert start < len(states) - 1
    assert moments[-1].total - moments[start].total == pytest.approx(0.01 * (len(states) - 1 - start))
    assert check.counterexample is not None and check.counterexample.paid == len(moments) - 1


def test_p06_an_idle_episode_that_pays() -> None:
    check, moments = fault(with_waste(loaded("clean"), 100), "P06")
    last = moments[-1]
    machine = last.case.automaton
    assert machine.collected(last.state) == 0 and not last.state.earned and not last.terminated
    assert last.total > 0
    # Ten steps of 0.01 are the most.
    assert "0.1 " in check.message and last.total == 0.1


def test_p06_an_idle_episode_that_is_graded() -> None:
    pack = loaded("p10")
    tasks = {name: replace(task, grader=lambda record: 0.25) for name, task in pack.tasks.items()}
    _, moments = fault(replace(pack, tasks=tasks), "P06")
    assert len(moments) == 1 and moments[0].score() == 0.25


def test_p07_one_first_action_does_well_everywhere() -> None:
    pack = loaded("p07")
    check, moments = fault(pack, "P07")
    assert check.counterexample is not None
    first = check.counterexample.actions[0]
    assert first == {"type": "classify", "category": "late"} and moments[-1].total == 2.0
    # On three of the tickets it loses nothing. On the fourth it is wrong: -0.1, and 0.5 can't be earned any more.
    returns = []
    for ticket in pack.tickets.values():
        episode = Episode.start(make_case(pack, ticket.id, 0)).step(first)
        if episode.reward == -0.1:
            episode = episode.step({"type": "classify"})
        for action in ({"type": "ask_info", "field": ticket.required[0]}, {"type": "resolve"}):
            episode = episode.step(action)
        returns.append(episode.total)
    assert returns == [2.0, 1.4, 2.0, 2.0]
    # (3 * 2.0 + 1.4) / 4, nearer to 2.0 than 0.25.
    assert prove(pack, SPACE).blind == {"hard-efficient-resolution": Fraction(37, 20)}


def test_p08_a_value_that_the_contract_takes_for_a_number() -> None:
    # At the start nothing is known, so this contract lets the pack be loaded.
    known = {"type": "object", "additionalProperties": {"type": "integer"}}
    space = {**SPACE, "properties": {**SPACE["properties"], "known_info": known}}
    valid = Draft202012Validator(space)
    check, moments = fault(loaded("p01"), "P08", space)
    assert [valid.is_valid(moment.observation) for moment in moments] == [True, True, True, False]
    assert moments[-1].observation["known_info"] == {"order": "L-4821"}
    assert "$.known_info.order" in check.message


def test_p09_a_rule_behind_a_wider_one() -> None:
    pack = loaded("p09")
    found = {check.message.split(" never")[0]: check for check in failed(prove(pack, SPACE), "P09")}
    again = found["the rule 'tell.again'"]
    moments = played(pack, again.counterexample)
    # Before the last step nothing is missing and the customer was told: all that the rule asks for.
    before = moments[-2]
    assert before.observation["missing_required"] == [] and before.state.facts == (True, False)
    assert moments[-1].outcome == "tell.told"
    assert again.counterexample is not None and again.counterexample.rule is not None
    assert again.counterexample.rule.place.line == 18 and ":18:" in again.message
    assert again.place is not None and again.place.line == 19


def test_p09_a_turn_that_no_episode_is_long_enough_for() -> None:
    pack = loaded("p09")
    check = next(check for check in failed(prove(pack, SPACE), "P09") if "turn 4 under 'order'" in check.message)
    moments = played(pack, check.counterexample)
    assert moments[-1].done
    assert [step.text for step in moments[-1].steps] == ["L-4821", "As I said.", "It hasn't changed."]


def test_p09_what_nothing_has_to_do_with() -> None:
    messages = [check.message for check in failed(prove(loaded("p09"), SPACE), "P09")]
    assert len(messages) == 5
    for name in ("field 'colour'", "person 'slow'", "rule 'tell.thanks'"):
        assert any(name in message for message in messages)


def test_p10_chance_does_as_well_under_medium_as_under_easy() -> None:
    pack = loaded("p10")
    check, moments = fault(pack, "P10")
    assert moments[-1].total == 2.0  # what is shown is the best line: the fault is in no one episode
    start, choices = moments[0], [choice.canonical() for choice in action_space(pack).choices]
    grades = [Fraction(0)] * 3
    for actions in product(choices, repeat=2):
        episode = start
        for action in actions:
            episode = episode if episode.done else episode.step(action)
        record = episode.record()
        for index, grade in enumerate((grade_easy, grade_medium, grade_hard)):
            grades[index] += Fraction(grade(record)) / 9
    # Of nine pairs of actions five hold an ask, and no ask is wasted; one of them is an ask and then a resolve.
    assert grades == [Fraction(5, 9), Fraction(5, 9), Fraction(1, 9)]
    assert "0.5556 by easy, 0.5556 by medium and 0.1111 by hard" in check.message


def test_p11_the_message_says_it() -> None:
    check, moments = fault(loaded("p11"), "P11")
    (start,) = moments
    assert start.observation["customer_message"] == "Adapter: Blue-Fox is broken"
    assert start.observation["known_info"] == {} and start.observation["missing_required"] == ["adapter"]
    assert "message 2" in check.message and "'adapter'" in check.message
    assert start.step({"type": "ask_info", "field": "adapter"}).observation["known_info"] == {"adapter": "blue-fox"}


def assert_clean(pack: Pack) -> None:
    proof = prove(pack, SPACE)
    assert {check.code for check in proof.checks} == KINDS.keys()
    assert [check for check in proof.checks if check.status not in ("holds", "no matter")] == []
    assert proof.sound


def test_the_control_is_clean() -> None:
    pack = loaded("clean")
    assert_clean(pack)
    # Two tickets look alike: to say the one's category is right once, 2.0, and once wrong, 1.4.
    assert prove(pack, SPACE).blind == {"hard-efficient-resolution": Fraction(17, 10)}


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_what_ships_is_clean(path: Path) -> None:
    pack, findings = check_draft(path, CONTRACT)
    assert pack is not None and findings == ()
    assert_clean(pack)
