"""A whole run, played again: its packs are proved anew, its records made anew, and its numbers worked out of these."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from engine.contract import load_contract
from engine.evaluation.folder import ABOUT, CERTIFICATES, PACKS, Run, Unusable, about
from engine.evaluation.ledger import EPISODES, REPLACED
from engine.evaluation.numbers import Table, Tally, tally_of
from engine.evaluation.reading import content, opened, unreadable
from engine.evaluation.record import Key, Record, Status, parse
from engine.evaluation.replay.finding import Finding, as_text, first_apart
from engine.evaluation.replay.records import Unplayable, contradiction, differences, played_again
from engine.pack import Pack
from engine.proof.certificate import certificate
from engine.proof.certificate import write as certificate_text
from engine.proof.commands import progress
from engine.proof.prove import prove
from engine.proof.told import count
from engine.transcript import Unreadable

# So many findings are kept; the others are counted.
KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Counts:
    """Episodes of a run. `played` have a record whose actions could be played again, and of these `same` are the same
    byte for byte; `missing` are planned and have none. `done`, `error` and `limit` are those with such a record.
    `replaced` are records of episodes that were done and played again all the same."""

    planned: int
    played: int
    same: int
    missing: int
    done: int
    error: int
    limit: int
    replaced: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of playing a run again. `files` are SHA-256 digests by the files' names in the run's folder; `findings`
    the first KEPT of `found`. `table` is of what was played again, whatever the records say."""

    run: Run
    deskproof: str
    files: Mapping[str, str]
    counts: Counts
    findings: tuple[Finding, ...]
    found: int
    table: Table

    @property
    def same(self) -> bool:
        return not self.found


def replay_run(run: Run, hear: Callable[[int, int], None]) -> Replayed:
    """Plays a run again. `hear` is told at each episode how many lines were read, and how many of them differ.

    Raises:
        Unusable: a file can't be read.
    """
    again = _Again(run)
    try:
        again.check_about()
        certificates = {name: again.proved_again(pack) for name, pack in run.plan.packs.items()}
        tally = tally_of(run.plan, certificates)
        again.play(tally, hear)
        again.play_replaced()
    except OSError as error:
        raise Unusable(unreadable(error, run.path)) from None
    return again.result(tally.table())


class _Again:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._files: dict[str, str] = {}
        self._findings: list[Finding] = []
        self._found = 0
        self._seen = bytearray(run.plan.count)
        self._statuses: Counter[Status] = Counter()
        self._played = self._same = self._replaced = 0

    def result(self, table: Table) -> Replayed:
        planned, statuses = self._run.plan.count, self._statuses
        counts = Counts(
            planned,
            self._played,
            self._same,
            self._seen.count(0),
            statuses["done"],
            statuses["error"],
            statuses["limit"],
            self._replaced,
        )
        files, found = dict(sorted(self._files.items())), tuple(self._findings)
        return Replayed(self._run, version("deskproof"), files, counts, found, self._found, table)

    # -- What isn't episodes

    def check_about(self) -> None:
        """The guard was checked as the run was read; what it doesn't cover follows from the rest."""
        run, raw = self._run, self._content(ABOUT)
        for told in run.about.packs:
            self._content(f"{PACKS}/{told['file']}.json")
        about_again = about(run.about.tool, run.about.agent, run.plan, run.about.wish, run.about.limits)
        self._compare(ABOUT, raw, about_again.text())

    def proved_again(self, pack: Pack) -> dict[str, Any]:
        """The certificate of a pack, which is compared with the one that is there."""
        told = next(one for one in self._run.about.packs if one["name"] == pack.name)
        name = f"{CERTIFICATES}/{told['file']}.json"
        raw = self._content(name)
        with progress(pack) as advance:
            proof = prove(pack, load_contract().observation_space, progress=advance)
        document = certificate([(pack, proof)], _prover(raw))
        self._compare(name, raw, certificate_text(document))
        return document

    def _content(self, name: str) -> bytes:
        raw = content(self._run.path / name)
        self._files[name] = sha256(raw).hexdigest()
        return raw

    def _compare(self, name: str, raw: bytes, again: str) -> None:
        if raw == again.encode():
            return
        try:
            found = first_apart(json.loads(raw), json.loads(again))
        except (ValueError, RecursionError):
            self._note(Finding(name, "this isn't JSON that can be read"))
            return
        if found is None:
            self._note(Finding(name, "it isn't written as Deskproof writes it", field="form"))
        else:
            self._note(Finding(name, found.text, None, None, None, found.field, found.written, found.again))

    # -- Episodes

    def play(self, tally: Tally, hear: Callable[[int, int], None]) -> None:
        """Plays the records again; `tally` takes what comes of it, once of each episode."""
        plan, last, differing = self._run.plan, -1, 0
        misplaced: list[tuple[int, Key]] = []
        for number, raw in self._lines(EPISODES):
            before = self._found
            record = self._read(EPISODES, number, raw)
            place = self._place(EPISODES, number, record) if record is not None else None
            if record is not None and place is not None:
                if self._seen[place]:
                    self._note(Finding(EPISODES, "another record of the same episode", number, record.key))
                elif place < last:
                    misplaced.append((number, record.key))
                last = max(last, place)
                again = self._play(EPISODES, number, raw, record)
                if again is not None and not self._seen[place]:
                    tally.take(again)
                    self._statuses[again.status] += 1
                self._played += again is not None
                self._seen[place] = 1
            differing += self._found > before
            self._same += self._found == before
            hear(number, differing)
        self._note_order(misplaced)
        first, missing = self._seen.find(0), self._seen.count(0)
        if missing:
            such = f"{count(missing, 'episode')} without a record"
            self._note(Finding(EPISODES, f"it is planned, and has no record: the first of {such}", key=plan.key(first)))

    def _note_order(self, misplaced: list[tuple[int, Key]]) -> None:
        """Records are put in order when a sitting ends, so of one that was broken off many aren't: it is told once."""
        if misplaced:
            such = f"the first of {count(len(misplaced), 'record')} out of order"
            why = ", as where a run isn't played to its end" if 0 in self._seen else ""
            self._note(Finding(EPISODES, f"it is out of order: {such}{why}", *misplaced[0]))

    def play_replaced(self) -> None:
        """What was done before it was played again has to follow from its actions, too."""
        if not (self._run.path / REPLACED).exists():
            return
        for number, raw in self._lines(REPLACED):
            record = self._read(REPLACED, number, raw)
            if record is not None and self._place(REPLACED, number, record) is not None:
                self._play(REPLACED, number, raw, record)
                if record.status != "done":
                    self._note(Finding(REPLACED, "it wasn't done before it was played again", number, record.key))
            self._replaced += 1

    def _lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        whole = sha256()
        path = self._run.path / name
        if path.exists():
            with opened(path) as file:
                for number, raw in enumerate(file, 1):
                    whole.update(raw)
                    yield number, raw
            self._files[name] = whole.hexdigest()

    def _read(self, name: str, number: int, raw: bytes) -> Record | None:
        try:
            return parse(raw)
        except Unreadable as error:
            self._note(Finding(name, str(error), number))
            return None

    def _place(self, name: str, number: int, record: Record) -> int | None:
        try:
            return self._run.plan.place(record.key)
        except KeyError:
            self._note(Finding(name, "this episode isn't planned", number, record.key))
            return None

    def _play(self, name: str, number: int, raw: bytes, record: Record) -> Record | None:
        """What comes of a record's actions; None where they can't be played."""
        key = record.key
        try:
            episode, again = played_again(record, self._run.plan.packs)
            for one in differences(raw, again):
                self._note(Finding(name, one.text, number, key, one.step, one.field, one.written, one.again))
        except Unplayable as error:
            self._note(Finding(name, str(error), number, key, field="actions"))
            return None
        why = contradiction(record, episode, self._run.about.limits)
        if why is not None:
            self._note(Finding(name, why, number, key, field="status", written=as_text(record.status)))
        return again

    def _note(self, found: Finding) -> None:
        self._found += 1
        if len(self._findings) < KEPT:
            self._findings.append(found)


def _prover(raw: bytes) -> str:
    """The version that a certificate says proved it: another one may prove the same."""
    try:
        return str(json.loads(raw)["deskproof"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return version("deskproof")
