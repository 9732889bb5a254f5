"""`Deskproof/Support-v0`: Gymnasium's own checks, what it tells, and that it plays what the engine plays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack, pack_path, shipped_packs
from engine.training.choosing import choose
from engine.training.env import SupportEnv
from engine.training.tables import TablesError
from engine.training.tabulate import tables_of
from engine.training.vector_env import SupportVectorEnv
from tests.training.seen import columns_of, lamp, two_alike, two_lamps

ID = "deskproof:Deskproof/Support-v0"
PACKS = [path.name for path in shipped_packs()]
ASK, CLASSIFY, CLASSIFY_DARK, RESOLVE = range(4)  # the lamp's
# In a soak, of all shipped packs together.
EPISODES = 10_000 if os.environ.get("SOAK") else 600


@pytest.mark.parametrize("pack", [None, *PACKS])
def test_gymnasium_finds_nothing_wrong(pack: str | None) -> None:
    """Its warnings are errors here."""
    env = gymnasium.make(ID, pack=pack)
    check_env(env.unwrapped)


def test_an_episode_of_the_lamp() -> None:
    """Rewards and columns as tests/training/test_tables.py works them out: known, required, missing, task, progress,
    classified, remaining."""
    env = SupportEnv(lamp())
    seen, told = env.reset(seed=0)
    assert seen.tolist() == [0, 1, 1, 0, 0, 0, 3]
    assert (told["ticket_id"], told["action_names"]) == ("lamp", env.action_names)
    assert told["message"] == env.tables.messages[told["message_index"]]
    assert told["action_mask"].tolist() == [1, 1, 1, 0]
    seen, reward, terminated, truncated, told = env.step(ASK)
    assert (seen.tolist(), reward, terminated, truncated) == ([1, 1, 0, 0, 100, 0, 2], 0.5, False, False)
    assert told["action_mask"].tolist() == [0, 1, 1, 1]
    assert told.keys() == {"action_mask", "message_index"}
    seen, reward, terminated, truncated, _ = env.step(CLASSIFY)
    assert (seen.tolist(), reward, terminated, truncated) == ([1, 1, 0, 0, 100, 1, 1], 0.5, False, False)
    seen, reward, terminated, truncated, _ = env.step(RESOLVE)
    assert (seen.tolist(), reward, terminated, truncated) == ([1, 1, 0, 0, 100, 1, 0], 1.0, True, False)
    assert env.episode.total == 2.0


def test_an_episode_is_cut_off_after_the_packs_steps() -> None:
    env = SupportEnv(lamp())
    env.reset(seed=0)
    ends = [env.step(RESOLVE)[1:4] for _ in range(3)]
    assert ends == [(-0.3333, False, False), (-0.3333, False, False), (-0.3333, False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\) begins one"):
        env.step(RESOLVE)


def test_a_seed_decides_the_case_and_a_reset_without_one_goes_on() -> None:
    env = SupportEnv("customer_support")
    number = env.tables.cases
    env.reset(seed=number + 4)
    assert env.case == 4
    env.reset()
    assert env.case == 5
    env.reset(seed=number - 1)
    env.reset()
    assert env.case == 0
    other = SupportEnv("customer_support")
    other.reset()  # drawn, since it was never seeded
    drawn = other.case
    other.reset()
    assert other.case == (drawn + 1) % number


def test_tickets_are_chosen_when_it_is_made_and_when_it_is_reset() -> None:
    env = SupportEnv("customer_support", task="medium-complete-info")
    chosen = env.tables.choose(task="medium-complete-info")
    env.reset(seed=2)
    assert env.case == chosen[2]
    _, told = env.reset(seed=0, options={"task": None, "ticket": "t-36cd"})
    assert told["ticket_id"] == "t-36cd"
    _, told = env.reset()
    assert told["ticket_id"] == "t-36cd"
    with pytest.raises(TablesError, match="have no split 'tests': did you mean 'test'"):
        env.reset(options={"split": "tests"})
    with pytest.raises(ValueError, match="reset has no option 'tiket'; did you mean 'ticket'"):
        env.reset(options={"tiket": "t-36cd"})
    with pytest.raises(TablesError, match="have no task 'easy'"):
        SupportEnv("customer_support", task="easy")


@pytest.mark.parametrize("options", [{"split": "tests"}, {"tiket": "t-36cd"}, {"ticket": "t-36cd", "split": "x"}])
def test_a_reset_that_is_refused_changes_nothing(options: dict[str, Any]) -> None:
    env, other = (SupportEnv("customer_support", task="medium-complete-info") for _ in range(2))
    for one in (env, other):
        one.reset(seed=7)
        one.step(0)
    with pytest.raises(ValueError, match="no "):
        env.reset(seed=9, options=options)
    assert (env.case, env.state) == (other.case, other.state)
    assert env.np_random.integers(1_000) == other.np_random.integers(1_000)
    assert env.step(1)[1:3] == other.step(1)[1:3]
    assert env.reset()[1]["ticket_id"] == other.reset()[1]["ticket_id"]


@pytest.mark.parametrize("seed", [-1, 1.5, "1", [1], {1}, np.float64(0.5), np.int64(-1)])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    env = SupportEnv(lamp())
    env.reset(seed=1)
    with pytest.raises(ValueError, match="seed must be a whole number from 0 up, not "):
        env.reset(seed=seed)
    assert env.case == 1


@pytest.mark.parametrize("seed", [5, 5.0, np.int64(5), np.uint8(5), np.float64(5)])
def test_a_seed_is_any_whole_number(seed: Any) -> None:
    env = SupportEnv("it_helpdesk_de")
    env.reset(seed=seed)
    assert env.case == 5


def test_options_that_choose_the_same_go_on_in_order() -> None:
    env = SupportEnv("customer_support")
    chosen = env.tables.choose(task="medium-complete-info")
    env.reset(seed=3, options={"task": "medium-complete-info"})
    for number in (4, 5, 6):
        env.reset(options={"task": "medium-complete-info"})
        assert env.case == chosen[number]


def test_masks_as_sb3_contrib_asks_for_them() -> None:
    env = gymnasium.make(ID, pack=lamp())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.get_wrapper_attr("action_masks")()
    env.reset(seed=0)
    found = env.get_wrapper_attr("action_masks")()
    assert (found.dtype, found.tolist()) == (np.bool_, [True, True, True, False])


def test_a_split_that_is_worded_like_another_is_refused() -> None:
    said = r"Ticket 'other' \(test\) opens with the words of ticket 'lamp' \(train\)"
    pack = two_alike()
    env = SupportEnv(pack)
    env.reset(seed=1)
    for door in (
        lambda: SupportEnv(pack, split="test"),
        lambda: env.reset(options={"split": "train"}),
        lambda: SupportVectorEnv(2, pack, split="train"),
        lambda: choose(pack, 1, split="train"),
    ):
        with pytest.raises(ValueError, match=said):
            door()
    assert env.case == 1
    SupportEnv(two_lamps(split="test"), split="test").reset()


def test_what_is_wrong_is_said() -> None:
    env = SupportEnv(lamp())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(ASK)
    with pytest.raises(gymnasium.error.ResetNeeded):
        _ = env.episode
    env.reset(seed=0)
    for action in (-1, 4, 1.5, None):
        with pytest.raises(ValueError, match="actions are whole numbers from 0 up to 3"):
            env.step(action)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="render_mode can be 'ansi' or None, not 'human'"):
        SupportEnv(lamp(), render_mode="human")
    with pytest.raises(LookupError, match="no_pack"):
        SupportEnv("no_pack")


def test_a_file_is_a_pack_too(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(
        "{pack: one, version: '1', fields: {a: {}}, tickets: [{id: t, task: easy-info-collection, "
        'messages: ["Hi\\e[1m"], required: [a], answers: {a: x}}]}'
    )
    env = SupportEnv(path, render_mode="ansi")
    env.reset(seed=0)
    env.step(0)
    # What would steer a terminal comes as an escape.
    assert env.render() == (
        "customer: Hi\\x1b[1m\nagent: ask_info(field=a)\ncustomer: x\n"
        "[open; missing: nothing that shows; steps left: 9]"
    )


def test_a_file_is_read_again_once_it_was_edited(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    written = (
        "{{pack: one, version: '1', fields: {{a: {{}}}}, tickets: [{{id: t, task: easy-info-collection, "
        "messages: [{}], required: [a], answers: {{a: x}}}}]}}"
    )
    path.write_text(written.format("Old"))
    first = SupportEnv(path)
    assert SupportEnv(path).tables is first.tables
    path.write_text(written.format("New"))
    assert SupportEnv(path).reset()[1]["message"] == "New"
    assert SupportVectorEnv(1, path).tables.messages == ("New",)
    assert first.reset()[1]["message"] == "Old"


def test_one_import_is_enough_whichever_extra_is_there() -> None:
    """Each in a process that lacks the other's library."""
    made = "import gymnasium; print(gymnasium.make('deskproof:Deskproof/Support-v0').unwrapped.action_names[-1])"
    loaded = "import deskproof; print(deskproof.load_environment.__module__, hasattr(deskproof, 'other'))"
    for absent, code, said in (
        ("verifiers", made, "resolve()"),
        ("gymnasium", loaded, "engine.training.verifiers False"),
    ):
        command = [sys.executable, "-c", f"import sys; sys.modules[{absent!r}] = None\n{code}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.strip() == said


def test_render_tells_the_conversation() -> None:
    env = SupportEnv(lamp(), render_mode="ansi")
    _, told = env.reset(seed=0)
    assert env.render() == f"customer: {told['message']}\n[open; missing: model; steps left: 3]"
    for action in (ASK, CLASSIFY_DARK, RESOLVE):
        env.step(action)
    assert env.render() == "\n".join(
        (
            f"customer: {told['message']}",
            "agent: ask_info(field=model)",
            "customer: L-7",
            "agent: classify(category=dark)",
            "desk: Category: dark. Needed: model.",
            "agent: resolve()",
            "customer: Thank you, that settles it.",
            "[resolved; missing: nothing that shows; steps left: 0]",
        )
    )
    assert SupportEnv(lamp()).render() is None


# -- Three ways to play one episode


def cases_of(seed: int, number: int) -> Iterator[int]:
    """The cases that an environment plays, as the documentation says: its seed's, then the ones after."""
    while True:
        yield seed % number
        seed += 1


@pytest.mark.soak
@pytest.mark.parametrize("name", PACKS)
def test_vector_single_and_engine_agree(name: str) -> None:
    """Random episodes: every column, reward, end, message and seed, in all three."""
    pack, many, seed = load_pack(pack_path(name)), 50, 1_000
    tables = tables_of(pack)
    vector = SupportVectorEnv(many, pack)
    singles = [SupportEnv(pack) for _ in range(many)]
    numbers = [cases_of(seed + index, tables.cases) for index in range(many)]
    episodes: list[Episode | None] = [None] * many
    chance = np.random.default_rng(7)
    played = 0
    observations, infos = vector.reset(seed=seed)
    resets = [env.reset(seed=seed + index) for index, env in enumerate(singles)]
    while played < EPISODES / len(PACKS):
        for index, (seen, told) in enumerate(resets):
            if "seed" not in told:
                continue  # it is in the middle of an episode
            case = next(numbers[index])
            ticket, drawn = tables.tickets[tables.ticket[case]].id, int(tables.seed[case])
            assert (told["ticket_id"], told["seed"]) == (ticket, drawn)
            assert vector.cases[index] == case
            episode = Episode.start(make_case(pack, ticket, drawn))
            episodes[index] = episode
            assert told["message"] == episode.case.message == tables.messages[infos["message_index"][index]]
            assert seen.tolist() == observations[index].tolist() == columns_of(episode)
        actions = chance.integers(0, len(tables.actions), many)
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        for index, env in enumerate(singles):
            before = episodes[index]
            assert before is not None
            if before.done:  # next-step autoreset: the action is ignored
                resets[index] = env.reset()
                assert (rewards[index], terminated[index], truncated[index]) == (0.0, False, False)
                continue
            after = before.step(tables.actions[actions[index]])
            seen, reward, over, cut, told = env.step(actions[index])
            assert seen.tolist() == observations[index].tolist() == columns_of(after)
            assert reward == rewards[index] == after.reward
            assert (over, cut) == (terminated[index], truncated[index]) == (after.terminated, after.truncated)
            assert told["action_mask"].tolist() == infos["action_mask"][index].tolist()
            assert told["message_index"] == infos["message_index"][index]
            episodes[index], resets[index] = after, (seen, told)
            played += after.done
