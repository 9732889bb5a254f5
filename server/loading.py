"""The packs to serve: loaded from where they are named, and proved."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from engine.contract import load_contract
from engine.diagnostics import PackError, render
from engine.load import check_draft, check_pack
from engine.pack import Pack
from server.proved import prove_once

logger = logging.getLogger("server")


class Unfit(ValueError):
    """Packs that can't be served; the text is everything that is wrong with them."""


def load_packs(paths: Sequence[Path | str], allow_unproved: bool = False, proofs: Path | None = None) -> list[Pack]:
    """The packs, each proved; `proofs` is a folder that keeps what came of it.

    `allow_unproved`: what isn't sound, or can't even be resolved, is served all the same, with a warning. Raises Unfit.
    """
    packs: dict[str, Pack] = {}
    wrong = [] if paths else ["There is no pack to serve."]
    for path in paths:
        try:
            pack, why = _checked(path, proofs)
        except PackError as error:
            wrong.append(str(error))
            continue
        if why is not None and not allow_unproved:
            wrong.append(why)
        elif why is not None:
            logger.warning("%s is served though it isn't proved:\n%s", path, why, extra={"pack": pack.name})
        if pack.name in packs:
            wrong.append(f"{path}: another pack is called '{pack.name}' too: {packs[pack.name].place.file}")
        packs[pack.name] = pack
    if wrong:
        raise Unfit("\n".join(wrong))
    return list(packs.values())


def _checked(path: Path | str, proofs: Path | None) -> tuple[Pack, str | None]:
    """A pack, and why it isn't fit to be served; None where it is. Raises PackError where there is no pack at all."""
    pack, findings = check_pack(path)
    if pack is not None:
        return pack, prove_once(pack, load_contract(), proofs)
    errors = [finding for finding in findings if finding.severity == "error"]
    draft = _draft(path)
    if draft is None:
        raise PackError(errors)
    return draft, "\n".join(map(render, errors))


def _draft(path: Path | str) -> Pack | None:
    """A pack of which nothing is wrong but what its tickets come to."""
    try:
        return check_draft(path, load_contract())[0]
    except PackError:  # the contract is broken
        return None
