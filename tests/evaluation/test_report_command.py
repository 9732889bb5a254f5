"""`deskproof report`: what it writes, what it refuses to, and its exit codes: 0 written, 2 usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.evaluation.ledger import EPISODES
from engine.evaluation.played import Played
from engine.evaluation.report.survey import Survey, survey
from tests.commands import deskproof
from tests.evaluation.reports import lamps_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return lamps_run(tmp_path)


def test_a_page_in_the_run_s_folder(run: Path) -> None:
    for _ in range(2):  # it is written anew
        done = deskproof("report", run)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"Wrote {run / 'report.html'}.\n")
        assert (run / "report.html").read_text("utf-8").startswith("<!doctype html>")
    assert deskproof("report", run, "--html", run / "report.html").exit_code == 0


def test_several_at_once(run: Path, tmp_path: Path) -> None:
    before = {path.name for path in run.iterdir()}
    done = deskproof("report", run, "--markdown", "-", "--csv", tmp_path / "a.csv", "--junit", tmp_path / "a.xml")
    assert done.exit_code == 0 and done.stdout.startswith("## `mine`")
    assert done.stderr == f"Wrote {tmp_path / 'a.csv'}.\nWrote {tmp_path / 'a.xml'}.\n"
    assert {path.name for path in run.iterdir()} == before


def test_the_same_run_makes_the_same_page(run: Path) -> None:
    assert deskproof("report", run, "--html", "-").stdout_bytes == deskproof("report", run, "--html", "-").stdout_bytes


@pytest.mark.parametrize(
    ("number", "shown"), [("all", 6), ("3", 3), ("0", 0), ("1000", 6)], ids=["all", "some", "none", "more"]
)
def test_how_many_episodes(run: Path, number: str, shown: int) -> None:
    assert deskproof("report", run, "--html", "-", "--episodes", number).stdout.count("<summary>") == shown


@pytest.mark.parametrize("number", ["-1", "some", "1.5", ""])
def test_no_number_of_episodes(run: Path, number: str) -> None:
    done = deskproof("report", run, "--episodes", number)
    assert done.exit_code == 2
    assert f"'{number}' is no number of episodes: a number such as 100, or all" in done.stderr


@pytest.mark.parametrize("file", ["run.json", EPISODES, "times.jsonl", "packs/lamps.json", "certificates/lamps.json"])
def test_what_the_run_is_made_of_stays(run: Path, file: str) -> None:
    before = (run / file).read_bytes() if (run / file).exists() else None
    done = deskproof("report", run, "--csv", run / "packs" / ".." / file)
    assert done.exit_code == 2
    assert done.stderr.endswith(" is a file of the run itself; nothing was written.\n")
    assert ((run / file).read_bytes() if (run / file).exists() else None) == before


def test_no_file_is_written_twice(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "a"
    done = deskproof("report", run, "--html", path, "--csv", path)
    assert done.exit_code == 2 and "Two outputs can't both be written" in done.stderr and not path.exists()


def test_what_is_no_run(tmp_path: Path) -> None:
    done = deskproof("report", tmp_path)
    assert done.exit_code == 2 and "is no run" in done.stderr
    assert not [*tmp_path.iterdir()]


def test_nothing_is_written_of_a_run_that_changes_meanwhile(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first reading and the last somebody writes the records anew."""

    def changed(played: Played) -> Survey:
        found = survey(played)
        (run / EPISODES).write_text("what is this\n" * 1_000, "utf-8")
        return found

    monkeypatch.setattr("engine.evaluation.report.command.survey", changed)
    done = deskproof("report", run, "--csv", tmp_path / "a.csv")
    assert done.exit_code == 2 and "was changed while it was read" in done.stderr
    assert not [*tmp_path.glob("*a.csv*")]
