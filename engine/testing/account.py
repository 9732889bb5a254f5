"""An episode told in lines of text, for somebody who wants to know why a test failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from engine.dynamics.regret import blame
from engine.episode import Episode, Step
from engine.pack import REWARD_UNIT
from engine.proof import told
from engine.terminal import printable

_END = {"resolved": "resolved", "max_steps": "out of steps", None: "open"}
_INDENT = " " * 6


def account(episode: Episode, marked: Collection[int] = ()) -> str:
    """What was said and done, what each step paid, and beneath it what it cost against the best; `>` marks steps."""
    return "\n".join(_lines(episode, marked))


def _lines(episode: Episode, marked: Collection[int]) -> Iterator[str]:
    case, blamed = episode.case, _blamed(episode)
    yield f"ticket {printable(case.ticket.id)}, seed {case.seed} of {printable(case.pack.name)} {case.pack.version}"
    yield from _speech("customer", case.message)
    total = 0
    for number, step in enumerate(episode.steps, 1):
        total += step.reward
        sign = ">" if number in marked else " "
        paid = f"{step.reward / REWARD_UNIT:+.4f}, return {total / REWARD_UNIT:.4f}"
        yield f"{sign}{number:>4} {_action(step)}: {paid}"
        yield from _speech(step.speaker, step.text)
        if number in blamed:
            yield f"{_INDENT}! {blamed[number]}"
    yield _ending(episode)


def _action(step: Step) -> str:
    """The action, and what came of it."""
    name = step.outcome.removeprefix(f"{step.action.get('type')}.")
    return f"{told.words(step.action)} ({printable(name)})"


def _speech(speaker: str, text: str) -> Iterator[str]:
    first, *more = told.lines(text).split("\n")
    yield f"{_INDENT}{printable(speaker)}: {first}"
    yield from (f"{_INDENT}  {line}" for line in more)


def _blamed(episode: Episode) -> dict[int, str]:
    """A sentence for each step that cost something, by its number; none where costs aren't known."""
    found = episode.regrets or ()
    costly = [number for number, regret in enumerate(found, 1) if regret.cost > 0]
    return {number: printable(sentence) for number, sentence in zip(costly, blame(found), strict=True)}


def _ending(episode: Episode) -> str:
    regret = episode.regret
    cost = f"regret {regret:.4f}" if regret is not None else "regret not known: the ticket has too many states"
    steps = told.count(len(episode.steps), "step")
    numbers = f"return {episode.total:.4f}, score {episode.score():.4f}, {cost}"
    return f"{_END[episode.end_reason]} after {steps}; {numbers}"
