"""The class for TRL's environment_factory: typed, documented tools over an episode."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from engine.pack import Pack
from engine.training import trl


@pytest.fixture
def env(desk: Pack) -> Any:
    return trl.environment_class(desk)()


def test_tools_are_the_actions(env: Any) -> None:
    public = {name for name, _ in inspect.getmembers(env, inspect.ismethod) if not name.startswith("_")}
    assert public == {"reset", "get_reward", "ask_info", "classify", "resolve", "tell"}


def test_tools_are_typed_and_documented(env: Any) -> None:
    signature = inspect.signature(env.ask_info)
    assert str(signature) == "(field: str) -> str"
    doc = inspect.getdoc(env.ask_info)
    assert doc is not None
    assert 'field: field (choices: ["order", "email", "device", "colour"])' in doc
    assert inspect.signature(env.classify).parameters["category"].default is None


def test_an_episode(env: Any) -> None:
    prompt = env.reset(seed=1, ticket_id="e-two", prompt="ignored")
    assert "Customer: Where is it?" in prompt
    assert env.get_reward() == 0.0
    assert "Needed: order, email." in env.classify()
    assert env.ask_info("order").startswith("Customer: ORD-1\nKnown: order = ORD-1. Missing: email.")
    env.ask_info(field="email")
    assert "Status: resolved" in env.resolve()
    assert env.get_reward() == 2.0
    assert env.resolve() == "The episode is over."


def test_the_reward_is_the_return(env: Any) -> None:
    env.reset(seed=1, ticket_id="e-two")
    env.resolve()
    env.classify()
    # -0.1 for the early resolve, 0.5 for the classification.
    assert env.get_reward() == 0.4


def test_a_tool_before_any_reset_starts_an_episode(env: Any) -> None:
    assert "Steps left: 9." in env.resolve()


def test_an_invalid_argument_is_the_agent_s_mistake(env: Any) -> None:
    env.reset(seed=1, ticket_id="e-two")
    assert "'shoe size' is not a valid field" in env.ask_info("shoe size")
    assert env.get_reward() == -0.1


def test_the_default_class() -> None:
    made = trl.SupportEnvironment()
    assert "Customer:" in made.reset(seed=1, task_id="hard-efficient-resolution")
