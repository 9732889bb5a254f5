"""What was played of a run: `episodes.jsonl`, a record a line, and `times.jsonl`, what isn't the same in every run.

Lines are appended as episodes finish, each with one write, so whoever is killed leaves whole lines, and at most a part
of one, which is cut off and played again. An episode that is played again gets another line: the last one counts. Once
nothing is left to play, `arrange` puts one line for each episode in the order of their keys. `times.jsonl` is never
arranged: it is an account, and what was spent stays spent.

What was written survives the end of the process at once, and the end of the machine after SYNCED seconds.
"""

from __future__ import annotations

import os
import secrets
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from time import monotonic

from engine.evaluation.plan import Plan
from engine.evaluation.reading import content, opened
from engine.evaluation.record import Record, parse
from engine.evaluation.result import DONE, Account, Result, State, parse_account
from engine.terminal import printable
from engine.transcript import Unreadable

EPISODES, TIMES, REPLACED = "episodes.jsonl", "times.jsonl", "replaced.jsonl"
# How many seconds may pass until what was written is on the disk.
SYNCED = 5.0
_NONE = -1
_UNFINISHED = ".unfinished-"


class Damaged(ValueError):
    """A line of a run that can't be used; the text says where it stands, why, and what to do."""


class Unwritable(OSError):
    """A run whose files take nothing more."""

    def __init__(self, path: Path, why: OSError) -> None:
        super().__init__(f"{printable(str(path))} can't be written: {why.strerror}.")


class Ledger:
    """The records of a run's folder, found by their places in its plan: a few bytes of each are kept, never all of it.

    `returns` is the sum of the returns of those that are done, in ten-thousandths.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Raises Damaged where a line is no record of this plan's, or of another pack than the plan's."""
        self.folder = folder
        self.plan = plan
        self.path = folder / EPISODES
        self.returns = 0
        self._places = array("q", [_NONE]) * plan.count
        self._totals = array("q", [0]) * plan.count
        self._states = bytearray(plan.count)
        self._counts = [plan.count] + [0] * (len(State) - 1)
        self._replaced = array("q")
        self._lines = self._size = 0  # of whole lines
        with _legible(self.path):
            for place, record, length in self._read():
                self._note(place, self._size, State.of(record), record.total)
                self._size += length

    def state(self, place: int) -> State:
        return State(self._states[place])

    def count(self, *states: State) -> int:
        """How many places are in one of these states."""
        return sum(self._counts[state] for state in states)

    def records(self, places: Iterable[int] | None = None) -> Iterator[Record]:
        """One for each episode that has any, in the order of their keys; or of those at some places, in theirs."""
        offsets = self._places if places is None else (self._places[place] for place in places)
        return map(parse, self._lines_at(offsets))

    def replaced(self) -> int:
        """How many episodes were done, and then played again all the same. Raises Unreadable."""
        path = self.folder / REPLACED
        return len({parse(raw).key for raw in content(path).splitlines()}) if path.exists() else 0

    def is_arranged(self) -> bool:
        """Whether there is one line for each episode, in the order of their keys."""
        places = (offset for offset in self._places if offset != _NONE)
        recorded = self.plan.count - self.count(State.NOTHING)
        return self._lines == recorded and all(before < after for before, after in pairwise(places))

    def _note(self, place: int, offset: int, state: State, total: int) -> None:
        if self._states[place] in DONE:
            self._replaced.append(self._places[place])
            self.returns -= self._totals[place]
        if state in DONE:
            self.returns += total
        self._counts[self._states[place]] -= 1
        self._counts[state] += 1
        self._lines += 1
        self._places[place], self._totals[place], self._states[place] = offset, total, state

    def _read(self) -> Iterator[tuple[int, Record, int]]:
        """Of each whole line: its place, its record, and its length."""
        try:
            file = opened(self.path)
        except FileNotFoundError:
            return
        with file:
            for number, raw in enumerate(file, 1):
                if not raw.endswith(b"\n"):
                    return
                try:
                    record = parse(raw)
                    place = self._place(record)
                except Unreadable as error:
                    where = f"{printable(str(self.path))}:{number}"
                    raise Damaged(f"{where}: {error}. Take the line out, and its episode is played again.") from None
                yield place, record, len(raw)

    def _place(self, record: Record) -> int:
        try:
            place = self.plan.place(record.key)
        except KeyError:
            raise Unreadable("this record is of an episode that isn't planned") from None
        if record.pack_digest != self.plan.packs[record.pack].digest:
            raise Unreadable("this record is of another version of its pack")
        return place

    def _lines_at(self, offsets: Iterable[int]) -> Iterator[bytes]:
        """The lines that begin there."""
        if not self.path.exists():
            return
        with opened(self.path) as file:
            at = 0
            for offset in offsets:
                if offset != _NONE:
                    if offset != at:
                        file.seek(offset)
                    raw = file.readline()
                    at = offset + len(raw)
                    yield raw


class OpenLedger(Ledger):
    """A ledger to write to, in a folder that nobody else writes to. `tokens` and `cost` are all that was ever spent."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        for left in folder.glob(f"{_UNFINISHED}*"):  # by somebody who was killed
            left.unlink()
        super().__init__(folder, plan)
        self.tokens, self.cost = 0, 0.0
        times = self._add_up(folder / TIMES)
        self._episodes = _Appended(self.path, self._size)
        self._times = _Appended(folder / TIMES, times)

    def append(self, found: Result) -> None:
        """Adds an episode that was played. Raises Unwritable, and adds no part of it."""
        self._times.append(found.account)
        self._note(found.place, self._episodes.append(found.record), found.state, found.total)
        self.tokens += found.spent.tokens
        self.cost += found.spent.cost or 0.0

    def arrange(self) -> None:
        """Puts the records in order, one for each episode. Raises Unwritable; who is killed meanwhile loses nothing."""
        if self.is_arranged():
            return
        self._keep_replaced()
        places, size = self._places[:], 0

        def arranged() -> Iterator[bytes]:
            nonlocal size
            lines = self._lines_at(self._places)
            for place, offset in enumerate(self._places):
                if offset != _NONE:
                    raw = next(lines)
                    places[place], size = size, size + len(raw)
                    yield raw

        replace(self.path, arranged())
        self._places, self._replaced = places, array("q")
        self._lines = self.plan.count - self.count(State.NOTHING)
        self._episodes.close()
        self._episodes = _Appended(self.path, size)

    def close(self) -> None:
        self._episodes.close()
        self._times.close()

    def _keep_replaced(self) -> None:
        """What was done, and was played again all the same, isn't thrown away: who reads a number may want to know."""
        if not self._replaced:
            return
        path = self.folder / REPLACED
        kept = content(path).splitlines(keepends=True) if path.exists() else []
        with self.path.open("rb") as file:
            for offset in self._replaced:
                file.seek(offset)
                kept.append(file.readline())
        replace(path, dict.fromkeys(kept))

    def _add_up(self, path: Path) -> int:
        """Adds up what was spent; gives the length of the whole lines."""
        size = 0
        for account, length in accounts(path):
            if account.spent is not None:
                self.tokens += account.spent.tokens
                self.cost += account.spent.cost or 0.0
            size += length
        return size


def accounts(path: Path) -> Iterator[tuple[Account, int]]:
    """What each whole line of times.jsonl says, and its length. Raises Damaged where it says nothing."""
    with _legible(path), suppress(FileNotFoundError), opened(path) as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                break
            try:
                account = parse_account(raw)
            except (ValueError, KeyError, TypeError, RecursionError):
                where = f"{printable(str(path))}:{number}"
                raise Damaged(f"{where}: this line is no account of an episode. Take it out.") from None
            yield account, len(raw)


@contextmanager
def _legible(path: Path) -> Iterator[None]:
    """Raises Damaged where a file can't be read."""
    try:
        yield
    except OSError as error:
        raise Damaged(f"{printable(str(path))} can't be read: {error.strerror}.") from None


class _Appended:
    """A file that whole lines are appended to."""

    def __init__(self, path: Path, size: int) -> None:
        """`size` is that of its whole lines; what comes after is cut off."""
        self._path = path
        self._size = size
        self._synced = monotonic()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            os.ftruncate(self._file, size)
        except OSError as error:
            raise Unwritable(path, error) from None

    def append(self, raw: bytes) -> int:
        """Writes a line, and gives the place where it begins."""
        offset = self._size
        try:
            written = os.write(self._file, raw)
            if written < len(raw):  # a disk that is nearly full takes a part
                os.write(self._file, raw[written:])
            self._size += len(raw)
            if monotonic() - self._synced > SYNCED:
                os.fsync(self._file)
                self._synced = monotonic()
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, offset)
            raise Unwritable(self._path, error) from None
        return offset

    def close(self) -> None:
        with suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)


def replace(path: Path, lines: Iterable[bytes]) -> None:
    """Writes a file anew: all of it or nothing. Raises Unwritable."""
    new = path.with_name(f"{_UNFINISHED}{secrets.token_hex(4)}")
    try:
        with new.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_folder(path.parent)
    except BaseException as error:  # Ctrl-C too
        with suppress(OSError):
            new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Unwritable(path, error) from None
        raise


def sync_folder(folder: Path) -> None:
    """Has the names in a folder on the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
