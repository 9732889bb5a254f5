"""What a report works out itself, on a run that is worked out by hand in `reports`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from engine.evaluation.estimates import Range
from engine.evaluation.ledger import EPISODES
from engine.evaluation.played import Played, played
from engine.evaluation.report.plots import HIGH, LARGE, LEFT, RIGHT, SMALL, TOP, costs, difficulty, intervals, returns
from engine.evaluation.report.scale import Scale
from engine.evaluation.report.shown import episodes, lots
from engine.evaluation.report.survey import Cost, End, Kind, Survey, survey, worst_first
from tests.evaluation.reports import lamps_run

REWARDS = Range(-1.0, 2.0)


@pytest.fixture
def run(tmp_path: Path) -> Played:
    return played(lamps_run(tmp_path))


@pytest.fixture
def seen(run: Played) -> Survey:
    return survey(run)


def test_what_came_of_each_episode(run: Played, seen: Survey) -> None:
    dark, hum = [Kind.FINE, Kind.FAILED, Kind.ERROR], [Kind.COSTLY, Kind.FAILED, Kind.FINE]
    assert [Kind(one) for one in seen.kinds] == [*dark, *hum]
    assert seen.reasons == {"resolved": 3, "stopped": 1, "max_steps": 1}
    assert seen.table == run.table()


def test_where_episodes_and_best_lines_end(seen: Survey) -> None:
    """The best line of all four that went on to the end is two steps long; of the one given up it isn't known."""
    assert seen.ends == {
        End(2, 20_000, True): 2,
        End(3, 17_500, True): 1,
        End(1, 5_000, False): 1,
        End(4, -10_000, False): 1,
    }
    assert seen.best == {(2, 20_000): 4}
    assert seen.optimal == {("lamps", "dark"): Fraction(2), ("lamps", "hum"): Fraction(2)}


def test_what_steps_cost(seen: Survey) -> None:
    """By outcome: four premature ends cost 3, the one needless question 0.25. By step: 0.5, 0.25, 1.75, 0.75."""
    dear = {outcome: cost for outcome, cost in seen.outcomes.items() if cost.total}
    assert list(dear.values()) == [Cost(4, 4, 30_000), Cost(1, 1, 2_500)]
    assert [outcome.split(".")[1] for outcome in dear] == ["premature", "unneeded"]
    assert seen.steps == {1: Cost(5, 2, 5_000), 2: Cost(4, 1, 2_500), 3: Cost(2, 1, 17_500), 4: Cost(1, 1, 7_500)}
    assert seen.lost == 32_500 and seen.unblamed == 0


def test_the_ticket_that_fared_worst_comes_first(seen: Survey) -> None:
    """`dark` succeeds in one of two, `hum` in two of three."""
    assert worst_first(seen.table) == [("lamps", "dark"), ("lamps", "hum")]


# -- Which episodes are shown


@pytest.mark.parametrize(
    ("most", "places"),
    [
        (None, {Kind.FAILED: (1, 4), Kind.ERROR: (2,), Kind.COSTLY: (3,), Kind.FINE: (0, 5)}),
        # Failures as they are played: both tickets at seed 1, then the error at seed 2.
        (2, {Kind.FAILED: (1, 4), Kind.ERROR: (), Kind.COSTLY: (), Kind.FINE: ()}),
        (4, {Kind.FAILED: (1, 4), Kind.ERROR: (2,), Kind.COSTLY: (3,), Kind.FINE: ()}),
        (5, {Kind.FAILED: (1, 4), Kind.ERROR: (2,), Kind.COSTLY: (3,), Kind.FINE: (0,)}),
        (0, {Kind.FAILED: (), Kind.ERROR: (), Kind.COSTLY: (), Kind.FINE: ()}),
    ],
)
def test_failures_are_shown_first(run: Played, seen: Survey, most: int | None, places: dict[Kind, object]) -> None:
    found = lots(run.run.plan, seen.kinds, most)
    assert {lot.kind: lot.places for lot in found} == places
    assert [lot.number for lot in found] == [2, 1, 1, 2]


def test_an_episode_step_by_step(run: Played, seen: Survey) -> None:
    failed = lots(run.run.plan, seen.kinds, None)[0]
    stopped, hasty = episodes(run, failed)
    assert hasty.steps is not None and stopped.steps is not None
    assert [step.cost for step in hasty.steps] == [2_500, 2_500, 17_500, 7_500]
    assert {step.best for step in hasty.steps} == {"ask_info socket"}
    assert [step.said.total for step in hasty.steps] == [-2_500, -5_000, -7_500, -10_000]
    assert hasty.message == "It hums." and hasty.cost == 30_000
    assert [(step.said.text, step.best) for step in stopped.steps] == [("L-7", None)]


def test_what_is_played_otherwise_than_it_was_recorded_is_not_shown(tmp_path: Path) -> None:
    path = lamps_run(tmp_path)
    text = (path / EPISODES).read_text("utf-8")
    told = '"rewards":[-0.25,-0.25,-0.25,-0.25],"return":-1.0'
    assert told in text
    (path / EPISODES).write_text(text.replace(told, '"rewards":[-0.25,-0.25,-0.25,-0.5],"return":-1.25'), "utf-8")
    found = played(path)
    failed = lots(found.run.plan, survey(found).kinds, None)[0]
    assert [(one.ticket, one.steps is None, one.message) for one in episodes(found, failed)] == [
        ("dark", False, "It stays dark."),
        ("hum", True, None),
    ]


# -- Where things stand in the pictures


def test_marks_of_episodes(seen: Survey) -> None:
    """Steps are from 0 to 4, returns from -1 to 2. Of the four kinds of ends two have the same return of 2."""
    field = returns(seen, REWARDS)
    x, y = Scale(0, 4, LEFT + LARGE, RIGHT - LARGE), Scale(-1, 2, HIGH, TOP)
    places = {(mark.x, mark.y, mark.kind) for mark in field.marks}
    assert places == {
        (x.at(2), TOP, "resolved"),
        (x.at(3), y.at(1.75), "resolved"),
        (x.at(1), y.at(0.5), "unresolved"),
        (x.at(4), HIGH, "unresolved"),
        (x.at(2), TOP, "best"),
    }
    assert max(field.marks, key=lambda mark: mark.radius).title == "2 episodes, resolved: 2 steps, return 2"
    assert sorted(mark.radius for mark in field.marks if mark.kind != "best") == [SMALL, SMALL, SMALL, LARGE]
    assert [label for _, label in field.x_ticks] == ["0", "1", "2", "3", "4"]
    assert [level.label.split()[0] for level in field.levels] == ["best", "chance"] and field.levels[0].y == TOP


def test_bars_of_costs(seen: Survey) -> None:
    """The third step is the highest bar; the first is 0.5 / 1.75 as high."""
    bars = costs(seen)
    assert bars is not None
    assert [bar.y for bar in bars.bars] == [
        round(HIGH - (HIGH - TOP) * share, 1) for share in (0.5 / 1.75, 0.25 / 1.75, 1.0, 0.75 / 1.75)
    ]
    assert bars.bars[2].title == "step 3: 1 of 2 steps cost 1.75 together"


def test_difficulty_against_success(seen: Survey) -> None:
    """Two tickets of two optimal steps each, with success rates of 1/2 and 2/3."""
    field = difficulty(seen.table, lambda row: float(seen.optimal[row]), "optimal steps")
    assert field is not None
    assert [(mark.x, mark.title.split(",")[0]) for mark in field.marks] == [
        ((LEFT + RIGHT) / 2, "dark: success rate 0.500"),
        ((LEFT + RIGHT) / 2, "hum: success rate 0.667"),
    ]
    assert difficulty(seen.table, lambda row: None, "nothing") is None


def test_intervals(seen: Survey) -> None:
    overall = seen.table.overall
    (line,) = intervals("success", [("all tickets", overall)], Range(0.0, 1.0)).lines
    found = overall.numbers["success"]
    assert found.interval is not None and line.interval is not None
    scale = Scale(0, 1, 6, 394)
    assert (line.at, *line.interval) == (scale.at(found.value), *map(scale.at, found.interval))
    assert line.told.startswith("0.583  (")  # the mean of 1/2 and 2/3
    (line,) = intervals("return", [("all", overall)], REWARDS, "random_return", "best_return").lines
    assert line.best == 394 and line.chance is not None and 6 < line.chance < 394


# -- Scales


@pytest.mark.parametrize(
    ("low", "high", "most", "whole", "labels"),
    [
        (-1.0, 2.0, 7, False, ["-1", "-0.5", "0", "0.5", "1", "1.5", "2"]),
        (0.0, 1.0, 6, False, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0.0, 3.0, 9, True, ["0", "1", "2", "3"]),
        (0.0, 14.0, 9, True, ["0", "2", "4", "6", "8", "10", "12", "14"]),
        (0.0, 35_000.0, 7, False, ["0", "10k", "20k", "30k"]),
        (0.5, 4.5, 11, True, ["1", "2", "3", "4"]),
        (1.0, 1.0, 5, False, ["1"]),
    ],
)
def test_ticks_are_round(low: float, high: float, most: int, whole: bool, labels: list[str]) -> None:
    assert [label for _, label in Scale(low, high, 0, 100).ticks(most, whole)] == labels


def test_a_scale() -> None:
    scale = Scale(-1, 1, 200, 100)
    assert [scale.at(value) for value in (-2, -1, 0, 0.5, 1, 7)] == [200, 200, 150, 125, 100, 100]
    with pytest.raises(ValueError, match="two ticks"):
        scale.ticks(1)
