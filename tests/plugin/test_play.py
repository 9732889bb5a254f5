"""What may be asserted of an episode: each assertion where it holds, and where it doesn't what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.episode import EpisodeOver
from engine.evaluation.agents import AgentError
from engine.evaluation.spent import AgentStopped
from engine.load import load_pack
from engine.pack import Pack
from engine.testing.play import Play
from engine.testing.scenario import Scenario
from tests.plugin.projects import PACK


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    file = tmp_path_factory.mktemp("lamps") / "lamps.yaml"
    file.write_text(PACK, "utf-8")
    return load_pack(file)


@pytest.fixture
def play(pack: Pack) -> Play:
    """t-1: classified, a needless ask (it costs 0.1), the order asked for twice and told. Not resolved."""
    play = Scenario(pack, "t-1", 7).start()
    play.step("classify")
    play.step("ask_info", field="colour")
    play.step("ask_info", field="order")
    play.step({"type": "ask_info", "field": "order"})
    return play


def test_what_it_shows(play: Play) -> None:
    assert play.outcomes == ("classify.right", "ask_info.unneeded", "ask_info.stalled", "ask_info.answered")
    assert (play.total, play.reward, play.regret) == (0.9, 0.5, 0.1)
    assert (play.step_count, play.done, play.end_reason) == (4, False, None)
    assert play.score == 1.0  # easy: of what was missing half is enough
    assert [tool["name"] for tool in play.tools] == ["ask_info", "classify", "resolve"]
    assert repr(play) == "<Play of t-1, seed 7: 4 steps>"


HOLDS: list[Callable[[Play], Any]] = [
    lambda play: play.assert_score(at_least=1.0),
    lambda play: play.assert_outcome("ask_info.answered"),
    lambda play: play.assert_outcome("classify.right", step=1),
    lambda play: play.assert_happened("ask_info.stalled", "ask_info.unneeded"),
    lambda play: play.assert_never("invalid", "resolve.done", "classify.no_effect"),
    lambda play: play.assert_asked("order", "colour"),
    lambda play: play.assert_not_asked(),
    lambda play: play.assert_known("order", order="L-1"),
]


@pytest.mark.parametrize("holds", HOLDS)
def test_what_holds_says_nothing(play: Play, holds: Callable[[Play], Any]) -> None:
    holds(play)


FAILS: list[tuple[Callable[[Play], Any], str]] = [
    (lambda play: play.assert_resolved(), "the ticket isn't resolved: the episode is still open"),
    (
        lambda play: play.assert_outcome("ask_info.stalled"),
        "step 4 came to ask_info.answered, expected ask_info.stalled",
    ),
    (lambda play: play.assert_outcome("resolve.done", step=5), "step 5: there is none"),
    (lambda play: play.assert_happened("ask_info.stalled", "ask_info.refused"), "no step came to ask_info.refused"),
    (lambda play: play.assert_never("invalid", "ask_info.unneeded"), "step 2 came to ask_info.unneeded"),
    (lambda play: play.assert_not_asked("order", "colour"), "'colour' was asked for"),
    (lambda play: play.assert_known("order", "colour"), "'colour' isn't known"),
    (lambda play: play.assert_known(order="L-2"), "'order' is known as 'L-1', expected 'L-2'"),
]


@pytest.mark.parametrize(("fails", "sentence"), FAILS, ids=[sentence for _, sentence in FAILS])
def test_what_does_not_hold_is_said_with_the_episode(play: Play, fails: Callable[[Play], Any], sentence: str) -> None:
    with pytest.raises(AssertionError) as failed:
        fails(play)
    first, blank, ticket, *lines = str(failed.value).splitlines()
    assert (first, blank, ticket) == (sentence, "", "ticket t-1, seed 7 of lamps 1.0.0")
    assert "      ! step 2 cost 0.1; best was ask_info(order)" in lines
    assert lines[-1] == "open after 4 steps; return 0.9000, score 1.0000, regret 0.1000"


def test_the_step_that_it_comes_down_to_is_marked(play: Play) -> None:
    with pytest.raises(AssertionError, match=r"(?m)^>   2 ask_info colour \(unneeded\): -0.1000, return 0.4000$"):
        play.assert_never("ask_info.unneeded")


def test_a_resolved_ticket_and_its_bounds(play: Play) -> None:
    play.step("resolve")
    play.assert_resolved()
    play.assert_resolved(max_steps=5, max_regret=0.1)
    with pytest.raises(AssertionError, match="resolved in 5 steps, 4 are the most that may be taken"):
        play.assert_resolved(max_steps=4)
    with pytest.raises(AssertionError, match=r"the regret is 0\.1, expected 0\.05 at the most"):
        play.assert_resolved(max_regret=0.05)
    with pytest.raises(EpisodeOver, match=r"ended after 5 steps \(resolved\)"):
        play.step("resolve")


def test_a_regret_that_is_not_known_is_no_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.dynamics.regret.BUDGET", 1)
    (tmp_path / "lamps.yaml").write_text(PACK, "utf-8")
    play = Scenario(load_pack(tmp_path / "lamps.yaml"), "t-1", 7).start()
    for name, field in (("classify", {}), ("ask_info", {"field": "order"}), ("ask_info", {"field": "order"})):
        play.step(name, **field)
    play.step("resolve")
    play.assert_resolved(max_steps=4)
    with pytest.raises(AssertionError) as failed:
        play.assert_resolved(max_regret=10)
    first, *_, last = str(failed.value).splitlines()
    assert first == "the regret isn't known: the ticket has too many states"
    told = "resolved after 4 steps; return 2.0000, score 1.0000, regret not known: the ticket has too many states"
    assert (play.regret, last) == (None, told)


def test_out_of_steps_is_said(pack: Pack) -> None:
    play = Scenario(pack, "t-2", 0).start()
    while not play.done:
        play.step("resolve")
    assert (play.step_count, play.end_reason, play.total, play.score) == (10, "max_steps", -1.0, 0.0)
    with pytest.raises(AssertionError, match="the episode is out of steps"):
        play.assert_resolved()
    with pytest.raises(AssertionError, match=r"the score is 0, expected 0\.5 at the least"):
        play.assert_score(at_least=0.5)


def test_before_the_first_step(pack: Pack) -> None:
    play = Scenario(pack, "t-2", 0).start()
    play.assert_never("invalid")
    with pytest.raises(AssertionError, match="no step was taken yet"):
        play.assert_outcome("resolve.done")
    with pytest.raises(AssertionError, match="'order' was never asked for"):
        play.assert_asked("order")


NAMES: list[tuple[Callable[[Play], Any], str]] = [
    (lambda play: play.assert_outcome("answered"), "The pack 'lamps' has no outcome 'answered'."),
    (lambda play: play.assert_never("resolve.doen"), "no outcome 'resolve.doen'. Did you mean 'resolve.done'?"),
    (lambda play: play.assert_happened("invalid_"), "Did you mean 'invalid'?"),
    (lambda play: play.assert_asked("Order"), "Did you mean 'order'?"),
    (lambda play: play.assert_not_asked("odrer"), "Did you mean 'order'?"),
    (lambda play: play.assert_known(colr="red"), "The pack 'lamps' has no field 'colr'. Did you mean 'colour'?"),
]


@pytest.mark.parametrize(("asks", "said"), NAMES)
def test_a_name_that_there_is_not_is_a_slip_of_the_test(play: Play, asks: Callable[[Play], Any], said: str) -> None:
    with pytest.raises(ValueError, match="The pack 'lamps' has no") as failed:
        asks(play)
    assert said in str(failed.value)


def test_an_agent_that_gives_up_leaves_the_episode_as_it_is(pack: Pack) -> None:
    def act(observation: dict[str, Any]) -> dict[str, Any]:
        if observation["step_count"] == 1:
            raise AgentStopped
        return {"type": "classify"}

    play = Scenario(pack, "t-1", 0).play(act)
    assert (play.outcomes, play.done, play.total) == (("classify.right",), False, 0.5)


def test_an_agent_that_hangs_has_so_many_seconds_for_a_step(pack: Pack) -> None:
    def act(observation: dict[str, Any]) -> dict[str, Any]:
        if observation["step_count"] == 1:
            Event().wait(30)
        return {"type": "classify"}

    scenario = Scenario(pack, "t-1", 0, seconds=0.05)
    with pytest.raises(AgentError, match=r"act gave no answer within 0\.05 s\.$"):
        scenario.play(act)
    assert [play.outcomes for play in scenario.plays] == [("classify.right",)]


def test_a_mistake_of_the_agents_is_a_step(pack: Pack) -> None:
    play = Scenario(pack, "t-1", 0).start()
    for action in ({}, {"type": "aks"}, {"type": "ask_info"}, {"type": "ask_info", "field": ["order"]}):
        play.step(action)
        play.assert_outcome("invalid")
    assert play.total == -0.4
    play.assert_not_asked("order", "colour")


def test_fields_of_any_name_can_be_asserted(desk: Pack) -> None:
    for ticket in desk.tickets.values():
        play = Scenario(desk, ticket.id, 0).start()
        for name in desk.fields:
            if play.done:
                break
            play.step("ask_info", field=name)
            play.assert_asked(name)
            known = play.observation["known_info"]
            play.assert_known(**known)
