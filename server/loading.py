"""The packs to serve: loaded from where they are named, and looked at again when their files change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.diagnostics import PackError
from engine.load import load_pack
from engine.pack import Pack

Stamp = tuple[tuple[str, int, int], ...]  # of each file its path, time of change in ns, and size


class Unfit(ValueError):
    """Packs that can't be served; the text is everything that is wrong with them."""


def load_packs(paths: Sequence[Path | str]) -> list[Pack]:
    """Raises Unfit."""
    packs: dict[str, Pack] = {}
    wrong = [] if paths else ["There is no pack to serve."]
    for path in paths:
        try:
            pack = load_pack(path)
        except PackError as error:
            wrong.append(str(error))
            continue
        if pack.name in packs:
            wrong.append(f"{path}: another pack is called '{pack.name}' too: {packs[pack.name].place.file}")
        packs[pack.name] = pack
    if wrong:
        raise Unfit("\n".join(wrong))
    return list(packs.values())


def stamp(paths: Sequence[Path | str]) -> Stamp:
    """What the packs' files look like from outside: another stamp means that something was written."""
    return tuple(_stamps(paths))


def _stamps(paths: Sequence[Path | str]) -> Iterator[tuple[str, int, int]]:
    for path in map(Path, paths):
        try:
            files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
            for file in files:
                seen = file.stat()
                yield str(file), seen.st_mtime_ns, seen.st_size
        except OSError:
            yield str(path), 0, 0  # an editor may be about to put it back
