"""Projects of people who test their own agents: a pack of lamps, and pytest run in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import fresh_environment

# Rewards by hand: the details of a ticket pay 0.5 together, classifying 0.5, resolving 1.0; a wasted step costs 0.1.
PACK = """
pack: lamps
version: 1.0.0
description: A desk for lamps.
fields:
  order: {description: The number on the order confirmation}
  colour: {description: The colour that was ordered}
categories:
  late: {description: "Parcels that don't come", requires: [order]}
  swap: {description: A lamp of another colour, requires: [order, colour]}
tickets:
  - id: t-1
    task: easy-info-collection
    category: late
    messages: [Where is my lamp?]
    answers: {order: [{say: Let me look.}, L-1]}
  - id: t-2
    task: medium-complete-info
    category: swap
    messages: [It is green!]
    answers: {order: L-2, colour: red}
""".lstrip()

TESTS = """
tests:
  - name: the order needs two asks
    ticket: t-1
    seeds: [3, 7]
    steps:
      - {do: {type: ask_info, field: order}, expect: {outcome: ask_info.stalled, reward: 0.0}}
      - {do: {type: ask_info, field: order}, expect: {known_info: {order: L-1}, reward: 0.5}}
  - name: any order does
    ticket: t-2
    steps:
      - any_order:
          - {do: {type: ask_info, field: order}}
          - {do: {type: ask_info, field: colour}}
    final: {missing_required: []}
""".lstrip()
IDS = [
    "scenarios/lamps/tests.yaml::the order needs two asks[3]",
    "scenarios/lamps/tests.yaml::the order needs two asks[7]",
    "scenarios/lamps/tests.yaml::any order does[0, order 1-2]",
    "scenarios/lamps/tests.yaml::any order does[0, order 2-1]",
]

# A test whose second step isn't what came of it.
FAILING = """
tests:
  - name: the order comes at once
    ticket: t-1
    seed: 7
    steps:
      - {do: {type: classify}, expect: {outcome: classify.right}}
      - {do: {type: classify}, expect: {says: Once more., reward: 0.0}}
""".lstrip()

# The second classification is wasted, so it costs 0.1; the shortest way to 2.0 goes on by asking.
SHOWN = """
scenarios/lamps/tests.yaml:7:*: PACK070: test 'the order comes at once', seed 7, step 2: *
*- {do: {type: classify}, expect: {says: Once more., reward: 0.0}}
*^
  expected: says "Once more.", reward 0.0
  got:      says "*", reward -0.1

ticket t-1, seed 7 of lamps 1.0.0
      customer: Where is my lamp?
    1 classify (right): +0.5000, return 0.5000
      desk: *
>   2 classify (*): -0.1000, return 0.4000
      desk: *
      ! step 2 cost 0.1; best was ask_info(order)
open after 2 steps; return 0.4000, score 0.0000, regret 0.1000
""".strip().splitlines()

# An agent without a mistake, and what it has to be imported from.
AGENT = """
def act(observation, tools):
    if observation["step_count"] == 0:
        return {"type": "classify"}
    missing = observation["missing_required"]
    return {"type": "ask_info", "field": missing[0]} if missing else {"type": "resolve"}
""".lstrip()


# Plugins of this environment that have no part in it: some take longer to import than all the rest.
QUICK = ("-p", "no:schemathesis", "-p", "no:_hypothesis_pytestplugin", "-p", "no:hypothesispytest", "-p", "no:anyio")


def lamps(folder: Path, tests: str = TESTS) -> Path:
    """Writes the pack into scenarios/lamps. Gives its folder."""
    pack = folder / "scenarios" / "lamps"
    pack.mkdir(parents=True)
    (pack / "pack.yaml").write_text(PACK, "utf-8")
    (pack / "tests.yaml").write_text(tests, "utf-8")
    return pack


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """pytest in this process, warnings being errors."""
    return pytester.runpytest("-p", "no:cacheprovider", "-W", "error", *QUICK, *arguments)


def collected(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    """The ids of what pytest would run."""
    result = run(pytester, "--collect-only", "-q", *arguments)
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), result.outlines
    return [line for line in result.outlines if "::" in line]


def outside(folder: Path, *arguments: str, module: bool = False, **env: str) -> tuple[int, str]:
    """The exit code and the output of a pytest of its own: as `python -m pytest`, which puts the folder first on the
    path, or as the command `pytest`, which doesn't."""
    start = ["-m", "pytest"] if module else ["-P", "-m", "pytest"]
    done = subprocess.run(
        [sys.executable, *start, "-p", "no:cacheprovider", "-W", "error", *QUICK, *arguments],
        cwd=folder,
        env={**fresh_environment(), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    return done.returncode, done.stdout
