"""Regret: calculated by hand, and by brute force over states as they are."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from engine.action import Choice
from engine.automaton import Automaton, State
from engine.case import Case, make_case
from engine.dynamics import graph
from engine.dynamics.regret import Regret, blame
from engine.episode import Episode
from engine.pack import Pack
from engine.solve import solve
from tests.proof.brute import cases
from tests.proof.five_steps import DELIVERY, EMAIL, FLY, ORDER, REPAIR, RESOLVE, SHOW, TELL, Action, draft, played
from tests.proof.small_packs import COSTLY, documents, loaded


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return draft(tmp_path_factory.mktemp("small") / "small.yaml")


def costs(episode: Episode) -> list[float]:
    assert episode.regrets is not None
    return [one.cost / 10_000 for one in episode.regrets]


def best(episode: Episode) -> list[Any]:
    assert episode.regrets is not None
    return [one.best.canonical() if one.best is not None else None for one in episode.regrets]


# -- By hand. 'hard' pays 0.5 for the right category if it comes before the first ask, 0.25 for each of two fields, and
# 1.0 for resolving: V* = 2.0, in four steps.


def test_the_best_line_costs_nothing(small: Pack) -> None:
    episode = played(small, "hard", DELIVERY, EMAIL, ORDER, RESOLVE)
    assert (episode.total, episode.regret, costs(episode)) == (2.0, 0.0, [0.0] * 4)
    assert best(episode) == [None] * 4
    assert blame(episode.regrets or ()) == ()
    start = Episode.start(episode.case)
    assert (start.regrets, start.regret) == ((), 0.0)


def test_a_wasted_step_costs_its_waste_while_there_is_room(small: Pack) -> None:
    # 2.0 before it, five steps left; -0.2, and 2.0 to go with the four that are left: 0.2. The rest is best again.
    episode = played(small, "hard", DELIVERY, ORDER, FLY, EMAIL, RESOLVE)
    assert costs(episode) == [0.0, 0.0, 0.2, 0.0, 0.0]
    assert (episode.regret, episode.total) == (0.2, 1.8)
    # 'order' is known, so asking for it is no better; 'device' isn't needed.
    assert best(episode) == [None, None, EMAIL, None, None]
    assert blame(episode.regrets or ()) == ("step 3 cost 0.2; best was ask_info(email)",)


def test_a_wasted_step_costs_more_where_the_goal_gets_out_of_reach(small: Pack) -> None:
    # What is to be had at the start with fewer steps: with four 2.0. With three both fields and resolve, 1.5, the
    # classification given up (with it, 1.0 at the most). With two the classification and a field, 0.75. With one the
    # classification, 0.5. So five wasted steps of -0.2 cost
    #   2.0 + 0.2 - 2.0, 2.0 + 0.2 - 1.5, 1.5 + 0.2 - 0.75, 0.75 + 0.2 - 0.5, 0.5 + 0.2.
    episode = played(small, "hard", FLY, {}, RESOLVE, FLY, FLY)
    assert costs(episode) == [0.2, 0.7, 0.95, 0.45, 0.7]
    assert (episode.regret, episode.total) == (3.0, -1.0)
    # With three left either field may be the first: 'order' is before 'email' in the action space. Else the category.
    assert best(episode) == [DELIVERY, DELIVERY, ORDER, DELIVERY, DELIVERY]


def test_the_last_step_before_the_goal(small: Pack) -> None:
    # Resolving pays 1.0. The first wasted step leaves one step for it; the second leaves none: 1.0 + 0.2.
    episode = played(small, "hard", DELIVERY, ORDER, EMAIL, FLY, FLY)
    assert costs(episode) == [0.0, 0.0, 0.0, 0.2, 1.2]
    assert blame(episode.regrets or ()) == (
        "step 4 cost 0.2; best was resolve()",
        "step 5 cost 1.2; best was resolve()",
    )


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        # The ask earns 0.25, and leaves 0.25 + 1.0: the 0.5 is gone with the ask, and classifying late just takes time.
        ((ORDER, DELIVERY, EMAIL, RESOLVE), [0.5, 0.0, 0.0, 0.0]),
        # To be shown the category earns nothing, and leaves 0.5 + 1.0.
        ((SHOW, ORDER, EMAIL, RESOLVE), [0.5, 0.0, 0.0, 0.0]),
        # A wrong category is wasted as well. To correct it is free, and with five steps there is just time for it.
        ((REPAIR, DELIVERY, ORDER, EMAIL, RESOLVE), [0.7, 0.0, 0.0, 0.0, 0.0]),
        # Where there isn't: 0.5 + 0.2, then the waste, then 1.0 for the goal, which four more steps would have reached.
        ((REPAIR, FLY, DELIVERY, ORDER, EMAIL), [0.7, 0.2, 1.0, 0.0, 0.0]),
    ],
)
def test_the_classification_is_lost(small: Pack, actions: tuple[Action, ...], expected: list[float]) -> None:
    episode = played(small, "hard", *actions)
    assert costs(episode) == expected
    assert best(episode)[0] == DELIVERY
    assert episode.total == pytest.approx(2.0 - sum(expected))


def test_where_it_was_best_to_stop(small: Pack) -> None:
    # 'tell' pays 2.0 for resolving, and -0.2 for telling, without which it can't be: V* = 1.8. Three wasted steps cost
    # 0.2 each. The fourth leaves one step: nothing but waste can be had with it, so 1.8 + 0.2. Then to tell costs 0.2.
    episode = played(small, "tell", FLY, FLY, FLY, FLY, TELL)
    assert costs(episode) == [0.2, 0.2, 0.2, 2.0, 0.2]
    assert best(episode) == [TELL, TELL, TELL, TELL, None]
    assert blame(episode.regrets or ())[3:] == ("step 4 cost 2.0; best was tell()", "step 5 cost 0.2; best was to stop")
    assert (episode.total, episode.regret) == (-1.0, 2.8)


def test_of_an_episode_that_was_cut_off_only_the_steps_count(small: Pack) -> None:
    # 1.5 could still be had; nobody took a step that lost it.
    assert played(small, "hard", DELIVERY).regret == 0.0
    assert played(small, "hard", FLY, DELIVERY).regret == 0.2


def test_best_is_said_in_the_words_of_the_pack() -> None:
    found = (Regret(0, None), Regret(10_667, Choice("refund", (("what", "⚠️ 版本?"), ("times", 2), ("all", True)))))
    assert blame(found) == ("step 2 cost 1.0667; best was refund(⚠️ 版本?, 2, True)",)


# -- By brute force


class Truth:
    """V* of states as they are, from the definition: an agent may stop at any time."""

    def __init__(self, machine: Automaton) -> None:
        self.machine = machine
        self._known: dict[tuple[State, int], int] = {}
        self._needed: dict[tuple[State, int], int] = {}

    def __call__(self, state: State, remaining: int) -> int:
        if state.resolved or remaining == 0:
            return 0
        if (state, remaining) not in self._known:
            after = [self.had(state, remaining, choice) for choice in self.machine.actions.choices]
            self._known[state, remaining] = max(0, *after)
        return self._known[state, remaining]

    def had(self, state: State, remaining: int, choice: Choice) -> int:
        move = self.machine.transition(state, choice)
        return move.reward + self(move.state, remaining - 1)

    def good(self, state: State, remaining: int) -> dict[Choice, int]:
        """The actions with which V* can be had, each with the steps that then are still needed for it."""
        worth = self(state, remaining)
        choices = [choice for choice in self.machine.actions.choices if self.had(state, remaining, choice) == worth]
        return {choice: self.needed(self.machine.transition(state, choice).state, remaining - 1) for choice in choices}

    def needed(self, state: State, remaining: int) -> int:
        if self(state, remaining) == 0:
            return 0
        if (state, remaining) not in self._needed:
            self._needed[state, remaining] = 1 + min(self.good(state, remaining).values())
        return self._needed[state, remaining]


def check(case: Case, actions: Iterable[Action], truth: Truth) -> Episode:
    """Plays as far as it goes, and holds each step's regret against the definition."""
    episode, before = Episode.start(case), []
    for action in actions:
        if not episode.done:
            before.append((episode.state, case.pack.max_steps - episode.step_count))
            episode = episode.step(action)
    found = episode.regrets
    assert found is not None and len(found) == len(before)
    after = [*before[1:], (episode.state, case.pack.max_steps - episode.step_count)]
    for one, step, here, then in zip(found, episode.steps, before, after, strict=True):
        assert one.cost == truth(*here) - step.reward - truth(*then)
        assert one.cost >= 0
        good = truth.good(*here) if one.cost else {}
        assert one.best == min(good, key=good.__getitem__, default=None)
    whole = sum(one.cost for one in found)
    assert episode.regret == whole / 10_000
    total = sum(step.reward for step in episode.steps)
    assert whole + total == truth(case.automaton.initial, case.pack.max_steps) - truth(*after[-1])
    return episode


def moves(data: st.DataObject, machine: Automaton, most: int) -> list[Action]:
    valid = st.sampled_from(machine.actions.choices).map(Choice.canonical)
    return data.draw(st.lists(st.one_of(valid, valid, valid, st.sampled_from([{}, FLY])), min_size=1, max_size=most))


TICKETS = ("e-two", "e-known", "e-free", "e-idle", "m-script", "m-chatty", "m-waived", "m-goal", "h-repair", "h-slow")


@pytest.fixture(scope="module")
def truths() -> Callable[[Automaton], Truth]:
    known: dict[Automaton, Truth] = {}
    return lambda machine: known.setdefault(machine, Truth(machine))


@pytest.mark.parametrize("ticket", TICKETS)
@settings(deadline=None, max_examples=25)
@given(data=st.data(), seed=st.integers(0, 20))
def test_whatever_is_done(
    desk: Pack, truths: Callable[[Automaton], Truth], ticket: str, data: st.DataObject, seed: int
) -> None:
    case = make_case(desk, ticket, seed)
    episode = check(case, moves(data, case.automaton, 10), truths(case.automaton))
    best_return = solve(case.automaton)
    if episode.done and best_return is not None and episode.regret is not None:
        # The tickets of this pack are sound: V* = 2.0.
        assert best_return.best == 20_000
        assert episode.regret + episode.total == pytest.approx(2.0)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@COSTLY
@given(data=st.data())
def test_whatever_is_done_in_whatever_pack(steps: int, data: st.DataObject) -> None:
    pack = loaded(data.draw(documents(steps)))
    if pack is None:
        event("refused")
        return
    for ticket in pack.tickets.values():
        for case in cases(pack, ticket):
            check(case, moves(data, case.automaton, steps), Truth(case.automaton))


# -- How much is looked at


def test_an_automaton_is_explored_once(tmp_path: Path) -> None:
    pack = draft(tmp_path / "p.yaml")
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is graph.explore.__code__:
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        found = [played(pack, "hard", *actions).regret for actions in ((FLY,), (FLY, FLY), (SHOW,))]
    finally:
        sys.setprofile(None)
    assert found == [0.2, 0.9, 0.5]
    assert calls == {"explore": 1}
