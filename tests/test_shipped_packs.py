"""The shipped packs: what the design promises of every ticket, and of any episode."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.action import action_space
from engine.case import make_case, pick_ticket
from engine.contract import load_contract
from engine.episode import Episode, replay
from engine.load import check_pack, load_pack, shipped_packs
from engine.pack import Pack
from engine.pack_tests import run_tests
from engine.solve import solve, variants

CONTRACT = load_contract()
OBSERVATION = Draft202012Validator(CONTRACT.observation_space)
PATHS = {path.name: path for path in shipped_packs()}
MINIMUM, MAXIMUM = -1.0, 2.0  # design, section 4


@cache
def pack_at(name: str) -> Pack:
    return load_pack(PATHS[name])


def all_tickets() -> list[tuple[str, str]]:
    return [(name, ticket) for name in PATHS for ticket in pack_at(name).tickets]


def test_the_three_packs_ship() -> None:
    assert set(PATHS) == {"customer_support", "bank_disputes", "it_helpdesk_de"}


@pytest.mark.parametrize("name", PATHS)
def test_checks_clean_and_passes_its_own_tests(name: str) -> None:
    pack, findings = check_pack(PATHS[name])
    assert findings == ()
    assert pack is not None and pack.tests
    assert list(run_tests(pack)) == []


def test_customer_support_is_as_large_as_promised() -> None:
    pack = pack_at("customer_support")
    tasks = Counter(ticket.task for ticket in pack.tickets.values())
    assert set(tasks) == {task.id for task in CONTRACT.tasks}
    assert all(number >= 12 for number in tasks.values())
    assert list(pack.fields) == ["order_id", "account_email", "device_type", "browser"]


@pytest.mark.parametrize("name", PATHS)
def test_tickets_are_worded_in_at_least_three_ways(name: str) -> None:
    pack = pack_at(name)
    assert len(pack.tickets) >= 12
    for ticket in pack.tickets.values():
        assert len({str(message.text) for message in ticket.messages}) >= 3, ticket.id


@pytest.mark.parametrize("name", PATHS)
def test_every_kind_of_answer_occurs(name: str) -> None:
    turns = [turn for ticket in pack_at(name).tickets.values() for script in ticket.answers.values() for turn in script]
    assert {turn.kind for turn in turns} >= {"value", "wrong", "stall", "refusal", "waive"}
    assert any(len(turn.gives) > 1 for turn in turns)


def ideal(pack: Pack, ticket_id: str, seed: int) -> Episode:
    """Knows the category, classifies first, asks what is missing, resolves."""
    episode = Episode.start(make_case(pack, ticket_id, seed))
    category = pack.tickets[ticket_id].category
    if category is not None:
        episode = episode.step({"type": "classify", "category": category})
    while not episode.done:
        missing = episode.observation["missing_required"]
        episode = episode.step({"type": "ask_info", "field": missing[0]} if missing else {"type": "resolve"})
    return episode


@pytest.mark.parametrize(("name", "ticket_id"), all_tickets())
def test_every_ticket(name: str, ticket_id: str) -> None:
    pack = pack_at(name)
    ticket = pack.tickets[ticket_id]
    for machine in variants(pack, ticket):
        solution = solve(machine)
        assert solution is not None and solution.best == 20_000
    if not ticket.goal:
        for seed in range(5):
            assert ideal(pack, ticket_id, seed).total == MAXIMUM
    start = Episode.start(make_case(pack, ticket_id, 0))
    if start.observation["missing_required"]:
        early = start.step({"type": "resolve"})
        assert early.observation["status"] == "open" and not early.done
    idle = start
    while not idle.done:
        idle = idle.step({"type": "no such action"})
    assert idle.step_count == pack.max_steps
    # Ten steps of -0.1 are exactly -1.0; a pack's own max_steps divides -1.0 with the rest dropped.
    assert idle.total == (MINIMUM if pack.max_steps == 10 else -(10_000 // pack.max_steps) * pack.max_steps / 10_000)
    assert idle.score() == 0.0


@st.composite
def episodes(draw: st.DrawFn) -> tuple[str, str, int, list[Any]]:
    """A pack, a ticket, a seed, and actions: mostly valid ones, some of any kind."""
    name = draw(st.sampled_from(sorted(PATHS)))
    pack = pack_at(name)
    seed = draw(st.integers(0, 10_000))
    choices = [choice.canonical() for choice in action_space(pack).choices]
    odd = st.dictionaries(st.sampled_from(["type", "field", "category", "x"]), st.text(max_size=4) | st.integers())
    actions = draw(st.lists(st.one_of(*[st.sampled_from(choices)] * 5, odd), max_size=pack.max_steps))
    return name, pick_ticket(pack, seed), seed, actions


@given(episodes())
@settings(max_examples=3 * settings().max_examples, deadline=None)
def test_any_episode(played: tuple[str, str, int, list[Any]]) -> None:
    name, ticket_id, seed, actions = played
    pack = pack_at(name)
    episode = Episode.start(make_case(pack, ticket_id, seed))
    taken, transcript = [], [episode.observation]
    for action in actions:
        if episode.done:
            break
        episode = episode.step(action)
        taken.append(action)
        assert episode.reward is not None and MINIMUM <= episode.reward <= MAXIMUM
        assert MINIMUM <= episode.total <= MAXIMUM
        transcript.append(episode.observation)
        OBSERVATION.validate(transcript[-1])
    assert 0.0 <= episode.score() <= 1.0
    again = replay(make_case(pack, ticket_id, seed), taken)
    assert json.dumps(again.observation, ensure_ascii=False) == json.dumps(transcript[-1], ensure_ascii=False)
    assert again.total == episode.total


@pytest.mark.parametrize(("name", "ticket_id"), all_tickets())
def test_no_right_value_stands_in_the_opening_message(name: str, ticket_id: str) -> None:
    pack = pack_at(name)
    for seed in range(10):
        case = make_case(pack, ticket_id, seed)
        start = Episode.start(case)
        hidden = [field for field in pack.tickets[ticket_id].required if field not in start.observation["known_info"]]
        for field in hidden:
            for turn in pack.tickets[ticket_id].answers.get(field, ()):
                for gift in turn.gives:
                    if isinstance(gift.value, str) and not gift.wrong:
                        assert gift.value.casefold() not in case.message.casefold(), (ticket_id, field)


def test_paths_are_folders_of_yaml_only() -> None:
    for path in PATHS.values():
        assert {file.suffix for file in Path(path).rglob("*") if file.is_file()} == {".yaml"}
