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
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine.evaluation.agents import Agent, AgentError, AgentUnusable, episode_agent
from engine.evaluation.http_agent import HttpAgent
from engine.evaluation.masking import marked, masked_url, masked_value, masked_words
from engine.evaluation.options import AgentOptions
from engine.evaluation.policies import Oracle, RandomPolicy, ask_everything, playbook
from engine.evaluation.program_agent import ProgramAgent
from engine.nearest import nearest
from engine.proof import told

BUILT_IN: Mapping[str, Callable[[], Agent]] = {
    "random": RandomPolicy,
    "ask-everything": ask_everything,
    "playbook": playbook,
    "oracle": Oracle,
}
# What stands before the colon, and what behind it.
KINDS = {"http": "URL", "https": "URL", "cmd": "PROGRAM", "py": "module:callable", "openai": "MODEL"}

# An address without its scheme.
_HOST_AND_PORT = re.compile(r"(?:[^@/?#\s]*@)?(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}(?:[/?].*)?")

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

    @property
    def counts_tokens(self) -> bool:
        """Whether it is known how many tokens it uses."""
        return self.kind == "openai"

    @property
    def counts_cost(self) -> bool:
        """Whether it is known what it costs."""
        return self.counts_tokens and self.options.price_in is not None

    def described(self) -> dict[str, Any]:
        """Which agent it is, for the run's own file, and whatever decides what it does: nothing that is secret.

        Of a secret it has a few digits of a digest, so that another one is another run. What may change before a run
        goes on isn't in it: how long it may take, how often it is asked again, prices, the key of a model's service.
        """
        match self.kind:
            case "http":
                return {"agent": f"http:{masked_url(self.name, marked)}"}
            case "cmd":
                return {"agent": f"cmd:{shlex.join(masked_words(_words(self.name), marked))}"}
            case "py":
                return {"agent": f"py:{self.name}"}
            case "openai":
                url, _ = model_service(self.options.base_url, os.environ)
                request = {
                    name: json.dumps(masked_value(name, json.loads(value), marked))
                    for name, value in self.options.request
                }
                return {
                    "agent": f"openai:{self.name}",
                    "base_url": masked_url(url, marked) if url is not None else None,
                    "temperature": self.options.temperature,
                    "request": request,
                }
        return {"agent": self.kind}

    @property
    def short(self) -> str:
        """A name for its runs' folders, with nothing that may be secret: host and path, or a program's name."""
        match self.kind:
            case "http":
                parts = urlsplit(self.name)
                return f"http:{parts.netloc.rpartition('@')[2]}{parts.path}"
            case "cmd":
                return f"cmd:{Path(_words(self.name)[0]).name}"
        return f"{self.kind}:{self.name}" if self.name else self.kind


class NoKey(AgentUnusable):
    """OpenAI's own service is meant, and there is no key for it."""


def agent_factory(spec: str, options: AgentOptions | None = None) -> AgentFactory:
    """The factory of the agent that words name: `random`, `ask-everything`, `playbook`, `oracle`, `http:URL`,
    `cmd:PROGRAM`, `py:module:callable` or `openai:MODEL`. An address may stand alone, and without `http://`.

    Raises:
        AgentUnusable: they name none, or one that can't be asked. Nothing has been asked yet.
    """
    options = options or AgentOptions()
    kind, colon, name = spec.partition(":")
    if spec in BUILT_IN:
        return AgentFactory(spec, "", options)
    if kind not in (*KINDS, *BUILT_IN) and _HOST_AND_PORT.fullmatch(spec):
        kind, name = "http", f"http://{spec}"
    elif kind == "http" and _HOST_AND_PORT.fullmatch(name):
        name = f"http://{name}"
    if not colon or kind not in KINDS:
        raise AgentUnusable(_unknown(spec))
    if not name.strip():
        raise AgentUnusable(f"'{kind}:' names no agent: it is {kind}:{KINDS[kind]}.")
    if kind == "https" or (kind == "http" and name.startswith("//")):  # the address itself
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
    shown = told.lines(" ".join(masked_words(spec.split(" "))))
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
        shown = told.lines(" ".join(masked_words(command.split(" "))))
        raise AgentUnusable(f"'cmd:{shown}' is no command: {str(error).lower()}.") from None


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
        NoKey: OpenAI's own service is meant, and there is no key.
    """
    url = base_url or environment.get(_OPENAI_URL)
    keys: tuple[str, ...] = (*_OPENAI_KEYS, *_OTHER_KEYS)
    if not url:
        url = environment.get(_OTHER_URL) or None
        keys = (*_OTHER_KEYS, *_OPENAI_KEYS) if url else _OPENAI_KEYS
    key = next((environment[name] for name in keys if environment.get(name)), None)
    if key is None and url is None:
        raise NoKey(f"No key for OpenAI's service: set {_OPENAI_KEYS[0]}, or name another one by --base-url.")
    return url, key or _NO_KEY
