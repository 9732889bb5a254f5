"""`deskproof replay` of a run's folder."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from engine.evaluation.folder import Changed, Unusable, check_unplayed, read
from engine.evaluation.numbers_told import standard_output, told_numbers
from engine.evaluation.outputs import check_run_outputs
from engine.evaluation.progress import progress
from engine.evaluation.replay.run import replay_run
from engine.evaluation.replay.told import sign_off as signed_off
from engine.evaluation.replay.told import told_replay
from engine.evaluation.runner import Standing
from engine.output import write

DIFFERS = 1


def replay_folder(path: Path, sign_off: str | None) -> int:
    """Plays a run again, and says where it differs. Gives the exit code: 0 nowhere, 1 somewhere."""
    if sign_off is not None:
        check_run_outputs([sign_off])
    try:
        run = read(path)
        check_unplayed(path)
        with progress(Console(stderr=True, highlight=False)) as hear:
            planned = run.plan.count
            found = replay_run(
                run, lambda lines, wrong: hear(Standing(planned, 0, wrong, 0, max(0, planned - lines), None))
            )
    except Changed as error:
        click.echo(f"{error}\nNothing was played again.", err=True)
        return DIFFERS
    except Unusable as error:
        raise click.UsageError(str(error)) from None
    if sign_off is not None:  # first: whoever reads the rest may not read on
        write(sign_off, json.dumps(signed_off(found), indent=1, allow_nan=False) + "\n")
    for line in told_replay(path, found):
        click.echo(line)
    told_numbers(found.table, standard_output())
    return 0 if found.same else DIFFERS
