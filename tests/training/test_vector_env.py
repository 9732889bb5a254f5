"""`SupportVectorEnv`: against Gymnasium's own `SyncVectorEnv`, and by hand."""

from __future__ import annotations

import tracemalloc
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from engine.training.env import SupportEnv
from engine.training.tables import Tables, TablesError
from engine.training.tabulate import tables_of, tabulate
from engine.training.vector_env import SupportVectorEnv
from tests.commands import deskproof
from tests.training.seen import lamp

ASK, CLASSIFY, CLASSIFY_DARK, RESOLVE = range(4)  # the lamp's


def taken(*actions: int) -> Any:
    return np.array(actions)


def same(mine: Any, theirs: Any) -> None:
    """Two infos or their parts; of same-step's final ones those that there are."""
    if isinstance(theirs, dict):
        for name in theirs:
            if name.startswith("_"):
                assert np.array_equal(mine[name], theirs[name]), name
            elif isinstance(theirs[name], dict):
                same(mine[name], theirs[name])
            else:
                for index in np.flatnonzero(theirs[f"_{name}"]):
                    assert np.array_equal(mine[name][index], theirs[name][index]), (name, index)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize("pack", ["customer_support", "bank_disputes"])
def test_it_does_what_gymnasiums_own_does(mode: AutoresetMode, pack: str) -> None:
    many = 7
    theirs = SyncVectorEnv([lambda: SupportEnv(pack)] * many, autoreset_mode=mode)
    mine = SupportVectorEnv(many, pack, autoreset_mode=mode)
    assert mine.metadata["autoreset_mode"] is mode
    assert mine.observation_space == theirs.observation_space
    assert mine.single_observation_space == theirs.single_observation_space
    assert mine.action_space == theirs.action_space
    assert mine.single_action_space == theirs.single_action_space
    chance = np.random.default_rng(3)
    ends = 0
    for seed in (11, None, [5, None, 3, 3, None, 90, 2]):
        (seen, told), (shown, info) = mine.reset(seed=seed), theirs.reset(seed=seed)
        assert np.array_equal(seen, shown)
        same(told, {name: info[name] for name in info if name.strip("_") in ("action_mask", "message_index")})
        for _ in range(40):
            actions = chance.integers(0, len(mine.action_names), many)
            *arrays, told = mine.step(actions)
            *others, info = theirs.step(actions)
            for array, other in zip(arrays, others, strict=True):
                assert np.array_equal(array, other)
                assert array.dtype == other.dtype
            # A single environment tells more at its reset.
            same(told, {name: info[name] for name in info if name.strip("_") in (*told, "final_obs", "final_info")})
            assert ("final_obs" in told) == ("final_obs" in info)
            ends += int(np.sum(arrays[2] | arrays[3]))
    assert ends > 20


def test_next_step_by_hand() -> None:
    """Two lamps, one case each; the second is resolved with its second step, before it was classified."""
    envs = SupportVectorEnv(2, lamp())
    seen, told = envs.reset(seed=0)
    assert seen.tolist() == [[0, 1, 1, 0, 0, 0, 3]] * 2
    assert told["message_index"].tolist() == [0, 1]
    envs.step(taken(RESOLVE, ASK))
    seen, reward, terminated, truncated, told = envs.step(taken(ASK, RESOLVE))
    assert seen.tolist() == [[1, 1, 0, 0, 100, 0, 1], [1, 1, 0, 0, 100, 0, 1]]
    assert reward.tolist() == [0.5, 1.0]
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [False, False])
    assert told["message_index"].tolist() == [0, 1]
    # The first is cut off, the second reset: RESOLVE would have cost it something.
    seen, reward, terminated, truncated, told = envs.step(taken(RESOLVE, RESOLVE))
    assert seen.tolist() == [[1, 1, 0, 0, 100, 0, 0], [0, 1, 1, 0, 0, 0, 3]]
    assert reward.tolist() == [1.0, 0.0]
    assert (terminated.tolist(), truncated.tolist()) == ([True, False], [False, False])
    assert told["message_index"].tolist() == [0, 0]
    seen, reward, *_, told = envs.step(taken(ASK, ASK))
    assert seen.tolist() == [[0, 1, 1, 0, 0, 0, 3], [1, 1, 0, 0, 100, 0, 2]]
    assert reward.tolist() == [0.0, 0.5]
    assert told["message_index"].tolist() == [1, 0]


def test_same_step_by_hand() -> None:
    envs = SupportVectorEnv(2, lamp(), autoreset_mode="SameStep")
    envs.reset(seed=0)
    *_, told = envs.step(taken(RESOLVE, ASK))
    assert "final_obs" not in told
    envs.step(taken(RESOLVE, CLASSIFY))
    seen, reward, terminated, truncated, told = envs.step(taken(RESOLVE, RESOLVE))
    assert seen.tolist() == [[0, 1, 1, 0, 0, 0, 3]] * 2
    assert reward.tolist() == [-0.3333, 1.0]
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [True, False])
    assert [last.tolist() for last in told["final_obs"]] == [[0, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 100, 1, 0]]
    assert told["_final_obs"].tolist() == told["_final_info"].tolist() == [True, True]
    assert told["final_info"]["message_index"].tolist() == [0, 1]
    assert told["message_index"].tolist() == [1, 0]


def test_what_was_returned_stays_as_it_was() -> None:
    """As with Gymnasium's own: a buffer that keeps what came holds what came, and not what came last."""
    envs = SupportVectorEnv(1, lamp())
    seen, told = envs.reset(seed=0)
    kept = [(seen, told["action_mask"], told["message_index"], envs.states)]
    seen, reward, over, _, told = envs.step(taken(ASK))
    kept.append((seen, told["action_mask"], told["message_index"], envs.states))
    envs.step(taken(RESOLVE))
    envs.step(taken(RESOLVE))
    assert [seen.tolist() for seen, *_ in kept] == [[[0, 1, 1, 0, 0, 0, 3]], [[1, 1, 0, 0, 100, 0, 2]]]
    assert [mask.tolist() for _, mask, *_ in kept] == [[[1, 1, 1, 0]], [[0, 1, 1, 1]]]
    assert [(message.tolist(), state.tolist()) for *_, message, state in kept] == [([0], [0]), ([0], [1])]
    assert (reward.tolist(), over.tolist()) == ([0.5], [False])


def test_without_copies_arrays_are_written_anew() -> None:
    envs = SupportVectorEnv(1, lamp(), copy=False)
    first, _ = envs.reset(seed=0)
    second, *_ = envs.step(taken(ASK))
    assert second is first
    assert first.tolist() == [[1, 1, 0, 0, 100, 0, 2]]


def test_masks_can_be_left_out() -> None:
    envs = SupportVectorEnv(2, lamp(), masks=False)
    _, told = envs.reset(seed=0)
    assert told.keys() == {"message_index", "_message_index"}


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.uint64, np.int8])
def test_actions_of_any_integers(kind: Any) -> None:
    envs = SupportVectorEnv(2, lamp())
    envs.reset(seed=0)
    assert envs.step(np.array([ASK, RESOLVE], kind))[1].tolist() == [0.5, -0.3333]
    assert envs.states.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 4], "actions must be from 0 up to 3"),
        ([-1, 0], "actions must be from 0 up to 3"),
        ([0], "actions must be 2 integers, not int64 of \\(1,\\)"),
        ([0.0, 1.0], "actions must be 2 integers, not float64"),
        ([True, False], "actions must be 2 integers, not bool"),
    ],
)
def test_what_is_no_action_is_refused(actions: list[Any], message: str) -> None:
    envs = SupportVectorEnv(2, lamp())
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step(np.array(actions))
    assert envs.step(taken(ASK, ASK))[1].tolist() == [0.5, 0.5]


def test_what_it_is_made_of(tmp_path: Any) -> None:
    """A pack, tables, or the path of tables: one and the same."""
    tables_of(lamp()).save(tmp_path / "lamp.npz")
    for made in (
        SupportVectorEnv(1, lamp()),
        *(
            SupportVectorEnv(1, tables=given)
            for given in (tabulate(lamp()), tmp_path / "lamp.npz", str(tmp_path / "lamp.npz"))
        ),
    ):
        assert isinstance(made.tables, Tables)
        assert made.reset(seed=0)[0].tolist() == [[0, 1, 1, 0, 0, 0, 3]]
    with pytest.raises(ValueError, match="either a pack or its tables, not both"):
        SupportVectorEnv(1, lamp(), tables=tabulate(lamp()))
    with pytest.raises(ValueError, match="num_envs must be 1 or more, not 0"):
        SupportVectorEnv(0, lamp())
    with pytest.raises(ValueError, match="autoreset_mode must be 'NextStep' or 'SameStep', not 'Disabled'"):
        SupportVectorEnv(1, lamp(), autoreset_mode="Disabled")
    with pytest.raises(ValueError, match="render_mode must be None, not 'ansi'"):
        SupportVectorEnv(1, lamp(), render_mode="ansi")
    with pytest.raises(gymnasium.error.ResetNeeded):
        SupportVectorEnv(1, lamp()).step(taken(0))
    with pytest.raises(TablesError, match="have no ticket 'lamb': did you mean 'lamp'"):
        SupportVectorEnv(1, lamp(), ticket="lamb")
    with pytest.raises(ValueError, match="a seed for each of the 2 environments, not 1"):
        SupportVectorEnv(2, lamp()).reset(seed=[1])


def test_options_choose_from_then_on() -> None:
    envs = SupportVectorEnv(3, "customer_support")
    envs.reset(seed=0, options={"ticket": "t-36cd"})
    of_ticket = set(envs.tables.choose(ticket="t-36cd").tolist())
    for _ in range(30):
        envs.step(taken(0, 1, 2))
        assert set(envs.cases.tolist()) <= of_ticket
    envs.reset()
    assert set(envs.cases.tolist()) <= of_ticket
    with pytest.raises(TablesError, match="no case that is all of this at once"):
        envs.reset(options={"task": "easy-info-collection"})


def test_options_that_choose_the_same_go_on_in_order() -> None:
    envs = SupportVectorEnv(2, "customer_support")
    chosen = envs.tables.choose(ticket="t-36cd")
    for number in (0, 1, 2):
        envs.reset(seed=0 if not number else None, options={"ticket": "t-36cd"})
        assert envs.cases.tolist() == [chosen[place % len(chosen)] for place in (number, number + 1)]


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (3, {"ticket": "t-none"}),
        (3, {"tiket": "t-36cd"}),
        (-1, {"ticket": "t-36cd"}),
        ([1, 2], {"split": "x"}),
        ([1, 2, 3], None),
    ],
)
def test_a_reset_that_is_refused_changes_nothing(seed: Any, options: Any) -> None:
    envs, others = (SupportVectorEnv(2, "customer_support", split="train") for _ in range(2))
    for one in (envs, others):
        one.reset(seed=7)
        one.step(taken(0, 1))
    with pytest.raises(ValueError, match=r"no |whole|a seed for each"):
        envs.reset(seed=seed, options=options)
    assert envs.np_random.integers(1_000) == others.np_random.integers(1_000)
    assert np.array_equal(envs.step(taken(1, 0))[0], others.step(taken(1, 0))[0])
    envs.reset()
    others.reset()
    assert envs.cases.tolist() == others.cases.tolist()


@pytest.mark.parametrize(
    "seed", [-1, 1.5, {1, 2}, {1: 2, 2: 3}, [0, 1.5], [0, -1], (None, "1"), "12", np.int64(-1), np.array([0.5, 1])]
)
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be a whole number from 0 up, not "):
        SupportVectorEnv(2, lamp()).reset(seed=seed)


@pytest.mark.parametrize(
    ("seed", "cases"),
    [
        (5, [5, 6]),
        (np.int64(5), [5, 6]),
        (5.0, [5, 6]),
        ((5, 2), [5, 2]),
        (np.array([5, 2]), [5, 2]),
        ([np.uint8(5), 2.0], [5, 2]),
        ([2**70, 0], [2**70, 0]),
    ],
)
def test_a_seed_is_any_whole_number(seed: Any, cases: list[int]) -> None:
    envs = SupportVectorEnv(2, "it_helpdesk_de")
    envs.reset(seed=seed)
    assert envs.cases.tolist() == [case % envs.tables.cases for case in cases]


@pytest.mark.parametrize("chosen", [{"split": "test"}, {"ticket": "v-5c1e"}], ids=str)
def test_tables_of_a_choice_are_played_as_the_choice_is(chosen: dict[str, str], tmp_path: Any) -> None:
    """What differs is numbers of states, cases and messages: the tables of a choice number their own."""
    arguments = [part for name, value in chosen.items() for part in (f"--{name}", value)]
    assert deskproof("compile", "it_helpdesk_de", "-o", tmp_path / "some.npz", *arguments).exit_code == 0
    many = 12
    whole = SupportVectorEnv(many, "it_helpdesk_de", **chosen)  # type: ignore[arg-type]
    some = SupportVectorEnv(many, tables=tmp_path / "some.npz")
    assert whole.reset(seed=3)[0].tolist() == some.reset(seed=3)[0].tolist()
    chance = np.random.default_rng(5)
    for _ in range(60):
        actions = chance.integers(0, len(whole.action_names), many)
        (*arrays, told), (*others, info) = whole.step(actions), some.step(actions)
        for array, other in zip(arrays, others, strict=True):
            assert np.array_equal(array, other)
        assert np.array_equal(told["action_mask"], info["action_mask"])
        said = [
            [envs.tables.messages[index] for index in message["message_index"]]
            for envs, message in ((whole, told), (some, info))
        ]
        assert said[0] == said[1]


def test_make_vec_makes_it() -> None:
    envs = gymnasium.make_vec("deskproof:Deskproof/Support-v0", num_envs=3, pack="it_helpdesk_de")
    assert isinstance(envs, SupportVectorEnv)
    assert envs.num_envs == 3
    assert envs.reset(seed=1)[0] in envs.observation_space
    drawn = envs.reset()
    assert drawn[0] in envs.observation_space


def test_a_step_in_which_nothing_ends_allocates_no_array() -> None:
    """An array of all of them would take a byte for each, at the least."""
    many = 50_000
    envs = SupportVectorEnv(many, lamp(), copy=False)
    envs.reset(seed=0)
    actions = np.full(many, ASK)
    tracemalloc.start()
    try:
        envs.step(actions)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < many
