"""Reads the lists of mistakes that stand beside this module: what is wrong, and what must be said about it.

The first part of a list is a pack without a mistake. Each of the others begins with `=== ` and its name; then come
edits, lines with `-` before them for what is taken out of the pack and with `+` for what comes in its place. Below
`---` stands what is said. ⇥ stands for a tab, ⍽ for a no-break space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from engine.check_command import Checker
from engine.diagnostics import render

INVISIBLE = str.maketrans({"⇥": "\t", "⍽": "\u00a0"})


class Case(NamedTuple):
    name: str
    pack: str
    said: str


def cases(name: str) -> Iterator[Case]:
    """The pack without a mistake, and those with one each."""
    first, *others = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").split("=== ")[1:]
    title, pack = first.split("\n", 1)
    yield Case(title, pack, "")
    for other in others:
        title, rest = other.split("\n", 1)
        edits, said = re.split(r"^---\n", rest, maxsplit=1, flags=re.MULTILINE)
        yield Case(title, edited(pack, edits), said.translate(INVISIBLE))


def edited(pack: str, edits: str) -> str:
    old: str | None = None
    for sign, group in groupby(edits.splitlines(keepends=True), key=lambda line: line[0]):
        lines = "".join(line[1:] for line in group)
        if sign == "-":
            pack = pack if old is None else pack.replace(old, "")
            old = lines
            assert pack.count(old) == 1, old
        else:
            assert sign == "+" and old is not None
            pack, old = pack.replace(old, lines), None
    return (pack if old is None else pack.replace(old, "")).translate(INVISIBLE)


def said(pack: str | bytes, folder: Path) -> str:
    """What is found in a pack, as `deskproof check` prints it."""
    path = folder / "pack.yaml"
    path.write_bytes(pack if isinstance(pack, bytes) else pack.encode())
    return "".join(f"{render(finding)}\n" for finding in Checker({}).check(path).findings).replace(f"{folder}/", "")
