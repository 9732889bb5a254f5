"""What a run used up, in a line."""

from __future__ import annotations

import json
from pathlib import Path

from engine.evaluation.ledger import TIMES
from engine.evaluation.spent_told import told_spent
from tests.commands import deskproof
from tests.evaluation.reports import lamps_run


def account(into: int | None, out: int | None, cost: float | None, seconds: float) -> str:
    return json.dumps({"input_tokens": into, "output_tokens": out, "cost": cost, "seconds": seconds}) + "\n"


def told(folder: Path, *lines: str) -> str | None:
    (folder / TIMES).write_text("".join(lines), "utf-8")
    return told_spent(folder)


def test_all_lines_are_added_up(tmp_path: Path) -> None:
    """100 + 80 seconds are 3 minutes. Half a line at the end is none."""
    lines = (account(9_000, 2_000, 0.1, 100.0), account(1_000, 345, 0.02, 80.0), account(None, None, None, 0.4))
    assert told(tmp_path, *lines, '{"inp') == "tokens 12,345 (in 10,000, out 2,345), cost $0.12, time 3 min"


def test_what_nobody_counted_is_not_told(tmp_path: Path) -> None:
    assert told_spent(tmp_path) is None
    assert told(tmp_path, account(None, None, None, 5.0)) is None
    assert told(tmp_path, account(7, 0, None, 5.0)) == "tokens 7 (in 7, out 0), time 5.0 s"
    assert told(tmp_path, account(7, 0, 0.00125, 7_200.0)) == "tokens 7 (in 7, out 0), cost $0.0013, time 2.0 h"


def test_a_report_tells_it(tmp_path: Path) -> None:
    run = lamps_run(tmp_path)
    before = deskproof("report", run, "--html", "-").stdout
    (run / TIMES).write_text(account(None, None, None, 5.0), "utf-8")
    assert deskproof("report", run, "--html", "-").stdout == before
    (run / TIMES).write_text(account(10, 5, None, 5.0), "utf-8")
    for option in ("--html", "--markdown"):
        assert "tokens 15 (in 10, out 5), time 5.0 s" in deskproof("report", run, option, "-").stdout
