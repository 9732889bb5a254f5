"""The files that a command is told to read and to write: what is no use as one, and how they are written."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from engine.diagnostics import Report
from engine.load import files, pack_path
from engine.transcript import printable

# What the process has open already may lead to a regular file, which isn't to be replaced all the same.
_STANDARD_OUTPUT = ("-", "/dev/stdout")
_OPEN = ("/dev/fd/", "/dev/stderr", "/proc/self/fd/")


class PackName(click.Path):
    """A file, a folder, or the name of a shipped pack; an empty one would be the folder one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("a pack's path is empty", param, ctx)
        return super().convert(value, param, ctx)


def existing(path: Path | str) -> Path:
    """The path itself, or that of the shipped pack of this name."""
    try:
        return pack_path(str(path))
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None


class NewFile(click.Path):
    """A file to be written, in a folder that is there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the file's path is empty", param, ctx)
        path = super().convert(value, param, ctx)
        folder, slash, _ = str(path).rpartition("/")
        click.Path(exists=True, file_okay=False, writable=True).convert(folder or slash or ".", param, ctx)
        return path


def check_outputs(outputs: Sequence[str], packs: Iterable[Path]) -> None:
    """Refuses to write one file twice, over what a pack is read from, or over another that may be one."""
    written = [Path(path).resolve() for path in outputs]
    if len(set(written)) < len(written):
        raise click.UsageError(f"Two outputs can't both be written to {printable(outputs[-1])}.")
    own = {file.resolve() for pack in packs for file in (files(pack, Report()) if pack.is_dir() else (pack,))}
    for name, path in zip(outputs, written, strict=True):
        if path in own:
            raise click.UsageError(f"{printable(name)} is a file of the pack itself; nothing was written.")
        if path.suffix in (".yaml", ".yml") and path.is_file():
            raise click.UsageError(f"{printable(name)} is there, and may be a pack; nothing was written.")


def write(path: str, text: str) -> None:
    """Writes a file: all of it or nothing, except where it is no regular file, which can't be replaced."""
    try:
        if path in _STANDARD_OUTPUT:
            click.echo(text, nl=False)
        elif path.startswith(_OPEN) or (Path(path).exists() and not Path(path).is_file()):
            Path(path).write_text(text, "utf-8")
        else:
            _replace(Path(path).resolve(), text)
    except OSError as error:
        if error.strerror is None:  # standard output's, which is told where the process ends
            raise
        raise click.UsageError(f"{printable(path)} can't be written: {error.strerror}.") from None


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name[:100]}-{secrets.token_hex(4)}")
    try:
        with new.open("x", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            new.chmod(path.stat().st_mode)
        new.replace(path)
    except BaseException:  # Ctrl-C too
        new.unlink(missing_ok=True)
        raise
