"""The numbers of a run, of each task, pack and ticket and of all: coverage, means, rates, and what is exactly known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from engine.evaluation.estimates import Estimate, Range, estimates, longest, together
from engine.evaluation.exact import Exact, Proved
from engine.evaluation.measures import Measuring
from engine.evaluation.passes import KS
from engine.evaluation.plan import Plan
from engine.evaluation.record import Record
from engine.evaluation.tally import Cause, TicketTally
from engine.pack import REWARD_UNIT, Pack

# What is proved of the case that a seed makes of a pack's ticket.
Known = Callable[[str, str, int], Exact | None]
# A ticket by its pack and its id.
Row = tuple[str, str]


class Planned(NamedTuple):
    """A ticket that is played, and its pack's range of rewards and most steps; None where nothing says so."""

    pack: str
    ticket: str
    task: str
    rewards: Range
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The numbers of some tickets.

    `errors` and `limits` are episodes that aren't done, `causes` says why, the most frequent first. `numbers` are over
    those that are done, by name; one isn't there where no episode has a value. `tickets` are those with any done.
    `succeeded` are the episodes that reached their goal.
    """

    planned: int
    done: int
    succeeded: int
    errors: int
    limits: int
    causes: Mapping[Cause, int]
    tickets: int
    numbers: Mapping[str, Estimate]

    @property
    def coverage(self) -> float:
        """How many of the planned episodes are done."""
        return self.done / self.planned

    @property
    def success_at_least(self) -> Fraction:
        """The success rate if all that isn't done had failed."""
        return success_at_least(self.succeeded, self.planned)


def success_at_least(succeeded: int, planned: int) -> Fraction:
    """The success rate if all that isn't done had failed. Of each ticket as many episodes are planned, so the mean over
    tickets is the share of all of them."""
    return Fraction(succeeded, planned)


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a run.

    `unit` is what weighs the same within a ticket, and is drawn where there is one ticket only. `repeated` says what
    the trials of pass^k and pass@k are: those of a case, or where each case is played once the seeds of a ticket.
    """

    unit: Literal["seed", "trial"]
    repeated: Literal["seeds", "trials"]
    overall: Group
    packs: Mapping[str, Group]
    tasks: Mapping[str, Group]
    tickets: Mapping[Row, Group]


class Tally:
    """Takes records, in any order, each once, and then tells their numbers. Memory goes by tickets, not by records."""

    def __init__(
        self, tickets: Iterable[Planned], seeds: int, trials: int, known: Known, ks: Sequence[int] = KS
    ) -> None:
        self._about = {(one.pack, one.ticket): one for one in tickets}
        self._seeds, self._trials, self._known, self._ks = seeds, trials, known, ks
        self._tallies = {row: TicketTally(seeds, trials) for row in self._about}
        self._measuring = Measuring()

    def take(self, record: Record) -> None:
        """Adds a record. Raises KeyError where its ticket isn't planned."""
        tally = self._tallies[record.pack, record.ticket]
        if record.status == "done":
            exact = self._known(record.pack, record.ticket, record.seed)
            tally.add(record.seed, self._measuring.values(record, exact))
        else:
            tally.causes[Cause(record.status, (record.error or "").strip().partition("\n")[0])] += 1
            tally.add(record.seed, None)

    def table(self) -> Table:
        """The numbers, once all records are taken."""
        for tally in self._tallies.values():
            tally.finish()
        groups: dict[tuple[Row, ...], Group] = {}

        def group(rows: Sequence[Row]) -> Group:
            """What is of the same tickets is worked out once."""
            own = tuple(rows)
            if own not in groups:
                groups[own] = self._group(own)
            return groups[own]

        return Table(
            unit="seed" if self._seeds > 1 else "trial",
            repeated="seeds" if self._seeds > 1 and self._trials == 1 else "trials",
            overall=group([*self._about]),
            packs={name: group(rows) for name, rows in rows_by("pack", self._about.values()).items()},
            tasks={name: group(rows) for name, rows in rows_by("task", self._about.values()).items()},
            tickets={row: group([row]) for row in self._about},
        )

    def _group(self, rows: Sequence[Row]) -> Group:
        tallies = [self._tallies[row] for row in rows]
        causes: Counter[Cause] = Counter()
        for tally in tallies:
            causes.update(tally.causes)
        return Group(
            planned=len(rows) * self._seeds * self._trials,
            done=sum(tally.done for tally in tallies),
            succeeded=sum(tally.succeeded for tally in tallies),
            errors=sum(number for cause, number in causes.items() if cause.status == "error"),
            limits=sum(number for cause, number in causes.items() if cause.status == "limit"),
            causes=dict(sorted(causes.items(), key=lambda item: (-item[1], item[0]))),
            tickets=sum(tally.done > 0 for tally in tallies),
            numbers=self._estimates(rows),
        )

    def _estimates(self, rows: Sequence[Row]) -> dict[str, Estimate]:
        about = [self._about[row] for row in rows]
        rewards, steps = together([one.rewards for one in about]), longest([one.steps for one in about])
        return estimates([self._tallies[row] for row in rows], rewards, self._ks, steps)


def table(records: Iterable[Record], plan: Plan, certificates: Mapping[str, Mapping[str, Any]]) -> Table:
    """The numbers of a run; `certificates` are by the packs' names, as `engine.proof.certificate` reads them.

    A pack without one has no numbers that need a proof. Raises ValueError where one is of another pack.
    """
    tally = tally_of(plan, certificates)
    for record in records:
        tally.take(record)
    return tally.table()


def tally_of(plan: Plan, certificates: Mapping[str, Mapping[str, Any]]) -> Tally:
    """A tally for the records of a plan, with none in it yet. Raises ValueError as `table` does."""
    return Tally(planned(plan), plan.seeds.count, plan.trials, known_of(plan.packs, certificates))


def known_of(packs: Mapping[str, Pack], certificates: Mapping[str, Mapping[str, Any]]) -> Known:
    """What is proved of some packs' cases. Raises ValueError as `table` does."""
    proved = {name: Proved(pack, certificates[name]) for name, pack in packs.items() if name in certificates}

    def known(pack: str, ticket: str, seed: int) -> Exact | None:
        return proved[pack].of(ticket, seed) if pack in proved else None

    return known


def planned(plan: Plan) -> list[Planned]:
    """The tickets of a plan: by pack, and within it in the order of its tasks and tickets."""
    wanted = set(plan.rows)
    return [
        Planned(pack.name, ticket.id, task, _rewards(pack), pack.max_steps)
        for pack in plan.packs.values()
        for task in pack.tasks
        for ticket in pack.tickets.values()
        if ticket.task == task and (pack.name, ticket.id) in wanted
    ]


def rows_by(what: Literal["pack", "task"], tickets: Iterable[Planned]) -> dict[str, list[Row]]:
    """The tickets of each pack, or of each task."""
    found: dict[str, list[Row]] = {}
    for one in tickets:
        found.setdefault(getattr(one, what), []).append((one.pack, one.ticket))
    return found


def _rewards(pack: Pack) -> Range:
    return Range(pack.rewards.minimum / REWARD_UNIT, pack.rewards.maximum / REWARD_UNIT)


# -- As data


def as_json(told: Table) -> dict[str, Any]:
    """The table as JSON, the same bytes for the same records."""
    return {
        "unit": told.unit,
        "repeated": told.repeated,
        "overall": _group_json(told.overall),
        "packs": [{"pack": name, **_group_json(group)} for name, group in told.packs.items()],
        "tasks": [{"task": name, **_group_json(group)} for name, group in told.tasks.items()],
        "tickets": [
            {"pack": pack, "ticket": ticket, **_group_json(group)} for (pack, ticket), group in told.tickets.items()
        ],
    }


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "planned": group.planned,
        "done": group.done,
        "coverage": group.coverage,
        "success_at_least": float(group.success_at_least),
        "errors": group.errors,
        "limits": group.limits,
        "causes": [{**cause._asdict(), "episodes": number} for cause, number in group.causes.items()],
        "tickets": group.tickets,
        "numbers": {name: estimate_json(found) for name, found in group.numbers.items()},
    }


def estimate_json(found: Estimate) -> dict[str, Any]:
    low, high = found.interval or (None, None)
    return {"value": found.value, "low": low, "high": high, "tickets": found.tickets}
