"""The environment for verifiers, in the real library: rollouts over HTTP with a service whose answers are written
beforehand."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import verifiers as vf
from verifiers.types import ClientConfig

from engine import chat
from engine.case import make_case
from engine.episode import Episode
from engine.evaluation.openai_agent import OpenAIAgent
from engine.evaluation.options import AgentOptions
from engine.load import load_pack
from engine.pack import Pack
from engine.split import splits
from tests.evaluation.completions import Reply, Request, calls, serving, text
from tests.evaluation.desks import played

DESK = str(Path(__file__).resolve().parent.parent / "packs" / "desk.yaml")
KEY = "DESKPROOF_TEST_KEY"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """An environment of theirs takes the process's signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def environment(**arguments: Any) -> Any:
    return vf.load_environment("deskproof", **{"pack": DESK, "evaluate": "validation", "seeds": 1, **arguments})


def rolled_out(
    monkeypatch: pytest.MonkeyPatch, *replies: Reply, rollouts: int = 1, **arguments: Any
) -> tuple[list[Any], list[Request]]:
    """What comes of the first evaluation task, the ticket e-two, and the requests."""
    monkeypatch.setenv(KEY, "sk-test")
    env = environment(task="easy-info-collection", **arguments)
    with serving(*replies) as service:
        client = ClientConfig(api_key_var=KEY, api_base_url=service.url, max_retries=0)
        found = env.evaluate_sync(client, "m", num_examples=1, rollouts_per_example=rollouts, max_concurrent=1)
    return found["outputs"], service.asked


# -- Data sets


def test_tasks_are_the_tickets_of_two_splits(desk: Pack) -> None:
    env = environment(seeds=3)
    train, test = env.get_dataset(), env.get_eval_dataset()
    for rows, tickets in ((train, splits(desk)["train"]), (test, splits(desk)["validation"])):
        asked = [(row["info"]["ticket_id"], row["info"]["seed"]) for row in rows]
        assert asked == [(ticket, seed) for seed in range(3) for ticket in tickets]
    case = make_case(desk, train[0]["info"]["ticket_id"], train[0]["info"]["seed"])
    assert train[0]["prompt"] == chat.opening(desk.instructions, Episode.start(case).observation)


def test_no_wording_of_one_stands_in_the_other() -> None:
    env = vf.load_environment("deskproof", seeds=5)
    said = [{row["prompt"][1]["content"] for row in rows} for rows in (env.get_dataset(), env.get_eval_dataset())]
    assert all(said)
    assert not said[0] & said[1]


def test_the_tasks_of_one_task() -> None:
    env = environment(task="hard-efficient-resolution")
    assert [row["info"]["ticket_id"] for row in env.get_dataset()] == ["h-repair"]
    assert [row["info"]["ticket_id"] for row in env.get_eval_dataset()] == ["h-slow"]


# -- Rollouts


def test_a_rollout_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.5 for the classification, 0.25 for each of two fields, 1 for the goal: 2. What is said beside a tool is no
    step; of two calls the first is carried out."""
    (found,), asked = rolled_out(
        monkeypatch,
        calls(("classify",)),
        text("Let me think."),
        calls(("ask_info", {"field": "order"})),
        calls(("ask_info", {"field": "email"}), ("resolve",)),
        calls(("resolve", "")),
    )
    assert found["info"] == {"ticket_id": "e-two", "seed": 0}
    assert found["reward"] == 2.0
    assert (found["score"], found["resolved"], found["steps"], found["episode_return"]) == (1.0, 1.0, 4.0, 2.0)
    assert (found["error"], found["stop_condition"]) == (None, "has_final_env_response")
    assert len(asked) == 5


def test_wasted_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A classification, then nine steps of -0.1: a mistake of each kind, and asking for what isn't needed."""
    replies = [calls(("classify",)), calls(("close",)), calls(("ask_info", '{"field"')), calls(("ask_info", {}))]
    (found,), asked = rolled_out(monkeypatch, *replies, calls(("ask_info", {"field": "colour"})))
    assert found["reward"] == pytest.approx(0.5 - 0.9)
    assert (found["score"], found["resolved"], found["steps"]) == (0.0, 0.0, 10.0)
    assert len(asked) == 10


def test_a_model_that_never_calls_a_tool_is_asked_twice_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,), asked = rolled_out(monkeypatch, text("I can't help."))
    assert (found["reward"], found["steps"]) == (-1.0, 10.0)
    assert len(asked) == 20
    assert [one["content"] for one in asked[1].body["messages"][-2:]] == ["I can't help.", chat.ONLY_TOOLS]


def test_so_many_turns_are_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last answer counts too; a last one that calls no tool isn't asked again."""
    (found,), asked = rolled_out(monkeypatch, calls(("resolve",)), max_turns=3)
    assert (found["reward"], found["steps"], len(asked)) == (pytest.approx(-0.3), 3.0, 3)
    (found,), asked = rolled_out(monkeypatch, text("Hm."), max_turns=3)
    assert (found["reward"], found["steps"], len(asked)) == (pytest.approx(-0.2), 2.0, 3)


def test_what_no_service_would_read_again(desk: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves of surrogate pairs, invented names, arguments that are no JSON: each is a step, and what is told is what
    `deskproof eval openai:MODEL` tells."""
    replies = (
        calls(("ask_info", '{"field":"\\ud83d"}')),
        calls(("functions.resolve",), ("x" * 1000,)),
        calls(("ask_info", '{"field"')),
        calls(("classify",)),
    )
    (found,), trained = rolled_out(monkeypatch, *replies)
    assert (found["error"], found["steps"], found["reward"]) == (None, 10.0, pytest.approx(0.5 - 0.9))
    with serving(*replies) as service:
        agent = OpenAIAgent("m", service.url, "key", AgentOptions(retries=0))
        evaluated = played(agent, desk, "e-two")
        agent.close()
    assert evaluated.total == pytest.approx(0.5 - 0.9)
    assert [essence(one.body) for one in trained] == [essence(one.body) for one in service.asked]
    made = [one["function"] for said in trained[-1].body["messages"] for one in said.get("tool_calls") or ()]
    assert [(one["name"], one["arguments"]) for one in made[:4]] == [
        ("ask_info", '{"field": "\\\\ud83d"}'),
        ("functions_resolve", "{}"),
        ("x" * 40, "{}"),
        ("ask_info", "{}"),
    ]


def test_rollouts_of_one_task_don_t_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    """They run at the same time: each has ten steps of its own."""
    found, asked = rolled_out(monkeypatch, calls(("resolve",)), rollouts=2)
    assert [(one["reward"], one["steps"], one["error"]) for one in found] == [(-1.0, 10.0, None)] * 2
    assert len(asked) == 20


def test_what_is_trained_is_what_is_evaluated(desk: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last request has the same messages and tools as that of `deskproof eval openai:MODEL`."""
    replies = (
        calls(("classify",)),
        text("Hm."),
        calls(("ask_info", {"field": "order"}), ("resolve",)),
        calls(("ask_info", {"field": "shoe"})),
        calls(("ask_info", {"field": "email"})),
        calls(("resolve",)),
    )
    (found,), trained = rolled_out(monkeypatch, *replies)
    with serving(*replies) as service:
        agent = OpenAIAgent("m", service.url, "key", AgentOptions(retries=0))
        evaluated = played(agent, desk, "e-two")
        agent.close()
    assert found["reward"] == evaluated.total == 1.9
    assert [essence(one.body) for one in trained] == [essence(one.body) for one in service.asked]


def essence(body: Any) -> Any:
    """A request without what says nothing: empty contents, and what a library writes besides."""
    told = [
        (one["role"], one.get("content") or "", one.get("tool_call_id"), essence_of_calls(one.get("tool_calls") or []))
        for one in body["messages"]
    ]
    functions = [
        (one["type"], *(one["function"][key] for key in ("name", "description", "parameters"))) for one in body["tools"]
    ]
    return told, functions


def essence_of_calls(made: list[Any]) -> list[Any]:
    return [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in made]


# -- What can't be loaded


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"task": "easy"}, "pack 'desk' has no task 'easy'"),
        ({"train": "dev"}, "pack 'desk' has no split 'dev'"),
        ({"task": "x"}, "has no task 'x', but easy-info-collection, medium-complete-info, hard-efficient-resolution"),
        ({"seeds": 0}, "seeds must be a whole number from 1 up, not 0"),
        ({"seeds": "3"}, "seeds must be a whole number from 1 up, not '3'"),
        ({"seeds": True}, "seeds must be a whole number from 1 up, not True"),
        (
            {"task": "easy-info-collection", "evaluate": "test"},
            "pack 'desk' has no ticket of the task 'easy-info-collection' in the split 'test'",
        ),
        (
            {"train": "validation"},
            "train and evaluate are both 'validation': what is trained on must not be what is evaluated on",
        ),
        ({"pack": "customer-suport"}, "There is no file or folder 'customer-suport'"),
        ({"seed": 3}, "load_environment takes no 'seed': did you mean 'seeds'?"),
        ({"bogus": 1}, "load_environment takes no 'bogus', but pack, task, seeds, train, evaluate, max_turns, "),
        (
            {"system_prompt": "Be kind."},
            "load_environment takes no 'system_prompt': the pack's instructions are the system's message",
        ),
        ({"dataset": None}, "load_environment takes no 'dataset': a pack's tickets are the data sets"),
    ],
)
def test_what_there_is_not(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(says)):
        environment(**arguments)


def test_arguments_of_the_library_s_own() -> None:
    env = environment(max_turns=3, timeout_seconds=60.0, pass_threshold=0.9)
    assert (env.max_turns, env.timeout_seconds, env.pass_threshold) == (3, 60.0, 0.9)


def test_without_the_library_it_is_said_what_to_install() -> None:
    program = "import sys; sys.modules['verifiers'] = None; from deskproof import load_environment"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    said = "Environments for verifiers need verifiers, which isn't installed: pip install 'deskproof[verifiers]'"
    assert done.stderr.splitlines()[-1] == f"ImportError: {said}"


def test_a_pack_that_words_two_splits_alike_is_refused(tmp_path: Path) -> None:
    """e-two is validated on, e-free trained on."""
    written = Path(DESK).read_text("utf-8").replace("messages: [Hello?]", "messages: [WHERE is it!]")
    (tmp_path / "desk.yaml").write_text(written, "utf-8")
    load_pack(tmp_path / "desk.yaml")
    with pytest.raises(RuntimeError, match=r"'e-two' \(validation\) opens with the words of ticket 'e-free'"):
        environment(pack=str(tmp_path / "desk.yaml"))
