"""`@pytest.mark.scenario(...)`: what it asks for, and the scenarios that a test is played for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from deskproof_pytest import MARK, PLACES
from deskproof_pytest.places import absolute, declared_name, packs_in
from deskproof_pytest.selection import MARKED, in_force, shipped
from engine.contract import load_contract
from engine.load import shipped_packs
from engine.nearest import nearest
from engine.pack import Pack
from engine.testing.packs import findings_told, load
from engine.testing.players import seconds
from engine.testing.reporting import refuse, watch
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
    """Plays a test for each scenario that its markers name.

    Where a marker is mistaken the test is there once, and says so when it is run.
    """
    found = _marked(metafunc.definition)
    if isinstance(found, Unclear):
        metafunc.parametrize("scenario", [found], indirect=True, ids=["nothing to play"])
    else:
        metafunc.parametrize("scenario", found, indirect=True, ids=names(found))


def check(items: Iterable[pytest.Function]) -> None:
    """Reads the markers of tests that aren't parametrised by them: where one is mistaken its test fails."""
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or "scenario" not in call.params:
            found = _marked(item)
            if isinstance(found, Unclear):
                refuse(item, str(found))
        elif any(marker.name == MARK for marker in call.marks):
            text = f"@pytest.mark.{MARK} stands on the test, and in pytest.param once more: one of them counts."
            refuse(item, f"{item.nodeid}: {text}")


def scenario(request: pytest.FixtureRequest) -> Scenario:
    """The scenario of a test; the episodes of it are watched. Fails where no marker says which, or a mistaken one."""
    asked = getattr(request, "param", None)
    if not isinstance(asked, Scenario | Unclear):
        asked = _only(request.node)
    if isinstance(asked, Unclear):
        pytest.fail(str(asked), pytrace=False)
    played = replace(asked, plays=[], seconds=seconds(request.config))
    watch(request, played)
    return played


def _marked(test: pytest.Item) -> list[Scenario] | Unclear:
    """The scenarios that a test's own markers name, or else those of its class or module."""
    marked = [*test.iter_markers_with_node(MARK)]
    own = [marker for node, marker in marked if node is marked[0][0]]
    try:
        return [one for marker in reversed(own) for one in _scenarios(test.config, test.path.parent, marker)]
    except (LookupError, Unclear) as error:
        return Unclear(f"{test.nodeid}: @pytest.mark.{MARK}: {error.args[0]}")


def _only(test: pytest.Item) -> Scenario | Unclear:
    """The one scenario of a test that isn't parametrised."""
    if test.get_closest_marker(MARK) is None:
        return Unclear(f"{test.nodeid} plays a scenario, and nothing says which: mark it with {_HOW}.")
    found = _marked(test)
    if isinstance(found, Unclear) or len(found) == 1:
        return found if isinstance(found, Unclear) else found[0]
    return Unclear(
        f"{test.nodeid}: @pytest.mark.{MARK} names {len(found)} scenarios. A test that doesn't take the fixture as an "
        "argument (a method of a unittest.TestCase, or by request.getfixturevalue), or whose marker stands in "
        "pytest.param, is played once: name one ticket and one seed."
    )


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
    every = given if isinstance(given, list | tuple) else [given]
    if not every or not all(isinstance(one, str | PathLike) and str(one) for one in every):
        raise Unclear(f"pack is {given!r}: it takes a path, the name of a pack, or a list of these")
    for one in every:
        yield from _named(config, folder, one)


def _named(config: pytest.Config, folder: Path, given: str | PathLike[str]) -> Sequence[Path]:
    """The packs at a path from the test's own folder, or from the root; else the pack of this name."""
    paths = [path for path in (absolute(given, folder), absolute(given, config.rootpath)) if path.exists()]
    for path in paths:
        found = [*packs_in(path, config.getini("norecursedirs"))]
        if found:
            return found
    name, by_name = str(given), _by_name(config)
    called = by_name.get(name) or [place for place in [shipped(name)] if place is not None]
    if len(called) > 1:
        raise Unclear(f"several packs are called {name!r}: {', '.join(map(str, called))}; name one by its path")
    if not called and paths:
        raise Unclear(f"there is no pack in {given}")
    if not called:
        near = nearest(name, [*by_name, *(path.name.replace("_", "-") for path in shipped_packs())])
        hint = f"; did you mean {near!r}?" if near is not None else ""
        where = f"neither in {folder} nor in {config.rootpath}"
        raise Unclear(f"there is no pack {name!r}, {where}, and none is called so{hint}")
    return called


def _by_name(config: pytest.Config) -> dict[str, list[Path]]:
    """The packs of the options and the ini; those too that don't load, by what they say that they are called."""
    found: dict[str, list[Path]] = {}
    for path in in_force(config, config.stash.get(PLACES, None)):
        pack: Pack | None = load(config, path)[0]
        name = declared_name(path) if pack is None else pack.name
        if name is not None:
            found.setdefault(name, []).append(path)
    return found


def _default() -> Path:
    return shipped(load_contract().name) or shipped_packs()[0]


def _written(marker: pytest.Mark) -> str:
    arguments = [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())]
    return f"({', '.join(arguments)})"
