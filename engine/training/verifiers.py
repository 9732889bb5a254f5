"""An environment for verifiers: a pack's tickets as data sets, an episode as a rollout, its return as the reward.

`verifiers.load_environment("deskproof", pack=...)` finds it by the module `deskproof`. The model is told what
`deskproof eval openai:MODEL` tells one, and its answers are taken as they are taken there.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any

from engine import chat
from engine.case import make_case
from engine.episode import Episode
from engine.nearest import nearest
from engine.pack import Pack, Split
from engine.split import SPLITS, splits
from engine.terminal import encodable
from engine.tools import tools
from engine.training.choosing import load
from engine.training.wordings import shared

try:
    import verifiers as vf
    from datasets import Dataset
    from verifiers.types import AssistantMessage, ToolMessage, UserMessage
except ImportError as error:
    raise ImportError(
        f"Environments for verifiers need {error.name}, which isn't installed: pip install 'deskproof[verifiers]'",
        name=error.name,
    ) from None

# Of each ticket, unless somebody says otherwise.
SEEDS = 10
# Of the library's arguments those whose place is taken.
TAKEN = {
    "system_prompt": "the pack's instructions are the system's message",
    "few_shot": "a chat begins with the pack's instructions and the customer's message",
    **dict.fromkeys(("dataset", "eval_dataset"), "a pack's tickets are the data sets"),
    "tool_defs": "the pack's actions are the tools",
}


def load_environment(
    pack: Pack | Path | str | None = None,
    task: str | None = None,
    seeds: int = SEEDS,
    train: Split = "train",
    evaluate: Split = "test",
    **more: Any,
) -> SupportEnv:
    """The environment of a pack: it trains on the tickets of one split, and evaluates on those of another.

    Args:
        pack: a pack, its path, or the name of a shipped one; default: the contract's own.
        task: only tickets of this task.
        seeds: each ticket is played at the seeds from 0 up to this.
        train, evaluate: the splits.
        more: goes to `verifiers.MultiTurnEnv`.

    Raises:
        LookupError: there is no such pack.
        PackError: what is there is no sound pack.
        ValueError: there is no such split, task or argument, the splits are the same one, a split has no such ticket,
            or a wording of theirs stands in another.
    """
    _check(more)
    if train == evaluate:
        raise ValueError(f"train and evaluate are both '{train}': what is trained on must not be what is evaluated on")
    if not isinstance(seeds, Integral) or isinstance(seeds, bool) or seeds < 1:
        raise ValueError(f"seeds must be a whole number from 1 up, not {seeds!r}")
    loaded = load(pack)
    for kind, given, valid in (("task", task, loaded.tasks), ("split", train, SPLITS), ("split", evaluate, SPLITS)):
        if given not in (None, *valid):
            raise ValueError(f"pack '{loaded.name}' has no {kind} '{given}', but {', '.join(valid)}")
    found = shared(loaded, (train, evaluate))
    if found is not None:
        raise ValueError(str(found))
    data = {"dataset": _rows(loaded, train, task, seeds), "eval_dataset": _rows(loaded, evaluate, task, seeds)}
    return SupportEnv(loaded, **data, **more)


def _check(more: Iterable[str]) -> None:
    """Raises ValueError where the library has no such argument, which it would pass over, or has no use for it here."""
    inits = [inspect.signature(one.__init__).parameters.values() for one in (vf.MultiTurnEnv, vf.Environment)]
    known = [one.name for init in inits for one in init if one.kind is not one.VAR_KEYWORD and one.name != "self"]
    free = [name for name in dict.fromkeys((*_OWN, *known)) if name not in TAKEN]
    for name in more:
        if name in TAKEN:
            raise ValueError(f"load_environment takes no '{name}': {TAKEN[name]}")
        if name not in free:
            near = nearest(name, free)
            hint = f": did you mean '{near}'?" if near is not None else f", but {', '.join(free)}"
            raise ValueError(f"load_environment takes no '{name}'{hint}")


_OWN = tuple(name for name in inspect.signature(load_environment).parameters if name != "more")


class SupportEnv(vf.MultiTurnEnv):
    """Rollouts of a pack. A data set's row has the opening messages, and under `info` a `ticket_id` and a `seed`."""

    def __init__(self, pack: Pack, **more: Any) -> None:
        self._pack = pack
        self._functions = chat.Functions(tools(pack))
        rubric = vf.Rubric(funcs=[episode_return])
        for metric in (score, resolved, steps):
            rubric.add_metric(metric)
        defined = [definition["function"] for definition in self._functions.definitions]
        super().__init__(**{"tool_defs": defined, "rubric": rubric, **more})

    async def setup_state(self, state: vf.State) -> vf.State:
        """Begin the episode of the state's row."""
        row = state["info"]
        state["episode"] = Episode.start(make_case(self._pack, row["ticket_id"], row["seed"]))
        state["insisted"] = False
        return state

    async def get_prompt_messages(self, state: vf.State) -> vf.Messages:
        """The chat so far; calls that no service would read are repeated in a form that it does."""
        return [self._readable(message) for message in await super().get_prompt_messages(state)]

    def _readable(self, message: Any) -> Any:
        if not isinstance(message, AssistantMessage):
            return message
        calls = message.tool_calls or []
        ids = chat.call_ids((call.model_dump() for call in calls), "call")
        made = [
            call.model_copy(update={"id": name, **self._functions.repeated(call.model_dump())})
            for call, name in zip(calls, ids, strict=True)
        ]
        said = {name: getattr(message, name) for name in ("content", "reasoning_content")}
        texts = {name: encodable(text) for name, text in said.items() if isinstance(text, str)}
        return message.model_copy(update={**texts, "tool_calls": made or message.tool_calls})

    @vf.stop  # type: ignore[untyped-decorator]
    async def max_turns_reached(self, state: vf.State) -> bool:
        """Only once the last answer was taken: it is a step too."""
        return state.get("final_env_response") is not None and self._is_last(state)

    def _is_last(self, state: vf.State) -> bool:
        return bool(0 < self.max_turns <= len(state["trajectory"]))

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """What the model is told after its answer, which is a step; one that calls no tool is asked again first."""
        said: Any = messages[-1]
        calls = [call.model_dump() for call in said.tool_calls or ()]
        state["insisted"] = not calls and not state["insisted"]
        if state["insisted"] and not self._is_last(state):
            return _messages(chat.answers((), chat.ONLY_TOOLS))
        action = self._functions.action(calls[0]) if calls else {}
        state["episode"] = episode = state["episode"].step(action)
        told = _messages(chat.answers(chat.call_ids(calls, "call"), chat.news(episode.observation)))
        if episode.done or self._is_last(state):
            state["final_env_response"] = told
        return told


def _messages(told: Iterable[chat.Message]) -> vf.Messages:
    return [ToolMessage(**one) if one["role"] == "tool" else UserMessage(**one) for one in told]


def _rows(pack: Pack, split: Split, task: str | None, seeds: int) -> Dataset:
    """One row for each of a split's tickets at each seed, each ticket once before any of them again."""
    tickets = [ticket for ticket in splits(pack)[split] if task in (None, pack.tickets[ticket].task)]
    if not tickets:
        of_task = f" of the task '{task}'" if task is not None else ""
        raise ValueError(f"pack '{pack.name}' has no ticket{of_task} in the split '{split}'")
    return Dataset.from_list([_row(pack, ticket, seed) for seed in range(seeds) for ticket in tickets])


def _row(pack: Pack, ticket: str, seed: int) -> dict[str, Any]:
    observation = Episode.start(make_case(pack, ticket, seed)).observation
    return {"prompt": chat.opening(pack.instructions, observation), "info": {"ticket_id": ticket, "seed": seed}}


# -- What is measured


def episode_return(state: vf.State) -> float:
    """The sum of all rewards, in the contract's reward range."""
    return float(state["episode"].total)


def score(state: vf.State) -> float:
    """The task's grade, in [0, 1]."""
    return float(state["episode"].score())


def resolved(state: vf.State) -> float:
    return float(state["episode"].terminated)


def steps(state: vf.State) -> float:
    return float(state["episode"].step_count)
