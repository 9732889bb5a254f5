"""Where a pack that is made goes: the file's name, the pack's own, and nothing that is written over by accident."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from engine.build import pack_schema
from engine.checks import MAX_LENGTH
from engine.contract import Contract, load_contract
from engine.diagnostics import PackError
from engine.importing.desk import TODO, Head
from engine.importing.dump import characters, dump, values
from engine.nearest import nearest
from engine.nodes import MAX_NODES
from engine.output import write
from engine.proof.told import count
from engine.schema_command import BESIDE, put_beside
from engine.source import MAX_BYTES
from engine.terminal import printable, shell_path

FINDINGS = 1
# Where a process finds what it has open already.
OPEN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
# As much as ever stands between two names in an answer: a comma and a blank, or what an empty list is called.
_BETWEEN = "nothing"
# How much of the longest answer names can be; there are words around them.
_LISTED = MAX_LENGTH - 1_000
# Tickets differ, so not quite as many fit as the mean says.
_MARGIN = 0.9
# The first line of a pack, as `deskproof new` writes it.
_FOR_EDITORS = "# yaml-language-server: $schema="
DESCRIPTION = f"{TODO}: what this help desk has to ask before it can help"

_Command = Callable[..., Any]


class NewPack(click.Path):
    """A file to be written; what isn't called *.yaml is a folder for pack.yaml."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the pack's path is empty", param, ctx)
        path = str(super().convert(value, param, ctx))
        try:
            stream = is_stream(path)
        except OSError as error:  # it is too long for a path
            self.fail(f"{printable(path)} can't be written: {error.strerror}", param, ctx)
        return path if stream or path.endswith((".yaml", ".yml")) else str(Path(path) / "pack.yaml")


def pack_options(command: _Command) -> _Command:
    """The options of every command that makes a pack."""
    to = "What to write: a file that ends in .yaml, else a folder for pack.yaml."
    options = (
        click.option("-o", "--output", "output", type=NewPack(), metavar="PACK", help=to),
        click.option("--name", help="The pack's name; default: that of what is written."),
        click.option("--language", help="The language of its texts, such as de; default: en."),
        click.option("--task", help="The task of its tickets; default: the contract's first."),
        click.option("--force", is_flag=True, help="Write over what is there."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def contract_and_task(task: str | None) -> tuple[Contract, str]:
    """The contract, and a task of it."""
    try:
        contract = load_contract()
    except PackError as error:
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None
    names = [spec.id for spec in contract.tasks]
    if task is not None and task not in names:
        close = nearest(task, names)
        hint = f"Did you mean '{close}'?" if close else f"There are: {', '.join(names)}."
        raise click.UsageError(f"There is no task '{printable(task)}'. {hint}")
    return contract, task if task is not None else names[0]


def head(output: str, source: str, name: str | None, language: str | None, contract: Contract) -> Head:
    """What stands at the top of a pack that is written to `output`; one without a file of its own is called after
    what it is made of."""
    nameless = "pack" if source.startswith(OPEN) else source
    own = Path(nameless if is_stream(output) else output)
    called = name if name is not None else own.parent.absolute().name if own.name == "pack.yaml" else own.stem
    schema = pack_schema()["properties"]
    check_text(called)
    if not 0 < len(called) <= schema["pack"]["maxLength"]:
        raise click.UsageError(f"A pack's name has 1 to {schema['pack']['maxLength']} characters: say --name.")
    if language is not None and not re.fullmatch(schema["language"]["pattern"], language):
        such_as = " or ".join(schema["language"]["examples"])
        raise click.UsageError(f"'{printable(language)}' is no language, such as {such_as}.")
    return Head(called, DESCRIPTION, contract.max_steps, language)


def check_text(text: str) -> None:
    """Refuses what a shell or a file system passes on that is no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.UsageError(f"'{printable(text)}' is not text: it holds bytes that aren't UTF-8.") from None


def numbered(output: str, number: int) -> str:
    """Where one of several packs goes: desk-1.yaml, or desk-1/pack.yaml."""
    path = Path(output)
    if path.name == "pack.yaml":
        return str(path.parent.with_name(f"{path.parent.name}-{number}") / path.name)
    return str(path.with_name(f"{path.stem}-{number}{path.suffix}"))


def check_free(outputs: Sequence[str], sources: Sequence[Path], force: bool) -> None:
    """Refuses to write over what is there, unless that is what is asked for; over what is read in any case."""
    own = {source.resolve() for source in sources}
    for output in outputs:
        path = Path(output)
        if path.resolve() in own:
            raise click.UsageError(f"{printable(output)} is what is read; nothing was written.")
        if path.is_file() and not force:
            raise click.UsageError(f"{printable(output)} exists already; nothing was written. --force writes over it.")


def place(packs: Sequence[tuple[str, str]]) -> str:
    """Writes packs, each a path and a text, and the schema beside them; their folders are made. Says what was written
    in a sentence, and how to go on."""
    beside: dict[str, None] = {}
    for output, text in packs:
        if is_stream(output):
            write(output, text)
            return "Wrote the pack."
        try:
            Path(output).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"{printable(output)} can't be written: {error.strerror}.") from None
        name, is_new = put_beside(Path(output))
        beside |= dict.fromkeys([name] if is_new else [])
        write(output, f"{_FOR_EDITORS}{name}\n{text}")
    paths = [output for output, _ in packs]
    schema = f", and {', '.join(beside)} beside {'it' if len(paths) == 1 else 'them'} for editors" if beside else ""
    return f"Wrote {printable(', '.join(paths))}{schema}. Next: deskproof check {' '.join(map(shell_path, paths))}"


def is_stream(output: str) -> bool:
    """Whether something else than a file is written to."""
    path = Path(output)
    return output == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def long_names(made: dict[str, Any]) -> str | None:
    """What is wrong where the names in a pack are too long for one answer, which may list all categories, or all fields
    behind the name of a category."""
    categories, fields = made.get("categories", ()), made.get("fields", ())
    lists = {
        "categories": _length(categories),
        "fields, and the longest of a category,": _length(fields) + max(map(len, categories), default=0),
    }
    for what, size in lists.items():
        if size > _LISTED:
            return f"All names of {what} come to {size:,} characters, and {_LISTED:,} are the most"
    return None


def _length(names: Iterable[str]) -> int:
    return sum(len(name) + len(_BETWEEN) for name in names)


def fitting(output: str, made: dict[str, Any]) -> tuple[str, str | None]:
    """A pack's text, and what is wrong where it is larger than packs may be, with how many tickets would do."""
    number, size, text = values(made), characters(made), ""
    if number <= MAX_NODES and size <= MAX_BYTES:  # else there is no need to write it out, which may take long
        text = dump(made)
        size = len(_FOR_EDITORS) + len(BESIDE) + 1 + len(text.encode())
        if size <= MAX_BYTES:
            return text, None
    tickets = len(made["tickets"])
    fit = max(1, int(tickets * min(MAX_BYTES / size, MAX_NODES / number) * _MARGIN))
    wrong = (
        f"{printable(output)} would be too large: {count(tickets, 'ticket')} with {number:,} values and {size:,} bytes"
    )
    return text, f"{wrong} or more, and a pack has {MAX_NODES:,} and {MAX_BYTES:,} at the most. About {fit:,} would fit"
