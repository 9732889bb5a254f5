"""Agents that are functions: they are asked what to do next, and what is said of those that don't answer."""

from __future__ import annotations

import signal
import sys
import threading
import time
from bdb import Bdb
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.agents import AgentError, FunctionAgent, named_agent
from engine.evaluation.interrupting import Cut, interrupted
from engine.evaluation.spent import AgentStopped

TOOLS = [
    {"name": "ask", "description": "", "inputSchema": {}},
    {"name": "⚠️ stop", "description": "", "inputSchema": {}},
]
SEEN = {"step_count": 0}
ACTION = {"type": "ask", "field": "order"}


class Callable_:
    def __call__(self, observation: Any, tools: Any) -> dict[str, Any]:
        return {"type": "ask"}

    def method(self, observation: Any, tools: Any, *, episode_id: str) -> dict[str, Any]:
        return {"type": "ask", "id": episode_id}


FUNCTIONS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (lambda observation, tools: ACTION, ACTION),
    (lambda observation: {"type": "ask", "seen": observation}, {"type": "ask", "seen": SEEN}),
    (lambda observation, tools: {"type": tools[0]["name"]}, {"type": "ask"}),
    (lambda observation, tools, instructions: {"type": instructions}, {"type": "Be quick."}),
    (lambda observation, *, episode_id: {"type": episode_id}, {"type": "e1"}),
    (
        lambda *given, **more: {"type": "ask", "given": len(given), **more},
        {"type": "ask", "given": 2, **{"instructions": "Be quick.", "episode_id": "e1"}},
    ),
    (Callable_(), {"type": "ask"}),
    (Callable_().method, {"type": "ask", "id": "e1"}),
    (lambda observation, tools=(): {"action": ACTION}, ACTION),
    (lambda observation: {"action": ACTION, "thought": "well"}, ACTION),
    (lambda observation: {"type": "ask", "action": {"type": "stop"}}, {"type": "ask", "action": {"type": "stop"}}),
    (
        lambda observation: {"name": "ask", "arguments": {"field": "order"}},
        {"name": "ask", "arguments": {"field": "order"}},
    ),
    (lambda observation: {"type": "ask", "fields": ("a", "b")}, {"type": "ask", "fields": ["a", "b"]}),
    # An action that isn't valid is a step of the episode: the agent says that it is one.
    (lambda observation: {}, {}),
    (lambda observation: {"type": None}, {"type": None}),
    (lambda observation: {"action": {}}, {}),
    (lambda observation: {"action": {"error": "?"}}, {"error": "?"}),
    (
        lambda observation: {"method": "tools/call", "params": {"name": "ask"}},
        {"method": "tools/call", "params": {"name": "ask"}},
    ),
]


@pytest.mark.parametrize(("function", "action"), FUNCTIONS)
def test_a_function_gives_an_action(function: Callable[..., Any], action: Mapping[str, Any]) -> None:
    agent = FunctionAgent(function)
    assert agent(SEEN, TOOLS, instructions="Be quick.", episode_id="e1") == action


def is_no_action(observation: Any) -> Any:
    return "resolve"


async def awaited(observation: Any) -> Any:
    return ACTION


class Awaitable_:
    def __await__(self) -> Any:
        yield


def raising(observation: Any) -> Any:
    raise ValueError("no\nidea")


def deep(observation: Any) -> Any:
    return raising(observation)


BAD: list[tuple[Callable[..., Any], str]] = [
    (is_no_action, 'gave "resolve", which is no action: an object whose "type" is one of "ask", "⚠️ stop".'),
    (lambda observation: None, "gave null, which is no action: "),
    (lambda observation: [ACTION], 'gave [{"type": "ask", "field": "order"}], which is no action: '),
    (lambda observation: {"error": "no key"}, 'gave {"error": "no key"}, which is no action: an object whose "type" '),
    (lambda observation: {"field": "order"}, 'gave {"field": "order"}, which is no action: '),
    (lambda observation: {"action": "stop"}, 'gave {"action": "stop"}, which is no action: '),
    (lambda observation: {"action": [ACTION]}, 'gave {"action": [{"type": "ask", "field": "order"}]}, which is no '),
    (lambda observation: {"action": None, "thought": "?"}, 'gave {"action": null, "thought": "?"}, which is no '),
    (lambda observation: {"type": {1, 2}}, "which is no JSON (Object of type set is not JSON serializable)."),
    (lambda observation: {"type": float("nan")}, "which is no JSON ("),
    (lambda observation: "x" * 10_000, 'gave "' + "x" * 299 + "…, which is no action"),
    (awaited, "is a coroutine: give a function that runs it (asyncio.run)."),
    (lambda observation: awaited(observation), "is a coroutine: give a function that runs it (asyncio.run)."),
    (lambda observation: Awaitable_(), "is a coroutine: give a function that runs it (asyncio.run)."),
    (raising, "raised ValueError: no idea"),
]


@pytest.mark.parametrize(("function", "said"), BAD)
def test_a_function_that_gives_none_is_said(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(AgentError) as failed:
        FunctionAgent(function)(SEEN, TOOLS)
    assert str(failed.value).startswith(f"The agent {__name__}:")
    assert said in str(failed.value)


def test_a_function_may_give_up() -> None:
    def gives_up(observation: Any) -> Any:
        raise AgentStopped

    with pytest.raises(AgentStopped):
        FunctionAgent(gives_up)(SEEN, TOOLS)


def test_its_own_code_is_shown_where_it_went_wrong_and_no_other() -> None:
    with pytest.raises(AgentError) as failed:
        FunctionAgent(deep)(SEEN, TOOLS)
    trace = failed.value.trace
    assert trace is not None
    assert trace.count("  File ") == 2
    assert trace.count(__file__) == 2
    assert trace.endswith("ValueError: no\nidea")
    assert failed.value.whole == f"{failed.value}\n\n{trace}"


@pytest.mark.parametrize(
    "function", [lambda: ACTION, lambda observation, tools, more: ACTION, lambda observation, *, seed: ACTION]
)
def test_a_function_that_takes_something_else_is_refused_at_once(function: Callable[..., Any]) -> None:
    with pytest.raises(AgentError, match=r"takes \(.*\): an agent takes \(observation, tools\)"):
        FunctionAgent(function)


def test_one_that_is_a_coroutine_is_refused_before_it_is_asked() -> None:
    with pytest.raises(AgentError, match="is a coroutine"):
        FunctionAgent(awaited)


def test_what_a_function_does_to_its_tools_changes_none_of_the_next_step() -> None:
    seen: list[Any] = []

    def act(observation: Any, tools: Any) -> Any:
        seen.append(deepcopy(tools))
        tools[0]["inputSchema"]["properties"] = None
        tools.clear()
        return ACTION

    agent = FunctionAgent(act)
    for _ in range(2):
        agent(SEEN, TOOLS)
    assert seen == [TOOLS, TOOLS]
    assert TOOLS[0]["inputSchema"] == {}


# -- Too long


def hanging(observation: Any) -> Any:
    threading.Event().wait(30)


def swallowing(observation: Any) -> Any:
    try:
        hanging(observation)
    except Exception:
        return ACTION


@pytest.mark.parametrize("function", [hanging, swallowing])
def test_a_function_is_interrupted_when_its_time_is_up(function: Callable[..., Any]) -> None:
    with pytest.raises(AgentError) as failed:
        FunctionAgent(function, seconds=0.05)(SEEN, TOOLS)
    assert str(failed.value) == f"The agent {__name__}:{function.__name__} gave no answer within 0.05 s."
    trace = str(failed.value.trace)
    assert trace.startswith(f'It was here:\n  File "{__file__}", line ')
    assert "threading.Event().wait(30)" in trace
    assert "engine" not in trace


def test_one_in_time_leaves_the_alarm_of_others_as_it_was() -> None:
    before = signal.signal(signal.SIGALRM, lambda number, frame: None)
    mine = signal.getsignal(signal.SIGALRM)
    try:
        for theirs in (0.0, 100.0, 1_000.0):  # before the end of the agent's time, and after it
            signal.setitimer(signal.ITIMER_REAL, theirs)
            assert FunctionAgent(lambda observation: ACTION, seconds=200)(SEEN, TOOLS) == ACTION
            left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            assert theirs - 60 < left <= theirs
            assert signal.getsignal(signal.SIGALRM) is mine
    finally:
        signal.signal(signal.SIGALRM, before)


class Rang(BaseException):
    pass


def test_an_alarm_of_others_that_rings_earlier_is_heard() -> None:
    def rings(number: int, frame: Any) -> None:
        raise Rang

    def act(observation: Any) -> Any:
        try:
            hanging(observation)
        except Rang:
            return ACTION

    before = signal.signal(signal.SIGALRM, rings)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert FunctionAgent(act, seconds=2)(SEEN, TOOLS) == ACTION
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_limit_around_it_that_is_reached_first_is_no_failure_of_its() -> None:
    theirs = interrupted(time.monotonic() + 0.05, "theirs")
    with pytest.raises(Cut, match="theirs"), theirs as interruptible, interruptible:
        FunctionAgent(hanging, seconds=20)(SEEN, TOOLS)


def test_one_that_is_debugged_has_all_the_time_it_needs() -> None:
    def act(observation: Any) -> Any:
        before, debugger = sys.gettrace(), Bdb()
        debugger.reset()
        sys.settrace(debugger.trace_dispatch)
        try:
            while signal.getitimer(signal.ITIMER_REAL)[0]:  # until the alarm has rung, and found somebody at work
                pass
        finally:
            sys.settrace(before)
        return ACTION

    assert FunctionAgent(act, seconds=0.05)(SEEN, TOOLS) == ACTION


def test_outside_the_main_thread_nothing_is_interrupted() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(FunctionAgent(lambda observation: ACTION, seconds=1), SEEN, TOOLS).result() == ACTION


def test_what_a_function_does_to_what_it_gave_changes_nothing() -> None:
    given: dict[str, Any] = {"type": "ask", "list": [1]}
    answer = FunctionAgent(lambda observation: given)(SEEN, TOOLS)
    given["list"].append(2)
    assert answer == {"type": "ask", "list": [1]}


# -- By name


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module, and gives its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> str:
        name = f"agent_{len([*tmp_path.glob('*.py')])}_of_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        return name

    return write


def test_a_function_goes_by_its_name(module: Callable[[str], str]) -> None:
    name = module("def act(observation): return {'type': 'ask'}\nclass Shop:\n    act = staticmethod(act)\n")
    assert named_agent(f"{name}:act")(SEEN, TOOLS) == {"type": "ask"}
    agent = named_agent(f"{name}:Shop.act")
    assert agent(SEEN, TOOLS) == {"type": "ask"}
    assert agent.name == f"{name}:Shop.act"


@pytest.mark.parametrize("path", ["", ":", "act", "my_agent:", ":act", "my_agent"])
def test_what_names_no_function_is_said(path: str) -> None:
    with pytest.raises(AgentError, match=r"An agent is named as module:function, not '.*'\."):
        named_agent(path)


def test_a_name_that_leads_nowhere_is_said(module: Callable[[str], str]) -> None:
    with pytest.raises(AgentError, match=r"There is no module 'no_such_agent' .* has to be on sys\.path"):
        named_agent("no_such_agent:act")
    name = module("def act(observation): ...\nclass Shop: ...\nNUMBER = 7\n")
    with pytest.raises(AgentError, match=f"The module '{name}' has no 'atc'. Did you mean 'act'?"):
        named_agent(f"{name}:atc")
    with pytest.raises(AgentError, match=f"'{name}:Shop' is no function, but <class "):
        named_agent(f"{name}:Shop")
    with pytest.raises(AgentError, match=f"'{name}:NUMBER' is no function, but 7"):
        named_agent(f"{name}:NUMBER")


def test_a_module_that_fails_shows_where(module: Callable[[str], str]) -> None:
    name = module("import no_such_library\n")
    with pytest.raises(AgentError) as failed:
        named_agent(f"{name}:act")
    assert str(failed.value).startswith(f"The agent's module '{name}' can't be imported: ModuleNotFoundError:")
    assert failed.value.trace is not None
    assert failed.value.trace.count("  File ") == 1
    name = module("def act(:\n")
    with pytest.raises(AgentError, match="can't be imported: SyntaxError") as failed:
        named_agent(f"{name}:act")
    assert "def act(:" in str(failed.value.trace)
