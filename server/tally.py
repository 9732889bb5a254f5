"""What the server did, counted: cheap enough for every request and step. How the numbers are shown is no matter here.

No count is lost, and nobody waits for a lock: each row of numbers is written by one thread only (one that gets the
number of a thread that has ended goes on with its rows), and nothing is ever cleared. The dictionary itself is changed
and copied in single steps under the interpreter's lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from threading import get_ident
from typing import Final

# What may be counted; the labels' values come from packs and routes, never from clients.
STEPS: Final = "deskproof_steps_total"  # pack
INVALID_STEPS: Final = "deskproof_invalid_steps_total"  # pack
EPISODES_STARTED: Final = "deskproof_episodes_started_total"  # pack
EPISODES_ENDED: Final = "deskproof_episodes_ended_total"  # pack (empty where it was ended from outside), end_reason
STORE_ERRORS: Final = "deskproof_store_errors_total"  # none

# What may be timed.
REQUEST_SECONDS: Final = "deskproof_request_seconds"  # protocol, route, status

# The upper bounds of the durations that are told apart, in seconds, each included.
BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# What was counted since the start, by metric and the values of its labels. The row of a count is the count alone. That
# of a duration has how many there were in each bucket, how many were longer, and last the sum of all in seconds.
Row = list[float]
Key = tuple[str, tuple[str, ...]]
Totals = dict[Key, Row]


class Tally:
    """The counts of one process, callable from any thread."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str, tuple[str, ...]], Row] = {}  # by thread, too

    def add(self, metric: str, labels: tuple[str, ...] = (), n: int = 1) -> None:
        """Count `n` more."""
        try:
            self._rows[get_ident(), metric, labels][0] += n
        except KeyError:
            self._rows[get_ident(), metric, labels] = [n]

    def observe(self, metric: str, labels: tuple[str, ...], seconds: float) -> None:
        """Note how long something took."""
        try:
            row = self._rows[get_ident(), metric, labels]
        except KeyError:
            row = self._rows[get_ident(), metric, labels] = [0] * (len(BUCKETS) + 1) + [0.0]
        row[bisect_left(BUCKETS, seconds)] += 1
        row[-1] += seconds

    def totals(self) -> Totals:
        """A copy of what was counted so far."""
        return merged({(metric, labels): row} for (_, metric, labels), row in self._rows.copy().items())


# What this process counts; there is one of it, as there is one process.
COUNTED: Final = Tally()


def merged(several: Iterable[Mapping[Key, Row]]) -> Totals:
    """The sum of several."""
    totals: Totals = {}
    for one in several:
        for key, row in one.items():
            before = totals.get(key)
            totals[key] = row.copy() if before is None else [a + b for a, b in zip(before, row, strict=True)]
    return totals
