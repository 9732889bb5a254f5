"""Ten thousand rows in which everything is broken that is broken in exports: the account is exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.import_csv import account, command, export
from engine.cli import main
from engine.load import check_pack


def test_the_account_is_exact(tmp_path: Path) -> None:
    made = export(10_000)
    # 10,000 rows, one of each 97th, 101st and so on broken, whichever comes first; the last one ends inside a quote.
    assert made.tickets + made.reasons.total() == 10_000
    file, pack = tmp_path / "export.csv", tmp_path / "desk.yaml"
    file.write_bytes(made.content)
    done = CliRunner().invoke(main, command(file, pack)[3:])
    assert done.exit_code == 1, done.exception
    lines = done.stdout.splitlines()
    said = [lines[1], *sorted(lines[2 : 2 + len(made.reasons)])]
    assert said == account(made)
    # Each skipped row is told, and has a line of its own.
    told = [line for line in done.stderr.splitlines() if ": skipped: " in line]
    assert len(told) == made.reasons.total() == len({line.split(":")[1] for line in told})
    assert pack.read_text("utf-8").count("\n  - id: ") == made.tickets


@pytest.mark.parametrize("rows", [2, 400])
def test_the_pack_loads(rows: int, tmp_path: Path) -> None:
    made = export(rows)
    (tmp_path / "export.csv").write_bytes(made.content)
    CliRunner().invoke(main, command(tmp_path / "export.csv", tmp_path / "desk.yaml")[3:])
    pack, findings = check_pack(tmp_path / "desk.yaml")
    assert pack is not None, findings
    assert len(pack.tickets) == made.tickets
    assert not [finding for finding in findings if finding.severity == "error"]
