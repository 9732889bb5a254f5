"""Versions of a pack, and what `deskproof diff` says of two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.commands import deskproof as run

# Four steps: an ask and the end make an optimal episode of two.
BASE = """\
pack: lamps
version: 1.0.0
description: Lamps.
max_steps: 4
fields: {model: {description: Model}, socket: {description: Socket}}
tickets:
  - {id: dark, task: easy-info-collection, messages: [It stays dark.], required: [model], answers: {model: L-7}}
  - {id: hum, task: easy-info-collection, messages: [It hums.], required: [socket], answers: {socket: E27}}
"""
THIRD = "  - {id: hot, task: easy-info-collection, messages: [It's hot.], required: [model], answers: {model: L-9}}\n"


class Packs:
    """Versions of a pack in a folder, each a change to the base."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = self.write("base.yaml", BASE)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def changed(self, old: str, new: str) -> Path:
        assert old in BASE
        return self.write("changed.yaml", BASE.replace(old, new))

    def certificate(self, pack: Path, *options: str) -> Path:
        file = pack.with_suffix(".json")
        run("prove", pack, "--certificate", file, *options)
        return file


def data(old: Path, new: Path) -> Any:
    """What --json prints of the one pack; its exit code is that of the text."""
    done = run("diff", old, new, "--json")
    assert done.exit_code == run("diff", old, new).exit_code
    document = json.loads(done.stdout)
    assert document["comparable"] == (done.exit_code == 0)
    (pack,) = document["packs"]
    return pack
