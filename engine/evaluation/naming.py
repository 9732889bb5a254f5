"""From words on the command line to agents.

A run makes a factory of them once, which says at once what is wrong with the words, and calls it in each of its
workers: a factory can be pickled. What it gives is an `Agent` (`engine.evaluation.agents`), which may have `begin`,
`spent` and `close` as well (`engine.evaluation.spent`).

    factory = agent_factory("openai:gpt-4o-mini", AgentOptions(temperature=0.0))    # raises AgentUnusable
    agent = factory()                                                               # once in each worker
    if isinstance(agent, Beginning): agent.begin(episode, episode_id)
    action = agent(observation, tools, instructions=..., episode_id=...)            # raises AgentError

An `AgentError` spoils one episode. `AgentUnusable`, which is one, says that no other would fare better: the run ends.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.diagnostics import nearest
from engine.evaluation.agents import Agent, AgentError, AgentUnusable, episode_agent
from engine.evaluation.http_agent import HttpAgent
from engine.evaluation.masking import is_secret, masked_url, masked_words
from engine.evaluation.options import AgentOptions
from engine.evaluation.policies import Oracle, RandomPolicy, ask_everything, playbook
from engine.evaluation.program_agent import ProgramAgent
from engine.proof import told

BUILT_IN: Mapping[str, Callable[[], Agent]] = {
    "random": RandomPolicy,
    "ask-everything": ask_everything,
    "playbook": playbook,
    "oracle": Oracle,
}
# What stands before the colon, and what behind it.
KINDS = {"http": "URL", "https": "URL", "cmd": "PROGRAM", "py": "module:callable", "openai": "MODEL"}

# Where a model is, and what opens it. A key is never sent where it doesn't belong: HF_TOKEN not to OpenAI.
_OPENAI_URL, _OTHER_URL = "OPENAI_BASE_URL", "API_BASE_URL"
_OPENAI_KEYS, _OTHER_KEYS = ("OPENAI_API_KEY",), ("HF_TOKEN", "API_KEY")
_NO_KEY = "no-key"


@dataclass(frozen=True, slots=True)
class AgentFactory:
    """Makes the agent of a worker, anew at each call. Raises AgentUnusable where there can be none."""

    kind: str
    name: str
    options: AgentOptions

    def __call__(self) -> Agent:
        try:
            return self._made()
        except AgentUnusable:
            raise
        except AgentError as error:
            raise AgentUnusable(str(error), error.trace) from None

    def _made(self) -> Agent:
        options = self.options
        match self.kind:
            case "http":
                return HttpAgent(self.name, options.seconds)
            case "cmd":
                return ProgramAgent(_words(self.name), options.seconds)
            case "py":
                _beside_us()
                return episode_agent(self.name)
            case "openai":
                url, key = model_service(options.base_url, os.environ)
                _need_openai()
                from engine.evaluation.openai_agent import OpenAIAgent  # its library is an extra

                return OpenAIAgent(self.name, url, key, options)
        return BUILT_IN[self.kind]()

    def described(self) -> dict[str, Any]:
        """Which agent it is, for the run's own file, and whatever decides what it does: nothing that is secret.

        What may change before a run goes on isn't in it: how long it may take, how often it is asked again, prices.
        """
        match self.kind:
            case "http":
                return {"agent": f"http:{masked_url(self.name)}"}
            case "cmd":
                return {"agent": f"cmd:{shlex.join(masked_words(_words(self.name)))}"}
            case "py":
                return {"agent": f"py:{self.name}"}
            case "openai":
                url, _ = model_service(self.options.base_url, os.environ)
                request = {name: None if is_secret(name) else value for name, value in self.options.request}
                return {
                    "agent": f"openai:{self.name}",
                    "base_url": masked_url(url) if url is not None else None,
                    "temperature": self.options.temperature,
                    "request": request,
                }
        return {"agent": self.kind}


def agent_factory(spec: str, options: AgentOptions | None = None) -> AgentFactory:
    """The factory of the agent that words name: `random`, `ask-everything`, `playbook`, `oracle`, `http:URL`,
    `cmd:PROGRAM`, `py:module:callable` or `openai:MODEL`.

    Raises:
        AgentUnusable: they name none, or one that can't be asked. Nothing has been asked yet.
    """
    options = options or AgentOptions()
    kind, colon, name = spec.partition(":")
    if spec in BUILT_IN:
        return AgentFactory(spec, "", options)
    if not colon or kind not in KINDS:
        raise AgentUnusable(_unknown(spec))
    if not name.strip():
        raise AgentUnusable(f"'{kind}:' names no agent: it is {kind}:{KINDS[kind]}.")
    if kind == "https" or name.startswith("//"):  # the address itself
        kind, name = "http", spec
    factory = AgentFactory(kind, name, options)
    if kind == "cmd":
        _check_program(name)
    else:
        made: Any = factory()
        if hasattr(made, "close"):
            made.close()
    return factory


def _unknown(spec: str) -> str:
    shown = told.lines(spec)
    kind, colon, name = spec.partition(":")
    if colon and all(part.isidentifier() for part in kind.split(".")) and name.replace(".", "").isidentifier():
        return f"There is no agent '{shown}'. A function of a module is named py:{shown}."
    ways = [*BUILT_IN, *(f"{kind}:{what}" for kind, what in KINDS.items() if kind != "https")]
    near = nearest(kind, [*BUILT_IN, *KINDS])
    meant = f"{near}:{KINDS[near]}" if near in KINDS else near
    hint = f"Did you mean '{meant}'?" if meant is not None else f"There are: {', '.join(ways)}."
    return f"There is no agent '{shown}'. {hint}"


# -- Programs


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise AgentUnusable(f"'cmd:{told.lines(command)}' is no command: {str(error).lower()}.") from None


def _check_program(command: str) -> None:
    words = _words(command)
    if not words or shutil.which(words[0]) is None:
        raise AgentUnusable(f"There is no program '{told.lines(words[0] if words else '')}' that can be started.")


# -- Python


def _beside_us() -> None:
    """Modules may stand in the folder that one is in, as with `python -m`."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


# -- Models


def _need_openai() -> None:
    if importlib.util.find_spec("openai") is None:
        raise AgentUnusable(
            "openai:MODEL needs the library openai, which isn't there: pip install 'deskproof[openai]'."
        )


def model_service(base_url: str | None, environment: Mapping[str, str]) -> tuple[str | None, str]:
    """The address (None: OpenAI's own) and the key of the service that a model is asked at.

    The address is `base_url`, else OPENAI_BASE_URL, else API_BASE_URL. The key is OPENAI_API_KEY, or HF_TOKEN or
    API_KEY: with API_BASE_URL these come first, and OpenAI itself is never sent them.

    Raises:
        AgentUnusable: OpenAI's own service is meant, and there is no key.
    """
    url = base_url or environment.get(_OPENAI_URL)
    keys: tuple[str, ...] = (*_OPENAI_KEYS, *_OTHER_KEYS)
    if not url:
        url = environment.get(_OTHER_URL) or None
        keys = (*_OTHER_KEYS, *_OPENAI_KEYS) if url else _OPENAI_KEYS
    key = next((environment[name] for name in keys if environment.get(name)), None)
    if key is None and url is None:
        raise AgentUnusable(f"No key for OpenAI's service: set {_OPENAI_KEYS[0]}, or name another one by --base-url.")
    return url, key or _NO_KEY
