"""Deskproof's own modules: where they are, and what hides them from Python. Imports none of them."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

# Where `engine`, `server`, `graders` and this package stand beside each other.
HERE = Path(__file__).resolve().parent.parent
# What the tests of packs need in pytest's own process.
_NEEDED = {"engine": HERE / "engine" / "__init__.py", "graders": HERE / "graders.py"}


def hidden() -> str | None:
    """A sentence for somebody whose own module hides one of ours, or would be hidden by it; None where all is well."""
    for name, own in _NEEDED.items():
        for file in _found(name):
            if file != own:
                folder = file.parents[1] if file.stem == "__init__" else file.parent
                return (
                    f"Deskproof's own module {name!r} is hidden by {file}: rename that, or keep {folder} off Python's "
                    "path (pytest's `pythonpath`, PYTHONPATH, a conftest.py beside it, `python -m pytest`)."
                )
    return None


def taken_for_ours(error: BaseException) -> str | None:
    """A sentence for somebody whose import failed since Python took ours for their folder; None for all others."""
    name, _, rest = (getattr(error, "name", None) or "").partition(".")
    if not isinstance(error, ModuleNotFoundError) or not rest or name not in ("engine", "server"):
        return None
    own = HERE / name
    folders = (Path(folder, name) for folder in sys.path)
    theirs = next((one for one in folders if one.is_dir() and one.resolve() != own), None)
    if theirs is None:
        return None
    return (
        f"Python takes {name!r} for Deskproof's own module, in {own}: a folder comes before it only as a module with a "
        f"file __init__.py. Write an empty {theirs / '__init__.py'}."
    )


def _found(name: str) -> list[Path]:
    """The files of the module that was imported by this name, and of the one that would be."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    spec = PathFinder.find_spec(name)
    origin = spec.origin if spec is not None and spec.has_location else None
    return [Path(file).resolve() for file in (loaded, origin) if file is not None]
