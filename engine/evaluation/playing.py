"""How one worker plays: an agent of its own, an episode at a time, each to its end or to a limit."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from engine.action import normalise
from engine.case import Case, make_case
from engine.draw import digest
from engine.episode import Episode
from engine.evaluation.agents import Agent, AgentError, AgentUnusable
from engine.evaluation.interrupting import Cut, interrupted
from engine.evaluation.limits import TIME_UP, EpisodeLimits
from engine.evaluation.record import Key, Record, recorded
from engine.evaluation.result import Account, Result, result
from engine.evaluation.spent import AgentStopped, Beginning, Closing, Spending, Spent
from engine.pack import Pack
from engine.proof import told
from engine.tools import tools

# The first characters of an episode's digest are its id.
_ID = 32
# The bytes of an action as JSON, as a server takes them; so few texts that are so short, as most are, never have more.
_LARGEST, _FEW, _SHORT = 16 * 1024, 8, 200
# Objects and arrays inside each other, in an action.
_DEEPEST = 50
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}\b")


@dataclass(frozen=True, slots=True)
class Until:
    """What ends an episode before its time, besides its own end.

    `ends` is the end of the run, as `time.monotonic` tells it. `over` says why the whole run is over, None while it
    isn't; it is asked before each step.
    """

    limits: EpisodeLimits
    ends: float | None
    over: Callable[[], str | None]


class Player:
    """Plays episodes of some packs, one after the other, with an agent that is made when it is needed.

    `episode` is the one that is being played, as far as it went: others may look at it.
    """

    def __init__(self, packs: Mapping[str, Pack], factory: Callable[[], Agent], until: Until) -> None:
        self.episode: Episode | None = None
        self._began = 0.0
        self._before = Spent()
        self._agent: Agent | None = None
        self._packs = packs
        self._factory = factory
        self._until = until

    def play(self, place: int, key: Key) -> Result:
        """Raises AgentUnusable: the agent can play nothing at all."""
        case = make_case(self._packs[key.pack], key.ticket, key.seed)
        self._began = monotonic()
        self._before = _spent(self._agent) or Spent()
        self.episode = Episode.start(case)
        record, trace = self._played(case, key)
        account = self.account(trace)
        if record.status != "done":  # in whatever state it is now, the next episode doesn't begin with it
            self.close()
        self.episode = None
        return result(place, record, account)

    def account(self, trace: str | None = None) -> Account:
        """What the episode took so far."""
        spent = _spent(self._agent)
        return Account(monotonic() - self._began, spent.since(self._before) if spent is not None else None, trace)

    def close(self) -> None:
        agent, self._agent = self._agent, None
        if isinstance(agent, Closing):
            agent.close()

    def _played(self, case: Case, key: Key) -> tuple[Record, str | None]:
        """The record, and where the agent failed what it says of that besides."""
        trace = None
        try:
            stopped = self._to_the_end(case.pack, episode_id(key))
            record = recorded(self._now, key.trial, stopped=stopped)
        except Cut as cut:
            record = recorded(self._now, key.trial, "limit", cut.cause)
        except AgentUnusable:
            raise
        except AgentError as error:
            trace = error.trace
            record = recorded(self._now, key.trial, "error", _stable(str(error)))
        except BaseException as error:  # an agent may raise anything
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise  # Ctrl-C, as far as anybody can tell
            record = recorded(self._now, key.trial, "error", _stable(f"The agent failed: {_summed_up(error)}"))
        return record, trace

    @property
    def _now(self) -> Episode:
        assert self.episode is not None
        return self.episode

    def _to_the_end(self, pack: Pack, name: str) -> bool:
        """Plays what was begun. Whether the agent gave up; raises Cut at a limit, and what an agent raises."""
        limits, until = self._until.limits, self._until
        own = self._began + limits.seconds if limits.seconds is not None else None
        ends = min((end for end in (own, until.ends) if end is not None), default=None)
        cause = TIME_UP if ends is None or ends == until.ends else limits.too_long()
        given = tools(pack)
        with interrupted(ends, cause) as interruptible:
            with interruptible:
                agent = self._asked()
                if isinstance(agent, Beginning):
                    agent.begin(self._now, name)
            while not self._now.done:
                over = until.over()
                if over is not None:
                    raise Cut(over)
                if self._now.step_count == limits.max_steps:
                    raise Cut(limits.too_many())
                observation = self._now.observation
                try:
                    with interruptible:
                        action = agent(observation, given, instructions=pack.instructions, episode_id=name)
                except AgentStopped:
                    return True
                if ends is not None and monotonic() >= ends:
                    raise Cut(cause)
                _check(action, agent.name)
                self.episode = self._now.step(action)
        return False

    def _asked(self) -> Agent:
        if self._agent is None:
            self._agent = self._factory()
        return self._agent


def episode_id(key: Key) -> str:
    """What an agent is told that the episode is called: the same in every run, and different for all others."""
    return digest(*key).hex()[:_ID]


def _check(action: Mapping[str, Any], name: str) -> None:
    """Refuses what no line of a record can hold. What isn't valid in the episode is the episode's business."""
    if len(action) <= _FEW and all(map(_is_short, action, action.values())):
        return
    try:
        size = _size(action)
        deep = _is_deep(action)
    except (TypeError, ValueError, RecursionError):
        deep = True
    if deep:
        why = f"a number that JSON doesn't have in it, or more than {_DEEPEST} levels"
        raise AgentError(f"The agent {name} gave an action with {why}.")
    if size > _LARGEST and (size := _size(normalise(action))) > _LARGEST:
        raise AgentError(f"The agent {name} gave an action of {size:,} bytes of JSON; {_LARGEST:,} are the most.")


def _is_short(member: str, value: Any) -> bool:
    return isinstance(value, str) and len(member) + len(value) <= _SHORT


def _size(action: Mapping[str, Any]) -> int:
    return len(json.dumps(action, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace"))


def _is_deep(action: Mapping[str, Any]) -> bool:
    level: list[Any] = [action]
    for _ in range(_DEEPEST):
        level = [part for whole in level for part in (whole.values() if isinstance(whole, Mapping) else whole)]
        level = [part for part in level if isinstance(part, Mapping | list)]
    return bool(level)


def _spent(agent: Agent | None) -> Spent | None:
    return agent.spent if isinstance(agent, Spending) else None


def _stable(text: str) -> str:
    """A cause, without what is another one in every process: where in memory a thing is."""
    return _ADDRESS.sub("0x…", text)


def _summed_up(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return told.lines(f"{type(error).__name__}: {text}" if text else type(error).__name__)
