"""Stores by their address: what STORE may name."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from engine.nearest import nearest
from server.store import EpisodeStore, Unusable
from server.store.memory import MemoryStore
from server.store.sqlite import SqliteStore

FORMS = "memory:, sqlite:PATH or redis://HOST:6379/0"
REDIS = ("redis://", "rediss://", "unix://")
SUFFIXES = (".db", ".sqlite", ".sqlite3")
SYNCHRONOUS = "?synchronous="
PREFIX = "prefix="


def open_store(url: str) -> EpisodeStore:
    """The store at an address, ready for use, also by processes that are forked from this one. Raises Unusable.

    `memory:`; `sqlite:PATH`, or a path that ends in .db, with `?synchronous=full` for a file that a power cut doesn't
    harm; `redis://HOST:PORT/DB` (`rediss://` with TLS, `unix://PATH` for a socket), with `?prefix=NAME` for keys that
    begin with `{NAME}`.
    """
    if url == "memory:":
        return MemoryStore()
    if url.startswith("sqlite:"):
        return _sqlite(url.removeprefix("sqlite:"))
    if url.startswith(REDIS):
        return _redis(url)
    if url.endswith(SUFFIXES) and "://" not in url:
        return _sqlite(url)
    # What was given isn't quoted beyond its kind: there may be a password in it.
    kind, _, rest = url.partition(":")
    near = _nearest(kind, rest)
    raise Unusable(f"There is no store of that kind. {f'Did you mean {near}? ' if near else ''}A store is {FORMS}.")


def _sqlite(path: str) -> EpisodeStore:
    path, _, synchronous = path.partition(SYNCHRONOUS)
    if synchronous not in ("", "full", "normal"):
        raise Unusable(f"synchronous is full or normal, not '{synchronous}'.")
    if path.startswith("//"):
        name = path.lstrip("/") or "episodes.db"
        raise Unusable(f"Write sqlite:/{name} for the absolute path, sqlite:{name} for the one from here.")
    if path == ":memory:":
        raise Unusable("Write memory: for a store in memory.")
    if not path:
        raise Unusable("sqlite: names no file: write sqlite:episodes.db.")
    return SqliteStore(Path(path), full=synchronous == "full")


def _redis(url: str) -> EpisodeStore:
    try:
        from server.store.redis import RedisStore
    except ModuleNotFoundError as error:
        raise Unusable("The package for Redis isn't installed: pip install 'deskproof[redis]'.") from error
    url, _, query = url.partition("?")
    options = query.split("&") if query else []
    prefixes = [option.removeprefix(PREFIX) for option in options if option.startswith(PREFIX)]
    others = "&".join(option for option in options if not option.startswith(PREFIX))
    url = f"{url}?{others}" if others else url
    return RedisStore(url, unquote(prefixes[-1])) if prefixes else RedisStore(url)


def _nearest(kind: str, rest: str) -> str | None:
    """The address that was most likely meant."""
    forms = {
        "memory": "memory:",
        "sqlite": f"sqlite:{rest or 'episodes.db'}",
        "redis": "redis://HOST:6379/0",
        "rediss": "rediss://HOST:6379/0",
        "unix": "unix:///PATH",
    }
    near = nearest(kind, forms)
    if near is not None:
        return forms[near]
    return f"sqlite:{kind}" if kind and not rest else None
