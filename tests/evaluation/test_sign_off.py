"""What `deskproof replay --sign-off` writes, and that it writes over nothing that a run, a pack or an agent is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from engine.evaluation.ledger import EPISODES, REPLACED
from tests.commands import deskproof
from tests.evaluation import made
from tests.evaluation.runs import ROOT, lamps
from tests.evaluation.test_replay import careless, changed, replayed
from tests.serving import fresh_environment


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two tickets at four seeds."""
    folder = tmp_path_factory.mktemp("whole")
    return made.run(folder / "run", [lamps(folder)], careless, seeds="4")


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def test_what_was_checked_is_signed_off(run: Path, tmp_path: Path) -> None:
    replayed(run, "--sign-off", tmp_path / "one.json", code=0)
    moved = run.rename(tmp_path / "another place")
    replayed(moved, "--sign-off", tmp_path / "other.json", code=0)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()
    found = json.loads((tmp_path / "one.json").read_bytes())
    about = json.loads((moved / "run.json").read_bytes())
    assert (found["result"], found["guard"], found["played_by"]) == ("same", about["guard"], "1.0.0")
    assert [pack["digest"] for pack in found["packs"]] == [pack["digest"] for pack in about["packs"]]
    names = ["certificates/lamps.json", EPISODES, "packs/lamps.json", "run.json"]
    assert found["files"] == {name: sha256((moved / name).read_bytes()).hexdigest() for name in names}
    assert found["episodes"] == {
        **{"planned": 8, "played": 8, "same": 8, "missing": 0, "replaced": 0},
        **{"done": 6, "error": 2, "limit": 0},
    }
    assert (found["found"], found["differences"]) == (0, [])
    assert found["numbers"]["overall"]["numbers"]["return"]["value"] == 0.9
    assert str(tmp_path) not in json.dumps(found)


def test_where_it_differs_stands_in_what_is_written(run: Path, tmp_path: Path) -> None:
    changed(run, 2, lambda document: document.update(score=0.25))
    replayed(run, "--sign-off", tmp_path / "off.json")
    found = json.loads((tmp_path / "off.json").read_bytes())
    assert (found["result"], found["found"]) == ("differs", 1)
    assert (found["episodes"]["played"], found["episodes"]["same"]) == (8, 7)
    assert found["differences"] == [
        {
            "file": EPISODES,
            "text": "score: 0.25 is written, 1.0 comes of it",
            "line": 2,
            "key": {"pack": "lamps", "ticket": "t-1", "seed": 1, "trial": 1},
            "step": None,
            "field": "score",
            "written": "0.25",
            "again": "1.0",
        }
    ]


@pytest.mark.parametrize("file", ["run.json", EPISODES, REPLACED, "packs/lamps.json", "certificates/new.json"])
@pytest.mark.parametrize("command", ["replay", "report"])
def test_no_file_of_a_run_is_written_over(whole: Path, run: Path, file: str, command: str) -> None:
    """Neither of this one nor of another."""
    option = {"replay": "--sign-off", "report": "--csv"}[command]
    for folder in (run, whole):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        done = deskproof(command, run, option, folder / file)
        assert done.exit_code == 2 and "is a file of the run itself; nothing was written." in done.stderr
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "told"), [("lamps.yaml", "is there, and may be a pack"), ("agent.py", "is there, and may be an agent")]
)
def test_neither_a_pack_nor_an_agent_is_written_over(run: Path, tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / name).write_text("mine", "utf-8")
    assert told in replayed(run, "--sign-off", tmp_path / name, code=2).stderr
    assert (tmp_path / name).read_text("utf-8") == "mine"
    (tmp_path / "old.json").write_text("{}", "utf-8")
    replayed(run, "--sign-off", tmp_path / "old.json", code=0)
    assert json.loads((tmp_path / "old.json").read_bytes())["result"] == "same"


def test_it_is_signed_off_whoever_reads_what_is_told(run: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "engine.cli", "replay", str(run), "--sign-off", str(tmp_path / "off.json")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, cwd=ROOT, env=fresh_environment(), stdout=full, timeout=60)
    assert done.returncode != 0
    assert json.loads((tmp_path / "off.json").read_bytes())["result"] == "same"
