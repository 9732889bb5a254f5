"""Packs are proved before they are served. What came of it is kept on disk, so that only the first start takes time."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from engine import load
from engine.contract import Contract
from engine.pack import Pack
from engine.proof import told
from engine.proof.certificate import VERDICTS, summary
from engine.proof.prove import BUDGET, prove
from engine.proof.result import KINDS, Check
from engine.terminal import printable
from server import json_file

logger = logging.getLogger("server")

# What /packs says of a proof: `sound`, what came of each of the `checks`, and how many findings are `warnings`.
Verdict = Mapping[str, Any]

# How many findings of a pack are told.
TOLD = 10
_ENDINGS = (".py", ".json", ".yaml")


def verdict(pack: Pack) -> Verdict | None:
    """What came of a pack's proof; None where nobody has proved it."""
    known: Verdict | None = pack.kept.get(verdict)
    return known


def note(pack: Pack, found: Verdict | None) -> None:
    """Let a pack know what came of its proof."""
    pack.kept[verdict] = found


def prove_once(pack: Pack, contract: Contract, folder: Path | None) -> str | None:
    """Prove a pack, unless `folder` has the verdict already. What is wrong with it; None where it is sound.

    Of an unsound pack nothing is kept: its findings are to name the lines as they are now.
    """
    file = folder / f"{_key(pack, contract)}.json" if folder is not None else None
    kept = json_file.read(file) if file is not None else None
    if _is_verdict(kept):
        note(pack, kept)
        return None
    logger.info("proving a pack", extra={"pack": pack.name})
    proof = prove(pack, contract.observation_space)
    found = summary(proof)
    note(pack, found)
    if not proof.sound:
        return _told(pack, proof.failed("error"))
    if file is not None:
        with suppress(OSError):  # nothing is lost but time
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            json_file.write(file, found)
    return None


def _key(pack: Pack, contract: Contract) -> str:
    """Names everything that a proof depends on: the pack, the contract, and the code."""
    graders = tuple(sorted({task.grader.__module__ for task in pack.tasks.values()}))
    whole = [pack.digest, contract.observation_space, BUDGET, _code(graders)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


@cache
def _code(graders: tuple[str, ...]) -> str:
    """A digest of the engine's files and the graders', as they were when this process first asked."""
    code = hashlib.sha256()
    engine = [file for file in Path(load.__file__).parent.rglob("*") if file.suffix in _ENDINGS]
    others = [Path(file) for name in graders if (file := getattr(sys.modules.get(name), "__file__", None))]
    for file in (*sorted(engine), *others):
        with suppress(OSError):
            code.update(file.read_bytes())
    return code.hexdigest()


def _is_verdict(kept: Any) -> bool:
    """Whether it is one of a sound pack, as it is written below; anything else is as good as nothing."""
    if not isinstance(kept, dict) or kept.keys() != {"sound", "checks", "warnings"} or kept["sound"] is not True:
        return False
    checks, warnings = kept["checks"], kept["warnings"]
    named = isinstance(checks, dict) and [*checks] == [*KINDS] and all(word in VERDICTS for word in checks.values())
    return named and type(warnings) is int and warnings >= 0


def _told(pack: Pack, failed: tuple[Check, ...]) -> str:
    """What doesn't hold, each with the episode that shows it in a line."""
    lines = [line for check in failed[:TOLD] for line in _finding(check)]
    left = len(failed) - len(failed[:TOLD])
    if left:
        lines.append(f"and {told.count(left, 'more finding')}")
    where = pack.place.file
    lines.append(f"`deskproof prove {printable(where)}` shows all of it.")
    return "\n".join(lines)


def _finding(check: Check) -> Iterator[str]:
    where = f"{told.at(check.place)}: " if check.place is not None else ""
    yield f"{where}{check.code}: {told.lines(check.message)}"
    shown = check.counterexample
    if shown is None:
        return
    yield f"  ticket {printable(shown.ticket)}, seed {shown.seed}: {told.brief(shown.actions) or 'no action'}"
    if shown.paid is not None:
        rule = f", by rule {printable(shown.rule.outcome)}, {told.at(shown.rule.place)}" if shown.rule else ""
        yield f"  step {shown.paid} paid{rule}"
