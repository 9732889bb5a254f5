"""The command `deskproof schema`, and the schema that `deskproof new` puts beside a pack. Exit codes: 0 fine, 1 nothing
of the pack can be read, 2 usage."""

from __future__ import annotations

import json
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

from engine.contract import load_contract
from engine.declared import names_in
from engine.diagnostics import PackError, Report, render
from engine.editor import part_of, with_names
from engine.load import read_unfinished
from engine.output import NewFile, PackName, check_outputs, existing, write
from engine.schema import written

FINDINGS = 1
# What the schema is called, here and mostly beside a pack; the first line of `engine.new.EXAMPLE` names it.
BESIDE = "pack.schema.json"


@click.command()
@click.option(
    "--for", "pack", type=PackName(path_type=Path), metavar="PACK", help="With the names in PACK, be it a draft."
)
@click.option("--part", is_flag=True, help="For the files of a pack that is a folder: nothing is required in them.")
@click.option("-o", "--output", type=NewFile(), metavar="FILE", help="Write to FILE; default: standard output.")
def schema(pack: Path | None, part: bool, output: str | None) -> None:
    """Print the JSON Schema of packs, for editors; with --for, the one of a pack, with its own names in it."""
    path = existing(pack) if pack is not None else None
    if output is not None:
        check_outputs([output], [path] if path is not None else [])
    write(output or "-", schema_text(path, part))


def schema_text(path: Path | None, part: bool) -> str:
    """The schema of packs, or of the pack at a path."""
    text = written(BESIDE)
    document: dict[str, Any] = json.loads(text)
    if part or (path is not None and path.is_dir()):
        document = part_of(document)
    elif path is None:
        return text
    if path is not None:
        document = _with_names(document, path)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _with_names(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The schema with the names of a pack. Says what keeps the pack from being read, and ends where nothing can be."""
    report = Report()
    try:
        contract = load_contract()
        found, unread = read_unfinished(path, report)
        closed = with_names(document, names_in(found, unread, contract)) if found is not None else None
    except PackError as error:  # the contract's own mistakes
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None
    if closed is None or unread:
        for finding in report.findings():
            click.echo(render(finding), err=True)
    if closed is None:
        raise SystemExit(FINDINGS)
    if unread:
        listed = ", ".join(section for section in document["properties"] if section in unread)
        click.echo(f"There may be more names than could be read, so any other is let through: {listed}.", err=True)
    return closed


def put_beside(pack: Path) -> tuple[str, bool]:
    """Writes the schema of packs beside one. Returns what it is called, and whether it wasn't there yet.

    A file of this name with something else in it may be the schema of another pack, with that one's names: then the
    schema is called pack-2.schema.json, or by the next number that is free.
    """
    text = schema_text(None, part=pack.name == "pack.yaml")
    for name in chain([BESIDE], (f"pack-{number}.schema.json" for number in count(2))):
        path = pack.parent / name
        if not path.exists():
            write(str(path), text)
            return name, True
        if path.is_file() and path.read_bytes() == text.encode():
            break
    return name, False
