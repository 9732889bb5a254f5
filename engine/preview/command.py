"""The command `deskproof preview`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from shlex import quote

import click
from rich.console import Console, RenderableType

from engine.contract import load_contract
from engine.diagnostics import PackError, render
from engine.load import check_draft, check_pack
from engine.output import PackName, check_name, existing
from engine.pack import Pack
from engine.preview.text import overview, pages
from engine.preview.view import row, view
from engine.proof.prove import BUDGET
from engine.terminal import printable

FINDINGS = 1
MAX_SEED = 2**63 - 1


@click.command()
@click.argument("pack", type=PackName(path_type=Path))
@click.option("--ticket", metavar="ID", help="Show this ticket.")
@click.option("--task", metavar="TASK", help="Only tickets of this task.")
@click.option("--seed", type=click.IntRange(0, MAX_SEED), default=0, show_default=True, help="The seed of the case.")
@click.option("--all", "every", is_flag=True, help="Show every ticket, one after the other.")
def preview(pack: Path, ticket: str | None, task: str | None, seed: int, every: bool) -> None:
    """Look at the tickets of PACK: what an agent sees, how each customer answers, and the best that can be done.

    Without --ticket, the tickets are listed, a line each; a pack's only ticket is shown at once.
    """
    loaded, sound = _loaded(existing(pack))
    check_name("task", task, loaded.tasks)
    check_name("ticket", ticket, loaded.tickets)
    if ticket is not None and every:
        raise click.UsageError("--all is for every ticket: leave --ticket out.")
    if ticket is not None and task not in (None, loaded.tickets[ticket].task):
        raise click.UsageError(f"Ticket '{printable(ticket)}' belongs to the task '{loaded.tickets[ticket].task}'.")
    tickets = [one for one in loaded.tickets.values() if task in (None, one.task) and ticket in (None, one.id)]
    if not tickets:
        raise click.UsageError(f"The pack has no ticket for the task '{task}'.")
    console = Console(highlight=False, emoji=False)
    if len(tickets) == 1 or every:
        for number, one in enumerate(tickets):
            _print([""] * bool(number), console)
            _print(pages(view(loaded, one.id, seed, BUDGET)), console)
    else:
        _print(overview(loaded, [row(loaded, one, seed) for one in tickets], console.width), console)
        words = " ".join(map(quote, (str(pack), "--ticket", tickets[0].id)))
        click.echo(f"\nOne of them: deskproof preview {printable(words)}")
    raise SystemExit(0 if sound else FINDINGS)


def _loaded(path: Path) -> tuple[Pack, bool]:
    """The pack, and whether it is without errors. What keeps it from being served is told; a pack whose tickets alone
    are at fault can be looked at all the same."""
    pack, findings = check_pack(path)
    errors = [finding for finding in findings if finding.severity == "error"]
    for finding in errors:
        click.echo(render(finding), err=True)
    if pack is None:
        try:
            pack = check_draft(path, load_contract())[0]
        except PackError:  # the contract's own mistakes, which were told
            pack = None
    if pack is None:
        raise SystemExit(FINDINGS)
    return pack, not errors


def _print(parts: Iterable[RenderableType], console: Console) -> None:
    """Prints; without blanks at the ends of lines where no terminal needs them."""
    for part in parts:
        if console.is_terminal:
            console.print(part)
            continue
        with console.capture() as captured:
            console.print(part)
        for line in captured.get().split("\n")[:-1]:
            click.echo(line.rstrip())
