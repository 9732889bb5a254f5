"""What the files of packs look like from outside, and how a change is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from engine.watch import Watch, stamp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("pack.yaml", "easy.yaml", "hard.yaml", "notes.md", ".pack.yaml.swp", ".hidden.yaml"):
        (tmp_path / name).write_text(name, "utf-8")
    return tmp_path


def names(folder: Path) -> list[str]:
    return [Path(file).relative_to(folder).as_posix() for file, *_ in stamp([folder])]


def test_what_counts_is_what_the_loader_looks_at(folder: Path) -> None:
    assert names(folder) == ["easy.yaml", "hard.yaml", "pack.yaml"]
    (folder / "old.yml").write_text("x", "utf-8")  # PACK001 says that it isn't read
    (folder / "more").mkdir()
    (folder / "more" / "x.yaml").write_text("x", "utf-8")  # and PACK086 that this isn't
    (folder / "more" / "x.txt").write_text("x", "utf-8")
    assert names(folder) == ["easy.yaml", "hard.yaml", "more/x.yaml", "old.yml", "pack.yaml"]


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("longer than before", "utf-8"),
        lambda file: os.utime(file, ns=(1, file.stat().st_mtime_ns + 1)),
        lambda file: file.unlink(),
        lambda file: file.rename(file.with_name("other.yaml")),
        lambda file: file.with_name("new.yaml").write_text("", "utf-8"),
    ],
    ids=["size", "time", "gone", "name", "new"],
)
def test_what_is_written_makes_another_stamp(folder: Path, change: Callable[[Path], object]) -> None:
    before = stamp([folder])
    assert stamp([folder]) == before
    change(folder / "easy.yaml")
    assert stamp([folder]) != before


def test_what_is_not_there_has_a_stamp_too(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert stamp([missing]) == ((str(missing), 0, 0),)
    missing.write_text("x", "utf-8")
    assert stamp([missing])[0][2] == 1


def test_which_pack_changed_and_how(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    alone = tmp_path_factory.mktemp("other") / "alone.yaml"
    alone.write_text("x", "utf-8")
    watch = Watch([folder, alone])
    (folder / "easy.yaml").write_text("more than that", "utf-8")
    (folder / "hard.yaml").unlink()
    (folder / "new.yaml").write_text("x", "utf-8")
    change = watch.wait()
    assert change.packs == (0,)
    assert change.told == (f"{folder}/easy.yaml was written, {folder}/hard.yaml is gone, {folder}/new.yaml is new")
    alone.unlink()
    assert watch.wait() == ((1,), f"{alone} is gone")
    for number in range(3):
        (folder / f"{number}.yaml").write_text("x", "utf-8")
    alone.write_text("x", "utf-8")
    change = watch.wait()
    assert change.packs == (0, 1)
    assert change.told == (f"{folder}/0.yaml is new, {folder}/1.yaml is new, {folder}/2.yaml is new, and 1 more")


def test_what_is_as_it_was_again_is_no_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor takes a file away and puts it back; only then something else is written."""
    monkeypatch.setattr("engine.watch.GRACE", 30)
    watch, pack = Watch([folder]), folder / "pack.yaml"
    pack.rename(folder / "away")
    later = Timer(0.1, lambda: [(folder / "away").rename(pack), (folder / "easy.yaml").write_text("other", "utf-8")])
    later.start()
    assert watch.wait().told == f"{folder}/easy.yaml was written"
    later.join()
