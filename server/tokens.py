"""Bearer tokens. A file keeps their digests, and is read again when it changes: a token whose line goes stops working.

One line a token, `NAME SHA256HEX`; blank lines and what follows a '#' mean nothing. A token is 256 random bits, so its
plain SHA-256 can't be guessed back; a digest of a word that a person made up could.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

MAX_BYTES = 1_000_000  # of the file; about ten thousand tokens
EVERY = 1.0  # seconds between two looks at the file
PREFIX = 8  # hex digits by which a digest is looked up

_NAME = r"[A-Za-z0-9._-]{1,64}"
_LINE = re.compile(rf"({_NAME})[ \t]+([0-9A-Fa-f]{{64}})(?:[ \t]+#.*)?".encode())
NAMES = "1 to 64 letters, digits, '.', '_' and '-'"
_MEANT = f"NAME SHA256HEX is meant: {NAMES}, a blank, and the 64 hex digits of a token's SHA-256"

logger = logging.getLogger("server")


class WrongFile(ValueError):
    """A file of tokens that can't be used; the text says where and why, and shows nothing of what it holds."""

    def __init__(self, path: Path, reason: str, line: int | None = None) -> None:
        super().__init__(f"{path}: {reason}" if line is None else f"{path}:{line}: {reason}")
        self.reason = reason
        # Said without a colon: a log takes what follows `tokens:` for a secret.
        self.place = str(path) if line is None else f"{path}, line {line}"


def new_token() -> str:
    """43 characters of a URL's alphabet, 256 bits by chance."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """The SHA-256 of a token, 64 hex digits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_name(text: str) -> bool:
    """Whether a token may be called so."""
    return re.fullmatch(_NAME, text) is not None


def read(path: Path) -> dict[str, str]:
    """The names in a file, by digest. Raises WrongFile, OSError."""
    names: dict[str, str] = {}
    first: dict[tuple[str, str], int] = {}  # line numbers
    for number, line in enumerate(_content(path).split(b"\n"), 1):
        line = line.strip()
        if not line or line.startswith(b"#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise WrongFile(path, _MEANT, number)
        name, kept = found[1].decode(), found[2].decode().lower()
        for thing in (("name", name), ("digest", kept)):
            # Somebody may have written a token where its name is meant: not even names are shown.
            if first.setdefault(thing, number) != number:
                raise WrongFile(path, f"the same {thing[0]} as on line {first[thing]}; each may stand once", number)
        names[kept] = name
    return names


class Tokens:
    """The tokens of a file. `clock` is in seconds, from any beginning.

    Raises ValueError where the file is missing or wrong. One that goes wrong later is warned of once, and leaves the
    tokens as they were.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._warned = False
        self._looked = clock()
        self._owners: Mapping[str, list[tuple[str, str]]] = {}
        self._version: tuple[int, ...] | None = None
        try:
            self._read()
        except OSError as error:
            raise _unreadable(path, error) from None

    def owner(self, token: str) -> str | None:
        """The name of the token, None where there is no such token."""
        self._look()
        given = digest(token)
        for kept, name in self._owners.get(given[:PREFIX], ()):
            if hmac.compare_digest(kept, given):
                return name
        return None

    def _look(self) -> None:
        with self._lock:
            now = self._clock()
            if now - self._looked < EVERY:
                return
            self._looked = now
            try:
                if _version(self._path) == self._version:
                    return
                self._read()
            except (WrongFile, OSError) as error:
                self._version = None  # to be tried again: a disk may have a bad moment
                if not self._warned:
                    wrong = error if isinstance(error, WrongFile) else _unreadable(self._path, error)
                    logger.warning("the tokens stay as they were: %s (%s)", wrong.reason, wrong.place)
                self._warned = True
            else:
                self._warned = False

    def _read(self) -> None:
        version = _version(self._path)  # from before: what is written meanwhile is read next time
        owners: dict[str, list[tuple[str, str]]] = {}
        for kept, name in read(self._path).items():
            owners.setdefault(kept[:PREFIX], []).append((kept, name))
        self._owners, self._version = owners, version


def _version(path: Path) -> tuple[int, ...]:
    """What changes when a file is written, replaced, or given other permissions. Raises OSError."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _content(path: Path) -> bytes:
    """Raises WrongFile, OSError."""
    if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe would be to wait for its writer
        raise WrongFile(path, "a file is meant, with one token a line")
    with path.open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise WrongFile(path, f"a file of tokens has {MAX_BYTES} bytes at the most")
    return content


def _unreadable(path: Path, error: OSError) -> WrongFile:
    reason = (error.strerror or type(error).__name__).lower()
    return WrongFile(path, f"the file of tokens can't be read ({reason}); deskproof token NAME --file FILE makes one")
