"""Packs' own tests as pytest's items: one for each test, seed and order, where it stands in its YAML file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskproof_pytest import MARK, PLACES
from deskproof_pytest.places import is_first
from engine.diagnostics import Finding, Place, render
from engine.expected import told
from engine.load import with_lines
from engine.pack import Pack
from engine.pack_tests import FAILED, Failure, Instance, failures, instances, sentence
from engine.terminal import printable
from engine.testing.account import account
from engine.testing.packs import findings_told, from_here, load

LOADS = "the pack loads"


class PackFile(pytest.File):
    """A file of a pack. Its tests are items; where the pack doesn't load, one that fails says why."""

    def __init__(self, *, pack: Path, path: Path, parent: pytest.Collector, **others: Any) -> None:
        # What isn't below the root has no name of its own in ids.
        name: dict[str, Any] = {} if parent.config.rootpath in path.parents else {"nodeid": path.as_posix()}
        super().__init__(path=path, parent=parent, **name, **others)
        self._pack = pack

    def collect(self) -> Iterator[pytest.Item]:
        loaded, findings = load(self.config, self._pack)
        places = self.config.stash[PLACES]
        wanted = places.parts.get(self.path, frozenset())
        if loaded is None and wanted - {LOADS}:  # a test of it is wanted, and can't be found
            raise self.CollectError(findings_told(self.config, findings))
        unsound = loaded is None and (is_first(self.path, self._pack) or self.path in places.whole)
        if unsound or LOADS in wanted:  # it may be mended by now
            yield self._item(Loads, LOADS, findings=findings if loaded is None else ())
        if loaded is not None:
            yield from self._tests(loaded)

    def _tests(self, pack: Pack) -> Iterator[pytest.Item]:
        taken: dict[str, int] = {}
        for test in pack.tests:
            if test.place.file == str(self.path):
                for instance in instances(test):
                    name = _name(instance)
                    taken[name] = again = taken.get(name, 0) + 1
                    own = name if again == 1 else f"{name[:-1]}, {again}]"
                    yield self._item(PackTest, own, pack=pack, instance=instance)

    def _item(self, kind: type[pytest.Item], name: str, **what: Any) -> pytest.Item:
        # Named as a whole: what pytest makes of a name with brackets is no id that it finds again.
        item: pytest.Item = kind.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", **what)
        return item


class _Item(pytest.Item):
    """What stands in a pack. Plugins look for fixtures in every item: it has none."""

    def __init__(self, **others: Any) -> None:
        super().__init__(**others)
        self.add_marker(MARK)
        self.fixturenames: list[str] = []
        self.funcargs: dict[str, object] = {}


class Loads(_Item):
    """A pack that has to load; `findings` say why it doesn't."""

    def __init__(self, *, findings: tuple[Finding, ...], **others: Any) -> None:
        super().__init__(**others)
        self._findings = findings

    def runtest(self) -> None:
        if self._findings:
            pytest.fail(findings_told(self.config, self._findings), pytrace=False)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        shown = super().repr_failure(excinfo, style)
        first = next((one for one in self._findings if one.severity == "error"), None)
        return shown if first is None else _in_a_line(shown, first.place, f"{first.code}: {first.message}")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class PackTest(_Item):
    """A test of a pack at one seed, in one order."""

    def __init__(self, *, pack: Pack, instance: Instance, **others: Any) -> None:
        super().__init__(**others)
        self._scripted, self._of = instance, pack
        self._failures: tuple[Failure, ...] = ()

    def runtest(self) -> None:
        self._failures = failures(self._of, self._scripted)
        if self._failures:
            pytest.fail(from_here(self.config, _told(self._failures)), pytrace=False)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        shown = super().repr_failure(excinfo, style)
        if not self._failures:  # something else went wrong
            return shown
        first = self._failures[0]
        return _in_a_line(shown, first.place, f"{first.where}: {first.message}")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self._scripted.test.place.line - 1, self.name


def _in_a_line(shown: Any, place: Place, message: str) -> Any:
    """What pytest shows, and where it has one line for it, that place in a YAML file."""
    crash = getattr(shown, "reprcrash", None)
    if crash is not None:
        crash.path, crash.lineno, crash.message = place.file, place.line, printable(message)
    return shown


def _name(instance: Instance) -> str:
    """The instance's id, as far as pytest takes it: a node's name has no two colons beside each other."""
    return re.sub(":(?=:)", ": ", printable(instance.id))


def _told(found: tuple[Failure, ...]) -> str:
    """Each failure with its line of the file, what was expected and what came; then the episode."""
    longest = max((failure.episode for failure in found), key=lambda episode: episode.step_count)
    steps = [failure.step for failure in found if failure.step is not None]
    return "\n\n".join([*map(_finding, found), account(longest, steps)])


def _finding(failure: Failure) -> str:
    (finding,) = with_lines([Finding(FAILED, sentence(failure), failure.place)])
    lines = [render(replace(finding, message=printable(finding.message)))]
    for word, parts in (("expected:", failure.expected), ("got:     ", failure.got)):
        listed = ", ".join(f"{name} {told(value)}" for name, value in parts.items())
        lines.append(f"  {word} {printable(listed) or 'nothing'}")
    return "\n".join(lines)
