"""What came of playing a run again: for people, and as the document that signs it off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.evaluation.numbers import as_json as numbers_json
from engine.evaluation.replay.finding import Finding
from engine.evaluation.replay.run import Replayed
from engine.proof.told import count
from engine.terminal import printable

FORMAT = 1
# How many findings are shown: the document has more.
SHOWN = 20


def told_replay(path: Path, found: Replayed) -> Iterator[str]:
    """Lines that say where a run differs, then how much of it was looked at."""
    for one in found.findings[:SHOWN]:
        yield told_finding(path, one)
    if found.found > SHOWN:
        yield f"and {count(found.found - SHOWN, 'more difference')}"
    episodes, packs = count(found.counts.played, "episode"), count(len(found.run.plan.packs), "pack")
    played = f"{episodes} played again, {packs} proved again"
    end = "all is the same." if found.same else f"{count(found.found, 'difference')}."
    yield f"{played}: {end}"


def told_finding(path: Path, one: Finding) -> str:
    where = printable(str(path / one.file)) + (f":{one.line}" if one.line is not None else "")
    if one.key is not None:
        pack, ticket = printable(one.key.pack), printable(one.key.ticket)
        where += f": {pack} {ticket}, seed {one.key.seed}, trial {one.key.trial}"
    return f"{where}: {one.text}"


def sign_off(found: Replayed) -> dict[str, Any]:
    """What was checked, and what came of it: the same of the same run, on any machine."""
    about = found.run.about
    return {
        "sign_off": FORMAT,
        "result": "same" if found.same else "differs",
        "deskproof": found.deskproof,
        "played_by": about.tool,
        "guard": about.guard,
        "packs": [{name: pack[name] for name in ("name", "version", "digest")} for pack in about.packs],
        "files": dict(found.files),
        "episodes": asdict(found.counts),
        "found": found.found,
        "differences": [_finding_json(one) for one in found.findings],
        "numbers": numbers_json(found.table),
    }


def _finding_json(one: Finding) -> dict[str, Any]:
    return {**asdict(one), "key": one.key._asdict() if one.key is not None else None}
