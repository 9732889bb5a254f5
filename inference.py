"""The baseline: plays one episode of each of the contract's tasks, and prints a line for everything that happens.

    MODEL_NAME                  the model that plays; without one the built-in agent `playbook` does
    API_BASE_URL, HF_TOKEN      where it is, with OpenAI's interface, and the key
    ENV_URL                     a server to play on; without one the default pack is played in this process
    SEED                        which episodes; default: 0

Of each episode: `[START]`, a `[STEP]` for each action, `[END]`, each with NAME=VALUE after it. Nothing else is printed;
what goes wrong is told on standard error. An episode in which the agent failed, or the server, ends with a score of 0.
Exit codes: 0 fine, 1 an episode failed, 2 nothing can be played.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote
from urllib.request import Request, urlopen

from engine.case import make_case, pick_ticket
from engine.contract import load_contract
from engine.diagnostics import PackError
from engine.entry import CLOSED, INTERRUPTED
from engine.episode import Episode
from engine.evaluation.agents import Agent, AgentError
from engine.evaluation.naming import NoKey, agent_factory
from engine.evaluation.spent import Closing
from engine.load import load_pack, pack_path
from engine.terminal import printable
from engine.tools import tools

SECONDS = 60
FINE, FAILED, NOTHING = 0, 1, 2


class Trouble(Exception):
    """A server that doesn't do what it should; the text is a sentence."""


class Moment(NamedTuple):
    """Where an episode stands. `error` is what was wrong with the last action, `score` the grader's once it is done."""

    observation: Mapping[str, Any]
    reward: float
    done: bool
    error: str | None
    score: float


class Desk(Protocol):
    """What is played at: its actions as tools, its instructions, one episode at a time."""

    tools: list[dict[str, Any]]
    instructions: str

    def reset(self, task: str, seed: int) -> Moment: ...

    def step(self, action: Mapping[str, Any]) -> Moment: ...


class Here:
    """The default pack, in this process."""

    def __init__(self) -> None:
        self._pack = load_pack(pack_path(load_contract().name))
        self.tools, self.instructions = tools(self._pack), self._pack.instructions

    def reset(self, task: str, seed: int) -> Moment:
        self._episode = Episode.start(make_case(self._pack, pick_ticket(self._pack, seed, task), seed))
        return self._moment()

    def step(self, action: Mapping[str, Any]) -> Moment:
        self._episode = self._episode.step(action)
        return self._moment()

    def _moment(self) -> Moment:
        now = self._episode
        return Moment(now.observation, now.reward or 0.0, now.done, now.error, now.score() if now.done else 0.0)


class There:
    """The default pack of a server."""

    def __init__(self, url: str) -> None:
        self._url, self._id = url.rstrip("/"), ""
        about = self._asked("/metadata")
        pack = next(pack for pack in about["packs"] if pack["name"] == about["default_pack"])
        self.instructions = pack["instructions"]
        self.tools = [
            {"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]}
            for tool in self._asked(f"/{quote(pack['name'])}/tools")["tools"]
        ]

    def reset(self, task: str, seed: int) -> Moment:
        answer = self._asked("/reset", {"task_id": task, "seed": seed})
        self._id = answer["metadata"]["episode_id"]
        return self._moment(answer)

    def step(self, action: Mapping[str, Any]) -> Moment:
        return self._moment(self._asked("/step", {"episode_id": self._id, "action": action}))

    def _moment(self, answer: Mapping[str, Any]) -> Moment:
        about = answer["metadata"]
        score = about["score"] if answer["done"] else 0.0
        return Moment(answer["observation"], answer["reward"] or 0.0, answer["done"], about["error"], score)

    def _asked(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        content = json.dumps(body).encode() if body is not None else None
        try:
            with urlopen(Request(self._url + path, content), timeout=SECONDS) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            raise Trouble(f"The server {self._url} doesn't answer {path} as it should: {error}") from None


def play(desk: Desk, agent: Agent, task: str, seed: int) -> bool:
    """Plays one episode and prints what happens after its [START]. Whether nothing failed."""
    rewards: list[float] = []
    now: Moment | None = None
    failed = None
    try:
        now = desk.reset(task, seed)
        while not now.done:
            action = agent(now.observation, desk.tools, instructions=desk.instructions, episode_id=f"{task}-{seed}")
            now = desk.step(action)
            rewards.append(now.reward)
            taken = json.dumps(now.observation["history"][-2]["action"], separators=(",", ":"))
            error = printable(" ".join(now.error.split())) if now.error is not None else "null"
            line = f"action={taken} reward={now.reward:.2f} done={str(now.done).lower()} error={error}"
            print(f"[STEP] step={len(rewards)} {line}", flush=True)
    except (AgentError, Trouble) as trouble:
        failed = trouble
    success = now is not None and now.observation["status"] == "resolved"
    score = now.score if now is not None else 0.0
    earned = ",".join(f"{reward:.2f}" for reward in rewards)
    print(f"[END] success={str(success).lower()} steps={len(rewards)} score={score:.3f} rewards={earned}", flush=True)
    if failed is not None:
        print(failed, file=sys.stderr, flush=True)
    return failed is None


def main(environment: Mapping[str, str]) -> int:
    """Plays an episode of each task. The exit code."""
    contract, model, url = load_contract(), environment.get("MODEL_NAME"), environment.get("ENV_URL")
    seed = environment.get("SEED") or "0"
    try:
        if not seed.isdecimal():
            raise Trouble(f"SEED is a whole number from 0 on, not '{printable(seed)}'.")
        agent = agent_factory(f"openai:{model}" if model else "playbook")()
        desk: Desk = There(url) if url else Here()
    except NoKey:
        print("No key for OpenAI's service: set OPENAI_API_KEY, or name another one by API_BASE_URL.", file=sys.stderr)
        return NOTHING
    except (AgentError, Trouble, PackError) as trouble:
        print(trouble, file=sys.stderr)
        return NOTHING
    fine = True
    for task in contract.tasks:
        print(f"[START] task={task.id} env={contract.name} model={model or 'playbook'}", flush=True)
        fine = play(desk, agent, task.id, int(seed)) and fine
    if isinstance(agent, Closing):
        agent.close()
    return FINE if fine else FAILED


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED)
