"""The agent that plays in tests, as the options or the ini name it."""

from __future__ import annotations

from typing import NoReturn

import pytest

from deskproof_pytest import option
from engine.evaluation.agents import Agent, AgentError, named_agent
from engine.evaluation.http_agent import SECONDS, HttpAgent
from engine.testing.reporting import report

_WAYS = "--agent module:function, or --agent-url URL (in the ini: deskproof_agent, deskproof_agent_url)"


def player(config: pytest.Config) -> Agent:
    """What --agent or --agent-url names, else the ini. Fails where that is none, or both."""
    given = option(config, "--agent"), option(config, "--agent-url")
    report(config)
    function, url = given if any(given) else (config.getini("deskproof_agent"), config.getini("deskproof_agent_url"))
    if function and url:
        _refuse("One agent plays: name it by a function, or by an address.")
    if not function and not url:
        _refuse(f"The fixture agent needs to know who plays: {_WAYS}; or define a fixture agent of your own.")
    try:
        return HttpAgent(url, _seconds(config)) if url else named_agent(function)
    except AgentError as error:
        raise pytest.fail.Exception(error.whole, pytrace=False) from None


def _seconds(config: pytest.Config) -> float:
    given = option(config, "--agent-timeout")
    written = (config.getini("deskproof_agent_timeout") or SECONDS) if given is None else given
    try:
        seconds = float(written)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        _refuse(f"An agent's time is a number of seconds above 0, not {written!r}.")
    return seconds


def _refuse(why: str) -> NoReturn:
    pytest.fail(why, pytrace=False)
