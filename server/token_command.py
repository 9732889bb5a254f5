"""The command line of tokens: `deskproof token`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

import os
from pathlib import Path

import click

from server.tokens import NAMES, WrongFile, digest, is_name, new_token, read

FINDINGS = 1


@click.command()
@click.argument("name")
@click.option(
    "--file", "path", required=True, type=click.Path(path_type=Path), help="What TOKENS names for the server."
)
def token(name: str, path: Path) -> None:
    """Make a token called NAME, and add its digest to a file.

    The token alone goes to standard output, once. A running server takes it within a second or two. To revoke it,
    delete its line from the file.
    """
    if not is_name(name):
        raise click.UsageError(f"A token's name has {NAMES}.")
    made = new_token()
    try:
        if path.exists() and name in read(path).values():
            raise click.UsageError(f"{path} has a token called '{name}' already; nothing was written.")
        _append(path, f"{name} {digest(made)}\n".encode())
    except OSError as error:
        raise click.UsageError(f"{path} can't be written: {error.strerror}.") from None
    except WrongFile as error:
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None
    click.echo(made)
    click.echo(f"This is the token of '{name}'. It won't be shown again: {path} keeps its digest only.", err=True)


def _append(path: Path, line: bytes) -> None:
    """A file that isn't there is made for its owner alone. Raises OSError."""
    with open(path, "ab+", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
        if stream.tell():
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                line = b"\n" + line
        stream.write(line)
