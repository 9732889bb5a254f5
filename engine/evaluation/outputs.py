"""What the commands that read runs may write to: any file but those that runs, packs and agents are made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from engine.evaluation.folder import ABOUT, CERTIFICATES, PACKS
from engine.evaluation.ledger import EPISODES, REPLACED, TIMES
from engine.output import check_outputs, resolved
from engine.terminal import printable

_FILES, _FOLDERS = (ABOUT, EPISODES, TIMES, REPLACED), (PACKS, CERTIFICATES)


def check_run_outputs(outputs: Sequence[str]) -> None:
    """Refuses to write over what a run is, be it this one or another, a pack, or code that may be an agent's."""
    check_outputs(outputs, ())
    for output in outputs:
        path = resolved(Path(output))
        if _is_of_run(path):
            raise click.UsageError(f"{printable(output)} is a file of the run itself; nothing was written.")
        if path.suffix.lower() == ".py" and path.is_file():
            raise click.UsageError(f"{printable(output)} is there, and may be an agent; nothing was written.")


def _is_of_run(path: Path) -> bool:
    """Whether a run has a file of this name there, or might have."""
    folder = path.parent.parent if path.parent.name in _FOLDERS else path.parent
    return (folder / ABOUT).is_file() and (path.name in _FILES or path.parent != folder)
