"""Which addresses name a store, and what is said of those that don't."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from server.store import Unusable
from server.store.memory import MemoryStore
from server.store.opening import open_store
from server.store.sqlite import SqliteStore

FORMS = "A store is memory:, sqlite:PATH or redis://HOST:6379/0."


def refusal(url: str) -> str:
    with pytest.raises(Unusable) as caught:
        open_store(url)
    return str(caught.value)


def test_memory() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:episodes", "episodes"),
        ("sqlite:./folder/episodes.db", "folder/episodes.db"),
        ("sqlite:{here}/episodes", "episodes"),
        ("episodes.db", "episodes.db"),
        ("{here}/folder/episodes.sqlite", "folder/episodes.sqlite"),
        ("sqlite:a b?c#d%41.db", "a b?c#d%41.db"),
        ("sqlite:a.db?synchronous=full", "a.db"),
        ("sqlite:版本.db?synchronous=normal", "版本.db"),
    ],
)
def test_sqlite(url: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    store = open_store(url.format(here=tmp_path))
    assert isinstance(store, SqliteStore)
    # It stays where it was when it was opened.
    monkeypatch.chdir("/")
    store.check()
    assert (tmp_path / file).is_file()
    store.close()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", FORMS),
        ("memory", f"Did you mean memory:? {FORMS}"),
        ("Memory:", f"Did you mean memory:? {FORMS}"),
        ("sqlight:episodes.dat", f"Did you mean sqlite:episodes.dat? {FORMS}"),
        ("data/episodes", f"Did you mean sqlite:data/episodes? {FORMS}"),
        ("redis:user:secret@host", f"Did you mean redis://HOST:6379/0? {FORMS}"),
        ("postgresql://user:secret@host/episodes.db", FORMS),
        ("sqlite:", "sqlite: names no file: write sqlite:episodes.db."),
        ("sqlite::memory:", "Write memory: for a store in memory."),
        (
            "sqlite:///data/e.db",
            "Write sqlite:/data/e.db for the absolute path, sqlite:data/e.db for the one from here.",
        ),
        ("sqlite:e.db?synchronous=of", "synchronous is full or normal, not 'of'."),
    ],
)
def test_no_store(url: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = refusal(url)
    assert said.endswith(sentence) and "secret" not in said
    if sentence.endswith(FORMS):
        assert said == f"There is no store of that kind. {sentence}"
    assert list(tmp_path.iterdir()) == []


def test_redis_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("redis", "server.store.redis"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    assert refusal("redis://localhost") == "The package for Redis isn't installed: pip install 'deskproof[redis]'."
