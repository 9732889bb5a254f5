"""What a run begins with: its packs, loaded and proved, and its folder, made or found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

from engine.contract import load_contract
from engine.diagnostics import PackError, render
from engine.evaluation.folder import Run, Unusable, about, check_same, is_run, make, read
from engine.evaluation.limits import EpisodeLimits
from engine.evaluation.plan import Plan, Wish
from engine.load import check_draft, check_pack
from engine.pack import Pack
from engine.proof import told
from engine.proof.certificate import certificate
from engine.proof.certificate import write as as_text
from engine.proof.commands import progress
from engine.proof.prove import prove
from engine.proof.result import Check
from engine.terminal import printable

RUNS = Path("runs")
# How many findings of a pack are told.
TOLD = 10
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST = 60
# The characters of a folder's path that are shown where it can't be used.
_SHOWN = 120


class Unfit(ValueError):
    """Packs that can't be played; the text is everything that is wrong with them."""


def load(paths: Sequence[Path], allow_unproved: bool) -> list[Pack]:
    """The packs, by their names in order. Raises Unfit; an unsound one is let by where that is allowed."""
    packs: dict[str, Pack] = {}
    wrong = []
    for path in paths:
        pack, findings = check_pack(path)
        draft = _draft(path) if pack is None else None
        if pack is None and allow_unproved:
            pack = draft
        if pack is None:
            wrong += [render(finding) for finding in findings if finding.severity == "error"]
            if draft is not None:
                wrong.append("With --allow-unproved the pack is played all the same.")
            continue
        if pack.name in packs and packs[pack.name].digest != pack.digest:
            wrong.append(f"{printable(str(path))}: another pack is called '{printable(pack.name)}' too.")
        packs[pack.name] = pack
    if wrong:
        raise Unfit("\n".join(wrong))
    return [packs[name] for name in sorted(packs)]


def open_run(
    path: Path,
    agent: Mapping[str, Any],
    packs: Sequence[Pack],
    wish: Wish,
    limits: EpisodeLimits,
    allow_unproved: bool,
) -> Run:
    """The run in a folder, which is made where there is none yet; its packs are proved then.

    Raises:
        NothingPlanned: there are no such episodes.
        Unusable: the folder is another run's, or none can be made.
        Unfit: a pack isn't sound.
    """
    plan = Plan(packs, wish)
    asked = about(version("deskproof"), agent, plan, wish, limits)
    with _as_unusable(path):
        if is_run(path):
            run = read(path)
            check_same(path, run.about, asked)
            return run
        make(path, asked, packs, {pack.name: _proved(pack, allow_unproved) for pack in packs})
        return read(path)


@contextmanager
def _as_unusable(path: Path) -> Iterator[None]:
    """Whatever the system refuses to do with a run's folder is a sentence about that folder: Unusable."""
    try:
        yield
    except OSError as error:
        name = printable(str(path))
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
        raise Unusable(f"{shown} can't be used as a folder: {error.strerror}.") from None


def new_folder(agent: str) -> Path:
    """`runs/AGENT-N` with the first number that isn't taken; `agent` is a name without secrets."""
    name = _NOT_IN_NAMES.sub("-", agent)[:_LONGEST].strip("-.") or "agent"
    with _as_unusable(RUNS):
        return next(path for number in count(1) if not (path := RUNS / f"{name}-{number}").exists())


def _draft(path: Path) -> Pack | None:
    try:
        return check_draft(path, load_contract())[0]
    except PackError:  # the contract is broken
        return None


def _proved(pack: Pack, allow_unproved: bool) -> str:
    """The certificate of a pack, as text."""
    with progress(pack) as advance:
        proof = prove(pack, load_contract().observation_space, progress=advance)
    failed = proof.failed("error")
    if failed and not allow_unproved:
        lines = [_finding(one) for one in failed[:TOLD]]
        if len(failed) > TOLD:
            lines.append(f"and {told.count(len(failed) - TOLD, 'more finding')}")
        more = f"`deskproof prove {printable(pack.place.file)}` shows all of it"
        lines.append(f"{more}; with --allow-unproved the pack is played all the same.")
        raise Unfit("\n".join(lines))
    return as_text(certificate([(pack, proof)], version("deskproof")))


def _finding(check: Check) -> str:
    where = f"{told.at(check.place)}: " if check.place is not None else ""
    return f"{where}{check.code}: {told.lines(check.message)}"
