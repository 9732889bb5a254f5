"""What the files of packs look like from outside, and waiting until one of them was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Final, NamedTuple

# Of each file its path, time of change in ns, and size.
Stamp = tuple[tuple[str, int, int], ...]

# How long is waited between two looks, in seconds, and between those after a change. Longer than the clock of a file
# system takes from one time to the next, or what is written at once again would not be seen.
PAUSE: Final = 0.02
SETTLED: Final = 0.01
# How often as long as a look takes is waited, at the least.
IDLE: Final = 10
# For how long what is gone or empty may be about to come back, and what is written all the time to come to rest.
GRACE: Final = 0.5
_LISTED: Final = 3


def stamp(paths: Sequence[Path | str]) -> Stamp:
    """What the packs' files look like from outside: another stamp means that something was written."""
    return tuple(seen for path in map(Path, paths) for seen in _stamps(path))


def _stamps(path: Path) -> Iterator[tuple[str, int, int]]:
    try:
        for file in _files(path):
            seen = file.stat()
            yield str(file), seen.st_mtime_ns, seen.st_size
    except OSError:
        yield str(path), 0, 0  # an editor may be about to put it back


def _files(path: Path) -> Iterator[Path]:
    """All that decides what is found in a pack: its files, and those of which the loader says that it reads none."""
    if not path.is_dir():
        yield path
        return
    for each in sorted(path.iterdir()):
        if each.name.startswith("."):
            continue
        if each.suffix in (".yaml", ".yml"):
            yield each
        elif each.is_dir():
            yield from sorted(each.glob("*.yaml"))


class Change(NamedTuple):
    """Which packs changed, by their number, and how, in a line."""

    packs: tuple[int, ...]
    told: str


class Watch:
    """Looks at packs until one of them changes. What is written after it was made counts."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen = self._look()

    def wait(self) -> Change:
        """The next change, as soon as no more is being written."""
        pause = PAUSE
        while True:
            sleep(pause)
            began = monotonic()
            now = self._look()
            pause = max(PAUSE, IDLE * (monotonic() - began))
            if now != self._seen:
                before, self._seen = self._seen, self._settled(now)
                pairs = [*zip(before, self._seen, strict=True)]
                changed = tuple(index for index, (old, new) in enumerate(pairs) if old != new)
                if changed:  # it may be as it was again
                    told = _told([pairs[index] for index in changed])
                    return Change(changed, told or f"{self._paths[changed[0]]} changed")

    def _look(self) -> tuple[Stamp, ...]:
        return tuple(stamp([path]) for path in self._paths)

    def _settled(self, now: tuple[Stamp, ...]) -> tuple[Stamp, ...]:
        """What is seen once two looks see the same: editors write in pieces, or take a file away before they put it
        back."""
        until = monotonic() + GRACE
        while True:
            sleep(SETTLED)
            before, now = now, self._look()
            lost = any(_lost(seen, one) for seen, one in zip(self._seen, now, strict=True))
            if (before == now and not lost) or monotonic() >= until:
                return now


def _lost(before: Stamp, now: Stamp) -> bool:
    """Whether a file that held something is gone or empty."""
    sizes = {file: size for file, _, size in now}
    return any(size and not sizes.get(file) for file, _, size in before)


def _told(pairs: Sequence[tuple[Stamp, Stamp]]) -> str:
    """Each file that was written, is new or is gone; of many the first few."""
    told = []
    for before, after in pairs:
        old, new = ({file: seen for file, *seen in each if any(seen)} for each in (before, after))
        for file in sorted(old.keys() | new.keys()):
            if old.get(file) != new.get(file):
                told.append(f"{file} {'is gone' if file not in new else 'was written' if file in old else 'is new'}")
    more = [f"and {len(told) - _LISTED} more"] if len(told) > _LISTED else []
    return ", ".join([*told[:_LISTED], *more])
