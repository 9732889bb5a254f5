"""The command `deskproof explain`. Exit codes: 0 fine, 2 usage."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from engine.manual import TITLES, code_of, page
from engine.nearest import nearest
from engine.terminal import printable

# How wide a page is at the most, on however wide a terminal.
WIDEST = 100
_HINT = """
deskproof explain CODE says more about one, or about several. An example that doesn't begin with `pack:` is a file
beside the pack that `deskproof new` writes.
"""


class Code(click.ParamType[str]):
    """A code that there is: PACK012, pack012 and 12 are the same one."""

    name = "code"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        code = code_of(str(value))
        if code not in TITLES:
            close = nearest(code, TITLES)
            hint = f"did you mean '{close}'?" if close else "deskproof explain lists all."
            self.fail(f"there is no code '{printable(str(value))}'; {hint}", param, ctx)
        return code


@click.command()
@click.argument("codes", nargs=-1, type=Code(), metavar="[CODE...]")
def explain(codes: tuple[str, ...]) -> None:
    """Say more about findings, by CODE: what happened, why it is refused, what to do, and an example.

    PACK012, pack012 and 12 are the same. Without CODE, all codes are listed.
    """
    if not codes:
        for code, title in TITLES.items():
            click.echo(f"{code:<7}  {title}")
        click.echo(_HINT, nl=False)
        return
    text = "\n".join(page(code) for code in dict.fromkeys(codes))
    console = Console()
    if console.is_terminal:
        from rich.markdown import Markdown  # only here: it takes longer to load than many a command to run

        console.print(Markdown(text, code_theme="ansi_dark"), width=min(console.width, WIDEST))
    else:
        click.echo(text, nl=False)
