"""An agent that is a model behind OpenAI's chat completions, or behind any service that has the same interface.

What it is told in an episode, and what its answers mean, is `engine.chat`'s.

What a model does wrongly is its own mistake, a step of the episode: arguments that are no JSON, a tool that there
isn't, and, once it has been asked a second time, an answer that calls no tool (a refusal, for one). What its service
fails to do is an AgentError, after as many tries as `retries` allows; a key or a model that it doesn't know is an
AgentUnusable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from engine import chat
from engine.evaluation.agents import Action, AgentError, AgentUnusable, Tools, shortened
from engine.evaluation.masking import MASK, masked_url
from engine.evaluation.options import AgentOptions
from engine.evaluation.spent import Spent
from engine.proof import told

# How many tokens a price is for.
MILLION = 1_000_000
# So many characters make a key a secret; what is shorter is none, and may be any word.
SECRET = 8


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
        self._messages: list[chat.Message] = []
        self._calls: list[str] = []  # the ids of those whose outcome isn't told yet

    def __repr__(self) -> str:
        return f"<OpenAIAgent {self.name}>"

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        __tracebackhide__ = True
        functions = chat.Functions(tools)
        if observation["step_count"] == 0:
            self._messages = chat.opening(instructions, observation)
        else:
            self._messages += chat.answers(self._calls, chat.news(observation))
        called = self._answer(functions)
        if not called:
            self._messages.append({"role": "user", "content": chat.ONLY_TOOLS})
            called = self._answer(functions)
        return called[0] if called else {}

    def close(self) -> None:
        self._client.close()

    def _answer(self, functions: chat.Functions) -> list[Action]:
        """The actions that the model calls in its next message, which becomes part of the conversation."""
        message = self._completion(functions.definitions)
        dumped = message.model_dump(exclude_none=True, warnings=False)
        said: chat.Message = {"content": None, **json.loads(chat.as_json(dumped))}
        calls = said.get("tool_calls") or []
        actions = [functions.action(call) for call in calls]
        self._calls = chat.call_ids(calls, f"call_{len(self._messages)}")
        for call, name in zip(calls, self._calls, strict=True):
            call["id"] = name
            if "function" in call:
                call["function"].update(functions.repeated(call))
        self._messages.append(said)
        return actions

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
