"""The command `deskproof compile`. Exit codes: 0 fine, 1 the pack isn't fit, 2 usage."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

import click

from engine.diagnostics import PackError
from engine.evaluation.plan import NothingPlanned, Plan, Wish
from engine.load import load_pack
from engine.output import NewFile, PackName, check_outputs, existing, write
from engine.pack import Pack
from engine.proof.told import count
from engine.split import SPLITS
from engine.terminal import printable
from engine.training.wordings import shared

FINDINGS = 1
KILOBYTE = 1_000


@click.command("compile")
@click.argument("pack", type=PackName())
@click.option("-o", "--output", type=NewFile(), required=True, metavar="FILE", help="The .npz file to write.")
@click.option("--split", type=click.Choice(SPLITS), help="Only the tickets of this split; none may be worded alike.")
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Only tickets of this task; repeatable.")
@click.option("--ticket", "tickets", multiple=True, metavar="ID", help="Only this ticket; repeatable.")
@click.option(
    "--seeds",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="The cases that the seeds below N make of each ticket. Default: one for each message with each person.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="How many moves the tables may have.")
def compile_(
    pack: str,
    output: str,
    split: Any,
    tasks: tuple[str, ...],
    tickets: tuple[str, ...],
    seeds: int | None,
    limit: int | None,
) -> None:
    """Write the automata of PACK's tickets as arrays, to train on."""
    try:
        from engine.training.tables import TablesError  # NumPy is loaded only where it is asked for
        from engine.training.tabulate import LIMIT, tabulate
    except ImportError as error:
        raise click.UsageError(f"{error}.") from None
    path = existing(pack)
    check_outputs([output], [path])
    loaded = _loaded(path)
    alike = shared(loaded, [split]) if split is not None else None
    if alike is not None:
        click.echo(printable(str(alike)), err=True)
        raise SystemExit(FINDINGS)
    began = monotonic()
    try:
        chosen = [ticket for _, ticket in Plan([loaded], Wish(tasks, tickets, split)).rows]
        tables = tabulate(loaded, chosen, range(seeds) if seeds is not None else None, limit or LIMIT)
    except NothingPlanned as error:
        raise click.UsageError(str(error)) from None
    except TablesError as error:
        click.echo(printable(f"{error}."), err=True)
        raise SystemExit(FINDINGS) from None
    packed = tables.packed()
    write(output, packed)
    took = monotonic() - began
    parts = (
        count(len(tables.tickets), "ticket"),
        count(tables.cases, "case"),
        count(tables.states, "state"),
        f"{len(tables.actions)} actions",
        f"{len(tables.columns)} columns",
    )
    size = f"{len(packed) / KILOBYTE:,.1f} kB, {tables.nbytes / KILOBYTE:,.1f} kB in memory"
    click.echo(f"Compiled {printable(loaded.name)}: {', '.join(parts)}; {size}; {took:.1f} s.", err=True)


def _loaded(path: Path) -> Pack:
    try:
        return load_pack(path)
    except PackError as error:
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None
