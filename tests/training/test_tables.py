"""Tables: a small one worked out by hand, and every step of random packs against the engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from engine.case import make_case
from engine.dynamics.regret import best_action
from engine.episode import Episode
from engine.load import load_pack, pack_path
from engine.pack import REWARD_UNIT
from engine.split import SPLITS, splits
from engine.training import tabulate as tabulating
from engine.training.expert import best_actions
from engine.training.tables import Tables, TablesError
from engine.training.tabulate import tables_of, tabulate
from tests.proof.small_packs import Document, documents, loaded
from tests.training.seen import LAMP, columns_of, lamp, two_alike, two_lamps

EASY, MEDIUM, HARD = "easy-info-collection", "medium-complete-info", "hard-efficient-resolution"


@pytest.fixture(scope="module")
def desk_tables() -> Tables:
    return tables_of(load_pack(pack_path("customer_support")))


# -- By hand
#
# The actions of the lamp's pack: ask_info(model), classify(), classify(dark), resolve(). Learning the model is worth
# 0.5, classifying too (the desk knows the category, so either form does), resolving 2.0 - 1.0. States as they are met:
#
#   0  nothing yet          ask -> 1, classify -> 2; resolve is premature
#   1  model known          classify -> 3, resolve -> 4; to ask again is wasted
#   2  classified           ask -> 3; the rest is wasted
#   3  both                 resolve -> 5; the rest is wasted
#   4  model, resolved      5  both, resolved

W = -3333
NEXT = [[1, 2, 2, 0], [1, 3, 3, 4], [3, 2, 2, 2], [3, 3, 3, 5], [4] * 4, [5] * 4]
REWARD = [[5000, 5000, 5000, W], [W, 5000, 5000, 10000], [5000, W, W, W], [W, W, W, 10000], [0] * 4, [0] * 4]
OVER = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1], [1] * 4, [1] * 4]
# known, required, missing; the first task; progress in percent; classified; the steps stand outside.
SEEN = [
    [0, 1, 1, 0, 0, 0, 0],
    [1, 1, 0, 0, 100, 0, 0],
    [0, 1, 1, 0, 0, 1, 0],
    [1, 1, 0, 0, 100, 1, 0],
    [1, 1, 0, 0, 100, 0, 0],
    [1, 1, 0, 0, 100, 1, 0],
]
# What is wasted and changes nothing. 4 looks like 1, and 5 like 3, where alone something can still be done.
MASK = [[1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]]
# Three steps earn all of it, in either order: the first of the two. After asking, 0.5 + 1.0 by way of classify().
BEST = [0, 1, 0, 3, -1, -1]


def test_the_lamp_by_hand() -> None:
    found = tabulate(lamp())
    assert found.action_names == ("ask_info(field=model)", "classify()", "classify(category=dark)", "resolve()")
    assert [column.name for column in found.columns] == [
        *("known:model", "required:model", "missing:model"),
        *("task", "progress", "classified", "remaining"),
    ]
    assert [column.most for column in found.columns] == [1, 1, 1, 2, 100, 1, 3]
    assert found.next_state.tolist() == NEXT
    assert found.reward.tolist() == REWARD
    assert found.terminated.tolist() == OVER
    assert found.observation.tolist() == SEEN
    assert found.action_mask.tolist() == MASK
    assert found.expert.tolist() == BEST
    assert found.depth.tolist() == [0, 1, 1, 2, 2, 3]
    # One case for each message, both of one automaton.
    assert found.start.tolist() == [0, 0]
    assert sorted(found.messages) == ["Help!", "It's dark."]
    for case in range(found.cases):
        made = make_case(lamp(), "lamp", int(found.seed[case]))
        assert made.message == found.messages[found.message[case]]


def test_p_is_gymnasiums_view() -> None:
    view = tabulate(lamp()).P
    assert len(view) == 6
    assert view[1][3] == [(1.0, 4, 1.0, True)]
    assert view[2] == {
        0: [(1.0, 3, 0.5, False)],
        **{action: [(1.0, 2, -0.3333, False)] for action in (1, 2, 3)},
    }
    assert [row[0][0][1] for row in view[4:]] == [4, 5]


def test_a_state_as_deep_as_an_episode_is_long_leads_nowhere() -> None:
    """A draft of one step, in which a wasted one costs 1.0: what would follow on 1 and 2 is never met."""
    pack = loaded({**LAMP, "max_steps": 1})
    assert pack is not None
    found = tabulate(pack)
    assert found.next_state.tolist() == [[1, 2, 2, 0], [1] * 4, [2] * 4]
    assert found.reward.tolist() == [[5000, 5000, 5000, -10000], [0] * 4, [0] * 4]
    assert not found.terminated.any()
    assert found.expert.tolist() == [0, -1, -1]
    assert found.action_mask.tolist() == [[1, 1, 1, 0], [1] * 4, [1] * 4]


def test_what_costs_and_comes_back_costs_nothing() -> None:
    """One action. From 0 it costs something and leads to 1, where 1 is earned. Where the two come to 0, stopping is no
    better; where they come to less, it is."""
    next_state, depth = np.array([[1], [2], [2]], np.int32), np.array([0, 1, 2], np.int16)
    over = np.array([False, False, True])
    for cost, best in ((-1, [0, 0, -1]), (-2, [-1, 0, -1])):
        reward = np.array([[cost], [1], [0]], np.int32)
        assert best_actions(next_state, reward, depth, over, 2).tolist() == best


def test_a_fact_of_the_packs_own_has_changed() -> None:
    pack = loaded(
        {
            **LAMP,
            "facts": {"lit": {"values": [False, True]}},
            "actions": {"switch": {"description": "Switch it on"}},
            "rules": {"switch": [{"outcome": "on", "then": {"set": {"lit": True}, "say": "On."}}]},
        }
    )
    assert pack is not None
    found = tabulate(pack)
    column = [one.name for one in found.columns].index("changed:lit")
    switch = found.action_names.index("switch()")
    assert found.observation[0, column] == 0
    assert found.observation[found.next_state[0, switch], column] == 1


# -- Against the engine


def every_walk(found: Tables, state: int, episode: Episode) -> int:
    """Takes every sequence of actions in both; how many steps that were."""
    steps = 0
    for action, body in enumerate(found.actions):
        after, there = episode.step(body), int(found.next_state[state, action])
        assert after.steps[-1].reward == found.reward[state, action]
        assert after.terminated == found.terminated[state, action]
        seen = found.observation[there].tolist()
        assert [*seen[:-1], after.observation["remaining_steps"]] == columns_of(after)
        steps += 1
        if not after.done:
            steps += every_walk(found, there, after)
    return steps


@settings(deadline=None, max_examples=25)
@given(documents(steps=3))
def test_every_walk_of_a_random_pack_is_the_engines(document: Document) -> None:
    pack = loaded(document)
    assume(pack is not None)
    assert pack is not None
    found = tabulate(pack)
    for case in range(found.cases):
        ticket = found.tickets[found.ticket[case]].id
        episode = Episode.start(make_case(pack, ticket, int(found.seed[case])))
        assert episode.case.message == found.messages[found.message[case]]
        start = int(found.start[case])
        assert [*found.observation[start].tolist()[:-1], pack.max_steps] == columns_of(episode)
        assert every_walk(found, start, episode) >= len(found.actions)


@settings(deadline=None, max_examples=25)
@given(documents(steps=4))
def test_the_expert_of_a_random_pack_is_the_proofs(document: Document) -> None:
    pack = loaded(document)
    assume(pack is not None)
    assert pack is not None
    found = tabulate(pack)
    for case in range(found.cases):
        machine = make_case(pack, found.tickets[found.ticket[case]].id, int(found.seed[case])).automaton
        states = {int(found.start[case]): machine.initial}
        queue = list(states)
        for number in queue:
            remaining = pack.max_steps - int(found.depth[number])
            if states[number].resolved or not remaining:
                assert found.expert[number] == -1
                continue
            best = best_action(machine, states[number], remaining)
            assert found.expert[number] == (machine.actions.choices.index(best) if best is not None else -1)
            for action, choice in enumerate(machine.actions.choices):
                after = int(found.next_state[number, action])
                if after not in states:
                    states[after] = machine.apply(states[number], choice).state
                    queue.append(after)


@pytest.mark.parametrize("name", ["customer_support", "bank_disputes", "it_helpdesk_de"])
def test_the_expert_earns_all_there_is(name: str) -> None:
    """From the start of every case the best line returns the reward range's maximum, 2.0."""
    found = tables_of(load_pack(pack_path(name)))
    for start in found.start.tolist():
        state, total, steps = start, 0, 0
        while found.expert[state] >= 0 and steps < found.max_steps:
            action = int(found.expert[state])
            assert found.action_mask[state, action] == 1
            total += int(found.reward[state, action])
            state, steps = int(found.next_state[state, action]), steps + 1
        assert total == 2 * REWARD_UNIT


def test_what_looks_the_same_has_the_same_mask(desk_tables: Tables) -> None:
    masks: dict[bytes, bytes] = {}
    for seen, mask in zip(desk_tables.observation, desk_tables.action_mask, strict=True):
        assert masks.setdefault(seen.tobytes(), mask.tobytes()) == mask.tobytes()
    assert desk_tables.action_mask.any(axis=1).all()


# The other lamp looks like 1 and 3 while its model is a wrong one, and then it can be asked for again.
MASK_OF_TWO = [[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1], [1, 0, 0, 1]]


@pytest.mark.parametrize("chosen", [{"tickets": ["lamp"]}, {"tickets": ["lamp"], "seeds": [3]}])
def test_masks_tell_nothing_of_what_was_chosen(chosen: dict[str, Any]) -> None:
    found = tabulate(two_lamps(), **chosen)
    assert found.observation.tolist() == SEEN
    assert found.action_mask.tolist() == MASK_OF_TWO


def masks_by_look(found: Tables) -> dict[bytes, bytes]:
    pairs = zip(found.observation, found.action_mask, strict=True)
    return {seen.tobytes(): mask.tobytes() for seen, mask in pairs}


def test_every_choice_of_a_pack_has_its_masks() -> None:
    pack = load_pack(pack_path("it_helpdesk_de"))
    whole = masks_by_look(tables_of(pack))
    choices: list[dict[str, Any]] = [{"tickets": splits(pack)[split]} for split in SPLITS]
    choices += [{"tickets": [ticket]} for ticket in [*pack.tickets][::6]] + [{"seeds": range(2)}]
    for choice in choices:
        assert masks_by_look(tabulate(pack, **choice)).items() <= whole.items()


@settings(deadline=None, max_examples=15)
@given(documents(steps=3))
def test_every_ticket_of_a_random_pack_has_its_masks(document: Document) -> None:
    pack = loaded(document)
    assume(pack is not None)
    assert pack is not None
    whole = masks_by_look(tabulate(pack))
    for ticket in pack.tickets:
        assert masks_by_look(tabulate(pack, [ticket])).items() <= whole.items()


def test_where_nobody_knows_the_whole_pack_all_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulating, "LIMIT", 23)  # a lamp alone has 24 moves
    assert tabulate(two_lamps(), ["lamp"], limit=24).action_mask.tolist() == [[1] * 4] * 6


def test_nothing_hidden_tells_tickets_apart_at_the_start(desk_tables: Tables) -> None:
    """On hard tickets an agent sees at the start only what the message states and what is on file."""
    hard = {int(desk_tables.start[case]) for case in desk_tables.choose(task=HARD)}
    known = [number for number, column in enumerate(desk_tables.columns) if column.name.startswith("known:")]
    for state in hard:
        row = desk_tables.observation[state].tolist()
        shown = {number for number, value in enumerate(row) if value}
        task = [column.name for column in desk_tables.columns].index("task")
        assert shown <= {*known, task}


# -- What stands in them


def test_cases_by_seed_and_by_ticket(desk_tables: Tables) -> None:
    pack = load_pack(pack_path("customer_support"))
    some = tabulate(pack, ["t-36cd"], range(5))
    assert [one.id for one in some.tickets] == ["t-36cd"]
    assert sorted(some.seed.tolist()) == [0, 1, 2, 3, 4]
    assert some.digest == pack.digest == desk_tables.digest
    # All of the pack: each message with each person, once.
    wanted = sum(len(ticket.messages) * max(1, len(ticket.people)) for ticket in pack.tickets.values())
    assert desk_tables.cases == wanted
    with pytest.raises(KeyError):
        tabulate(pack, ["t-none"])
    with pytest.raises(TablesError, match="no ticket and no seed"):
        tabulate(pack, seeds=[])


def test_choosing_cases(desk_tables: Tables) -> None:
    chosen = desk_tables.choose(task=MEDIUM)
    assert {desk_tables.tasks[desk_tables.tickets[desk_tables.ticket[case]].task] for case in chosen} == {MEDIUM}
    assert sum(desk_tables.choose(split=split).size for split in ("train", "validation", "test")) == desk_tables.cases
    assert {desk_tables.tickets[desk_tables.ticket[case]].id for case in desk_tables.choose(ticket="t-36cd")} == {
        "t-36cd"
    }
    with pytest.raises(TablesError, match="have no ticket 't-36cx': did you mean 't-36cd'\\?"):
        desk_tables.choose(ticket="t-36cx")
    with pytest.raises(TablesError, match="have no case that is all of this at once"):
        desk_tables.choose(task=EASY, ticket="t-36cd")


def test_a_split_that_is_worded_like_another_is_refused(tmp_path: Path) -> None:
    """Whichever way the tables came; the validation split has no ticket, and so no wording of another's."""
    pack = two_alike()
    tabulate(pack).save(tmp_path / "a.npz")
    said = r"Ticket 'other' \(test\) opens with the words of ticket 'lamp' \(train\)"
    for found in (tabulate(pack), tabulate(pack, ["lamp"]), Tables.load(tmp_path / "a.npz")):
        assert found.alike.keys() == {"train", "test"}
        with pytest.raises(TablesError, match=said):
            found.choose(split="train")
        assert found.choose(ticket="lamp").size == 2
    assert tabulate(two_lamps(split="test")).alike == {}


def test_too_many_moves_are_told_before_they_are_made() -> None:
    """The lamp has states of four actions: six of them are 24 moves."""
    assert tabulate(lamp(), limit=24).states == 6
    with pytest.raises(TablesError, match="'lamp' isn't tabled: with ticket 'lamp' there would be more than 23 moves"):
        tabulate(lamp(), limit=23)


@pytest.mark.parametrize("absent", ["numpy", "gymnasium"])
def test_without_the_extra_one_sentence_says_what_to_install(absent: str) -> None:
    load = "try: import engine.training.env\nexcept ImportError as error: print(error)"
    code = f"import sys; sys.modules[{absent!r}] = None\n{load}"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == (
        f"Tables and Gymnasium environments need {absent}, which isn't installed: pip install 'deskproof[train]'\n"
    )
