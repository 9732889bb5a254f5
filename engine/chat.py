"""An episode as a chat with a language model: what it is told, and which action its answer is.

The pack's instructions are the system's, the first observation is the user's. The model calls the pack's actions as
functions, in OpenAI's format, and is told what came of each. Observations are JSON; of those after the first only what
may have changed is told, and what was said. Whoever evaluates a model and whoever trains one tells it the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.action import ENVELOPE
from engine.terminal import encodable

# What is said to a model that calls no tool, and of its calls beside the one that is carried out.
ONLY_TOOLS = "You act by calling one of the tools, and only so. Call one now."
ONE_AT_A_TIME = "Not carried out: one action at a time."
# Objects and lists in a call's arguments; an action has none, but for one that is taken for a mistake.
NESTED = 20
# So many characters of arguments that can't be read are kept.
KEPT = 300

# The names that functions may have, and what can't stand in them.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
# So much of a name that no function can have is repeated.
NAMED = 40
# Half of a surrogate pair: it has no UTF-8.
_HALF = re.compile("[\ud800-\udfff]")
# What a later observation doesn't tell anew: it never changes, or was told before.
_TOLD = ("ticket_id", "customer_message", "history")

Message = dict[str, Any]


def opening(instructions: str, observation: Mapping[str, Any]) -> list[Message]:
    """The messages that an episode begins with: the system's, where there are instructions, and the user's."""
    system = [{"role": "system", "content": instructions}] if instructions else []
    first = {name: value for name, value in observation.items() if name != "history"}
    return [*system, {"role": "user", "content": as_json(first)}]


def news(observation: Mapping[str, Any]) -> str:
    """What came of the last step."""
    last = observation["history"][-1]
    changed = {name: value for name, value in observation.items() if name not in _TOLD}
    return as_json({"role": last["role"], "text": last["text"], **changed})


def answers(calls: Iterable[str], text: str) -> list[Message]:
    """News as messages: the answer to the first of the calls with these ids, the user's where there was none."""
    ids = [*calls]
    if not ids:
        return [{"role": "user", "content": text}]
    first, *others = ids
    return [
        {"role": "tool", "tool_call_id": first, "content": text},
        *({"role": "tool", "tool_call_id": other, "content": ONE_AT_A_TIME} for other in others),
    ]


def said(content: Any) -> str:
    """What an assistant's message says: its content, which may be a text, a part, or a list of parts."""
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return encodable("".join(text for text in texts if isinstance(text, str)))


def call_ids(calls: Iterable[Mapping[str, Any]], prefix: str) -> list[str]:
    """An id for each call of one answer, no two alike: its own where that will do, else one that `prefix` begins."""
    found: list[str] = []
    for number, call in enumerate(calls, 1):
        own = call.get("id")
        name = encodable(own) if isinstance(own, str) else ""
        if not name or name in found:
            name = f"{prefix}_{number}"
            while name in found:
                name += "_"
        found.append(name)
    return found


class Functions:
    """A pack's actions as functions that a model can call. `definitions` are in OpenAI's format."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """`tools` are as `engine.tools.tools` gives them. Names that a function can't have become others."""
        own = {tool["name"] for tool in tools}
        self._actions: dict[str, str] = {}
        self.definitions: list[dict[str, Any]] = []
        for number, tool in enumerate(tools, 1):
            name, described = tool["name"], tool["description"]
            if not _NAME.fullmatch(name):
                described = f"{name}: {described}"
                name = f"action_{number}"
                while name in own:
                    name += "_"
            self._actions[name] = tool["name"]
            function = {"name": name, "description": described, "parameters": tool["inputSchema"]}
            self.definitions.append({"type": "function", "function": function})
        self._names = {action: name for name, action in self._actions.items()}

    def action(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """What a call comes to, be it valid or not; name and arguments may stand flat. `{}` where it names nothing."""
        function = call.get("function", call)
        name = function.get("name") if isinstance(function, Mapping) else None
        if name is None:
            return {}
        action = self._actions.get(name, name) if isinstance(name, str) else name
        return {"type": action, "arguments": arguments(function.get("arguments"))}

    def repeated(self, call: Mapping[str, Any]) -> dict[str, str]:
        """A call's name and arguments as the next request repeats them: services refuse what they can't read."""
        function = call.get("function", call)
        return {"name": self._repeated(function.get("name")), "arguments": _repeated(function.get("arguments"))}

    def _repeated(self, given: Any) -> str:
        """The function that is meant; else the name as it is, or its beginning in the letters that a name may have."""
        name = given if isinstance(given, str) else as_json(given)
        name = self._names.get(self._actions.get(name, name), name)
        if _NAME.fullmatch(name):
            return name
        name = _OTHER.sub("_", name[:NAMED]) or "_"
        while name in self._actions:  # it isn't the one that was called
            name += "_"
        return name

    def called(self, action: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The function and the arguments with which an action in canonical form is called."""
        nested = action.get("parameters")
        flat = {name: value for name, value in action.items() if name not in ENVELOPE}
        return self._names.get(action["type"], action["type"]), {**flat, **(nested or {})}


def arguments(written: Any) -> Any:
    """A call's arguments; their beginning as a text where they are no object that an action could have."""
    if not isinstance(written, str):  # some write the object itself
        return written or {}
    if written.strip() in ("", "null"):
        return {}
    try:
        meant = json.loads(written)
        json.dumps(meant, allow_nan=False)
    except (ValueError, RecursionError):
        meant = None
    fits = isinstance(meant, dict) and written.count("{") + written.count("[") <= NESTED
    return meant if fits else f"{written[:KEPT]}…" if len(written) > KEPT else written


def _repeated(written: Any) -> str:
    """A call's arguments as they were written, where everybody reads them alike; else what can be read of them."""
    meant = arguments(written)
    plain = as_json(meant if isinstance(meant, Mapping) else {})
    try:
        same = isinstance(written, str) and bool(json.loads(written) == json.loads(plain))
    except (ValueError, RecursionError):
        same = False
    return written if same else plain


def as_json(value: Any) -> str:
    """JSON as a model reads and writes it; of half a surrogate pair its escape, as words."""
    text = json.dumps(value, ensure_ascii=False)
    return _HALF.sub(lambda half: rf"\\u{ord(half[0]):04x}", text)
