"""What GET /metrics shows, of one process or of all workers of one server.

A worker writes its totals to a file of its own now and then, all of it or nothing; whichever worker is asked adds up
what the others wrote. So a worker that is killed takes along what it had not written, and nothing else. The worker
after it takes over its file and goes on from there: totals never fall, and there are never more files than workers.

The numbers are kept here and not in prometheus_client's own counters: its histograms take one observation at a time,
and its files stay behind with every worker that ends.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from engine.pack import Pack
from server import json_file, tally
from server.tally import BUCKETS, Row, Tally, Totals, merged

FILES = "worker-{}.json"  # there are other files in their folder
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = openmetrics.CONTENT_TYPE_LATEST

REQUESTS = "deskproof_requests_total"  # is not counted for itself: each request is timed

# What is said about each, and its labels.
COUNTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    REQUESTS: ("Requests answered.", ("protocol", "route", "status")),
    tally.STEPS: ("Steps taken.", ("pack",)),
    tally.INVALID_STEPS: ("Steps whose action was invalid.", ("pack",)),
    tally.EPISODES_STARTED: ("Episodes begun.", ("pack",)),
    tally.EPISODES_ENDED: ("Episodes that ended.", ("pack", "end_reason")),
    tally.STORE_ERRORS: ("Times that the store failed.", ()),
}
HISTOGRAMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    tally.REQUEST_SECONDS: ("How long requests took.", ("protocol", "route")),
}

logger = logging.getLogger("server")


class Metrics:
    """One process's view: its own tally and, once it has joined them, what the other workers wrote.

    `packs` gives the packs that are served, `sockets` how many sockets this process holds, `open_episodes` how many
    episodes in the store are open, None where it can't say. All three are called whenever somebody asks.
    """

    def __init__(
        self,
        counted: Tally,
        version: str,
        *,
        packs: Callable[[], Iterable[Pack]],
        sockets: Callable[[], int],
        open_episodes: Callable[[], int | None],
    ) -> None:
        self._tally = counted
        self._version = version
        self._packs = packs
        self._sockets = sockets
        self._open_episodes = open_episodes
        self._file: Path | None = None
        self._before: Totals = {}  # what those counted that had the file before
        self._flushed: Totals = {}
        self._failing = False
        self._lock = threading.Lock()

    def join(self, file: Path) -> None:
        """Share totals with the other workers from now on; `file` is what Shared.claim gave this one."""
        with self._lock:
            self._file = file
            self._before, _ = _read(file)
        self.flush()

    def flush(self) -> None:
        """Write the totals to where the other workers look. Where that fails the log says so once; nothing is lost."""
        with self._lock:
            self._flushed = merged((self._before, self._tally.totals()))
            if self._file is None:
                return
            try:
                _write(self._file, self._flushed, self._sockets())
            except OSError as error:
                if not self._failing:
                    logger.warning("the metrics can't be shared among the workers", extra={"reason": str(error)})
                self._failing = True
            else:
                self._failing = False

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics, and their media type: OpenMetrics where the Accept header names it, else Prometheus's text."""
        self.flush()
        if "application/openmetrics-text" in accept.lower():
            shown: bytes = openmetrics.generate_latest(self)  # type: ignore[no-untyped-call]
            return shown, OPENMETRICS
        return generate_latest(self), TEXT

    def collect(self) -> Iterator[Metric]:
        """What prometheus_client writes down: this makes it a collector."""
        packs = list(self._packs())
        everywhere, sockets = self._everywhere()
        # A total that is there from the start shows its first rise, too.
        known: Totals = {(tally.STORE_ERRORS, ()): [0]}
        for name in (tally.STEPS, tally.INVALID_STEPS, tally.EPISODES_STARTED):
            known |= {(name, (pack.name,)): [0] for pack in packs}
        totals = known | _requests(everywhere)
        for name, (says, labels) in COUNTERS.items():
            counter = CounterMetricFamily(name, says, labels=labels)
            for values, (n,) in _of(name, totals):
                counter.add_metric(values, n)
            yield counter
        for name, (says, labels) in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, says, labels=labels)
            for values, (*row, seconds) in _of(name, totals):
                buckets = zip([*map(str, BUCKETS), "+Inf"], accumulate(row), strict=True)
                histogram.add_metric(values, list(buckets), seconds)
            yield histogram
        yield GaugeMetricFamily("deskproof_sockets", "Sockets that are open.", sockets)
        open_episodes = self._open_episodes()
        if open_episodes is not None:
            yield GaugeMetricFamily("deskproof_open_episodes", "Episodes in the store that aren't over.", open_episodes)
        yield InfoMetricFamily("deskproof_build", "What is running.", {"version": self._version})
        served = InfoMetricFamily("deskproof_pack", "The packs that are served.", labels=("pack",))
        for pack in packs:
            info = {"version": _text(pack.version), "digest": pack.digest}
            served.add_metric([_text(pack.name)], info)
        yield served

    def _everywhere(self) -> tuple[Totals, int]:
        """All workers' totals and sockets; only what is flushed, so that whoever is asked next shows no less."""
        with self._lock:
            parts, sockets = [self._flushed], self._sockets()
            others = self._file.parent.glob(FILES.format("*")) if self._file is not None else ()
            for file in others:
                if file != self._file:
                    totals, held = _read(file)
                    parts.append(totals)
                    sockets += held
        return merged(parts), sockets


class Shared:
    """The folder that the workers' files are in. Whoever starts the workers makes it, hands out files, and removes it.

    `parent` is where to make it; by default among the temporary files. Raises OSError where that fails.
    """

    def __init__(self, parent: str | None = None) -> None:
        # No TemporaryDirectory: a worker that ends would remove it, being a fork of who made it.
        self.folder = Path(tempfile.mkdtemp(prefix="deskproof-metrics-", dir=parent))
        self._claimed: set[Path] = set()

    def claim(self) -> Path:
        """A file for the next worker, for Metrics.join: one that no living worker has."""
        files = (self.folder / FILES.format(number) for number in range(len(self._claimed) + 1))
        file = next(file for file in files if file not in self._claimed)
        self._claimed.add(file)
        return file

    def release(self, file: Path) -> None:
        """The worker that had the file is dead: its sockets are gone, its counts stay."""
        self._claimed.discard(file)
        if file.exists():
            totals, _ = _read(file)
            with suppress(OSError):  # the next worker tries again
                _write(file, totals, sockets=0)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _requests(totals: Totals) -> Totals:
    """The totals with requests counted by status, and timed whatever their status is."""
    timed = {key: row for key, row in totals.items() if key[0] == tally.REQUEST_SECONDS}
    counted = {(REQUESTS, labels): [sum(row[:-1])] for (_, labels), row in timed.items()}
    rest = {key: row for key, row in totals.items() if key not in timed}
    return merged([rest | counted, *({(name, labels[:2]): row} for (name, labels), row in timed.items())])


def _write(file: Path, totals: Totals, sockets: int) -> None:
    """Raises OSError."""
    rows = [[metric, labels, row] for (metric, labels), row in totals.items()]
    json_file.write(file, {"sockets": sockets, "totals": rows})


def _read(file: Path) -> tuple[Totals, int]:
    """What a worker wrote; nothing where none did, or somebody took the file away."""
    written = json_file.read(file)
    if written is None:
        return {}, 0
    totals = {(metric, tuple(labels)): row for metric, labels, row in written["totals"]}
    return totals, written["sockets"]


def _of(name: str, totals: Totals) -> list[tuple[list[str], Row]]:
    """One metric's rows by the values of its labels."""
    return sorted(
        ([_text(value) for value in values], row) for (metric, values), row in totals.items() if metric == name
    )


def _text(value: str) -> str:
    """What UTF-8 can hold of any text."""
    return value.encode("utf-8", "backslashreplace").decode()
