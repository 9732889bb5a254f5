"""Which YAML files are packs' to be tested: those that `--scenarios`, the ini or the command line itself name.

A folder with pack.yaml is a pack, with all *.yaml beside it; any other *.yaml is one if the file itself has a key
`pack`. Imports nothing of the engine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

_MAIN = "pack.yaml"
_SUFFIXES = (".yaml", ".yml")
# How much of a file is looked at, in bytes.
_LOOK = 1024 * 1024
# The key `pack` of the file itself: at the beginning of a line, or the first one in braces.
_PACK = re.compile(
    rb"""(?:^(?:\xef\xbb\xbf)?|\A(?:\xef\xbb\xbf)?(?:\s*\#.*\n)*\s*\{\s*)["']?pack["']?[ \t]*:[ \t]*"""
    rb"""["']?(?P<name>[^\r\n#"',}]*)""",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Places:
    """`roots` are the folders and files that packs are looked for in, `files` those that are asked for besides; of
    these the command line names `whole` ones itself, and of others some tests: `parts` has the names of these, by
    their files. All are absolute."""

    roots: tuple[Path, ...] = ()
    files: frozenset[Path] = frozenset()
    whole: frozenset[Path] = frozenset()
    parts: Mapping[Path, frozenset[str]] = field(default_factory=dict)

    def pack_of(self, file: Path) -> Path | None:
        """The pack that a file is part of, as the loader takes it: a folder or a file. None where nobody asks."""
        return owner(file, file in self.roots) if file in self.files or self.holds(file) else None

    def holds(self, path: Path) -> bool:
        """Whether a file or folder is one of the roots, or lies in one."""
        return any(root == path or root in path.parents for root in self.roots)


def packs_in(root: Path, skipped: Sequence[str]) -> Iterator[Path]:
    """The packs in a folder and below, in a fixed order; folders whose names match one of `skipped` aside."""
    if root.is_file():
        yield owner(root, True) or root
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not any(fnmatch(name, pattern) for pattern in skipped))
        here = Path(folder)
        if _MAIN in files:
            yield here
        else:
            yield from (here / name for name in sorted(files) if owner(here / name, False) is not None)


def files_of(pack: Path) -> list[Path]:
    """The files of a pack, pack.yaml first."""
    if pack.is_file():
        return [pack]
    others = sorted(file for file in pack.glob("*.yaml") if file.name != _MAIN and not file.name.startswith("."))
    return [pack / _MAIN, *others]


def owner(file: Path, declared: bool) -> Path | None:
    """The pack that a file is part of; `declared`: somebody says that it is one."""
    if file.suffix not in _SUFFIXES or file.name.startswith("."):
        return None
    if file.suffix == ".yaml" and (file.parent / _MAIN).is_file():
        return file.parent
    return file if declared or _says_so(file) else None


def is_first(file: Path, pack: Path) -> bool:
    """Whether a file is the first of its pack."""
    return file in (pack, pack / _MAIN)


def absolute(path: str | os.PathLike[str], folder: Path) -> Path:
    """The path as from a folder; links are left as they are, as pytest leaves them."""
    return Path(os.path.normpath(folder / path))


def declared_name(pack: Path) -> str | None:
    """What a pack says that it is called, whether or not it loads; None where it doesn't say."""
    names = filter(None, map(_declared, files_of(pack)))
    return next(names, None)


def _says_so(file: Path) -> bool:
    return _declared(file) is not None


def _declared(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            found = _PACK.search(opened.read(_LOOK))
    except OSError:
        return None
    return found["name"].decode("utf-8", "replace").strip() if found is not None else None
