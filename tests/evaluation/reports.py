"""A run whose report can be worked out by hand: two tickets at three seeds.

A wasted step costs 0.25 (a reward of -1 at the least, over four steps). The field asked for pays 0.5, the end 1.5.

| ticket | seed | what is played | rewards | return |
|---|---|---|---|---|
| dark | 0 | the best line | 0.5, 1.5 | 2 |
| dark | 1 | asks, then gives up | 0.5 | 0.5 |
| dark | 2 | the agent fails at once | | |
| hum | 0 | asks for what nobody needs, then the best line | -0.25, 0.5, 1.5 | 1.75 |
| hum | 1 | resolves four times, with nothing asked | -0.25 each | -1 |
| hum | 2 | the best line | 0.5, 1.5 | 2 |

What steps cost: the first of hum 0 costs 0.25, as V* is 2 before and after it. Of hum 1 the first two cost 0.25 each.
With one step left an ask is all that there is, so before the third V* is 2, after it 0.5: it costs 1.75. The fourth
does without that and pays -0.25: it costs 0.75. All steps together cost 3.25.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.episode import Episode
from tests.evaluation.made import run
from tests.proof.diffs import BASE
from tests.proof.drafts import draft

NEEDED = {"dark": "model", "hum": "socket"}
BROKEN = "It broke: <b>=1</b> | `a` & b"


def played_so(episode: Episode, trial: int) -> Mapping[str, Any] | str | None:
    ticket, seed, step = episode.case.ticket.id, episode.case.seed, len(episode.steps)
    if (ticket, seed) == ("dark", 2):
        return BROKEN
    if (ticket, seed) == ("dark", 1) and step == 1:
        return None
    if (ticket, seed) == ("hum", 1):
        return {"type": "resolve"}
    if (ticket, seed) == ("hum", 0):
        step -= 1
    fields = {-1: "model", 0: NEEDED[ticket]}
    return {"type": "ask_info", "field": fields[step]} if step in fields else {"type": "resolve"}


def lamps_run(folder: Path) -> Path:
    """The folder of the run."""
    return run(folder / "run", [draft(folder, BASE)], played_so, seeds="3", name="mine")
