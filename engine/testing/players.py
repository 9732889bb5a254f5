"""The agent that plays in tests, as the options or the ini name it."""

from __future__ import annotations

from typing import NoReturn

import pytest

from deskproof_pytest import option
from engine.evaluation.agents import Agent, named_agent
from engine.evaluation.http_agent import SECONDS, HttpAgent
from engine.testing.reporting import report

_WAYS = "--agent module:function, or --agent-url URL (in the ini: deskproof_agent, deskproof_agent_url)"


def player(config: pytest.Config) -> Agent:
    """What --agent or --agent-url names, else the ini. Fails where that is none, or both.

    Raises:
        AgentError: what is named is no agent.
    """
    given = option(config, "--agent"), option(config, "--agent-url")
    report(config)
    function, url = given if any(given) else (config.getini("deskproof_agent"), config.getini("deskproof_agent_url"))
    if function and url:
        _refuse("One agent plays: name it by a function, or by an address.")
    if not function and not url:
        _refuse(f"The fixture agent needs to know who plays: {_WAYS}; or define a fixture agent of your own.")
    return HttpAgent(url, seconds(config)) if url else named_agent(function, seconds(config))


def seconds(config: pytest.Config) -> float:
    """How long an agent may take to answer. Fails where what is said is no such number."""
    given = option(config, "--agent-timeout")
    written = (config.getini("deskproof_agent_timeout") or SECONDS) if given is None else given
    try:
        found = float(written)
    except ValueError:
        found = 0
    if not 0 < found < float("inf"):
        _refuse(f"An agent's time is a number of seconds above 0, not {written!r}.")
    return found


def _refuse(why: str) -> NoReturn:
    pytest.fail(why, pytrace=False)
