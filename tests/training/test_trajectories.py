"""Lines to learn from: what is written by hand's count, that playing them again gives them again, nothing hidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.case import make_case
from engine.dynamics.regret import regrets
from engine.evaluation.agents import AgentError
from engine.evaluation.playing import episode_id
from engine.evaluation.policies import RandomPolicy
from engine.evaluation.record import Key
from engine.load import load_pack
from engine.pack import REWARD_UNIT, Pack
from engine.split import splits
from engine.training.text import TextSupportEnv
from engine.training.trajectories import Manner, Player
from engine.training.wordings import shared
from tests.evaluation.desks import played, shipped

MANNERS = [Manner("best"), Manner("random"), Manner("mixed", epsilon=0.4)]


def rows(pack: Pack, manner: Manner, ticket: str, seed: int = 0) -> list[Any]:
    """The lines of one episode."""
    text = Player(pack, manner).lines(Key(pack.name, ticket, seed, 1))
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def made(row: Any) -> list[Any]:
    """The calls of a row, one by one."""
    return [call for message in row["messages"] for call in message.get("tool_calls", ())]


def named(call: Any) -> tuple[str, Any]:
    return call["function"]["name"], call["function"]["arguments"]


# -- An episode


def test_the_best_episode_by_hand(desk: Pack) -> None:
    """Four steps are the fewest: two fields at 0.25 each, the classification at 0.5, the goal at 1. All orders are as
    good, so the first in the order of the actions is taken."""
    (row,) = rows(desk, Manner("best"), "e-two")
    assert [named(call) for call in made(row)] == [
        ("ask_info", {"field": "order"}),
        ("ask_info", {"field": "email"}),
        ("classify", {}),
        ("resolve", {}),
    ]
    assert [message["role"] for message in row["messages"]] == [
        "system",
        "user",
        *["assistant", "tool"] * 3,
        "assistant",
    ]
    assert row["mask"] == [0, 0, 1, 0, 1, 0, 1, 0, 1]
    assert row["rewards"] == [0.25, 0.25, 0.5, 1.0]
    assert row["rewards_to_go"] == [2.0, 1.75, 1.5, 1.0]
    assert row["regrets"] == [0.0] * 4
    assert (row["return"], row["score"], row["terminated"], row["truncated"]) == (2.0, 1.0, True, False)
    assert row["tools"] == TextSupportEnv(desk).tools
    about = {key: row[key] for key in ("pack", "pack_digest", "task_id", "ticket_id", "split", "seed", "policy")}
    assert about == {
        "pack": "desk",
        "pack_digest": desk.digest,
        "task_id": "easy-info-collection",
        "ticket_id": "e-two",
        "split": "validation",
        "seed": 0,
        "policy": "best",
    }


@pytest.mark.parametrize("pack", shipped(), ids=lambda pack: pack.name)
@pytest.mark.parametrize("manner", MANNERS, ids=lambda manner: manner.policy)
def test_playing_the_calls_again_gives_all_again(pack: Pack, manner: Manner) -> None:
    """Rewards and every word; so nothing is told but what is seen."""
    env = TextSupportEnv(pack)
    for seed, ticket in enumerate(pack.tickets):
        (row,) = rows(pack, manner, ticket, seed)
        messages, _ = env.reset(ticket=row["ticket_id"], seed=row["seed"])
        calls = made(row)
        steps = [env.step(call) for call in calls]
        assert [reward for _, reward, *_ in steps] == row["rewards"]
        assert (env.episode.total, env.episode.score()) == (row["return"], row["score"])
        assert (env.episode.terminated, env.episode.truncated) == (row["terminated"], row["truncated"])
        exchanges = []
        for call, (text, *_) in zip(calls, steps, strict=True):
            exchanges.append({"role": "assistant", "content": "", "tool_calls": [call]})
            exchanges.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        assert row["messages"] == [*messages, *exchanges][:-1]


@pytest.mark.parametrize("manner", MANNERS, ids=lambda manner: manner.policy)
def test_what_is_measured_adds_up(desk: Pack, manner: Manner) -> None:
    for ticket in desk.tickets:
        (row,) = rows(desk, manner, ticket, 3)
        rewards = [round(reward * REWARD_UNIT) for reward in row["rewards"]]
        sums = [sum(rewards[step:]) / REWARD_UNIT for step in range(len(rewards))]
        assert row["rewards_to_go"] == sums
        assert row["return"] == sums[0]
        # V* is 2 for every ticket: an episode that ended by itself returns that less its regrets.
        if row["terminated"] or row["truncated"]:
            assert row["return"] == pytest.approx(2.0 - sum(row["regrets"]))


def test_chance_plays_as_it_is_evaluated(desk: Pack) -> None:
    for ticket in desk.tickets:
        (row,) = rows(desk, Manner("random"), ticket, 2)
        episode = played(RandomPolicy(), desk, ticket, 2, episode_id(Key("desk", ticket, 2, 1)))
        assert row["rewards"] == [step.reward / REWARD_UNIT for step in episode.steps]
        assert [call["function"]["name"] for call in made(row)] == [action["type"] for action in episode.actions]


def test_a_mixed_policy_is_both(desk: Pack) -> None:
    """Without chance it is the best, with nothing else it is chance; between them it is neither."""
    for ticket in desk.tickets:
        best, chance = rows(desk, Manner("best"), ticket), rows(desk, Manner("random"), ticket)
        for epsilon, one in ((0.0, best), (1.0, chance)):
            (row,) = rows(desk, Manner("mixed", epsilon=epsilon), ticket)
            assert {**row, "policy": one[0]["policy"]} == one[0]
    half = [rows(desk, Manner("mixed", epsilon=0.5), ticket)[0] for ticket in desk.tickets]
    spent = [cost for row in half for cost in row["regrets"]]
    assert 0.0 in spent and max(spent) > 0


def test_each_step_of_a_mixed_policy_is_drawn_by_itself(desk: Pack) -> None:
    """At its start e-two has eleven actions, of which seven cost something: with a half of chance 7/22 of all first
    steps do, 0.32. Of 200 that share lies within 0.1 of it but for one time in 400."""
    firsts = [rows(desk, Manner("mixed", epsilon=0.5), "e-two", seed)[0]["regrets"][0] for seed in range(200)]
    assert sum(cost > 0 for cost in firsts) / len(firsts) == pytest.approx(7 / 22, abs=0.1)


def test_calls_of_odd_names_come_back(tmp_path: Path) -> None:
    """In the names that the tools have."""
    (tmp_path / "odd.yaml").write_text(
        "pack: odd\nversion: 1.0.0\nfields: {a: {description: A}}\n"
        "actions: {'größe messen!': {description: Measure, parameters: {type: {type: string, enum: [x]}}}}\n"
        "facts: {x: {values: [false, true]}}\n"
        "rules: {'größe messen!': [{outcome: done, then: {set: {x: true}, say: Done.}}]}\n"
        "tickets: [{id: t, task: easy-info-collection, messages: [Hm.], required: [], goal: {x: true}}]\n",
        "utf-8",
    )
    (row,) = rows(load_pack(tmp_path / "odd.yaml"), Manner("best"), "t")
    assert [named(call) for call in made(row)] == [("action_4", {"type": "x"}), ("resolve", {})]
    assert row["tools"][3]["function"]["name"] == "action_4"


# Once it is spoilt nothing can be earned any more, and whatever is done is wasted.
VASE = """
pack: vase
version: 1.0.0
fields: {a: {description: A}}
facts: {state: {values: [cracked, mended, spoilt]}}
actions: {mend: {description: Mend it}, drop: {description: Drop it}}
rules:
  mend:
    - {outcome: done, when: {facts: {state: cracked}}, then: {set: {state: mended}, say: Good.}}
    - {outcome: late, then: {waste: true, say: It can't be.}}
  drop:
    - {outcome: done, when: {facts: {state: cracked}}, then: {set: {state: spoilt}, say: Oh.}}
    - {outcome: late, then: {waste: true, say: It can't be.}}
tickets: [{id: t, task: easy-info-collection, messages: [Hm.], required: [], goal: {state: mended}}]
"""


def test_an_episode_ends_where_it_is_best_to_stop(tmp_path: Path) -> None:
    (tmp_path / "vase.yaml").write_text(VASE, "utf-8")
    pack = load_pack(tmp_path / "vase.yaml")
    every = [rows(pack, Manner("mixed", epsilon=0.5), "t", seed)[0] for seed in range(40)]
    stopped = [row for row in every if not row["terminated"] and not row["truncated"]]
    assert 0 < len(stopped) < 40
    for row in stopped:
        names = [call["function"]["name"] for call in made(row)]
        # To drop it costs all that could be had, 2; what was wasted before and after, 0.1 each.
        dropped = names.index("drop")
        assert row["regrets"] == [2.0 if at == dropped else 0.1 for at in range(len(names))]
        assert row["return"] == pytest.approx(-0.1 * (len(names) - 1))
        pairs = rows(pack, Manner("mixed", "pairs", 0.5), "t", row["seed"])
        assert max(pair["step"] for pair in pairs) == dropped + 1  # nothing is better than to stop


def test_a_ticket_of_too_many_states_is_told(desk: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.dynamics.regret.BUDGET", 1)
    pack = load_pack(desk.place.file)  # whose tickets nothing is known of yet
    with pytest.raises(AgentError, match="the ticket e-two: it has too many states"):
        rows(pack, Manner("best"), "e-two")
    with pytest.raises(AgentError, match="too many states"):
        rows(pack, Manner("random", "pairs"), "e-two")
    assert rows(pack, Manner("random"), "e-two")[0]["regrets"] is None


# -- Pairs


def test_pairs_by_hand(desk: Pack) -> None:
    """Along the best line of e-two. A wasted step costs 0.1, as the rest can still be had. A wrong category is wasted
    and earns nothing later: 0.6. After the fields, once everything but the goal is had, nothing else is left."""
    costs = {
        ("resolve", ()): 0.1,
        ("ask_info", ("device",)): 0.1,
        ("ask_info", ("colour",)): 0.1,
        ("tell", ("mail",)): 0.1,
        ("tell", ("phone",)): 0.1,
        ("classify", ("repair",)): 0.6,
        ("classify", ("praise",)): 0.6,
    }
    firsts = [rows(desk, Manner("best", "pairs"), "e-two", seed)[0] for seed in range(40)]
    found = {}
    for row in firsts:
        assert named(row["chosen"][0]["tool_calls"][0]) == ("ask_info", {"field": "order"})
        name, arguments = named(row["rejected"][0]["tool_calls"][0])
        found[name, tuple(arguments.values())] = row["regret"]
        assert (row["step"], len(row["prompt"])) == (1, 2)
    assert found == costs  # each of the seven is drawn in 40 (but for one chance in 80)


@pytest.mark.parametrize("manner", MANNERS, ids=lambda manner: manner.policy)
def test_a_pair_is_about_one_conversation(desk: Pack, manner: Manner) -> None:
    """Its prompt is what the episode of the same policy says up to there; the one answer costs nothing, the other what
    is written."""
    for ticket in desk.tickets:
        (episode,) = rows(desk, manner, ticket, 1)
        case = make_case(desk, ticket, 1)
        for row in rows(desk, Manner(manner.policy, "pairs", manner.epsilon), ticket, 1):
            assert row["prompt"] == episode["messages"][: len(row["prompt"])]
            assert row["prompt"][-1]["role"] in ("user", "tool")
            before = made({"messages": row["prompt"]})
            assert len(before) == row["step"] - 1
            for answer, meant in ((row["chosen"], 0.0), (row["rejected"], row["regret"])):
                (message,) = answer
                calls = [*before, *message["tool_calls"]]
                actions = [{"type": name, "parameters": arguments} for name, arguments in map(named, calls)]
                spent = regrets(case.automaton, actions)
                assert spent is not None and spent[-1].cost / REWARD_UNIT == meant
                assert message["tool_calls"][0]["id"] == f"call_{row['step']}"
            assert row["regret"] > 0


def test_pairs_are_drawn_for_each_episode_anew(desk: Pack) -> None:
    one, other = (rows(desk, Manner("best", "pairs"), "m-script", seed) for seed in (0, 1))
    assert [row["rejected"] for row in one] != [row["rejected"] for row in other]


# -- Splits


@pytest.mark.parametrize("pack", shipped(), ids=lambda pack: pack.name)
def test_shipped_packs_word_no_two_splits_alike(pack: Pack) -> None:
    assert shared(pack, ("train", "validation", "test")) is None
    opened = {
        split: {make_case(pack, ticket, seed).message for ticket in tickets for seed in range(20)}
        for split, tickets in splits(pack).items()
    }
    assert not opened["train"] & (opened["validation"] | opened["test"])
    assert not opened["validation"] & opened["test"]


def reworded(desk: Pack, folder: Path, *changes: tuple[str, str]) -> Pack:
    text = Path(desk.place.file).read_text("utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (folder / "desk.yaml").write_text(text, "utf-8")
    return load_pack(folder / "desk.yaml")


def test_words_that_two_splits_share_are_found(desk: Pack, tmp_path: Path) -> None:
    """e-two and e-known are validated on, e-free trained on."""
    alike = reworded(desk, tmp_path, ("[Hello?]", "['Where  is IT!?']"))
    said = "Ticket 'e-two' (validation) opens with the words of ticket 'e-free' (train): "
    assert str(shared(alike, ["train"])).startswith(said)
    assert shared(alike, ["test"]) is None
    within = reworded(desk, tmp_path, ("[Where is it?]", "[It came!]"), ("[It came. I", "[It came!, It came. I"))
    assert shared(within, ["train", "validation", "test"]) is None


def test_in_a_template_a_name_is_a_word(desk: Pack, tmp_path: Path) -> None:
    """h-repair, which is trained on, may say that its order hums."""
    for name, found in (("order", True), ("email", False)):
        hums = f'[{{template: "{{{{ {name} }}}} hums."}}]'
        assert (shared(reworded(desk, tmp_path, ("[Where is it?]", hums)), ["train"]) is not None) == found


def test_texts_of_no_words_are_compared_as_they_are(desk: Pack, tmp_path: Path) -> None:
    for other, found in (("'!?'", False), ("'?!'", True)):
        pack = reworded(desk, tmp_path, ("[Hello?]", "['?!']"), ("[Where is it?]", f"[{other}]"))
        assert (shared(pack, ["train"]) is not None) == found
