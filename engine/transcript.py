"""Transcripts: a whole episode in one line of JSON, which anyone who has the pack can play again, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from engine.case import Case, make_case
from engine.episode import Episode, EpisodeOver
from engine.pack import REWARD_UNIT, Pack
from engine.terminal import printable

# The second form says what each step cost. Both are played again.
FORMAT = 2

# What JSON may hold as it is, though to some readers of lines it ends one.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")

# Objects and arrays inside each other: more than any body of a request may have, and few enough to be written again.
MAX_DEPTH: Final = 100

# What an episode follows from; everything else in a transcript follows from these, or is copied.
_GIVEN: Mapping[str, type] = {"pack_digest": str, "ticket_id": str, "seed": int, "actions": list}
_REGRETS = ("regret", "regrets", "best_actions")
_TOLD = (
    *("transcript", "pack", "pack_version", "pack_digest", "task_id", "ticket_id", "seed", "actions", "outcomes"),
    *("rewards", "observations", "return", "terminated", "truncated", "end_reason", "score", "optimal_steps"),
)


class Unreadable(ValueError):
    """A line that is no transcript; the text says why."""


class Difference(NamedTuple):
    """Where a transcript isn't what playing it again gives: the first byte (from 0), and what stands around it."""

    byte: int
    member: str
    written: str
    played: str


def transcript(episode: Episode, about: Mapping[str, Any], end_reason: str | None = None) -> dict[str, Any]:
    """All that happened in an episode.

    `about` is what its keeper knows of it (ids, times, options) and comes first; `end_reason` says why it was ended
    from outside. `observations` has one more item than `actions`: the first is the reset's. `rewards` are floats in the
    reward range, `return` is their exact sum, and `score` in [0, 1] is the grade of the episode as far as it went.
    `regrets` has what each step cost, `regret` their exact sum, and `best_actions`, for each step that cost something,
    an action that would have cost nothing, null where that was to stop; all three are null where they aren't proved.
    """
    return _told([*_played(episode.case, episode.actions)], about, end_reason, FORMAT)


def _played(case: Case, actions: Iterable[Mapping[str, Any]]) -> Iterator[Episode]:
    """The episode at its start, and after each action. Raises EpisodeOver."""
    episode = Episode.start(case)
    yield episode
    for action in actions:
        episode = episode.step(action)
        yield episode


def _told(moments: Sequence[Episode], about: Mapping[str, Any], end_reason: str | None, form: int) -> dict[str, Any]:
    episode = moments[-1]
    case, pack = episode.case, episode.case.pack
    return {
        **about,
        "transcript": form,
        "pack": pack.name,
        "pack_version": pack.version,
        "pack_digest": pack.digest,
        "task_id": case.ticket.task,
        "ticket_id": case.ticket.id,
        "seed": case.seed,
        "actions": list(episode.actions),
        "outcomes": [step.outcome for step in episode.steps],
        "rewards": [moment.reward for moment in moments[1:]],
        "observations": [moment.observation for moment in moments],
        "return": episode.total,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "end_reason": episode.end_reason or end_reason,
        "score": episode.score(),
        "optimal_steps": episode.optimal_steps,
        **(_regrets(episode) if form > 1 else {}),
    }


def _regrets(episode: Episode) -> dict[str, Any]:
    found = episode.regrets
    if found is None:
        return dict.fromkeys(_REGRETS)
    whole = sum(regret.cost for regret in found) / REWARD_UNIT
    costs = [regret.cost / REWARD_UNIT for regret in found]
    best = [regret.best.canonical() if regret.best is not None else None for regret in found]
    return dict(zip(_REGRETS, (whole, costs, best), strict=True))


def line(document: Mapping[str, Any]) -> bytes:
    """The document as JSON on a line of its own: compact, in UTF-8, keys in their order."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if not text.isascii():
        text = _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", text)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8
        return json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _read(raw: bytes) -> dict[str, Any]:
    """The transcript that a line holds, sound as far as playing it needs. Raises Unreadable."""
    try:
        document = json.loads(raw, parse_constant=_no_number, parse_float=_number)
    except (ValueError, RecursionError):
        raise Unreadable("this line is not JSON") from None
    if not isinstance(document, dict) or document.get("transcript") not in range(1, FORMAT + 1):
        raise Unreadable(f'this line is no transcript: it has no "transcript": {FORMAT}')
    wrong = [name for name, kind in _GIVEN.items() if type(document.get(name)) is not kind]
    if wrong or not all(isinstance(action, dict) for action in document["actions"]):
        raise Unreadable(f"this transcript can't be played: {', '.join(wrong or ['actions'])} is missing or ill-typed")
    if _is_deep(document):
        raise Unreadable(f"this transcript can't be played: it nests deeper than {MAX_DEPTH} levels")
    return document


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _number(digits: str) -> float:
    value = float(digits)
    if value - value != 0:  # too large: it would be written as Infinity
        _no_number(digits)
    return value


def _is_deep(document: Any) -> bool:
    level = [document]
    for _ in range(MAX_DEPTH):
        inner = (whole.values() if isinstance(whole, dict) else whole for whole in level)
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
    return bool(level)


def replay(raw: bytes, pack_of: Callable[[str], Pack]) -> Difference | None:
    """The first difference between a line and what playing its actions again gives, None where there is none.

    `pack_of` finds a pack by its digest. Raises what that raises, and Unreadable, also where the pack has no such
    ticket or the actions go on after the end.
    """
    document = _read(raw)
    pack, ticket_id = pack_of(document["pack_digest"]), document["ticket_id"]
    if ticket_id not in pack.tickets:
        raise Unreadable(f"pack '{pack.name}' has no ticket '{printable(ticket_id[:80])}'")
    try:
        moments = [*_played(make_case(pack, ticket_id, document["seed"]), document["actions"])]
    except EpisodeOver as error:
        raise Unreadable(str(error)) from None
    form = int(document["transcript"])
    told = (*_TOLD, *_REGRETS) if form > 1 else _TOLD
    about = {name: value for name, value in document.items() if name not in told}
    played = _told(moments, about, document.get("end_reason"), form)
    return _difference(raw, line(played), document, played)


def _difference(
    written: bytes, played: bytes, document: Mapping[str, Any], again: Mapping[str, Any]
) -> Difference | None:
    written = written.rstrip(b"\r\n") + b"\n"
    if written == played:
        return None
    shorter = min(len(written), len(played))
    byte = next((index for index in range(shorter) if written[index] != played[index]), shorter)
    around = slice(max(0, byte - 30), byte + 50)
    texts = (printable(text[around].decode("utf-8", "replace").rstrip("\n")) for text in (written, played))
    return Difference(byte, printable(_member(document, again)), *texts)


def _member(document: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """Which member differs first, down to the step where it is a list; of its form alone, "form"."""
    for name, value in again.items():
        other = document.get(name)
        if name not in document or other != value:
            if isinstance(value, list) and isinstance(other, list):
                pairs = enumerate(zip(value, other, strict=False))
                return f"{name}[{next((index for index, (a, b) in pairs if a != b), min(len(value), len(other)))}]"
            return name
    return "form"
