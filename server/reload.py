"""New packs without a restart: the first process loads them, its workers take them over.

The first process proves the new packs and hands their sources on in a file, with what came of the proofs. A worker
makes the packs of them again, which is quick, and serves them to new episodes. Packs that are unfit change nothing.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from engine.diagnostics import PackError
from engine.load import rebuild
from engine.pack import Pack
from engine.watch import stamp
from server import json_file
from server.loading import Unfit, load_packs
from server.proved import note, verdict
from server.service import Service
from server.settings import state_folder
from server.store import Unavailable

logger = logging.getLogger("server")

_PACKS, _RESULT = "packs.json", "result.json"


class NotRunning(RuntimeError):
    """No server can be told to reload; the text says why."""


class Reloader:
    """In the first process: loads the packs at `paths` anew, for it and its workers; `folder` is theirs to share.

    `allow_unproved` and `proofs` are as `load_packs` takes them.
    """

    def __init__(
        self,
        service: Service,
        paths: Sequence[Path | str],
        folder: Path,
        allow_unproved: bool = False,
        proofs: Path | None = None,
    ) -> None:
        self._service = service
        self._paths = paths
        self._folder = folder
        self._load = partial(load_packs, paths, allow_unproved, proofs)
        self._stamp = stamp(paths)

    def changed(self) -> bool:
        """Whether a file of the packs was written since the last look."""
        before, self._stamp = self._stamp, stamp(self._paths)
        return before != self._stamp

    def reload(self) -> bool:
        """Whether the workers have something to take over. Unfit packs are said on stderr, and the old ones stay."""
        began, wrong = time.time(), None
        try:
            packs = self._load()
            json_file.write(self._folder / _PACKS, [[pack.source, verdict(pack)] for pack in packs])
            _adopt(self._service, packs)
        except (Unfit, Unavailable) as error:
            wrong = str(error)
        except OSError as error:  # the disk is full, say
            wrong = f"{self._folder / _PACKS} can't be written: {error.strerror}"
        with suppress(OSError):  # whoever waits for it gives up
            json_file.write(self._folder / _RESULT, {"at": began, "wrong": wrong})
        if wrong is not None:
            logger.error("the packs were not loaded anew, and the old ones stay:\n%s", wrong)
            return False
        logger.info("the packs were loaded anew", extra={"packs": [pack.name for pack in packs]})
        return True


def take_over(service: Service, folder: Path) -> None:
    """In a worker: serve the packs that the first process loaded last."""
    loaded = json_file.read(folder / _PACKS)
    try:
        if loaded is not None:
            packs = [_known(service, source) for source, _ in loaded]
            for pack, (_, found) in zip(packs, loaded, strict=True):
                note(pack, found)
            _adopt(service, packs)
    except (PackError, Unavailable):
        logger.exception("the new packs could not be taken over, and the old ones stay")


def announce(port: int, folder: Path) -> None:
    """Leave word of how to find this process, for `tell`. Without a place to leave it, only signals reach it."""
    with suppress(OSError):
        json_file.write(_note(port), {"pid": os.getpid(), "folder": str(folder)})


def withdraw(port: int) -> None:
    note = json_file.read(_note(port))
    if isinstance(note, Mapping) and note.get("pid") == os.getpid():
        with suppress(OSError):
            _note(port).unlink()


def tell(port: int, seconds: float = 600.0) -> str | None:
    """Have the server at a port of this machine reload its packs. What is wrong with them, None if nothing is.

    Raises NotRunning.
    """
    note = json_file.read(_note(port))
    if not isinstance(note, Mapping):
        raise NotRunning(f"No server of yours is known at port {port}; --port says where it listens.")
    result, asked = Path(note["folder"]) / _RESULT, time.time()
    try:
        os.kill(note["pid"], signal.SIGHUP)
    except OSError:
        raise NotRunning(f"The server that was at port {port} (process {note['pid']}) runs no more.") from None
    while time.time() < asked + seconds:
        said = json_file.read(result)
        if isinstance(said, Mapping) and said["at"] >= asked:
            wrong: str | None = said["wrong"]
            return wrong
        time.sleep(0.05)
    raise NotRunning(f"The server at port {port} did not answer for {seconds:.0f} seconds; its log may say why.")


def _adopt(service: Service, packs: Sequence[Pack]) -> None:
    """Serve these packs. What was worked out about those that they replace is let go: few episodes still need it."""
    before = tuple(service.catalogue.by_name.values())
    service.adopt(packs)
    for pack in before:
        if pack not in packs:
            pack.kept.clear()


def _known(service: Service, source: str) -> Pack:
    """The pack of a source; one that hasn't changed stays the very same, with all that is worked out about it."""
    for pack in service.catalogue.by_name.values():
        if pack.source == source:
            return pack
    return rebuild(source)


def _note(port: int) -> Path:
    return state_folder() / f"{port}.json"
