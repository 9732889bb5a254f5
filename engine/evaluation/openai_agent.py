"""An agent that is a model behind OpenAI's chat completions, or behind any service that has the same interface.

The conversation of an episode: the pack's instructions as the system's, the first observation as the user's; the model
calls the pack's actions as tools, and is told what came of each. Observations are JSON; of those after the first only
what may have changed is told, and what was said.

What a model does wrongly is its own mistake, a step of the episode: arguments that are no JSON, a tool that there
isn't, and, once it has been asked a second time, an answer that calls no tool (a refusal, for one). What its service
fails to do is an AgentError, after as many tries as `retries` allows; a key or a model that it doesn't know is an
AgentUnusable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from engine.evaluation.agents import SHOWN, Action, AgentError, AgentUnusable, Tools, shortened
from engine.evaluation.masking import MASK, masked_url
from engine.evaluation.options import AgentOptions
from engine.evaluation.spent import Spent
from engine.proof import told

# What is said to a model that calls no tool, and of its calls beside the one that is carried out.
ONLY_TOOLS = "You act by calling one of the tools, and only so. Call one now."
ONE_AT_A_TIME = "Not carried out: one action at a time."
# How many tokens a price is for.
MILLION = 1_000_000
# Objects and lists in a call's arguments; an action has none, but for one that is taken for a mistake.
NESTED = 20
# So many characters make a key a secret; what is shorter is none, and may be any word.
SECRET = 8

# The names that tools may have there.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# What a later observation doesn't tell anew: it never changes, or was told before.
_TOLD = ("ticket_id", "customer_message", "history")

Message = dict[str, Any]


class OpenAIAgent:
    """Asks a model at `base_url` (None: the library's own) with `key`."""

    def __init__(self, model: str, base_url: str | None, key: str, options: AgentOptions) -> None:
        self.name = told.lines(f"openai:{model}")
        self.spent = Spent(cost=0.0 if options.price_in is not None else None)
        self._options = options
        self._key = key
        self._client = openai.OpenAI(
            api_key=key, base_url=base_url, timeout=options.seconds, max_retries=options.retries
        )
        self._fixed: dict[str, Any] = {"model": model}
        if options.temperature is not None:
            self._fixed["temperature"] = options.temperature
        self._fixed["extra_body"] = {name: json.loads(value) for name, value in options.request}
        self._messages: list[Message] = []
        self._calls: list[str] = []  # the ids of those whose outcome isn't told yet

    def __repr__(self) -> str:
        return f"<OpenAIAgent {self.name}>"

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        __tracebackhide__ = True
        if observation["step_count"] == 0:
            self._begin(observation, instructions)
        else:
            self._tell(_news(observation))
        named = _named(tools)
        message = self._answer(named)
        if not message.tool_calls:
            self._messages.append({"role": "user", "content": ONLY_TOOLS})
            message = self._answer(named)
        return _action(message.tool_calls[0], named) if message.tool_calls else {}

    def close(self) -> None:
        self._client.close()

    # -- The conversation

    def _begin(self, observation: Mapping[str, Any], instructions: str) -> None:
        system = [{"role": "system", "content": instructions}] if instructions else []
        first = {name: value for name, value in observation.items() if name != "history"}
        self._messages = [*system, {"role": "user", "content": _json(first)}]
        self._calls = []

    def _tell(self, news: str) -> None:
        """What came of the last step: as the answer to the first call, where there was one."""
        if not self._calls:
            self._messages.append({"role": "user", "content": news})
        for number, call in enumerate(self._calls):
            content = ONE_AT_A_TIME if number else news
            self._messages.append({"role": "tool", "tool_call_id": call, "content": content})

    def _answer(self, named: Mapping[str, Mapping[str, Any]]) -> ChatCompletionMessage:
        """The model's next message, which becomes part of the conversation."""
        message = self._completion([_function(name, tool) for name, tool in named.items()])
        said: Message = {"content": None, **message.model_dump(exclude_none=True, warnings=False)}
        calls = said.get("tool_calls") or []
        for number, call in enumerate(calls):
            call["id"] = call.get("id") or f"call_{len(self._messages)}_{number}"
            if "function" in call:  # some services read the arguments again
                meant = _arguments(call["function"].get("arguments"))
                call["function"]["arguments"] = _json(meant if isinstance(meant, Mapping) else {})
        self._calls = [call["id"] for call in calls]
        self._messages.append(said)
        return message

    # -- The service

    def _completion(self, functions: Sequence[Mapping[str, Any]]) -> ChatCompletionMessage:
        create: Any = self._client.chat.completions.create
        try:
            answer = create(messages=self._messages, tools=functions, **self._fixed)
        except openai.OpenAIError as error:
            self._fail(error)
        except ValueError:  # a body that should be JSON and isn't
            raise self._error("answered what isn't JSON") from None
        if not isinstance(answer, ChatCompletion) or not answer.choices or answer.choices[0].message is None:
            raise self._error("gave no completion", str(getattr(answer, "error", None) or ""))
        self._count(answer)
        if answer.choices[0].finish_reason == "content_filter":
            raise self._error("held the model's answer back: it didn't pass the filter")
        return answer.choices[0].message

    def _count(self, answer: ChatCompletion) -> None:
        options, before, usage = self._options, self.spent, answer.usage
        asked, answered = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage is not None else (0, 0)
        cost = before.cost
        if cost is not None:
            cost += (asked * (options.price_in or 0) + answered * (options.price_out or 0)) / MILLION
        self.spent = Spent(before.input_tokens + asked, before.output_tokens + answered, cost)

    def _fail(self, error: openai.OpenAIError) -> NoReturn:
        """Raises what an error of the library's comes to."""
        tries = told.count(self._options.retries + 1, "time")
        if isinstance(error, openai.APITimeoutError):
            raise self._error(f"gave no answer within {self._options.seconds:g} s, asked {tries}")
        if isinstance(error, openai.APIConnectionError):
            raise self._error("can't be reached", str(error.__cause__ or error))
        text = str(error)
        if isinstance(error, openai.APIError):
            text = str(error.body.get("message") or text) if isinstance(error.body, Mapping) else error.message
        if not isinstance(error, openai.APIStatusError):
            raise self._error("gave an answer that can't be read", text)
        status = error.status_code
        if status in (401, 403):
            raise self._unusable(f"refuses the key ({status}; OPENAI_API_KEY, API_KEY or HF_TOKEN hold it)", text)
        if status == 404:
            raise self._unusable("knows no such model, or is no such service (404)", text)
        if error.code == "insufficient_quota":
            raise self._unusable(f"isn't paid for any more ({status})", text)
        again = f", asked {tries}" if status in (408, 409, 429) or status >= 500 else ""
        raise self._error(f"answered {status}{again}", text)

    def _error(self, what: str, text: str = "") -> AgentError:
        return AgentError(self._sentence(what, text))

    def _unusable(self, what: str, text: str) -> AgentUnusable:
        return AgentUnusable(self._sentence(what, text))

    def _sentence(self, what: str, text: str) -> str:
        at = masked_url(str(self._client.base_url))
        text = " ".join((text.replace(self._key, MASK) if len(self._key) >= SECRET else text).split())
        shown = shortened(text)
        return f"The service of {self.name} at {at} {what}" + (f": {shown}" if shown else ".")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _news(observation: Mapping[str, Any]) -> str:
    last = observation["history"][-1]
    changed = {name: value for name, value in observation.items() if name not in _TOLD}
    return _json({"role": last["role"], "text": last["text"], **changed})


def _named(tools: Tools) -> dict[str, Mapping[str, Any]]:
    """Tools by the names that they have there: their own, where these can be had."""
    own = {tool["name"] for tool in tools}
    named: dict[str, Mapping[str, Any]] = {}
    for number, tool in enumerate(tools, 1):
        name = tool["name"]
        if not _NAME.fullmatch(name):
            name = f"action_{number}"
            while name in own:
                name += "_"
        named[name] = tool
    return named


def _function(name: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    described = tool["description"] if name == tool["name"] else f"{tool['name']}: {tool['description']}"
    function = {"name": name, "description": described, "parameters": tool["inputSchema"]}
    return {"type": "function", "function": function}


def _action(call: Any, named: Mapping[str, Mapping[str, Any]]) -> Action:
    """What a call comes to, be it valid or not."""
    function = getattr(call, "function", None)
    name = getattr(function, "name", None)
    if function is None or name is None:
        return {}
    return {"type": named[name]["name"] if name in named else name, "arguments": _arguments(function.arguments)}


def _arguments(written: Any) -> Any:
    """A call's arguments; their beginning as a text where they are no object that an action could have."""
    if not isinstance(written, str):  # some services send the object itself
        return written or {}
    if written.strip() in ("", "null"):
        return {}
    try:
        meant = json.loads(written)
        json.dumps(meant, allow_nan=False)
    except (ValueError, RecursionError):
        meant = None
    fits = isinstance(meant, dict) and written.count("{") + written.count("[") <= NESTED
    return meant if fits else f"{written[:SHOWN]}…" if len(written) > SHOWN else written
