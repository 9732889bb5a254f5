"""What a run is about: options, ini and command line, as places where packs are. Imports nothing of the engine.

`--scenarios` adds its packs to what is run, unless an argument names something in them: then that is meant alone. The
ini's packs are run where no argument is given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

from deskproof_pytest import option
from deskproof_pytest.own import HERE, hidden
from deskproof_pytest.places import Places, absolute, files_of, is_first, owner, packs_in

# The packs that markers name, as they are found.
MARKED: pytest.StashKey[dict[Path, None]] = pytest.StashKey()
_INI = "deskproof_packs"


def select(config: pytest.Config) -> Places:
    """Where the packs are; what is to be run besides is added to the arguments. Raises UsageError."""
    here = config.invocation_params.dir
    by_option = [_root(given, here, "--scenarios") for given in option(config, "--scenarios") or ()]
    by_ini = [_root(given, config.rootpath, _INI) for given in config.getini(_INI)]
    roots = Places(tuple(dict.fromkeys([*by_option, *by_ini])))
    arguments = [absolute(argument.partition("[")[0].partition("::")[0], here) for argument in config.args]
    if config.args_source is not config.ArgsSource.ARGS:
        wanted = list(roots.roots)
    else:
        wanted = [] if any(map(roots.holds, arguments)) else by_option
    try:
        more = [file for root in dict.fromkeys(wanted) for pack in _packs(root, config) for file in files_of(pack)]
    except LookupError as error:
        raise pytest.UsageError(str(error)) from None
    named: dict[Path, bool] = {}
    for argument, path in zip(config.args, arguments, strict=True):
        pack = owner(path, path in roots.roots) if path.is_file() else None
        if pack is not None:
            named[path] = "::" not in argument.partition("[")[0]
            if named[path] and is_first(path, pack):
                more += files_of(pack)
    if more or named:
        why = hidden()
        if why is not None:
            raise pytest.UsageError(why)
    config.args += map(str, _not_covered(dict.fromkeys(more), arguments, config))
    whole = frozenset(file for file, is_whole in named.items() if is_whole)
    return Places(roots.roots, frozenset([*more, *named]), whole, frozenset(named.keys() - whole))


def _not_covered(files: Iterable[Path], arguments: Collection[Path], config: pytest.Config) -> Iterator[Path]:
    """The files that no argument covers: of what two arguments name, some versions of pytest lose a part.

    Raises UsageError where a folder covers one that pytest doesn't go into.
    """
    patterns = config.getini("norecursedirs")
    for file in files:
        above = next((folder for folder in (file, *file.parents) if folder in arguments), None)
        if above is None:
            yield file
            continue
        for part in file.relative_to(above).parts[:-1]:
            if any(fnmatch(part, pattern) for pattern in patterns):
                raise pytest.UsageError(
                    f"{file} is not looked at: pytest goes into no folder like {part!r} (norecursedirs). Say which "
                    "others are to be run (testpaths)."
                )


def in_force(config: pytest.Config, places: Places | None) -> list[Path]:
    """The packs of the options and the ini. Raises LookupError where a folder has none."""
    roots: Sequence[Path] = places.roots if places is not None else ()
    return [*dict.fromkeys(pack for root in roots for pack in _packs(root, config))]


def shipped(name: str) -> Path | None:
    """The shipped pack of this name."""
    folder = next((each for each in (HERE / "scenarios", HERE / "engine" / "scenarios") if each.is_dir()), None)
    pack = folder / name.replace("-", "_") if folder is not None and name and "/" not in name else None
    return pack if pack is not None and (pack / "pack.yaml").is_file() else None


def _root(given: str, folder: Path, source: str) -> Path:
    path = absolute(given, folder) if given else None
    found = path if path is not None and path.exists() else shipped(given)
    if found is None:
        raise pytest.UsageError(f"{source}: {_nothing(given)}")
    return found


def _nothing(name: str) -> str:
    why = hidden()
    if why is not None:
        return why
    try:
        import_module("engine.load").pack_path(name)
    except LookupError as error:
        return str(error.args[0])
    return f"There is no file or folder '{name}'."


def _packs(root: Path, config: pytest.Config) -> list[Path]:
    found = [*packs_in(root, config.getini("norecursedirs"))]
    if not found:
        raise LookupError(f"There is no pack in {root}: a folder with pack.yaml, or a *.yaml with the key `pack`.")
    return found
