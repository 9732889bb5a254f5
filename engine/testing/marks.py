"""`@pytest.mark.scenario(...)`: what it asks for, and the scenarios that a test is played for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from deskproof_pytest import MARK, PLACES
from deskproof_pytest.places import absolute, packs_in
from deskproof_pytest.selection import MARKED, in_force, shipped
from engine.contract import load_contract
from engine.diagnostics import nearest
from engine.load import shipped_packs
from engine.pack import Pack
from engine.testing.packs import findings_told, load
from engine.testing.reporting import watch
from engine.testing.scenario import ALL, Scenario, Unclear, names, scenarios

_HOW = f"@pytest.mark.{MARK}(pack=..., task=..., tickets=..., seeds=...)"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a marker asks for."""

    pack: Any = None
    task: Any = None
    tickets: Any = ALL
    seeds: Any = 1


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Plays a test for each scenario that its markers name: its own, or else those of its class or module.

    Where a marker is mistaken the test is there once, and says so when it is run.
    """
    test = metafunc.definition
    marked = [*test.iter_markers_with_node(MARK)]
    own = [marker for node, marker in marked if node is marked[0][0]]
    try:
        found = [one for marker in reversed(own) for one in _scenarios(metafunc.config, test.path.parent, marker)]
        metafunc.parametrize("scenario", found, indirect=True, ids=names(found))
    except (LookupError, Unclear) as error:
        why = Unclear(f"{test.nodeid}: @pytest.mark.{MARK}: {error.args[0]}")
        metafunc.parametrize("scenario", [why], indirect=True, ids=["nothing to play"])


def scenario(request: pytest.FixtureRequest) -> Scenario:
    """The scenario of a test; the episodes of it are watched. Fails where the test has no marker, or a mistaken one."""
    asked = getattr(request, "param", None)
    if isinstance(asked, Unclear):
        pytest.fail(str(asked), pytrace=False)
    if not isinstance(asked, Scenario):
        text = f"{request.node.nodeid} plays a scenario, and nothing says which: mark it with {_HOW}."
        pytest.fail(text, pytrace=False)
    played = Scenario(asked.pack, asked.ticket, asked.seed)
    watch(request, played)
    return played


def _scenarios(config: pytest.Config, folder: Path, marker: pytest.Mark) -> list[Scenario]:
    """The scenarios of a marker. Raises Unclear or LookupError where there are none."""
    try:
        asked = Asked(*marker.args, **marker.kwargs)
    except TypeError:
        raise Unclear(f"it takes {_HOW}, not {_written(marker)}") from None
    marked = config.stash.setdefault(MARKED, {})
    loaded = []
    for path in dict.fromkeys(_packs(config, folder, asked.pack)):
        one, findings = load(config, path)
        if one is None:
            raise Unclear(f"this pack doesn't load:\n{findings_told(config, findings)}")
        marked[path] = None
        loaded.append(one)
    return scenarios(loaded, asked.task, asked.tickets, asked.seeds)


def _packs(config: pytest.Config, folder: Path, given: Any) -> Iterator[Path]:
    """Where the packs are that a marker names; without a name those of the options, else the contract's own."""
    if given is None:
        yield from in_force(config, config.stash.get(PLACES, None)) or [_default()]
        return
    for one in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(one, str | PathLike) or not str(one):
            raise Unclear(f"pack is {one!r}: it takes a path, the name of a pack, or a list of these")
        yield from _named(config, folder, one)


def _named(config: pytest.Config, folder: Path, given: str | PathLike[str]) -> Sequence[Path]:
    """A path from the test's own folder, or from the root; else a pack's name."""
    for start in (folder, config.rootpath):
        path = absolute(given, start)
        if path.exists():
            found = [*packs_in(path, config.getini("norecursedirs"))]
            if not found:
                raise Unclear(f"there is no pack in {given}")
            return found
    by_name = {}
    for path in in_force(config, config.stash.get(PLACES, None)):
        pack: Pack | None = load(config, path)[0]
        if pack is not None:
            by_name[pack.name] = path
    name = str(given)
    place = by_name.get(name) or shipped(name)
    if place is None:
        near = nearest(name, [*by_name, *(path.name.replace("_", "-") for path in shipped_packs())])
        hint = f"; did you mean {near!r}?" if near is not None else ""
        where = f"neither in {folder} nor in {config.rootpath}"
        raise Unclear(f"there is no pack {name!r}, {where}, and none is called so{hint}")
    return [place]


def _default() -> Path:
    return shipped(load_contract().name) or shipped_packs()[0]


def _written(marker: pytest.Mark) -> str:
    arguments = [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())]
    return f"({', '.join(arguments)})"
