"""What the numbers of a run say of episodes that aren't done."""

from __future__ import annotations

from fractions import Fraction

from engine.evaluation.numbers import as_json
from engine.evaluation.tally import Cause
from tests.evaluation.made import failed, record, taken, tally


def test_what_the_success_rate_would_be_if_all_else_had_failed() -> None:
    """Of `a` one of two is done, and succeeded; of `b` both are, one succeeded; nothing of `c` was played: of what is
    done the rate is (1 + 1/2) / 2 = 3/4. With failures in place of the rest it is (1/2 + 1/2 + 0) / 3 = 1/3."""
    records = [record("a", 0, resolved=True), failed("a", 1), record("b", 0, resolved=True), record("b", 1)]
    found = taken(tally(["a", "b", "c"], seeds=2), records).table()
    assert found.overall.numbers["success"].value == 0.75
    assert found.overall.success_at_least == Fraction(1, 3)
    assert found.tickets["p", "a"].success_at_least == Fraction(1, 2)
    assert found.tickets["p", "c"].success_at_least == 0
    assert as_json(found)["overall"]["success_at_least"] == 1 / 3


def test_causes_are_alike_where_their_first_lines_are() -> None:
    """No more than that is shown of them."""
    records = [failed("a", 0, cause="It broke.\nAt 7."), failed("a", 1, cause="It broke.\nAt 8.")]
    found = taken(tally(["a"], seeds=2), records).table()
    assert found.overall.causes == {Cause("error", "It broke."): 2}
