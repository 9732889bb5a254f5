"""A class for TRL's `environment_factory`: the actions of a pack as typed, documented tools.

`environment_class(pack)` makes the class; `SupportEnvironment` is the one of the default pack. Classes can be pickled.
TRL makes an instance without arguments, calls `reset(**row)` with a row of its data set, appends the string that it
returns to the prompt's last message, and offers every other public method as a tool. `get_reward()` is the return so
far, the sum of all rewards; TRL keeps it from the model from version 1.8 on, older ones would offer it as a tool.
"""

from __future__ import annotations

import copyreg
import inspect
import re
from collections.abc import Callable, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal

from engine import chat
from engine.episode import Episode
from engine.pack import Action, Pack, Parameter
from engine.tools import tools
from engine.training.choosing import choose, load

_OWN = ("reset", "get_reward")
# What a reader of docstrings in Google's style would take for its own.
_MARKS = re.compile(r"(Args|Returns|Raises|\((?i:choices)):")


class _Made(type):
    """The type of the classes that are made here, which no module has by their name."""


class Environment(metaclass=_Made):
    """One episode at a time. The tools are methods of the classes that `environment_class` makes."""

    _pack: Pack

    def __init__(self) -> None:
        self._episode: Episode | None = None

    def reset(self, **row: Any) -> str:
        """Begin an episode.

        Args:
            row: `seed`, `task_id`, `split` and `ticket_id` choose it, as on the server; other columns are ignored.
                Without a seed one is drawn: the generations of a group then play different episodes.

        Returns:
            The pack's instructions, where the row's prompt doesn't hold them as a message already, and the first
            observation: what `engine.chat` tells any model. Set off from the prompt's last message, unless that is
            empty, since TRL appends the one to the other as they are.

        Raises:
            ValueError: the row's seed, split, task or ticket is none, or the ticket isn't of the task, the split.
        """
        case = choose(self._pack, row.get("seed"), row.get("task_id"), row.get("split"), row.get("ticket_id"))
        self._episode = Episode.start(case)
        return _joining(row.get("prompt"), chat.opening(self._pack.instructions, self._episode.observation))

    def get_reward(self) -> float:
        """The return so far, in the contract's reward range; 0.0 before the first reset."""
        return self._episode.total if self._episode is not None else 0.0

    def _act(self, name: str, arguments: dict[str, Any]) -> str:
        if self._episode is None:
            self.reset()
        episode = self._episode
        if episode is None or episode.done:
            return "The episode is over."
        self._episode = episode = episode.step({"type": name, "parameters": arguments})
        return chat.news(episode.observation)


def environment_class(pack: Pack | Path | str | None = None) -> type[Environment]:
    """The environment class of a pack, named after it, with one method for each of its actions.

    Args:
        pack: a pack, its path, or the name of a shipped one; default: the contract's own.

    Raises:
        LookupError: there is no such pack.
        PackError: what is there is no sound pack.
        ValueError: an action can't be a method, since its name or a parameter's is no Python name, or is taken.
    """
    pack = load(pack)
    described = {tool["name"]: tool for tool in tools(pack)}
    methods: dict[str, Any] = {"_pack": pack, "__doc__": f"{pack.description}\n\nThe tools are the pack's actions."}
    for action in pack.actions.values():
        names = [action.name, *(parameter.name for parameter in action.parameters)]
        if action.name in _OWN or not all(map(_is_free, names)):
            raise ValueError(f"action '{action.name}' can't be a method: its names must be free Python names")
        methods[action.name] = _tool(action, described[action.name])
    # TRL logs each class's rewards under the class's name.
    name = re.sub(r"\W|_", " ", pack.name).title().replace(" ", "")
    return type(f"{name}Environment", (Environment,), methods)


def _reduced(made: type[Environment]) -> Any:
    """How a class is pickled: as its pack, or by its name where somebody derived it."""
    pack = vars(made).get("_pack")
    return (environment_class, (pack,)) if pack is not None else made.__qualname__


copyreg.dispatch_table[_Made] = _reduced


def _joining(prompt: Any, opening: list[chat.Message]) -> str:
    """What joins a prompt, which is a text or a list of messages, so that it holds the opening."""
    held = [message.get("content") for message in prompt] if isinstance(prompt, list) else [prompt]
    text = "\n\n".join(message["content"] for message in opening if message["content"] not in held)
    return f"\n\n{text}" if held and held[-1] else text


def _is_free(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_") and name != "self"


def _tool(action: Action, described: Mapping[str, Any]) -> Callable[..., str]:
    """The method that takes an action, with the signature and the docstring that trainers make a tool's schema of."""
    hints = {parameter.name: _hint(parameter) for parameter in action.parameters}

    def method(self: Environment, /, *given: Any, **named: Any) -> str:
        # What a model leaves out, adds or gets wrong is its own mistake, a step: the engine says so, not Python.
        bound = signature.bind_partial(self, *given).arguments
        return self._act(action.name, {**{name: bound[name] for name in bound if name != "self"}, **named})

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    placed = sorted(action.parameters, key=lambda one: not one.required)  # Python wants these first
    signature = inspect.Signature([own, *(_parameter(one, hints[one.name]) for one in placed)])
    method.__name__ = method.__qualname__ = action.name
    method.__doc__ = _docstring(described)
    method.__annotations__ = hints  # a return's would stand in the schema, where no other model is told of it
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _hint(parameter: Parameter) -> Any:
    return Literal.__getitem__(parameter.enum)


def _parameter(parameter: Parameter, hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if parameter.required else None
    return inspect.Parameter(parameter.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hint)


def _docstring(described: Mapping[str, Any]) -> str:
    """What a tool's description and those of its parameters say, in Google's style."""
    lines = [_plain(described["description"] or described["name"])]
    properties = described["inputSchema"]["properties"]
    if properties:
        lines += ["", "Args:"]
        # In one line each: where one went on, a reader could take it for another parameter.
        lines += [f"    {name}: {_line(shown.get('description') or name)}" for name, shown in properties.items()]
    lines += ["", "Returns:", "    What the customer or the desk says, and what is known and missing."]
    return "\n".join(lines)


def _line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", _plain(text))


def _plain(text: str) -> str:
    """A text in which nothing begins a section, or choices."""
    return _MARKS.sub(r"\1 :", text.strip())


def __getattr__(name: str) -> Any:
    # Made when it is first asked for, so that importing this module loads no packs.
    if name == "SupportEnvironment":
        globals()[name] = made = environment_class(load(None))
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
