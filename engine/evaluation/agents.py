"""Agents: what is asked, at each step of an episode, what to do next. A function of this process, or an HTTP address.

Either is given the observation and the pack's actions as tools, and if it wants them the pack's instructions and the
episode's id. Its answer is an action, in any form that the engine understands, or an object with one under `action`.
An action that isn't valid is the agent's mistake in the episode, a step: `{}` too, and whatever object stands under
`action`. Here an agent fails that gives none at all: no object, or one that neither names an action nor has one.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, Protocol

from engine.action import CALL, TYPE_WORDS
from engine.evaluation import interrupting
from engine.evaluation.spent import AgentStopped
from engine.nearest import nearest
from engine.proof import told
from engine.terminal import printable

# What an agent is asked with, besides the observation and the tools, where it wants to know.
WANTED = ("instructions", "episode_id")
# The characters of an answer, or of an error, that are shown.
SHOWN = 300

Tools = Sequence[Mapping[str, Any]]
Action = dict[str, Any]


class AgentError(Exception):
    """An agent that can't be asked, or doesn't answer with an action.

    The text is a sentence or two about the agent. `trace` is where its own code went wrong, as Python tells it; None
    where it says nothing more.
    """

    def __init__(self, text: str, trace: str | None = None) -> None:
        super().__init__(text)
        self.trace = trace

    @property
    def whole(self) -> str:
        """The text, and where there is one the trace beneath it."""
        return f"{self}\n\n{self.trace}" if self.trace is not None else str(self)


class AgentUnusable(AgentError):
    """An agent that can't be asked at all, in no episode: whoever plays many of them stops."""


class Agent(Protocol):
    """Anything that takes an observation and tools, and gives an action. Raises AgentError."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action: ...


class FunctionAgent:
    """A function `(observation, tools)`, or `(observation)`.

    It may have parameters called `instructions` and `episode_id` too. Raises AgentError where it takes something else.
    It is interrupted after `seconds`, as far as `interrupting` can; None where others see to that.
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None, seconds: float | None = None) -> None:
        self.name = printable(name or _called(function))
        self._function = function
        self._seconds = seconds
        if _is_async(function):
            raise self._awaited()
        self._arguments, self._wants = _taken(function, self.name)

    def __repr__(self) -> str:
        return f"<FunctionAgent {self.name}>"

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        __tracebackhide__ = True
        more = {"instructions": instructions, "episode_id": episode_id}
        wanted = {name: more[name] for name in self._wants}
        given = (observation, deepcopy(tools)) if self._arguments == 2 else (observation,)
        try:
            answer = self._asked(*given, **wanted)
        except (AgentError, AgentStopped):
            raise
        except Exception as error:
            raise AgentError(f"The agent {self.name} raised {_summed_up(error)}", _trace(error)) from error
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise self._awaited()
        try:
            plain = json.loads(json.dumps(answer, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            shown = shortened(_shown(answer))
            raise AgentError(f"The agent {self.name} gave {shown}, which is no JSON ({error}).") from error
        return action_of(plain, tools, f"The agent {self.name} gave")

    def _asked(self, *given: Any, **wanted: str) -> Any:
        if self._seconds is None:
            return self._function(*given, **wanted)
        late = f"The agent {self.name} gave no answer within {self._seconds:g} s."
        try:
            with interrupting.interrupted(monotonic() + self._seconds, late) as interruptible, interruptible:
                return self._function(*given, **wanted)
        except interrupting.Cut as cut:
            if cut.cause != late:  # another limit's, that was reached first
                raise
            raise AgentError(late, _stopped_at(cut)) from None

    def _awaited(self) -> AgentError:
        return AgentError(f"The agent {self.name} is a coroutine: give a function that runs it (asyncio.run).")


class ClassAgent:
    """A class whose instances are called as functions are: one is made, without arguments, for each episode."""

    def __init__(self, made: type[Any], name: str) -> None:
        self.name = printable(name)
        self._made = made
        self._playing: FunctionAgent | None = None
        try:
            inspect.signature(made).bind()
        except TypeError:
            takes = f"takes {inspect.signature(made)}"
            raise AgentError(
                f"The class {self.name} {takes}: one is made without arguments for each episode."
            ) from None
        call = next((vars(each)["__call__"] for each in made.__mro__ if "__call__" in vars(each)), None)
        if call is None:
            raise AgentError(f"The agent {self.name} can't be asked: its class has no __call__.")
        if inspect.isfunction(call):
            FunctionAgent(partial(call, None), self.name)  # what any instance is refused for is said at once

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        __tracebackhide__ = True
        if self._playing is None or observation["step_count"] == 0:
            self._playing = FunctionAgent(self._instance(), self.name)
        return self._playing(observation, tools, instructions=instructions, episode_id=episode_id)

    def _instance(self) -> Callable[..., Any]:
        try:
            instance = self._made()
        except Exception as error:
            raise AgentError(f"The agent {self.name} raised {_summed_up(error)}", _trace(error)) from error
        if not callable(instance):
            raise AgentError(f"The agent {self.name} can't be asked: its class has no __call__.")
        return instance  # type: ignore[no-any-return]


def named_agent(path: str, seconds: float | None = None) -> FunctionAgent:
    """The agent that `module:function` names; the function may stand deeper: `module:object.method`.

    Raises:
        AgentError: there is none.
    """
    found = _named(path)
    if not callable(found) or inspect.isclass(found):
        raise AgentError(f"{_quoted(path)} is no function, but {shortened(_shown(found))}.")
    return FunctionAgent(found, path, seconds)


def episode_agent(path: str) -> FunctionAgent | ClassAgent:
    """The same, or the agent of a class that a path names: each episode has an instance of its own.

    Raises:
        AgentError: there is none.
    """
    found = _named(path)
    return ClassAgent(found, path) if inspect.isclass(found) else named_agent(path)


def _named(path: str) -> Any:
    name, _, attribute = path.partition(":")
    if not name or not attribute:
        raise AgentError(f"An agent is named as module:function, not {_quoted(path)}.")
    found = _imported(name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = nearest(part, [known for known in dir(found) if not known.startswith("_")])
            hint = f" Did you mean {_quoted(near)}?" if near is not None else ""
            raise AgentError(f"The module {_quoted(name)} has no {_quoted(attribute)}.{hint}")
        found = getattr(found, part)
    return found


def question_of(observation: Mapping[str, Any], tools: Tools, instructions: str, episode_id: str) -> bytes:
    """What an agent in another process is asked, as JSON without line ends."""
    asked = {"observation": observation, "tools": tools, "instructions": instructions, "episode_id": episode_id}
    return json.dumps(asked).encode()


def action_of(answer: Any, tools: Tools, gave: str) -> Action:
    """The action that an agent's answer is, or holds. `gave` begins the sentence that says that it is none.

    Raises:
        AgentError: it is none.
    """
    if isinstance(answer, Mapping):
        inner = answer.get("action")
        if not answer or any(word in answer for word in TYPE_WORDS) or answer.keys() >= CALL:
            return dict(answer)
        if isinstance(inner, Mapping):
            return dict(inner)
    names = ", ".join(json.dumps(tool["name"], ensure_ascii=False) for tool in tools)
    shown = shortened(json.dumps(answer, ensure_ascii=False))
    raise AgentError(f'{gave} {shown}, which is no action: an object whose "type" is one of {names}.')


def _is_async(function: Callable[..., Any]) -> bool:
    """Whether what a call gives has to be awaited."""
    made = (function, inspect.getattr_static(type(function), "__call__", None))
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in made)


def _called(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}:{name}" if module else str(name)


def _taken(function: Callable[..., Any], name: str) -> tuple[int, tuple[str, ...]]:
    """How many of (observation, tools) a function takes, and which of WANTED."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C: it doesn't say
        return 2, ()
    parameters = signature.parameters
    everything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    wants = tuple(word for word in WANTED if everything or word in parameters)
    for many in (2, 1):
        try:
            signature.bind(*[None] * many, **dict.fromkeys(wants))
        except TypeError:
            continue
        return many, wants
    takes = "an agent takes (observation, tools), and if it likes instructions and episode_id by name"
    raise AgentError(f"The agent {name} takes {signature}: {takes}.")


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            where = "the folder that it is in has to be on sys.path"
            raise AgentError(f"There is no module {_quoted(name)} to take the agent from: {where}.") from None
        text = f"The agent's module {_quoted(name)} can't be imported: {_summed_up(error)}"
        raise AgentError(text, _trace(error)) from error


# -- What is shown


def _trace(error: BaseException) -> str | None:
    """The error as Python tells it, from the first line of the agent's own code on."""
    place = _own_code(error)
    if place is None and not isinstance(error, SyntaxError):
        return None
    return "".join(traceback.TracebackException(type(error), error, place).format()).rstrip()


def _stopped_at(cut: interrupting.Cut) -> str | None:
    """Where the agent's own code was when its time was up."""
    frames = [frame for frame in traceback.extract_tb(_own_code(cut)) if not _is_machinery(frame.filename)]
    return "".join(["It was here:\n", *traceback.format_list(frames)]).rstrip() if frames else None


def _own_code(error: BaseException) -> TracebackType | None:
    place = error.__traceback__
    while place is not None and _is_machinery(place.tb_frame.f_code.co_filename):
        place = place.tb_next
    return place


def _is_machinery(filename: str) -> bool:
    importers = (importlib.__file__, getattr(sys.modules.get("_pytest.assertion.rewrite"), "__file__", None))
    ours = (__file__, interrupting.__file__)
    return filename in (*ours, *importers) or filename.startswith("<frozen importlib")


def _summed_up(error: BaseException) -> str:
    """The error in a line."""
    text = shortened(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__}"


def shortened(text: str) -> str:
    """As much of a text as is shown, safe to show."""
    return told.lines(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _quoted(text: str) -> str:
    return f"'{shortened(text)}'"
