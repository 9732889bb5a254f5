"""`deskproof trajectories`: which episodes are written, where to, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import pytest

from engine.load import shipped_packs
from engine.output import write
from engine.pack import Pack
from engine.split import splits
from engine.transcript import line
from tests.commands import deskproof
from tests.serving import fresh_environment

DESK = Path(__file__).resolve().parent.parent / "packs" / "desk.yaml"


def lines(*options: object, pack: object = DESK) -> list[Any]:
    """What is written to standard output, where that is all."""
    done = deskproof("trajectories", pack, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(*options: object, pack: object = DESK, code: int = 2) -> str:
    done = deskproof("trajectories", pack, *options)
    assert (done.exit_code, done.stdout) == (code, "")
    return done.stderr


def asked(rows: list[Any]) -> list[tuple[str, int]]:
    return [(row["ticket_id"], row["seed"]) for row in rows]


# -- Which episodes


def test_each_ticket_once(desk: Pack) -> None:
    assert asked(lines()) == [(ticket, 0) for ticket in sorted(desk.tickets)]


def test_so_many_episodes(desk: Pack) -> None:
    """All tickets at one seed, then as many as are left at the next."""
    tickets = sorted(desk.tickets)
    assert asked(lines("-n", 15, "--seed", 7)) == [(one, 7) for one in tickets] + [(one, 8) for one in tickets[:4]]
    assert asked(lines("-n", 2)) == [(one, 0) for one in tickets[:2]]


def test_of_a_split_a_task_a_ticket(desk: Pack) -> None:
    found = lines("-n", 20, "--split", "validation")
    assert {row["ticket_id"] for row in found} == set(splits(desk)["validation"])
    assert {row["split"] for row in found} == {"validation"}
    assert asked(lines("--split", "validation", "--task", "hard-efficient-resolution")) == [("h-slow", 0)]
    assert asked(lines("--ticket", "e-two", "--ticket", "m-goal", "-n", 3)) == [
        ("e-two", 0),
        ("m-goal", 0),
        ("e-two", 1),
    ]


def test_policies_and_forms() -> None:
    only = ("--ticket", "e-two")
    (best,), (chance,) = lines(*only), lines(*only, "--policy", "random")
    assert (best["policy"], best["return"]) == ("best", 2.0)
    assert (chance["policy"], chance["return"] < 2.0) == ("random", True)
    mixed = lines(*only, "--policy", "mixed", "--epsilon", 1)[0]
    assert (mixed["policy"], mixed["rewards"]) == ("mixed", chance["rewards"])
    pairs = lines(*only, "--format", "pairs")
    assert [row["step"] for row in pairs] == [1, 2, 3, 4]
    assert {"prompt", "chosen", "rejected", "tools", "regret"} <= pairs[0].keys()


# -- Where to


@pytest.mark.parametrize("form", ["episodes", "pairs"])
def test_the_same_bytes_in_every_process(tmp_path: Path, form: str) -> None:
    """Whatever Python hashes texts to there."""
    options = ("trajectories", DESK, "-n", 30, "--policy", "mixed", "--format", form)
    done = deskproof(*options, "-o", tmp_path / "here.jsonl")
    assert done.exit_code == 0
    for seed in ("1", "2"):
        env = {**fresh_environment(), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "engine.cli", *map(str, options)]
        there = subprocess.run(command, cwd=DESK.parents[2], env=env, capture_output=True, check=True)
        assert there.stdout == (tmp_path / "here.jsonl").read_bytes()
        assert there.stderr == b""


def test_a_file_is_written_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    done = deskproof("trajectories", DESK, "-n", 3, "-o", out)
    assert (done.exit_code, done.output) == (0, f"Wrote 3 lines of 3 episodes to {out}.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
    assert len(out.read_bytes().splitlines()) == 3


def test_chats_that_say_the_same_again_are_counted(tmp_path: Path) -> None:
    """e-two has one message and fixed values: at every seed the best line says the same, so three of four do."""
    out = tmp_path / "rows.jsonl"
    done = deskproof("trajectories", DESK, "--ticket", "e-two", "-n", 4, "-o", out)
    assert done.output == f"Wrote 4 lines of 4 episodes to {out}; 3 of them say what another one says.\n"
    assert [row["seed"] for row in map(json.loads, out.read_text("utf-8").splitlines())] == [0, 1, 2, 3]


def test_a_process_that_is_told_to_end_leaves_nothing_half_written(tmp_path: Path) -> None:
    """SIGTERM comes while the second line is made; who takes the signal otherwise still does afterwards."""

    def pieces() -> Iterator[str]:
        yield "one\n"
        assert [path.name[:6] for path in tmp_path.iterdir()] == [".rows."]
        signal.raise_signal(signal.SIGTERM)
        yield "two\n"

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended:
            write(str(tmp_path / "rows.jsonl"), pieces())
        assert ended.value.code == 143
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [*tmp_path.iterdir()] == []


def test_a_pipe_that_nobody_reads_any_more(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def pieces() -> Iterator[str]:
        os.close(reading)
        yield "one\n" * 100_000

    with pytest.raises(SystemExit) as ended:
        write(str(pipe), pieces())
    assert ended.value.code == 141


def test_a_line_is_a_line_to_every_reader() -> None:
    """JSON may hold these as they are, and `str.splitlines` takes them for ends."""
    text = "a\x85b\u2028c\u2029d\x0be\x0cf\x1cg\x1dh\x1ei\rj\nk"
    written = line({text: text}).decode()
    assert [json.loads(one) for one in written.splitlines()] == [{text: text}]
    assert line({"a": "ü\x85"}) == '{"a":"ü\\u0085"}\n'.encode()


def test_a_file_stays_as_it_was_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text("mine\n")
    monkeypatch.setattr("engine.dynamics.regret.BUDGET", 1)
    said = refused("-o", out, code=1)
    assert said == "The oracle doesn't know the ticket e-free: it has too many states.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
    assert out.read_text() == "mine\n"


def test_no_pack_is_written_over(tmp_path: Path) -> None:
    pack = tmp_path / "desk.yaml"
    pack.write_bytes(DESK.read_bytes())
    assert "is a file of the pack itself; nothing was written." in refused("-o", pack, pack=pack)
    (tmp_path / "other.yaml").write_text("mine\n")
    assert "may be a pack; nothing was written." in refused("-o", tmp_path / "other.yaml", pack=pack)
    for name in ("new.yaml", "new.yml", "new.YAML"):
        assert f"{name} is a pack's name, and this is no YAML; nothing was written." in refused("-o", tmp_path / name)
    (tmp_path / "link.yaml").symlink_to("rows.jsonl")
    assert "link.yaml is a pack's name" in refused("-o", tmp_path / "link.yaml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["desk.yaml", "link.yaml", "other.yaml"]
    assert pack.read_bytes() == DESK.read_bytes()
    assert "does not exist" in refused("-o", tmp_path / "none" / "rows.jsonl")


# -- What is refused


def test_a_split_that_is_worded_like_another_is_refused(tmp_path: Path) -> None:
    """e-free is trained on, e-two validated on; the test split shares nothing."""
    pack = tmp_path / "desk.yaml"
    pack.write_text(DESK.read_text("utf-8").replace("[Hello?]", "[Where is it?]"), "utf-8")
    for split in ("train", "validation"):
        assert refused("--split", split, pack=pack, code=1).startswith(
            "Ticket 'e-two' (validation) opens with the words"
        )
    assert len(lines("--split", "test", pack=pack)) == 2
    assert len(lines(pack=pack)) == 11


def test_what_there_is_not() -> None:
    assert "There is no ticket 'e-tow' in these packs. Did you mean 'e-two'?" in refused("--ticket", "e-tow")
    assert "There is no task 'easy' in these packs." in refused("--task", "easy")
    assert "No ticket is of the task 'easy-info-collection' and in the split 'test'." in refused(
        "--task", "easy-info-collection", "--split", "test"
    )
    assert "There is no file or folder 'customer-suport'." in refused(pack="customer-suport")
    for many in ("11,000,000", "1,000,000,000,000"):
        said = f"{many} episodes are asked for; of 11 tickets 9,999,990 are the most."
        assert said in refused("-n", many.replace(",", ""))


def test_what_makes_no_sense() -> None:
    assert "--epsilon is for --policy mixed" in refused("--epsilon", 0.5)
    assert "--workers is for --engine ray" in refused("--workers", 2)
    assert "2.0 is not in the range 0<=x<=1" in refused("--policy", "mixed", "--epsilon", 2)
    for number in ("nan", "inf", "-inf", "1e999"):
        shown = float(number)
        assert f"{shown} is not in the range 0<=x<=1" in refused("--policy", "mixed", "--epsilon", number)
    assert "0 is not in the range x>=1" in refused("-n", 0)
    for option in ("-n", "--seed", "--workers"):
        assert "'nan' is not a valid integer" in refused(option, "nan")
    assert f"{2**62 + 1} is not in the range" in refused("--seed", 2**62 + 1)


def test_a_draft_is_refused(tmp_path: Path) -> None:
    pack = tmp_path / "desk.yaml"
    pack.write_text(DESK.read_text("utf-8").replace("order: ORD-1,", "order: {say: No., refuse: true},"), "utf-8")
    said = refused(pack=pack, code=1)
    assert "PACK042: field 'order' is required" in said


# -- Who reads it


@pytest.mark.parametrize("form", ["episodes", "pairs"])
@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_data_sets_load_as_they_were_written(tmp_path: Path, path: Path, form: str) -> None:
    """With Hugging Face's library: no key is lost, and none is filled in. It keeps ten digits of a number."""
    out = tmp_path / "rows.jsonl"
    done = deskproof("trajectories", path, "-n", 20, "--policy", "mixed", "--format", form, "-o", out)
    assert done.exit_code == 0
    loaded = [*datasets.load_dataset("json", data_files=str(out), split="train", cache_dir=str(tmp_path / "cache"))]
    written = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    scores = [[row.pop("score", 0.0) for row in rows] for rows in (loaded, written)]
    assert loaded == written
    assert scores[0] == pytest.approx(scores[1])


@pytest.mark.slow
def test_a_cluster_writes_the_same_bytes(tmp_path: Path) -> None:
    """Two workers, three shards; what Ray keeps goes with the folder, whose name may not be long."""
    options = ("trajectories", str(DESK), "-n", "150", "--policy", "mixed")
    assert deskproof(*options, "-o", tmp_path / "here.jsonl").exit_code == 0
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        env = {**fresh_environment(), "RAY_TMPDIR": folder, "HOME": folder}
        command = [sys.executable, "-m", "engine.cli", *options, "--engine", "ray", "--workers", "2"]
        command += ["-o", str(tmp_path / "there.jsonl")]
        done = subprocess.run(command, cwd=DESK.parents[2], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
