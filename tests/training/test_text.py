"""TextSupportEnv: what a model is told, what of its answers is understood, and what each of them earns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from engine import chat
from engine.case import make_case
from engine.diagnostics import PackError
from engine.episode import Episode, EpisodeOver
from engine.pack import Pack
from engine.training.text import TextSupportEnv
from tests.evaluation.completions import call


def begun(pack: Pack, ticket: str = "e-two") -> TextSupportEnv:
    env = TextSupportEnv(pack)
    env.reset(seed=1, ticket=ticket)
    return env


# -- An episode


def test_an_episode_by_hand(desk: Pack) -> None:
    """Two fields are missing: half of progress is theirs, a quarter each; the other half is the classification's. The
    goal is worth 2 less 1."""
    env = TextSupportEnv(desk)
    messages, about = env.reset(seed=1, ticket="e-two")
    assert messages == chat.opening(desk.instructions, Episode.start(make_case(desk, "e-two", 1)).observation)
    assert about == {
        "pack": "desk",
        "pack_digest": desk.digest,
        "task_id": "easy-info-collection",
        "ticket_id": "e-two",
        "seed": 1,
    }
    answers = [call("classify"), call("ask_info", {"field": "order"}), call("ask_info", {"field": "email"})]
    steps = [env.step(answer) for answer in (*answers, call("resolve"))]
    assert [reward for _, reward, *_ in steps] == [0.5, 0.25, 0.25, 1.0]
    assert [(terminated, truncated) for _, _, terminated, truncated, _ in steps] == [(False, False)] * 3 + [
        (True, False)
    ]
    assert steps[1][4] == {"outcome": "ask_info.answered", "error": None, "end_reason": None}
    assert steps[-1][4] == {
        **{"outcome": "resolve.done", "error": None, "end_reason": "resolved"},
        **{"return": 2.0, "score": 1.0, "optimal_steps": 4},
    }
    assert json.loads(steps[1][0])["text"] == "ORD-1"
    with pytest.raises(EpisodeOver):
        env.step(call("resolve"))


def test_ten_wasted_steps(desk: Pack) -> None:
    env = begun(desk)
    steps = [env.step("Let me think.") for _ in range(10)]
    assert [reward for _, reward, *_ in steps] == [-0.1] * 10
    assert (steps[-1][2:4], steps[-1][4]["return"], steps[-1][4]["end_reason"]) == ((False, True), -1.0, "max_steps")


def test_the_chat_goes_on(desk: Pack) -> None:
    """As the next request of a model repeats it; each text is the content of its answer."""
    env = begun(desk)
    opening = [*env.messages]
    first, *_ = env.step({"type": "ask_info", "field": "order"})
    second, *_ = env.step("Hm.")
    asked = {"name": "ask_info", "arguments": '{"field": "order"}'}
    assert env.messages == [
        *opening,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1_1", "type": "function", "function": asked}],
        },
        {"role": "tool", "tool_call_id": "call_1_1", "content": first},
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": second},
    ]


def test_a_reset_begins_a_chat_of_its_own(desk: Pack) -> None:
    env = begun(desk)
    env.step("Hm.")
    messages, _ = env.reset(seed=1, ticket="e-known")
    assert env.messages == messages
    messages.clear()
    assert len(env.messages) == 2
    assert env.episode.step_count == 0


def test_nothing_of_the_feedback_is_told(desk: Pack) -> None:
    env = begun(desk)
    told = [env.step(answer)[0] for answer in (call("resolve"), "Hm.", call("classify"), call("tell", {"how": "mail"}))]
    assert env.episode.total == pytest.approx(0.2)  # three wasted steps, one classification
    assert not re.search(r"reward|score|outcome|wasted|0\.5|-0\.1", "".join(told))


# -- Answers


ASK = {"type": "ask_info", "field": "order"}
ASKED = call("ask_info", {"field": "order"})
MESSAGE = {"role": "assistant", "content": None, "tool_calls": [ASKED, call("resolve")]}
UNDERSTOOD = [
    ASK,
    {"name": "ask_info", "arguments": {"field": "order"}},
    {"method": "tools/call", "params": {"name": "ask_info", "arguments": {"field": "order"}}},
    ASKED,
    ASKED["function"],
    {**ASKED, "function": {"name": "ask_info", "arguments": {"field": "order"}}},
    [ASKED],
    [ASK, ASK],
    MESSAGE,
    {"role": "assistant", "content": json.dumps(ASK)},
    ChatCompletionMessage.model_validate(MESSAGE),
]


@pytest.mark.parametrize("answer", [*UNDERSTOOD, *(json.dumps(one) for one in UNDERSTOOD[:-1])])
def test_forms_of_one_action(desk: Pack, answer: Any) -> None:
    text, reward, *_ = begun(desk).step(answer)
    assert (json.loads(text)["text"], reward) == ("ORD-1", 0.25)


NOTHING = "No action was named. Valid actions: ask_info, classify, resolve, tell."
MISTAKEN = [
    ("", NOTHING),
    ("I would ask for the order.", NOTHING),
    ("{}", NOTHING),
    ({}, NOTHING),
    (None, NOTHING),
    (float("nan"), NOTHING),
    ([], NOTHING),
    (["ask_info"], NOTHING),
    (object(), NOTHING),
    ({"role": "assistant", "content": "Hm."}, NOTHING),
    ({"role": "assistant", "content": None, "tool_calls": None}, NOTHING),
    ({"role": "assistant", "tool_calls": "resolve"}, NOTHING),
    ({"function": {"arguments": "{}"}}, NOTHING),
    ({"type": ["ask_info"]}, NOTHING),
    ('{"type": "resolve"', NOTHING),
    ('{"type": "resolve", "a": NaN}', NOTHING),
    ({"type": "resolve", "a": float("inf")}, NOTHING),
    ('{"type": "resolve", "a": ' + "[" * 200 + "]" * 200 + "}", NOTHING),
    ('{"type": "resolve", "a": []}', "resolve takes no 'a'. It takes: nothing."),
    (call("close"), "There is no action 'close'. Valid actions: ask_info, classify, resolve, tell."),
    (call("ask_info", "order"), "ask_info takes no 'arguments'. It takes: field."),
    (call("ask_info"), "ask_info needs field: one of order, email, device, colour."),
    ({"type": "ask_info", "field": 7}, "ask_info: '7' is not a valid field. Valid: order, email, device, colour."),
]


@pytest.mark.parametrize(("answer", "says"), MISTAKEN)
def test_anything_else_is_a_mistake_and_a_step(desk: Pack, answer: Any, says: str) -> None:
    env = begun(desk)
    text, reward, terminated, truncated, info = env.step(answer)
    assert (json.loads(text)["text"], json.loads(text)["remaining_steps"]) == (says, 9)
    assert (reward, terminated, truncated) == (-0.1, False, False)
    assert (info["outcome"], info["error"]) == ("invalid", says)


TEXTS = st.text() | st.text(st.characters(categories=["Cs"]))


@given(st.recursive(st.none() | st.floats() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_no_answer_makes_it_fail(desk: Pack, answer: Any) -> None:
    env = begun(desk)
    env.step(answer)
    json.dumps(env.messages, allow_nan=False, ensure_ascii=False).encode()
    assert env.episode.step_count == 1


FIELD = "ask_info: '\\ud83d' is not a valid field. Valid: order, email, device, colour."
HALF = {"type": "ask_info", "field": "\ud83d"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (call("ask_info", '{"field":"\\ud83d"}'), FIELD),
        (call("ask_info", '{"field":"\ud83d"}'), FIELD),
        (HALF, FIELD),
        (json.dumps(HALF), FIELD),
        ([HALF], FIELD),
        ({"role": "assistant", "content": [{"type": "text", "text": json.dumps(HALF)}]}, FIELD),
        (call("\ud83d"), "There is no action '\\ud83d'. Valid actions: ask_info, classify, resolve, tell."),
        ({"type": "resolve", "\ud83d": 1}, "resolve takes no '\\ud83d'. It takes: nothing."),
        ("\ud83d", NOTHING),
        ([{"function": {"name": ["\ud83d"]}}], NOTHING),
    ],
)
def test_half_of_a_surrogate_pair_is_a_mistake_in_words(desk: Pack, answer: Any, says: str) -> None:
    env = begun(desk)
    text, reward, *_, info = env.step(answer)
    assert (json.loads(text)["text"], reward, info["error"]) == (says, -0.1, says)
    json.dumps([text, env.messages, info], ensure_ascii=False).encode()
    assert not any("\ud800" <= letter <= "\udfff" for value in decoded(env.messages) for letter in value)


def decoded(messages: Any) -> list[str]:
    """The texts that calls have as arguments."""
    written = [one["function"]["arguments"] for said in messages for one in said.get("tool_calls", ())]
    return [text for one in written for text in json.loads(one).values() if isinstance(text, str)]


def test_content_in_parts_is_what_its_texts_say(desk: Pack) -> None:
    env = begun(desk)
    env.step({"role": "assistant", "content": [{"type": "text", "text": "Let me "}, {"type": "text", "text": "see."}]})
    assert env.messages[-2] == {"role": "assistant", "content": "Let me see."}
    env.step({**MESSAGE, "content": [{"type": "text", "text": "It is this."}]})
    assert (env.messages[-3]["content"], len(env.messages[-3]["tool_calls"])) == ("It is this.", 2)
    assert [action.get("type") for action in env.episode.actions] == [None, "ask_info"]


def test_names_and_ids_that_services_take(desk: Pack) -> None:
    env = begun(desk)
    env.step([call("functions.resolve"), call("x" * 100_000), call("resolve")])
    made = env.messages[-4]["tool_calls"]
    assert [one["function"]["name"] for one in made] == ["functions_resolve", "x" * 40, "resolve"]
    ids = [one["id"] for one in made]
    assert ids == ["call_1", "call_1_2", "call_1_3"] == [one["tool_call_id"] for one in env.messages[-3:]]
    assert env.episode.actions[0]["type"] == "functions.resolve"


def test_of_several_calls_the_first_is_carried_out(desk: Pack) -> None:
    env = begun(desk)
    env.step([ASKED, call("resolve", number=2)])
    assert [action["type"] for action in env.episode.actions] == ["ask_info"]
    assert [one.get("tool_call_id") for one in env.messages[-2:]] == ["call_1", "call_2"]
    assert env.messages[-1]["content"] == chat.ONE_AT_A_TIME


# -- What is asked for


def test_the_default_pack_and_its_tools() -> None:
    env = TextSupportEnv()
    _, about = env.reset(task="hard-efficient-resolution", split="train")
    assert (about["pack"], about["task_id"]) == ("customer-support", "hard-efficient-resolution")
    assert [one["function"]["name"] for one in env.tools] == ["ask_info", "classify", "resolve"]


def test_several_packs(desk: Pack) -> None:
    env = TextSupportEnv("it-helpdesk-de", desk)
    assert env.reset()[1]["pack"] == "it-helpdesk-de"
    names = [one["function"]["name"] for one in env.tools]
    assert env.reset(pack="desk")[1]["pack"] == "desk"
    assert names != [one["function"]["name"] for one in env.tools] == ["ask_info", "classify", "resolve", "tell"]
    with pytest.raises(ValueError, match="has no pack 'dusk': did you mean 'desk'"):
        env.reset(pack="dusk")
    nothing: Any
    for nothing in (3, [], {}):
        with pytest.raises(ValueError, match=re.escape(f"has no pack '{nothing}', but it-helpdesk-de, desk")):
            env.reset(pack=nothing)


def test_two_packs_of_one_name(desk: Pack, tmp_path: Path) -> None:
    """The same one twice does no harm."""
    copy = tmp_path / "copy.yaml"
    copy.write_bytes(Path(desk.place.file).read_bytes())
    assert len(TextSupportEnv(desk, copy).reset(seed=1)[0]) == 2
    copy.write_text(copy.read_text("utf-8").replace("[Hello?]", "[Hello!]"), "utf-8")
    said = f"two packs that differ have the name 'desk': {desk.place.file} and {copy}; rename one of them"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        TextSupportEnv(desk, copy)


def test_without_a_seed_one_is_drawn_and_told(desk: Pack) -> None:
    env = TextSupportEnv(desk)
    seeds = [env.reset()[1]["seed"] for _ in range(5)]
    assert len(set(seeds)) > 1


def test_what_there_is_not(desk: Pack, tmp_path: Path) -> None:
    env = TextSupportEnv(desk)
    with pytest.raises(EpisodeOver, match="reset begins one"):
        env.step(ASK)
    for asked, says in (
        ({"ticket": "e-tow"}, "has no ticket 'e-tow': did you mean 'e-two'?"),
        ({"task": "easy"}, "has no task 'easy': did you mean 'easy-info-collection'?"),
        ({"split": "dev"}, "pack 'desk' has no split 'dev', but train, validation, test"),
        ({"task": "x"}, "has no task 'x', but easy-info-collection, medium-complete-info, hard-efficient-resolution"),
        ({"ticket": []}, "pack 'desk' has no ticket '[]', but "),
        ({"ticket": "e-two", "split": "test"}, "ticket 'e-two' is of the split 'validation', not 'test'"),
        (
            {"ticket": "e-two", "task": "hard-efficient-resolution"},
            "ticket 'e-two' is of the task 'easy-info-collection', not 'hard-efficient-resolution'",
        ),
        ({"seed": -1}, "seed must be a whole number from 0 up, not -1"),
        (
            {"task": "easy-info-collection", "split": "test"},
            "has no ticket for the task 'easy-info-collection' in the split 'test'",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            env.reset(**asked)
    with pytest.raises(LookupError, match="There is no file or folder 'customer-suport'"):
        TextSupportEnv("customer-suport")
    (tmp_path / "bad.yaml").write_text("pack: bad\n", "utf-8")
    with pytest.raises(PackError):
        TextSupportEnv(tmp_path / "bad.yaml")
