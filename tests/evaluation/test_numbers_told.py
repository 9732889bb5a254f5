"""The numbers of a run as they are printed."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console

from engine.evaluation.exact import Exact
from engine.evaluation.intervals import means_within
from engine.evaluation.numbers_told import CAUSES, told_numbers
from engine.evaluation.record import Record
from tests.evaluation.made import KNOWN, failed, record, taken, tally


def perfect(ticket: str, seed: int = 0, pack: str = "p", task: str = "t") -> Record:
    return record(ticket, seed, pack=pack, task=task, total=20_000, score=1.0, resolved=True, steps=2)


def printed(
    tickets: Sequence[str | tuple[str, str, str]],
    records: Iterable[Record],
    seeds: int = 1,
    known: Exact | None = KNOWN,
) -> list[str]:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    told_numbers(taken(tally(tickets, seeds=seeds, known=known), records).table(), console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


def test_everything_of_all_tickets() -> None:
    """Two tickets, one perfect, one that returned nothing, at two seeds each. Chance may expect -0.5, V* is 2: 0 is a
    fifth of the way."""
    records = [perfect("a", seed) for seed in (0, 1)] + [record("b", seed, regret=20_000) for seed in (0, 1)]
    columns = [[1.0, 0.0], [2.0, 0.0], [1.0, 0.2], [0.0, 2.0]]
    drawn = means_within(columns, [(0.0, 1.0), (-1.0, 2.0), (-0.2, 1.0), (0.0, 3.0)])
    score, earned, normalised, regret = (f"{low:.3f} to {high:.3f}".rjust(16) for low, high in drawn)
    assert printed(["a", "b"], records, seeds=2) == [
        "all tickets: 4 of 4 episodes done, 2 tickets",
        "                      mean     95% interval  chance   best  tickets",
        f"  score              0.500 {score}   0.250               2",
        f"  return             1.000 {earned}  -0.500  2.000        2",
        f"  normalised return  0.600 {normalised}                       2",
        f"  regret             1.000 {regret}                       2",
        "  excess steps       0.000                -                       1",
        "  success rate       0.500   0.095 to 0.905                       2",
        "  pass^2             0.500   0.095 to 0.905                       2",
        "  pass@2             0.500   0.095 to 0.905                       2",
    ]


def test_what_is_known_of_some_tickets_only_is_not_set_beside_a_mean_of_all() -> None:
    lines = printed(["a"], [perfect("a")], known=None)
    assert ["return", "2.000", "-", "1"] in [line.split() for line in lines]
    assert not any(line.startswith("  normalised") for line in lines)


def test_by_pack_and_task() -> None:
    rows = [("p", "a", "easy"), ("q", "b", "hard")]
    lines = printed(rows, [perfect("a", task="easy"), record("b", pack="q", task="hard", steps=3)])
    packs = lines.index(next(line for line in lines if line.startswith("  pack")))
    tasks = lines.index(next(line for line in lines if line.startswith("  task")))
    assert [line.split()[:3] for line in (lines[packs + 1], lines[packs + 3])] == [
        ["p", "1", "1.000"],
        ["q", "1", "0.000"],
    ]
    assert [line.split()[0] for line in (lines[tasks + 1], lines[tasks + 3])] == ["easy", "hard"]
    assert lines[packs + 1].split()[-1] == "1.000" and lines[packs + 2].split() == ["-", "-", "0.207", "to", "1.000"]


def test_coverage_and_causes() -> None:
    """One of four episodes is done. What is shown can't steer a terminal."""
    records = [record("a", 0), failed("a", 1, cause="No\x1b[2J answer."), failed("a", 2, cause="No\x1b[2J answer.")]
    lines = printed(["a"], [*records, failed("a", 3, cause="It was slow.", status="limit")], seeds=4)
    assert lines[0] == "all tickets: 1 of 4 episodes done (25.0%), 1 ticket"
    assert lines[-2:] == ["2 errors: No\\x1b[2J answer.", "1 at a limit: It was slow."]


def test_success_where_some_are_not_done() -> None:
    """Of `a` one of two is done, and it succeeded; of `b` none: 1 of what is done, 1 of 4 if all else had failed."""
    rows = [("p", "a", "easy"), ("p", "b", "hard")]
    lines = printed(rows, [perfect("a", task="easy"), failed("a", 1), failed("b", 0)], seeds=2)
    at = next(number for number, line in enumerate(lines) if line.startswith("  success rate"))
    assert [line.split()[:4] for line in lines[at : at + 2]] == [
        ["success", "rate", "1.000", "0.207"],
        ["success,", "at", "least", "0.250"],
    ]
    easy = next(number for number, line in enumerate(lines) if line.startswith("  easy"))
    assert [line.split()[-3:] for line in lines[easy + 2 : easy + 3]] == [["at", "least", "0.500"]]
    assert "at least: what the success rate would be if all that isn't done had failed" in lines
    assert not any("at least" in line for line in printed(["a"], [perfect("a")]))


def test_many_causes() -> None:
    records = [failed("a", seed, cause=f"Cause {seed:02}.") for seed in range(CAUSES + 3)]
    lines = printed(["a"], records, seeds=CAUSES + 3)
    assert lines[0] == "all tickets: 0 of 13 episodes done (0.0%), 0 tickets"
    assert lines[1:] == [*(f"1 error: Cause {seed:02}." for seed in range(CAUSES)), "and 3 for 3 other reasons"]
