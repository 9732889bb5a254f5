"""The command `deskproof import csv`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from engine.diagnostics import Report, render
from engine.importing import told
from engine.importing.columns import Pair, Plan, plan
from engine.importing.desk import Head, document, needs
from engine.importing.dialect import Dialect, OneSign, find_dialect
from engine.importing.encoding import Decoded, UnknownEncoding, decode
from engine.importing.placing import (
    FINDINGS,
    OPEN,
    check_free,
    check_text,
    contract_and_task,
    fitting,
    head,
    is_stream,
    long_names,
    numbered,
    pack_options,
    place,
)
from engine.importing.rows import Broken, NoHeader, Row, Rows
from engine.importing.tickets import Account, Ticket, read
from engine.nodes import Seq, Spot, reading
from engine.source import Budget, open_file, parse
from engine.terminal import printable

MAX_BYTES = 200_000_000
# What files begin with that are taken for CSV.
_NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet or an archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"\x1f\x8b": "compressed",
    b"%PDF-": "a PDF",
}
# After how many rows the bar moves.
_ROWS = 100
# What can be said instead of a character that a shell makes hard to write.
_SIGNS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


class Source(click.Path):
    """A file to be read. What may wait for ever is none, but for what the process has open already."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = str(super().convert("/dev/stdin" if value == "-" else value, param, ctx))
        if not path.startswith(OPEN) and not Path(path).is_file():
            self.fail(f"{printable(path)} is a pipe or a device, not a file; - reads standard input", param, ctx)
        return path


class Sign(click.ParamType[str]):
    """One character, or its name."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        sign = _SIGNS.get(value, value)
        if len(sign) != 1 or sign in "\r\n\0":
            self.fail(f"'{printable(value)}' is not one character, nor one of {', '.join(_SIGNS)}", param, ctx)
        return str(sign)


@click.command()
@click.argument("file", type=Source(exists=True, dir_okay=False), metavar="FILE")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="WHAT=COLUMN",
    help="Which column is what, or a YAML file that says so; repeatable. WHAT is id, message, category, task, split,"
    " field.NAME or known.NAME.",
)
@pack_options
@click.option("--per-pack", type=click.IntRange(1), metavar="N", help="Write several packs of N tickets at the most.")
@click.option("--encoding", help="Default: found out.")
@click.option("--delimiter", type=Sign(), help="What stands between cells: a character, or tab; default: found out.")
@click.option("--quote", type=Sign(), help="What cells are quoted with; default: found out.")
def csv(
    file: str,
    maps: tuple[str, ...],
    output: str | None,
    name: str | None,
    language: str | None,
    task: str | None,
    force: bool,
    per_pack: int | None,
    encoding: str | None,
    delimiter: str | None,
    quote: str | None,
) -> None:
    """Make a pack of the tickets in a CSV FILE, which a help desk exports; - is standard input.

    Without --map: shows what is in it, and a command to begin with. Rows that are broken are told and skipped; then
    the exit code is 1.
    """
    if bool(maps) != (output is not None):
        raise click.UsageError("-o PACK says what to write." if maps else "--map says which column is what.")
    if output == "-" and per_pack is not None:
        raise click.UsageError("Several packs can't be written to standard output.")
    contract, of_tickets = contract_and_task(task)
    if output is None:
        given = {"--encoding": encoding, "--delimiter": _name(delimiter), "--quote": _name(quote)}
        _show(file, given, *_opened(file, encoding, delimiter, quote))
        return
    top = head(output, file, name, language, contract)
    if per_pack is None:
        check_free([output], _sources(file, maps), force)
    decoded, dialect, rows = _opened(file, encoding, delimiter, quote)
    columns = _plan(maps, rows.header)
    account = _read(printable(file), len(decoded.text), rows, columns, [spec.id for spec in contract.tasks], of_tickets)
    to_stderr = is_stream(output)
    click.echo(told.found(printable(file), decoded, dialect), err=to_stderr)
    _note(decoded)
    for finding in told.skipped(file, account):
        click.echo(render(finding), err=True)
    for line in told.counted(account):
        click.echo(line, err=to_stderr)
    packs = _packs(output, top, account.tickets, columns, rows.header, per_pack)
    if per_pack is not None:
        check_free([path for path, _ in packs], _sources(file, maps), force)
    wrote = place(packs)
    for line in (*told.unwritten(account, columns), wrote):
        click.echo(line, err=to_stderr)
    raise SystemExit(FINDINGS if account.left else 0)


def _opened(file: str, encoding: str | None, delimiter: str | None, quote: str | None) -> tuple[Decoded, Dialect, Rows]:
    """A file's text, how it is written, and its rows. Ends where it has none."""
    try:
        with Path(file).open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{printable(file)} can't be read: {error.strerror}.") from None
    if len(content) > MAX_BYTES:
        _refuse(f"{printable(file)} is too large: {MAX_BYTES // 1_000_000} MB are the most.")
    other = next((what for beginning, what in _NO_TEXT.items() if content.startswith(beginning)), None)
    if other is not None:
        _refuse(f"{printable(file)} is {other}, not CSV: export or save it as CSV first.")
    try:
        decoded = decode(content, encoding)
        dialect = find_dialect(decoded.text, delimiter, quote)
        return decoded, dialect, Rows(decoded.text, dialect)
    except UnknownEncoding as error:
        unknown = f"There is no encoding '{printable(str(error))}'; there are utf-8, utf-16, cp1252 and more."
        raise click.UsageError(unknown) from None
    except OneSign as error:
        both = f"'{printable(str(error))}' stands between the cells of this file, so it can't be --quote."
        raise click.UsageError(both) from None
    except NoHeader as error:
        _refuse(f"{printable(file)}: {error}.")


def _show(file: str, given: Mapping[str, str | None], decoded: Decoded, dialect: Dialect, rows: Rows) -> None:
    """Says what a file holds, and how to go on; `given` are the options that say how it is written."""
    click.echo(told.found(printable(file), decoded, dialect))
    _note(decoded)
    for line in told.overview(file, given, rows):
        click.echo(line)


def _name(sign: str | None) -> str | None:
    """How a sign can be said, as a shell makes some of them hard to write."""
    return next((name for name, one in _SIGNS.items() if one == sign), sign)


def _note(decoded: Decoded) -> None:
    if decoded.note is not None:
        click.echo(f"Note: {decoded.note}.", err=True)


def _refuse(why: str) -> NoReturn:
    click.echo(why, err=True)
    raise SystemExit(FINDINGS)


# -- Which column is what


def _sources(file: str, maps: Sequence[str]) -> list[Path]:
    """What is read."""
    return [Path(file), *(Path(one) for one in maps if "=" not in one)]


def _plan(maps: Sequence[str], header: Sequence[str]) -> Plan:
    """What was said of the columns. Ends where something is wrong with it."""
    pairs: list[Pair] = []
    spots: dict[int, tuple[Spot, Spot]] = {}  # of those that stand in a file: WHAT's and COLUMN's
    report = Report()
    for one in maps:
        check_text(one)
        what, sign, column = one.partition("=")
        if sign:
            pairs.append(Pair(what, column, len(pairs)))
        else:
            for in_file, *places in _map_file(one, report):
                spots[len(pairs)] = (places[0], places[1])
                pairs.append(in_file._replace(where=len(pairs)))
    made, mistakes = plan(pairs, header) if not report else (Plan(), [])
    for mistake in mistakes:
        if mistake.where not in spots:
            raise click.UsageError(f"--map: {printable(mistake.sentence())}.")
        spot = spots[mistake.where][0 if mistake.of_what else 1]
        report.add("PACK024", spot, printable(mistake.message), expected=mistake.expected(), meant=mistake.meant)
    if report:
        for finding in report.findings():
            click.echo(render(finding), err=True)
        raise SystemExit(FINDINGS)
    return made


def _map_file(name: str, report: Report) -> Iterator[tuple[Pair, Spot, Spot]]:
    """What a YAML file says of the columns, with places. A list says that something is several columns."""
    try:
        there = Path(name).exists()
    except OSError:  # it is too long for a path
        there = False
    if not there:
        raise click.UsageError(f"--map: '{printable(name)}' is neither WHAT=COLUMN nor a file.")
    budget = Budget()
    opened = open_file(Path(name), budget, report)
    root = parse(opened, budget, report) if opened is not None else None
    if root is None:
        return
    for what, given in root.items():
        columns = [(given, root.value_spot(what))]
        if isinstance(given, Seq):
            columns = [(one, given.item_spot(index)) for index, one in enumerate(given)]
        for column, spot in columns:
            if isinstance(column, str):
                yield Pair(what, column, 0), root.key_spot(what), spot
            else:
                report.add("PACK020", spot, f"a column's name is meant here, and {reading(column, spot.raw)}; quote it")


# -- Rows to packs


def _read(name: str, size: int, rows: Rows, columns: Plan, tasks: Sequence[str], task: str) -> Account:
    """Reads all rows, with a bar on a terminal's standard error."""
    console = Console(stderr=True)
    shown = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*shown, console=console, transient=True, disable=not console.is_terminal) as bar:
        doing = bar.add_task(name, total=size)

        def watched() -> Iterator[Row | Broken]:
            for number, row in enumerate(rows):
                if number % _ROWS == 0:
                    bar.update(doing, completed=rows.read)
                yield row

        account = read(watched(), columns, tasks, task)
        bar.update(doing, completed=size, refresh=True)
    return account


def _packs(
    output: str, top: Head, tickets: Sequence[Ticket], columns: Plan, header: Sequence[str], per_pack: int | None
) -> list[tuple[str, str]]:
    """Each pack's path and text. Ends where there is none, or one is too large."""
    if not tickets:
        _refuse("No row makes a ticket: nothing was written.")
    fields = {name: header[(columns.known | columns.fields)[name]] for name in columns.names}
    playbook = needs(tickets, columns.names)
    size = per_pack if per_pack is not None else len(tickets)
    packs = []
    for number, start in enumerate(range(0, len(tickets), size), 1):
        path = output if per_pack is None else numbered(output, number)
        own = top if per_pack is None else replace(top, name=f"{top.name}-{number}")
        made = document(own, tickets[start : start + size], fields, playbook)
        long = long_names(made)
        if long is not None:
            _refuse(f"{long}: nothing was written.")
        text, wrong = fitting(path, made)
        if wrong is not None:
            _refuse(f"{wrong}: nothing was written. --per-pack N writes several packs.")
        packs.append((path, text))
    return packs
