"""The command `deskproof report`. Exit codes: 0 written, 2 usage, or a run that can't be read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from engine.evaluation.folder import Unusable
from engine.evaluation.ledger import Damaged
from engine.evaluation.outputs import check_run_outputs
from engine.evaluation.played import played
from engine.evaluation.report.csv_file import csv_file
from engine.evaluation.report.junit import junit
from engine.evaluation.report.markdown import markdown
from engine.evaluation.report.page import EPISODES as SHOWN
from engine.evaluation.report.page import page
from engine.evaluation.report.survey import survey
from engine.output import NewFile, write
from engine.terminal import printable
from engine.transcript import Unreadable

PAGE, ALL, STANDARD_OUTPUT = "report.html", "all", "-"


class HowMany(click.ParamType[int | None]):
    """A number, or all: None."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value == ALL:
            return None
        if not str(value).isdecimal():
            self.fail(f"'{printable(str(value))}' is no number of episodes: a number such as 100, or {ALL}", param, ctx)
        return int(value)


@click.command("report")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--html", type=NewFile(), metavar="FILE", help=f"Write a page. Without any of these four: to RUN/{PAGE}.")
@click.option("--markdown", "summary", type=NewFile(), metavar="FILE", help="Write a summary in Markdown.")
@click.option("--csv", "rows", type=NewFile(), metavar="FILE", help="Write a row for each episode.")
@click.option("--junit", "cases", type=NewFile(), metavar="FILE", help="Write a test case for each planned episode.")
@click.option(
    "--episodes",
    type=HowMany(),
    default=SHOWN,
    show_default=True,
    metavar="N|all",
    help="How many episodes the page shows step by step, failures first.",
)
def report(
    run: Path, html: str | None, summary: str | None, rows: str | None, cases: str | None, episodes: int | None
) -> None:
    """Write what came of the run in the folder RUN: as a page, or for other programs. - is standard output."""
    try:
        found = played(run)
        wanted = (html or str(run / PAGE)) if not (summary or rows or cases) else html
        asked = [path for path in (wanted, summary, rows, cases) if path is not None]
        check_run_outputs(asked)
        seen = survey(found)
        for path, pieces in (
            (wanted, page(found, seen, episodes)),
            (summary, markdown(found, seen)),
            (rows, csv_file(found)),
            (cases, junit(found, seen)),
        ):
            if path is not None:
                _put(path, pieces)
    except (Damaged, Unusable) as error:
        raise click.UsageError(str(error)) from None
    except Unreadable as error:
        raise click.UsageError(f"{printable(str(run))} was changed while it was read: {error}. Try again.") from None


def _put(path: str, pieces: Iterable[str]) -> None:
    write(path, pieces)
    if path != STANDARD_OUTPUT:
        click.echo(f"Wrote {printable(path)}.", err=True)
