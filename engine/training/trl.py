"""A class for TRL's `environment_factory`: the actions of a pack as typed, documented tools.

`environment_class(pack)` makes the class; `SupportEnvironment` is the one of the default pack. TRL makes an instance
without arguments, calls `reset(**row)` with a row of its data set, appends the string that it returns to the prompt,
and offers every other public method as a tool. `get_reward()` is the return so far, the sum of all rewards; TRL keeps
it from the model from version 1.8 on, older ones would offer it as a tool.
"""

from __future__ import annotations

import inspect
import json
import re
import secrets
from collections.abc import Callable, Mapping
from keyword import iskeyword
from numbers import Integral
from typing import Any

from engine.case import make_case, pick_ticket
from engine.contract import load_contract
from engine.diagnostics import nearest
from engine.episode import Episode
from engine.load import load_pack, shipped_packs
from engine.pack import Action, Pack, Parameter
from engine.split import SPLITS

_TYPES = {"string": str, "integer": int, "boolean": bool}
_OWN = ("reset", "get_reward")


class Environment:
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
            The pack's instructions and the customer's opening message; set off from the row's prompt, if it has one,
            since TRL appends the one to the other as they are.

        Raises:
            ValueError: the row's seed, split, task or ticket is none.
        """
        seed = _seed(row.get("seed"))
        self._episode = Episode.start(make_case(self._pack, _ticket(self._pack, seed, row), seed))
        seen = self._episode.observation
        lead = "\n\n" if row.get("prompt") else ""
        return f"{lead}{self._pack.instructions}\n\nCustomer: {seen['customer_message']}\n{_situation(seen)}"

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
        said = episode.history[-1]
        return f"{said['role'].capitalize()}: {said['text']}\n{_situation(episode.observation)}"


def environment_class(pack: Pack) -> type[Environment]:
    """The environment class of a pack, named after it, with one method for each of its actions.

    Raises:
        ValueError: an action can't be a method, since its name or a parameter's is no Python name, or is taken.
    """
    methods: dict[str, Any] = {"_pack": pack, "__doc__": f"{pack.description}\n\nThe tools are the pack's actions."}
    for action in pack.actions.values():
        names = [action.name, *(parameter.name for parameter in action.parameters)]
        if action.name in _OWN or not all(map(_is_free, names)):
            raise ValueError(f"action '{action.name}' can't be a method: its names must be free Python names")
        methods[action.name] = _tool(action)
    # TRL logs each class's rewards under the class's name.
    name = re.sub(r"\W|_", " ", pack.name).title().replace(" ", "")
    return type(f"{name}Environment", (Environment,), methods)


def _seed(given: Any) -> int:
    """A row's seed, also where the data set's column made a float of it; a drawn one where there is none."""
    if given is None:
        return secrets.randbelow(2**31)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, Integral) or given < 0:
        raise ValueError(f"seed must be a whole number from 0 up, not {given!r}")
    return int(given)


def _ticket(pack: Pack, seed: int, row: Mapping[str, Any]) -> str:
    ticket_id, split = row.get("ticket_id"), row.get("split")
    for given, valid, kind in ((ticket_id, pack.tickets, "ticket"), (split, SPLITS, "split")):
        if given is not None and given not in valid:
            near = nearest(str(given), valid)
            hint = f": did you mean '{near}'?" if near is not None else ""
            raise ValueError(f"pack '{pack.name}' has no {kind} '{given}'{hint}")
    if ticket_id is not None:
        return str(ticket_id)
    try:
        return pick_ticket(pack, seed, row.get("task_id"), split)
    except LookupError as error:
        raise ValueError(str(error)) from None


def _is_free(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_") and name != "self"


def _tool(action: Action) -> Callable[..., str]:
    """The method that takes an action, with the signature and the docstring that trainers make a tool's schema of."""

    def method(self: Environment, /, *given: Any, **named: Any) -> str:
        # What a model leaves out, adds or gets wrong is its own mistake, a step: the engine says so, not Python.
        placed = signature.bind_partial(self, *given).arguments
        return self._act(action.name, {**{name: placed[name] for name in placed if name != "self"}, **named})

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own, *map(_parameter, action.parameters)], return_annotation=str)
    method.__name__ = method.__qualname__ = action.name
    method.__doc__ = _docstring(action)
    method.__annotations__ = {p.name: _TYPES[p.type] for p in action.parameters} | {"return": str}
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _parameter(parameter: Parameter) -> inspect.Parameter:
    default = inspect.Parameter.empty if parameter.required else None
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(parameter.name, kind, default=default, annotation=_TYPES[parameter.type])


def _docstring(action: Action) -> str:
    """In Google's style; a parameter's values stand behind its description, as JSON, where TRL looks for them."""
    lines = [_line(action.description or action.name)]
    if action.parameters:
        lines += ["", "Args:"]
        for parameter in action.parameters:
            choices = json.dumps(parameter.enum, ensure_ascii=False)
            lines.append(f"    {parameter.name}: {_line(parameter.description or parameter.name)} (choices: {choices})")
    lines += ["", "Returns:", "    What the customer or the desk says, and what is known and missing."]
    return "\n".join(lines)


def _line(text: str) -> str:
    """A description in one line: where it went on, a docstring's reader would take it for something else."""
    return " ".join(text.split())


def _situation(seen: dict[str, Any]) -> str:
    known = ", ".join(f"{name} = {value}" for name, value in seen["known_info"].items()) or "nothing"
    missing = ", ".join(seen["missing_required"]) or "nothing that shows"
    return f"Known: {known}. Missing: {missing}. Status: {seen['status']}. Steps left: {seen['remaining_steps']}."


def _default_pack() -> Pack:
    contract = load_contract()
    packs = [load_pack(path, contract) for path in shipped_packs()]
    return next((pack for pack in packs if pack.name == contract.name), packs[0])


def __getattr__(name: str) -> Any:
    # Made when it is first asked for, so that importing this module loads no packs.
    if name == "SupportEnvironment":
        globals()[name] = made = environment_class(_default_pack())
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
