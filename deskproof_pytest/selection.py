"""What a run is about: options, ini and command line, as places where packs are. Imports nothing of the engine.

`--scenarios` adds its packs to what is run, unless an argument names something in them: then that is meant alone. The
ini's packs are run where no argument is given. What `--ignore` and `--ignore-glob` leave out is left out here too.
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
    by_option = [_root(given, here, "--scenarios", config) for given in option(config, "--scenarios") or ()]
    by_ini = [_root(given, config.rootpath, _INI, config) for given in config.getini(_INI)]
    roots = Places(tuple(dict.fromkeys([*by_option, *by_ini])))
    given = [_taken_apart(argument) for argument in config.args]
    arguments = [absolute(path, here) for path, _ in given]
    if config.args_source is not config.ArgsSource.ARGS:
        wanted = list(roots.roots)
    else:
        wanted = [] if any(map(roots.holds, arguments)) else by_option
    try:
        more = [file for root in dict.fromkeys(wanted) for pack in _packs(root, config) for file in files_of(pack)]
    except LookupError as error:
        raise pytest.UsageError(str(error)) from None
    whole: set[Path] = set()
    parts: dict[Path, frozenset[str]] = {}
    for path, (_, name) in zip(arguments, given, strict=True):
        pack = owner(path, path in roots.roots) if path.is_file() else None
        if pack is not None and name:
            parts[path] = parts.get(path, frozenset()) | {name}
        elif pack is not None:
            whole.add(path)
            more += files_of(pack) if is_first(path, pack) else []
    more = [file for file in dict.fromkeys(more) if not _is_ignored(file, config)]
    if more or whole or parts:
        why = hidden()
        if why is not None:
            raise pytest.UsageError(why)
    config.args += [_argument(file, here) for file in _not_covered(more, arguments, config)]
    return Places(roots.roots, frozenset([*more, *whole, *parts]), frozenset(whole), parts)


def _taken_apart(argument: str) -> tuple[str, str]:
    """An argument's path, and the name of the test after it, as pytest takes them; the name is empty where none is."""
    base, bracket, parameters = argument.partition("[")
    path, _, name = base.partition("::")
    return path, f"{name}{bracket}{parameters}"


def _argument(file: Path, here: Path) -> str:
    """A file as an argument. Raises UsageError where pytest can't be given it."""
    for path in (file, file.relative_to(here) if here in file.parents else file):
        if "[" not in str(path) and "::" not in str(path):
            return str(path)
    raise pytest.UsageError(
        f"{file} can't be run: in a path pytest takes '[' and '::' for a test's name. Rename what is called so, or "
        "start pytest in that folder."
    )


def _is_ignored(file: Path, config: pytest.Config) -> bool:
    """Whether --ignore or --ignore-glob name a file or a folder above it."""
    here = config.invocation_params.dir
    paths, globs = ({absolute(one, here) for one in config.getoption(name) or ()} for name in ("ignore", "ignore_glob"))
    above = (file, *file.parents)
    return any(path in paths or any(fnmatch(str(path), str(glob)) for glob in globs) for path in above)


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


def _root(given: str, folder: Path, source: str, config: pytest.Config) -> Path:
    """A path, or where that has no pack the shipped one of this name. Raises UsageError."""
    path, ships = absolute(given, folder) if given else None, shipped(given)
    if path is not None and path.exists() and (ships is None or any(packs_in(path, config.getini("norecursedirs")))):
        return path
    if ships is None:
        raise pytest.UsageError(f"{source}: {_nothing(given)}")
    return ships


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
