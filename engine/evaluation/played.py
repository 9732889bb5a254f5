"""A run that was played, as it is read to say what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.diagnostics import PackError
from engine.evaluation.folder import Run, Unusable
from engine.evaluation.folder import read as read_folder
from engine.evaluation.ledger import REPLACED, Damaged, Ledger
from engine.evaluation.numbers import Table, table
from engine.evaluation.reading import unreadable
from engine.evaluation.record import Record
from engine.proof.certificate import read as read_certificate
from engine.terminal import printable
from engine.transcript import Unreadable


@dataclass(frozen=True, slots=True)
class Played:
    """`certificates` are by the packs' names, and each is of the pack that was played. `replaced` is how many episodes
    were done, and then played again all the same."""

    run: Run
    ledger: Ledger
    certificates: Mapping[str, Mapping[str, Any]]
    replaced: int

    def records(self) -> Iterator[Record]:
        """One for each episode that has any, in the order of their keys."""
        return self.ledger.records()

    def table(self) -> Table:
        """The run's numbers."""
        return table(self.records(), self.run.plan, self.certificates)


def played(path: Path) -> Played:
    """The run in a folder.

    Raises:
        Unusable: there is none, or something in it can't be read; the text says what.
    """
    run = read_folder(path)
    try:
        ledger = Ledger(run.path, run.plan)
    except Damaged as error:
        raise Unusable(str(error)) from None
    except OSError as error:
        raise Unusable(unreadable(error, path)) from None
    return over(run, ledger)


def over(run: Run, ledger: Ledger) -> Played:
    """The same of a run whose records were read already. Raises Unusable."""
    try:
        replaced = ledger.replaced()
    except Unreadable as error:
        raise Unusable(f"{printable(str(run.path / REPLACED))} holds what is no record: {error}.") from None
    except OSError as error:
        raise Unusable(unreadable(error, run.path)) from None
    return Played(run, ledger, {name: _certificate(run, name) for name in run.plan.packs}, replaced)


def _certificate(run: Run, pack: str) -> Mapping[str, Any]:
    about = f"The certificate of pack '{printable(pack)}' in {printable(str(run.path))}"
    try:
        found = read_certificate(about, run.certificate(pack))
    except OSError as error:
        raise Unusable(f"{about} can't be read: {error.strerror}.") from None
    except PackError as error:
        raise Unusable(f"{about} is none that this version reads:\n{error}") from None
    if run.plan.packs[pack].digest not in (one["digest"] for one in found["packs"]):
        raise Unusable(f"{about} is of another pack.")
    return found
