"""A run's records don't depend on who plays, and whatever becomes of an episode is one of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.evaluation.folder import Run
from engine.evaluation.ledger import REPLACED, TIMES
from engine.evaluation.limits import COST_SPENT, TIME_UP, TOKENS_SPENT, EpisodeLimits, RunLimits
from engine.evaluation.plan import Wish
from engine.evaluation.playing import episode_id
from engine.evaluation.record import Record
from engine.evaluation.runner import Sitting, Standing
from tests.evaluation.players import Paid, odd
from tests.evaluation.runs import episodes, lamps, opened, records, sat

# The two tickets at twenty seeds each, twice: 80 episodes.
WISH = Wish(seeds="20", trials=2)
# One process by itself, two threads, two processes.
CREWS = [(1, False), (2, True), (2, False)]
NAMES = ["alone", "threads", "processes"]


def a_run(folder: Path, player: str, limits: EpisodeLimits = EpisodeLimits(), wish: Wish = WISH) -> Run:  # noqa: B008
    return opened(folder / f"run-of-{player}", [lamps(folder)], wish, player, limits)


def expected_odd(run: Run) -> int:
    """How many of the planned episodes are odd: there are some, and there are others."""
    found = sum(odd(episode_id(run.plan.key(place))) for place in range(run.plan.count))
    assert 0 < found < run.plan.count
    return found


@pytest.mark.parametrize("player", ["quick", "fails", "leaves"])
def test_whoever_plays_the_records_are_the_same(tmp_path: Path, player: str) -> None:
    found = []
    for name, (workers, waits) in zip(NAMES, CREWS, strict=True):
        folder = tmp_path / name
        folder.mkdir()
        run = a_run(folder, player)
        assert sat(run, player, waits=waits, workers=workers) is None
        found.append(episodes(run))
        assert [record.key for record in records(run)] == [run.plan.key(place) for place in range(80)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("workers", "waits"), CREWS, ids=NAMES)
def test_an_agents_error_is_an_error(tmp_path: Path, workers: int, waits: bool) -> None:
    """It is never a 0: the record says so, with its cause, and has what was done until then."""
    run = a_run(tmp_path, "fails")
    sat(run, "fails", waits=waits, workers=workers)
    wrong = [record for record in records(run) if record.status == "error"]
    assert len(wrong) == expected_odd(run)
    assert all(record.steps == 1 and record.end_reason is None for record in wrong)
    told = {record.error for record in wrong if record.error is not None}
    assert any("ValueError: my model is out of order" in error for error in told)
    assert any("'what?'" in error or '"what?"' in error for error in told)
    assert any("no JSON" in error and "at 0x…>" in error for error in told)
    assert any("more than 50 levels" in error for error in told)
    assert len(told) == 4


@pytest.mark.parametrize(("workers", "waits"), CREWS, ids=NAMES)
def test_an_agent_that_hangs_is_ended(tmp_path: Path, workers: int, waits: bool) -> None:
    run = a_run(tmp_path, "hangs", EpisodeLimits(seconds=0.3), Wish(seeds="5"))
    assert sat(run, "hangs", waits=waits, workers=workers) is None
    late = [record for record in records(run) if record.status == "limit"]
    assert len(late) == expected_odd(run)
    assert {record.error for record in late} == {"It took longer than 0.3 s (--episode-time)."}
    assert {record.steps for record in late} == {2}


def test_a_process_whose_agent_hears_nothing_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done until then isn't known."""
    monkeypatch.setattr("engine.evaluation.processes.GRACE", 0.5)
    run = a_run(tmp_path, "stubborn", EpisodeLimits(seconds=0.3), Wish(seeds="3"))
    assert sat(run, "stubborn", workers=2) is None
    late = [record for record in records(run) if record.status == "limit"]
    assert len(late) == expected_odd(run)
    assert {(record.error, record.steps) for record in late} == {("It took longer than 0.3 s (--episode-time).", 0)}


def test_a_process_that_dies_takes_one_episode_with_it(tmp_path: Path) -> None:
    run = a_run(tmp_path, "dies", wish=Wish(seeds="4"))
    assert sat(run, "dies", workers=2) is None
    lost = [record for record in records(run) if record.status == "error"]
    assert len(lost) == expected_odd(run) > 1
    assert {record.error for record in lost} == {
        "The process that played it was lost: it ended by itself, with exit code 7."
    }
    assert len(records(run)) == 8


def test_steps_are_limited(tmp_path: Path) -> None:
    """An episode of three steps isn't cut off after three; one that goes on is."""
    run = a_run(tmp_path, "quick", EpisodeLimits(max_steps=3))
    sat(run, "quick")
    for record in records(run):
        assert record.steps <= 3
        assert (record.status == "limit") == (not record.resolved)
        assert record.error in (None, "It wasn't over after 3 steps (--max-steps).")


@pytest.mark.parametrize(("workers", "waits"), CREWS, ids=NAMES)
def test_what_the_runs_time_ended_is_played_again(tmp_path: Path, workers: int, waits: bool) -> None:
    """One sitting ends while an agent hangs; the next has nothing to do with how that one ended."""
    run = a_run(tmp_path, "hangs", wish=Wish(seeds="5"))
    limited = Sitting(limits=RunLimits(seconds=2))
    cut: list[Record] = []
    while not cut:  # where nobody had begun yet, there is nothing to cut short
        assert sat(run, "hangs", limited, waits, workers) == TIME_UP
        cut = [record for record in records(run) if record.status == "limit"]
    assert {record.error for record in cut} == {TIME_UP}
    assert sat(run, "quick", waits=waits, workers=workers) is None
    assert {record.status for record in records(run)} == {"done"}
    whole = opened(tmp_path / "whole", [lamps(tmp_path)], Wish(seeds="5"), "quick")
    sat(whole, "quick")
    assert episodes(run) == episodes(whole)
    assert not (run.path / REPLACED).exists()


def test_errors_are_played_again_where_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mended = tmp_path / "mended"
    monkeypatch.setenv("MENDED", str(mended))
    run = a_run(tmp_path, "fails_until")
    errors = expected_odd(run)
    standings: list[Standing] = []
    sat(run, "fails_until", hear=standings.append)
    assert standings[-1][:5] == (80, 80 - errors, errors, 0, 0)
    mended.touch()
    sat(run, "fails_until", hear=standings.append)  # nothing is left to play
    assert standings[-1].errors == errors
    sat(run, "fails_until", Sitting("errors"), hear=standings.append)
    assert standings[-1][:5] == (80, 80, 0, 0, 0)
    whole = opened(tmp_path / "whole", [lamps(tmp_path)], WISH, "quick")
    sat(whole, "quick")
    assert episodes(run) == episodes(whole)


def test_only_what_fails_is_played_again_and_what_it_was_is_kept(tmp_path: Path) -> None:
    """Where the agent comes to the same again, the records are what they were; else they change."""
    run = a_run(tmp_path, "quick")
    sat(run, "quick")
    before, old = episodes(run), records(run)
    failing = [record for record in old if not record.resolved]
    assert 0 < len(failing) < 80
    sat(run, "quick", Sitting("failing"))
    assert episodes(run) == before
    kept = (run.path / REPLACED).read_bytes().splitlines()
    assert len(kept) == len(failing)
    sat(run, "fails", Sitting("failing"))
    now = {record.key: record for record in records(run)}
    assert all(now[record.key] == record for record in old if record.resolved)
    assert any(now[record.key].status == "error" for record in failing)
    assert (run.path / REPLACED).read_bytes().splitlines() == kept  # each once


def test_the_mean_so_far_is_of_what_is_done(tmp_path: Path) -> None:
    """An error isn't in it."""
    run = a_run(tmp_path, "fails")
    standings: list[Standing] = []
    sat(run, "fails", hear=standings.append)
    done = [record.total for record in records(run) if record.status == "done"]
    assert standings[-1].mean == pytest.approx(sum(done) / len(done) / 10_000)
    assert standings[0].left == 80 and standings[0].mean is None


@pytest.mark.parametrize(("workers", "waits"), CREWS, ids=NAMES)
@pytest.mark.parametrize(
    ("limits", "why"), [(RunLimits(tokens=1_000), TOKENS_SPENT), (RunLimits(cost=5.0), COST_SPENT)]
)
def test_a_run_ends_when_all_is_spent(tmp_path: Path, workers: int, waits: bool, limits: RunLimits, why: str) -> None:
    """Ten steps of 100 tokens and half a dollar are what there is; what is being played then is cut short."""
    run = a_run(tmp_path, "quick")
    assert sat(run, Paid, Sitting(limits=limits), waits, workers) == why
    accounts = [json.loads(raw) for raw in (run.path / TIMES).read_bytes().splitlines()]
    steps = sum(account["input_tokens"] for account in accounts) / 40
    assert steps >= 10
    assert sum(account["output_tokens"] for account in accounts) == 60 * steps
    assert sum(account["cost"] for account in accounts) == 0.5 * steps
    found = records(run)
    assert len(found) < 80 and steps == sum(record.steps for record in found)
    assert {record.error for record in found} <= {None, why}
    assert sat(run, Paid, Sitting(limits=limits), waits, workers) == why  # all of the run's, not this sitting's
    assert records(run) == found
    assert sat(run, Paid, waits=waits, workers=workers) is None
    whole = opened(tmp_path / "whole", [lamps(tmp_path)], WISH, "quick")
    sat(whole, "quick")
    assert episodes(run) == episodes(whole)
