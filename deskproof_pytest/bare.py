"""Options that are followed by a blank and a path: until it knows them, pytest takes the path for one of tests."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.config.findpaths import determine_setup


def given_back(config: pytest.Config, paths: Sequence[str], values: Sequence[str]) -> None:
    """Has the conftests of `values` loaded, which are paths of tests after all: the option is somebody else's."""
    if values:
        config.known_args_namespace.file_or_dir = [*paths]
        config.pytest_load_initial_conftests(config)


def refuse_another_project(config: pytest.Config, paths: Sequence[str], bare: Sequence[tuple[str, str]]) -> None:
    """Raises UsageError where pytest looked for the project (its root, its ini) where an option of ours points to."""
    left = [*paths]
    for _, value in bare:
        left.remove(value)
    found, meant = _project(config, paths), _project(config, left)
    if found != meant:
        name, value = bare[0]
        raise pytest.UsageError(
            f"Write {name}={value}: after a blank pytest takes the path for one of tests, and finds the project by it: "
            f"{_told(found)}, not {_told(meant)}."
        )


def _project(config: pytest.Config, paths: Sequence[str]) -> tuple[Path, Path | None]:
    """The root and the ini that pytest finds by some paths."""
    known = config.known_args_namespace
    given = {
        "inifile": known.inifilename,
        "override_ini": known.override_ini,
        "args": [*paths],
        "rootdir_cmd_arg": known.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    taken = inspect.signature(determine_setup).parameters  # versions of pytest differ
    found = determine_setup(**{name: value for name, value in given.items() if name in taken})
    return found[0], found[1]


def _told(project: tuple[Path, Path | None]) -> str:
    root, ini = project
    return str(ini or root)
