"""The graders against episodes worked out by hand, and against everything that isn't a record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.case import make_case
from engine.episode import Episode, replay
from engine.pack import Pack
from graders import grade_easy, grade_hard, grade_medium

CLASSIFY = {"type": "classify"}
RESOLVE = {"type": "resolve"}


def ask(field: str) -> dict[str, str]:
    return {"type": "ask_info", "field": field}


def episode(pack: Pack, ticket: str, *actions: dict[str, str]) -> Episode:
    return replay(make_case(pack, ticket, 0), actions)


def grades(played: Any) -> list[float]:
    """easy, medium, hard; of an episode its record's, else of what was given."""
    record = played.record() if isinstance(played, Episode) else played
    return [grade(record) for grade in (grade_easy, grade_medium, grade_hard)]


def test_ideal(desk: Pack) -> None:
    # 2 of 2 missing collected: easy min(1, 2/1), share 1; 2 asks, none wasted; optimal 4 steps, 4 taken.
    assert grades(episode(desk, "e-two", CLASSIFY, ask("order"), ask("email"), RESOLVE)) == [1.0, 1.0, 1.0]


def test_nothing_missing_and_resolved(desk: Pack) -> None:
    # Share is 1 once resolved, no ask made. Optimal is classify, resolve: 2 steps; only 1 was taken, so min(1, 2/1).
    assert grades(episode(desk, "e-known", RESOLVE)) == pytest.approx([1.0, 1.0, 1.0])


def test_nothing_missing_and_not_resolved(desk: Pack) -> None:
    # Share 0, since nothing was missing and the ticket is open.
    assert grades(episode(desk, "e-known", CLASSIFY)) == pytest.approx([0.0, 0.0, 0.0])


def test_waived_only(desk: Pack) -> None:
    # Both waived: share 2/2. 3 asks, the last (known already) wasted: 2/3. Optimal 4 steps, 5 taken: 4/5.
    played = episode(desk, "m-waived", CLASSIFY, ask("order"), ask("email"), ask("order"), RESOLVE)
    assert grades(played) == pytest.approx([1.0, 2 / 3, 0.8])


def test_wrong_then_right(desk: Pack) -> None:
    # order: stall, wrong, right; no ask wasted. 1 of 3 collected: easy 1/2 (half of 3, rounded up, is 2); medium 1/3.
    played = episode(desk, "m-script", ask("order"), ask("order"), ask("order"))
    assert grades(played) == pytest.approx([0.5, 1 / 3, 0.0])
    # After the second ask the value is wrong: nothing is collected.
    assert grades(episode(desk, "m-script", ask("order"), ask("order"))) == pytest.approx([0.0, 0.0, 0.0])


def test_no_ask_made(desk: Pack) -> None:
    # 0 of 2 collected, and with no ask medium is the share, 0.
    assert grades(episode(desk, "e-two", CLASSIFY, RESOLVE)) == pytest.approx([0.0, 0.0, 0.0])


def test_cut_off(desk: Pack) -> None:
    # order, then nine asks for a field that nobody needs: 1 of 2 collected: easy 1/1; medium 1/2 x 1/10.
    played = episode(desk, "e-two", ask("order"), *[ask("colour")] * 9)
    assert played.truncated
    assert grades(played) == pytest.approx([1.0, 0.05, 0.0])


def test_an_ask_that_is_invalid_is_an_ask_made_and_wasted(desk: Pack) -> None:
    # 2 of 2 collected; 3 asks, one of them for a field that doesn't exist: 2/3. Optimal 4 of 5 steps.
    played = episode(desk, "e-two", CLASSIFY, ask("shoe size"), ask("order"), ask("email"), RESOLVE)
    assert grades(played) == pytest.approx([1.0, 2 / 3, 0.8])


def test_hard_is_halved_unless_the_first_classification_was_right(desk: Pack) -> None:
    right = {"type": "classify", "category": "delivery"}
    wrong = {"type": "classify", "category": "repair"}
    asks = [ask("order"), ask("order"), ask("email"), ask("email")]
    # Optimal: classify, four asks (each field stalls once), resolve = 6 steps.
    assert grade_hard(episode(desk, "h-slow", right, *asks, RESOLVE).record()) == 1.0
    # One step more, and the first classification was wrong: 6/7 / 2.
    assert grade_hard(episode(desk, "h-slow", wrong, right, *asks, RESOLVE).record()) == pytest.approx(3 / 7)
    # Shown, not right: 6/6 / 2.
    assert grade_hard(episode(desk, "h-slow", CLASSIFY, *asks, RESOLVE).record()) == 0.5
    # Not classified at all: five steps are no better than the optimal six: 1 / 2.
    assert grade_hard(episode(desk, "h-slow", *asks, RESOLVE).record()) == 0.5


def test_score_is_the_task_s_own_grader(desk: Pack) -> None:
    assert episode(desk, "m-script", ask("order")).score() == 0.0
    assert episode(desk, "e-two", ask("order")).score() == 1.0  # easy: half of the two missing is enough


def test_a_plain_observation(desk: Pack) -> None:
    open_one = episode(desk, "e-two", ask("order")).observation
    # One of two missing was asked for and is known: easy min(1, 1/1), medium 1/2, hard not resolved.
    assert grades(open_one) == pytest.approx([1.0, 0.5, 0.0])
    done = episode(desk, "e-two", CLASSIFY, ask("order"), ask("colour"), ask("email"), RESOLVE).observation
    # It shows no wasted ask and no right classification: efficiency 1, and hard is halved.
    assert grades(done) == pytest.approx([1.0, 1.0, 0.5])


def test_a_list_of_steps(desk: Pack) -> None:
    played = Episode.start(make_case(desk, "e-two", 0))
    steps: list[dict[str, Any]] = [{"observation": played.observation, "reward": None, "metadata": {"outcome": None}}]
    for action in (CLASSIFY, ask("order"), ask("colour"), ask("email"), RESOLVE):
        played = played.step(action)
        metadata = {"outcome": played.outcome, **({"optimal_steps": played.optimal_steps} if played.done else {})}
        steps.append({"observation": played.observation, "reward": played.reward, "metadata": metadata})
    # 2 of 2; 3 asks, one wasted: 2/3; optimal 4 of 5 steps.
    assert grades(steps) == pytest.approx([1.0, 2 / 3, 0.8])
    assert grades([]) == [0.0, 0.0, 0.0]


def wire(pack: Pack, ticket: str, *actions: dict[str, str]) -> list[dict[str, Any]]:
    """The answers of a server to a reset and these actions, as far as graders look at them."""
    played = Episode.start(make_case(pack, ticket, 0))
    answers: list[dict[str, Any]] = [{"observation": played.observation, "reward": None, "metadata": {"outcome": None}}]
    for action in actions:
        played = played.step(action)
        metadata = {"outcome": played.outcome, "optimal_steps": played.optimal_steps if played.done else None}
        answers.append({"observation": played.observation, "reward": played.reward, "metadata": metadata})
    return answers


def test_doing_nothing_earns_nothing_in_any_form(desk: Pack) -> None:
    for ticket in ("e-two", "e-known", "m-goal", "h-wrong"):
        answers = wire(desk, ticket, *[{"type": "foo"}] * 10)
        for form in (answers[0]["observation"], answers[-1]["observation"], answers[1:], answers):
            assert grades(form) == [0.0, 0.0, 0.0]


def test_a_list_of_steps_is_graded_like_the_record(desk: Pack) -> None:
    wrong_value = [ask("order"), ask("order")]
    invalid_ask = [ask("order"), ask("nope"), ask("nope"), ask("email")]
    plays = [("m-script", wrong_value), ("e-two", invalid_ask), ("e-two", [CLASSIFY, *invalid_ask, RESOLVE])]
    for ticket, actions in plays:
        answers = wire(desk, ticket, *actions)
        assert grades(answers) == grades(answers[1:]) == grades(episode(desk, ticket, *actions))


class Awkward:
    """An object without a truth value, as an array is."""

    def __bool__(self) -> bool:
        raise ValueError


def test_an_object_without_a_truth_value() -> None:
    assert grades(Awkward()) == [0.0, 0.0, 0.0]


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "observation",
                    "metadata",
                    "required",
                    "missing_required",
                    "status",
                    "missing_at_start",
                    "steps",
                    "asks",
                ]
            ),
            inner,
        )
    ),
)


@given(anything)
def test_anything_else_is_graded_without_an_error(record: Any) -> None:
    for grade in (grade_easy, grade_medium, grade_hard):
        assert 0.0 <= grade(record) <= 1.0
