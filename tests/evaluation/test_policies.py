"""The agents that come with Deskproof: the oracle is best, chance is what the proof says, the others lie between."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from engine.action import action_space
from engine.case import make_case
from engine.dynamics.grades import expected_grades
from engine.dynamics.graph import explore
from engine.dynamics.values import values
from engine.episode import Episode
from engine.evaluation.agents import Agent, AgentUnusable
from engine.evaluation.policies import Oracle, RandomPolicy, ask_everything, playbook
from engine.load import load_pack
from engine.pack import Pack
from engine.solve import BUDGET, Budget
from engine.tools import tools
from tests.evaluation.desks import PACKS, anew, cases, lamps, played, shipped, words
from tests.proof.small_packs import Document, documents, loaded

ALL = (RandomPolicy, ask_everything, playbook, Oracle)


# -- The oracle


@pytest.mark.parametrize("pack", shipped(), ids=lambda pack: pack.name)
def test_the_oracle_is_perfect_on_every_shipped_ticket(pack: Pack) -> None:
    oracle = Oracle()
    for ticket, seed in cases(pack, 2):
        episode = played(oracle, pack, ticket, seed)
        assert (episode.total, episode.score()) == (2.0, 1.0), (ticket, seed)
        assert episode.step_count == episode.optimal_steps
        assert episode.regret == 0


def test_the_oracle_plays_nothing_that_it_is_not_shown(desk: Pack) -> None:
    seen = Episode.start(make_case(desk, "e-two", 0)).observation
    with pytest.raises(AgentUnusable, match="nobody shows it"):
        Oracle()(seen, tools(desk))


# -- Chance


@pytest.mark.parametrize("pack", [*shipped(), load_pack(PACKS / "desk.yaml")], ids=lambda pack: pack.name)
def test_chance_takes_exactly_the_actions_of_the_proof(pack: Pack) -> None:
    """Of a pack's choices each is drawn, about equally often; nothing else is."""
    choices = [choice.canonical() for choice in action_space(pack).choices]
    seen, given, agent = {"step_count": 0}, tools(pack), RandomPolicy()
    number = 200 * len(choices)
    drawn = Counter(str(agent(seen, given, episode_id=str(at))) for at in range(number))
    assert set(drawn) == {str(choice) for choice in choices}
    # 200 of each are expected, give or take 14 (the square root of 200 (1 - 1/n)); five times that.
    assert all(abs(count - 200) < 5 * sqrt(200) for count in drawn.values())


def test_what_chance_does_depends_on_the_episode_and_the_step_alone(desk: Pack) -> None:
    def line(agent: RandomPolicy, name: str) -> tuple[Any, ...]:
        return played(agent, desk, "m-script", name=name).actions

    used = RandomPolicy()
    line(used, "another")
    assert line(used, "e1") == line(RandomPolicy(), "e1")
    assert line(used, "e1") != line(used, "e2")


@pytest.mark.parametrize("name", ["desk.yaml", "lamps.yaml"])
def test_chance_gets_what_the_proof_expects(name: str) -> None:
    """The mean of what is had above the exact expectation is 0, within four standard errors."""
    pack, agent, above, graded = load_pack(PACKS / name), RandomPolicy(), [], []
    exact: dict[int, tuple[float, float]] = {}
    for ticket, seed in cases(pack, 4_000 // len(pack.tickets)):
        episode = played(agent, pack, ticket, seed, f"{ticket}/{seed}")
        machine = episode.case.automaton
        if id(machine) not in exact:
            graph = explore(machine, Budget(BUDGET))
            grades = expected_grades(graph, episode.optimal_steps)
            difficulty: Fraction = getattr(grades, machine.task.difficulty)
            exact[id(machine)] = float(values(graph).expected), float(difficulty)
        above.append(episode.total - exact[id(machine)][0])
        graded.append(episode.score() - exact[id(machine)][1])
    for found in (above, graded):
        mean = sum(found) / len(found)
        error = sqrt(sum((one - mean) ** 2 for one in found) / len(found) / (len(found) - 1))
        assert abs(mean) < 4 * error
        assert error < 0.015  # so that it says something


# -- Between the two


@pytest.mark.parametrize("pack", shipped(), ids=lambda pack: pack.name)
def test_the_others_lie_between_chance_and_the_oracle(pack: Pack) -> None:
    chance, mean = [], {"ask-everything": 0.0, "playbook": 0.0}
    known: dict[int, float] = {}
    for ticket, seed in cases(pack, 2):
        for agent in (ask_everything(), playbook()):
            episode = played(agent, pack, ticket, seed)
            mean[agent.name] += episode.total
        machine = episode.case.automaton
        if id(machine) not in known:
            known[id(machine)] = float(values(explore(machine, Budget(BUDGET))).expected)
        chance.append(known[id(machine)])
    number = len(chance)
    asking, clerk = mean["ask-everything"] / number, mean["playbook"] / number
    assert sum(chance) / number + 0.2 < asking < clerk < 2.0


@pytest.mark.parametrize("pack", shipped(), ids=lambda pack: pack.name)
@pytest.mark.parametrize("made", [ask_everything, playbook])
def test_they_know_no_more_than_what_they_are_asked_with(pack: Pack, made: Any) -> None:
    """They give the same where everything comes as JSON from elsewhere, the tools anew at each step."""
    here, there = made(), made()
    for ticket, seed in cases(pack, 1):
        episode = Episode.start(make_case(pack, ticket, seed))
        while not episode.done:
            asked = episode.observation, tools(pack)
            action = here(*asked, instructions=pack.instructions)
            assert there(*anew(asked), instructions=pack.instructions) == action
            episode = episode.step(action)
            assert episode.outcome != "invalid"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(documents(steps=3))
def test_no_pack_makes_them_fail(document: Document) -> None:
    """Whatever fields, categories and actions a pack has, be it solvable or not: all that they do is valid."""
    pack = loaded(document)
    if pack is None:
        return
    for made in ALL:
        agent: Agent = made()
        for ticket in pack.tickets:
            assert "invalid" not in [step.outcome for step in played(agent, pack, ticket).steps]


# -- What each does


def test_ask_everything_asks_for_everything_then_for_what_is_missing_and_resolves(desk: Pack) -> None:
    """By the script of m-script: the order number comes with the third ask, after a wrong one; the colour with the
    second. The wrong one is pointed out by the first resolve."""
    episode = played(ask_everything(), desk, "m-script")
    assert words(episode) == [
        "classify",
        *(f"ask_info {field}" for field in ("order", "email", "device", "colour")),
        *(f"ask_info {field}" for field in ("order", "colour")),
        "resolve",
        "ask_info order",
        "resolve",
    ]
    assert episode.terminated


def test_ask_everything_classifies_only_where_there_are_categories(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    path.write_text(
        "pack: bare\nversion: 1.0.0\nfields: {size: {description: Size}}\n"
        "tickets: [{id: t, task: easy-info-collection, messages: [Hm.], required: [size], answers: {size: '7'}}]\n",
        "utf-8",
    )
    pack = load_pack(path)
    for made in (ask_everything, playbook):
        assert words(played(made(), pack, "t")) == ["ask_info size", "resolve"]


def test_the_playbook_reads_what_a_clerk_is_given(tmp_path: Path) -> None:
    """`splinters` stands under `broken`; look_up is the third item of the list, and says what the refund is for. The
    number is asked for until it is there, and again once look_up has found that it is wrong."""
    episode = played(playbook(), lamps(tmp_path), "splinters")
    assert words(episode) == [
        "classify broken",
        *(f"ask_info {field}" for field in ("order", "photo", "order", "photo")),
        "look_up",
        "ask_info order",
        "look_up",
        "refund",
        "resolve",
    ]
    assert (episode.terminated, episode.total) == (True, 2.0)


def test_the_playbook_takes_back_a_guess_that_was_wrong(tmp_path: Path) -> None:
    """`parcels` stands under `late`. What was done for it is of no use; classifying anew shows what is."""
    episode = played(playbook(), lamps(tmp_path), "misleading")
    assert words(episode)[:7] == [
        "classify late",
        "ask_info order",
        "ask_info email",
        "look_up",
        *words(episode)[4:5],
        "resolve",
        "classify",
    ]
    assert words(episode)[7:] == ["ask_info photo", "look_up", "refund"]


def test_the_playbook_guesses_only_where_the_requirements_are_hidden(tmp_path: Path) -> None:
    episode = played(playbook(), lamps(tmp_path), "visible")
    assert words(episode)[0] == "classify"
    assert episode.terminated
