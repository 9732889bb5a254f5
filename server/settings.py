"""What the environment says about how to serve. Every variable is read here, and nowhere else in the server."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.load import shipped_packs
from server.logs import FORMS, LEVELS
from server.peers import Patience
from server.sessions import CAPACITY

_ORIGIN = re.compile(r"https?://[^/\s?#@]+")


class Nonsense(ValueError):
    """A variable makes no sense; the text is a sentence that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`idle` and `keep` are in seconds, and 0 stands for ever; `rate` is in requests a second, and 0 for no limit;
    `burst` is how many may come at once.

    An open episode that nobody steps for `idle` expires; one that is over is forgotten after `keep`. `tokens` is a file
    of bearer tokens' digests; without it everybody may play. `origins` are the pages that browsers may call from.
    `proofs` is a folder that keeps what came of proofs; without it each start proves all packs.
    """

    packs: tuple[Path | str, ...] = ()
    store: str = "memory:"
    workers: int = 1
    max_sessions: int = CAPACITY
    patience: Patience = field(default_factory=Patience)
    idle: int = 86_400
    keep: int = 30 * 86_400
    max_episodes: int = 1_000_000
    tokens: Path | None = None
    rate: int = 0
    burst: int = 4_096
    origins: tuple[str, ...] = ()
    watch: bool = False
    allow_unproved: bool = False
    proofs: Path | None = None
    log: str | None = None
    log_level: str = "info"


_DEFAULT = Settings()


def settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Raises Nonsense."""
    read = _Reader(environment)
    default = Patience()
    return Settings(
        packs=tuple(_packs(environment.get("PACKS", "").strip())),
        store=store_url(environment),
        workers=read.number("WORKERS", 1, least=1, most=64),
        max_sessions=read.number("MAX_SESSIONS", CAPACITY, least=1),
        patience=Patience(
            ping=read.number("WS_PING", int(default.ping)),
            silent=read.number("WS_SILENT", int(default.silent)),
            idle=read.number("WS_IDLE", int(default.idle)),
        ),
        idle=read.number("IDLE", _DEFAULT.idle),
        keep=read.number("KEEP", _DEFAULT.keep),
        max_episodes=read.number("MAX_EPISODES", _DEFAULT.max_episodes, least=1),
        tokens=Path(environment["TOKENS"]) if environment.get("TOKENS", "").strip() else None,
        rate=read.number("RATE", _DEFAULT.rate),
        burst=read.number("BURST", _DEFAULT.burst, least=1),
        origins=read.origins("CORS"),
        watch=read.number("WATCH", 0, most=1) == 1,
        allow_unproved=read.number("ALLOW_UNPROVED", 0, most=1) == 1,
        proofs=proofs_folder(environment),
        log=read.one_of("LOG", FORMS, None),
        log_level=read.one_of("LOG_LEVEL", LEVELS, _DEFAULT.log_level) or _DEFAULT.log_level,
    )


def settings_or_exit() -> Settings:
    """The process ends with status 1 and a sentence on stderr where a variable makes no sense."""
    try:
        return settings()
    except Nonsense as error:
        sys.exit(str(error))


def ports(default: int, environment: Mapping[str, str] = os.environ) -> tuple[int, ...]:
    """Where to listen: PORT, else `default`, and then EXTRA_PORTS, each once. Raises Nonsense."""
    port = _Reader(environment).number("PORT", default, least=1, most=65535)
    extra = environment.get("EXTRA_PORTS", "").replace(",", " ").split()
    return tuple(dict.fromkeys([port, *(_whole("Each of EXTRA_PORTS", text, 1, 65535) for text in extra)]))


def store_url(environment: Mapping[str, str] = os.environ) -> str:
    """STORE, else one file among the user's own state."""
    return environment.get("STORE", "").strip() or f"sqlite:{state_folder(environment) / 'episodes.db'}"


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a program keeps what has to outlive it, by the XDG base directory specification. It is made if need be."""
    state = environment.get("XDG_STATE_HOME", "").strip()
    folder = (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "deskproof"
    with suppress(OSError):  # whoever wants to write there says what is wrong
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def proofs_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where what can be worked out again is kept; None for somebody without a home."""
    cache = environment.get("XDG_CACHE_HOME", "").strip()
    with suppress(RuntimeError):
        return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "deskproof" / "proofs"
    return None


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def number(self, name: str, default: int, least: int = 0, most: int = 999_999_999) -> int:
        return _whole(name, self._environment.get(name, "").strip() or str(default), least, most)

    def one_of(self, name: str, known: Collection[str], default: str | None) -> str | None:
        text = self._environment.get(name, "").strip().lower()
        if text and text not in known:
            raise Nonsense(f"{name} must be one of {', '.join(known)}, not '{text[:80]}'.")
        return text or default

    def origins(self, name: str) -> tuple[str, ...]:
        origins = tuple(self._environment.get(name, "").split())
        for origin in origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise Nonsense(f"{name} holds origins such as https://example.org, or *, not '{origin[:80]}'.")
        return origins


def _whole(what: str, text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text[:18]) <= most:
        raise Nonsense(f"{what} must be a whole number from {least} to {most}, not '{text[:80]}'.")
    return int(text)


def _packs(named: str) -> Sequence[Path | str]:
    """PACKS: paths, separated by spaces or as in PATH; one path with a space in it stands as it is."""
    if not named:
        return shipped_packs()
    if _exists(named):
        return [named]
    return [path for part in named.split(os.pathsep) for path in part.split()]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # too long for a path
        return False
