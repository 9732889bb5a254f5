"""What a command is told: packs, names of what is in them, and files to be written. What is no use as one, and how
files are written."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import click

from engine.diagnostics import Report
from engine.load import files, pack_path
from engine.nearest import nearest
from engine.terminal import printable

# What the process has open already may lead to a regular file, which isn't to be replaced all the same.
_STANDARD_OUTPUT = ("-", "/dev/stdout")
_OPEN = ("/dev/fd/", "/dev/stderr", "/proc/self/fd/")
# Exit codes, as a shell has them: the reader of a pipe has gone (as in `engine.entry`), and SIGTERM.
CLOSED, TERMINATED = 141, 143
# How many names are listed where none is near.
LISTED = 20


class PackName(click.Path):
    """A file, a folder, or the name of a shipped pack; an empty one would be the folder one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("a pack's path is empty", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number in the range. NaN is none, though no comparison says so, nor is infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


def existing(path: Path | str) -> Path:
    """The path itself, or that of the shipped pack of this name."""
    try:
        return pack_path(str(path))
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None


def check_name(kind: str, name: str | None, names: Iterable[str]) -> None:
    """Refuses the name of something that there isn't; None is no name."""
    every = [*names]
    if name is None or name in every:
        return
    close = nearest(name, every)
    more = f" and {len(every) - LISTED:,} more" if len(every) > LISTED else ""
    hint = f"Did you mean '{close}'?" if close else f"There are: {', '.join(every[:LISTED])}{more}."
    raise click.UsageError(printable(f"There is no {kind} '{name}'. {hint}"))


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
    """Refuses to write one file twice, over what a pack is read from, or under a name that would make a pack of it."""
    written = [resolved(Path(path)) for path in outputs]
    if len(set(written)) < len(written):
        raise click.UsageError(f"Two outputs can't both be written to {printable(outputs[-1])}.")
    own = {resolved(file) for pack in packs for file in (files(pack, Report()) if pack.is_dir() else (pack,))}
    for name, path in zip(outputs, written, strict=True):
        if path in own:
            raise click.UsageError(f"{printable(name)} is a file of the pack itself; nothing was written.")
        if {path.suffix.lower(), Path(name).suffix.lower()} & {".yaml", ".yml"}:
            what = "there, and may be a pack" if path.is_file() else "a pack's name, and this is no YAML"
            raise click.UsageError(f"{printable(name)} is {what}; nothing was written.")


def resolved(path: Path) -> Path:
    """Where a path's links lead; the path itself where they lead in a circle, and so nowhere."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def write(path: str, content: str | bytes | Iterable[str]) -> None:
    """Writes a file, in one piece or in many: all of it or nothing, except where it is no regular file, which can't be
    replaced. Text is written as UTF-8, whatever a terminal has."""
    given = (content,) if isinstance(content, str | bytes) else content
    pieces = (piece.encode() if isinstance(piece, str) else piece for piece in given)
    try:
        if path in _STANDARD_OUTPUT:
            for piece in pieces:
                click.echo(piece, nl=False)
        elif path.startswith(_OPEN) or (Path(path).exists() and not Path(path).is_file()):
            with Path(path).open("wb") as file:
                file.writelines(pieces)
        else:
            _replace(resolved(Path(path)), pieces)
    except BrokenPipeError:
        raise SystemExit(CLOSED) from None
    except OSError as error:
        if error.strerror is None:  # standard output's, which is told where the process ends
            raise
        raise click.UsageError(f"{printable(path)} can't be written: {error.strerror}.") from None


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    new = path.with_name(f".{path.name[:100]}-{secrets.token_hex(4)}")
    with _terminable():
        try:
            with new.open("xb") as file:
                file.writelines(pieces)
            if path.exists():
                new.chmod(path.stat().st_mode)
            new.replace(path)
        except BaseException:  # Ctrl-C too
            new.unlink(missing_ok=True)
            raise


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the process as Ctrl-C does, not at once, unless somebody takes it already."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminated(*_: Any) -> NoReturn:
    raise SystemExit(TERMINATED)
