"""Packs, what is played of them, and the environments: pickled, copied, and sent to another process."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
import numpy as np
import pytest
import verifiers as vf
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from engine.automaton import automaton
from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from engine.training.env import SupportEnv
from engine.training.tables import ARRAYS, Tables
from engine.training.tabulate import tables_of, tabulate
from engine.training.text import TextSupportEnv
from engine.training.vector_env import SupportVectorEnv
from engine.turns import manner
from tests.training.seen import lamp

Again = Callable[[Any], Any]
DESK = Path(__file__).resolve().parent.parent / "packs" / "desk.yaml"
ID = "deskproof:Deskproof/Support-v0"
WAYS: dict[str, Again] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "cloudpickle": lambda value: pickle.loads(cloudpickle.dumps(value)),
    "deepcopy": deepcopy,
}


@pytest.fixture(params=WAYS, name="again")
def _again(request: pytest.FixtureRequest) -> Again:
    return WAYS[request.param]


@pytest.mark.parametrize("path", [DESK, *shipped_packs()], ids=lambda path: path.stem)
def test_an_episode_goes_on_as_it_would_have(path: Path, again: Again) -> None:
    pack = load_pack(path)
    for ticket in [*pack.tickets][::5]:
        episode = Episode.start(make_case(pack, ticket, 3)).step({"type": "resolve"})
        assert episode.regrets is not None  # worked out, and kept in pack and automaton
        other = again(episode)
        assert other.case.pack.digest == pack.digest
        for choice in episode.case.automaton.actions.choices:
            assert other.observation == episode.observation
            assert other.record() == episode.record()
            if episode.done:
                break
            episode, other = episode.step(choice.canonical()), other.step(choice.canonical())
        assert (other.steps, other.regrets) == (episode.steps, episode.regrets)


def test_a_pack_comes_back_without_what_it_keeps(desk: Pack) -> None:
    tables_of(desk)
    found = pickle.loads(pickle.dumps(desk))
    assert found.kept == {}
    assert tabulate(found).packed() == tabulate(desk).packed()
    assert (found.tickets, found.tests, found.demands) == (desk.tickets, desk.tests, desk.demands)
    with pytest.raises(TypeError):
        found.tickets["new"] = None
    assert deepcopy(desk) is desk


def test_parts_of_a_pack(desk: Pack, again: Again) -> None:
    ticket = desk.tickets["e-two"]
    assert again(ticket) == ticket
    machine = automaton(desk, "e-two", frozenset(ticket.known), manner(ticket, None))
    assert again(machine).initial == machine.initial
    assert again(make_case(desk, "e-two", 4)).message == make_case(desk, "e-two", 4).message


def test_tables_stay_read_only(again: Again) -> None:
    found = again(tabulate(lamp()))
    assert isinstance(found, Tables)
    assert found.packed() == tabulate(lamp()).packed()
    assert not any(getattr(found, name).flags.writeable for name in ARRAYS)


@pytest.mark.parametrize("made", [SupportEnv, lambda pack: gymnasium.make(ID, pack=pack)], ids=["class", "make"])
def test_a_single_environment_goes_on(made: Callable[[Pack], Any], again: Again) -> None:
    env = made(lamp())
    env.reset(seed=1)
    env.step(0)
    other = again(env)
    for one in (env, other):
        assert one.step(1)[1:4] == (0.5, False, False)
        assert one.step(3)[1:4] == (1.0, True, False)
        assert one.unwrapped.episode.total == 2.0
    assert env.reset()[0].tolist() == other.reset()[0].tolist()


@pytest.mark.parametrize("copy", [True, False])
def test_many_environments_go_on(copy: bool, again: Again) -> None:
    envs = SupportVectorEnv(5, "it_helpdesk_de", copy=copy)
    envs.reset(seed=2)
    envs.step(np.arange(5))
    other = again(envs)
    for action in range(len(envs.action_names)):
        (*arrays, told), (*others, info) = (one.step(np.full(5, action)) for one in (envs, other))
        for array, beside in zip([*arrays, *told.values()], [*others, *info.values()], strict=True):
            assert np.array_equal(array, beside)


def test_an_environment_of_text_goes_on(again: Again) -> None:
    env = TextSupportEnv(DESK)
    env.reset(ticket="e-two", seed=3)
    env.step({"type": "resolve"})
    other = again(env)
    assert other.messages == env.messages
    assert other.step({"type": "classify"}) == env.step({"type": "classify"})


@pytest.fixture
def signals() -> Iterator[None]:
    """An environment of verifiers' takes the process's signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("way", ["cloudpickle", "deepcopy"])
def test_an_environment_of_verifiers(way: str) -> None:
    """Their own environments hold functions without a name, which pickle alone doesn't take."""
    env: Any = vf.load_environment("deskproof", pack=str(DESK), evaluate="validation", seeds=1)
    assert WAYS[way](env).get_dataset().to_list() == env.get_dataset().to_list()


def test_environments_in_processes_of_their_own() -> None:
    """Spawned, each gets what makes its environment, a pack with it, by cloudpickle."""
    pack = lamp()
    made = [lambda: gymnasium.make(ID, pack=pack)] * 2
    apart, here = AsyncVectorEnv(made, context="spawn"), SyncVectorEnv(made)
    try:
        assert apart.reset(seed=0)[0].tolist() == here.reset(seed=0)[0].tolist()
        for actions in ([0, 1], [1, 0], [3, 3], [0, 0]):
            theirs, ours = apart.step(np.array(actions)), here.step(np.array(actions))
            assert [array.tolist() for array in theirs[:4]] == [array.tolist() for array in ours[:4]]
        assert {tables.digest for tables in apart.get_attr("tables")} == {pack.digest}
    finally:
        apart.close()
