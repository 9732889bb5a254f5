"""An environment for language models, in the trainer's own process: messages in, tool calls out, rewards.

The five values of `step` are Gymnasium's. It is no `gymnasium.Env`: that one's texts are of a few characters known
beforehand, and what people write isn't.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine import chat
from engine.action import normalise
from engine.episode import Episode, EpisodeOver
from engine.nearest import nearest
from engine.pack import Pack
from engine.terminal import encodable
from engine.tools import tools
from engine.training.choosing import choose, load

# Objects and lists in an answer; more are no calls.
BRACKETS = 200


class TextSupportEnv:
    """One episode at a time, of one of some packs.

    `messages` is the chat so far, as OpenAI's chat completions take it; with `tools` it is the model's next request.
    What the model is told is what `deskproof eval openai:MODEL` tells one.
    """

    def __init__(self, *packs: Pack | Path | str) -> None:
        """Packs, their paths, or names of shipped ones; none means the default pack.

        Raises:
            LookupError: there is no such path, nor such a shipped pack.
            PackError: what is there is no sound pack.
            ValueError: two packs that differ have the same name.
        """
        loaded = [load(pack) for pack in packs or (None,)]
        self._packs = _named(loaded)
        self._functions = {pack.name: chat.Functions(tools(pack)) for pack in loaded}
        self._pack = loaded[0]
        self._episode: Episode | None = None
        self.messages: list[chat.Message] = []

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The actions of the pack that is played (before the first reset: of the first one) as OpenAI's functions."""
        return self._functions[self._pack.name].definitions

    @property
    def episode(self) -> Episode:
        """The episode that is played, with everything that is hidden in it: for whoever trains, not for the model.

        Raises:
            EpisodeOver: there is none yet.
        """
        if self._episode is None:
            raise EpisodeOver("no episode is played yet: reset begins one")
        return self._episode

    def reset(
        self,
        *,
        seed: int | None = None,
        task: str | None = None,
        split: str | None = None,
        ticket: str | None = None,
        pack: str | None = None,
    ) -> tuple[list[chat.Message], dict[str, Any]]:
        """Begin an episode: of a pack (by its name; None: the first), of a ticket, at a seed (None: a drawn one).

        Without a ticket the seed picks one of the task's, and of the split's.

        Returns:
            The messages that it begins with, and what it is: `pack`, `pack_digest`, `task_id`, `ticket_id`, `seed`.

        Raises:
            ValueError: there is no such pack, seed, task, split or ticket, or the ticket isn't of the task, the split.
        """
        name = pack if pack is not None else next(iter(self._packs))
        if name not in [*self._packs]:
            near = nearest(str(name), self._packs)
            hint = f": did you mean '{near}'?" if near is not None else f", but {', '.join(self._packs)}"
            raise ValueError(f"this environment has no pack '{name}'{hint}")
        case = choose(self._packs[name], seed, task, split, ticket)
        self._pack = case.pack
        self._episode = Episode.start(case)
        self.messages = chat.opening(case.pack.instructions, self._episode.observation)
        about = {
            "pack": case.pack.name,
            "pack_digest": case.pack.digest,
            "task_id": case.ticket.task,
            "ticket_id": case.ticket.id,
            "seed": case.seed,
        }
        return [*self.messages], about

    def step(self, answer: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take what a model answers: a step, whatever it is.

        Args:
            answer: a tool call, several of them, or an assistant's message with any, in OpenAI's format; an action; or
                one of these as JSON. Anything else names no action: the agent's mistake. Of several calls the first is
                carried out.

        Returns:
            text: what came of it, the content of the tool's message.
            reward: of this step; an episode's sum to its return, in the contract's reward range.
            terminated, truncated: resolved; or out of steps.
            info: `outcome`, `error`, `end_reason`, and once the episode is over `return`, `score` (in [0, 1]) and
                `optimal_steps`. It is feedback for the trainer, and nothing of it stands in the text.

        Raises:
            EpisodeOver: it is over, or none was begun.
        """
        said, ids, action = self._heard(answer)
        self._episode = episode = self.episode.step(action)
        text = chat.news(episode.observation)
        self.messages += [said, *chat.answers(ids, text)]
        info: dict[str, Any] = {"outcome": episode.outcome, "error": episode.error, "end_reason": episode.end_reason}
        if episode.done:
            info |= {"return": episode.total, "score": episode.score(), "optimal_steps": episode.optimal_steps}
        return text, episode.reward or 0.0, episode.terminated, episode.truncated, info

    def _heard(self, answer: Any) -> tuple[chat.Message, list[str], dict[str, Any]]:
        """An answer as the assistant's message, the ids of its calls, and the action that it comes to."""
        calls, text = _parts(_as_text(answer))
        actions = [self._functions[self._pack.name].action(call) for call in calls]
        if not all(isinstance(action.get("type"), str) for action in actions):
            return {"role": "assistant", "content": text or chat.as_json(calls)}, [], {}
        ids = chat.call_ids(calls, f"call_{self.episode.step_count + 1}")
        functions = [self._functions[self._pack.name].repeated(call) for call in calls]
        made = [
            {"id": name, "type": "function", "function": function}
            for name, function in zip(ids, functions, strict=True)
        ]
        said = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
        return said, ids, actions[0] if actions else {}


def _named(packs: Iterable[Pack]) -> dict[str, Pack]:
    found: dict[str, Pack] = {}
    for pack in packs:
        other = found.setdefault(pack.name, pack)
        if other.digest != pack.digest:
            places = f"{other.place.file} and {pack.place.file}"
            raise ValueError(f"two packs that differ have the name '{pack.name}': {places}; rename one of them")
    return found


def _as_text(answer: Any) -> str:
    """An answer as it would be written down; nothing where it can't be."""
    if isinstance(answer, str):
        return answer
    if hasattr(answer, "model_dump"):  # a library's own object
        answer = answer.model_dump(exclude_none=True)
    try:
        return json.dumps(answer, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _parts(text: str) -> tuple[list[Mapping[str, Any]], str]:
    """The calls of an answer, and what it says besides."""
    found = _read(text)
    if isinstance(found, Mapping) and ("tool_calls" in found or found.get("role") == "assistant"):
        said = chat.said(found.get("content"))
        return (_calls(found["tool_calls"]), said) if found.get("tool_calls") else _parts(said)
    calls = _calls(found if isinstance(found, list) else [found])
    return calls, "" if calls else encodable(text)


def _read(text: str) -> Any:
    """What a text is as JSON, without what would be none again; None where it isn't any."""
    if text.count("{") + text.count("[") > BRACKETS:
        return None
    try:
        found = json.loads(text)
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return found


def _calls(found: Any) -> list[Mapping[str, Any]]:
    """What is found as calls, if all of it is that."""
    calls = [_as_call(one) for one in found] if isinstance(found, list) else []
    return [call for call in calls if call is not None] if None not in calls else []


def _as_call(found: Any) -> Mapping[str, Any] | None:
    """A call as it is; an action as one; None for anything else."""
    if not isinstance(found, Mapping):
        return None
    if "function" in found or isinstance(found.get("arguments"), str):
        return found
    action = normalise(found)
    if not isinstance(action.get("type"), str):
        return None
    flat = {name: value for name, value in action.items() if name not in ("type", "parameters")}
    return {"name": action["type"], "arguments": {**flat, **action.get("parameters", {})}}
