"""The folder of a run: made whole, guarded, and read again whatever became of whoever wrote to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from engine.evaluation.folder import About, Unusable, about, check_same, is_run, locked, make, read
from engine.evaluation.ledger import EPISODES, TIMES, Damaged, Ledger, OpenLedger
from engine.evaluation.limits import EpisodeLimits
from engine.evaluation.plan import Plan, Wish
from engine.evaluation.result import State
from engine.evaluation.runner import Sitting
from engine.load import load_pack
from tests.evaluation.runs import episodes, lamps, opened, records, sat
from tests.plugin.projects import PACK

WISH = Wish(seeds="3")


def asked(folder: Path, wish: Wish = WISH, agent: str = "quick", limits: EpisodeLimits = EpisodeLimits()) -> About:  # noqa: B008
    return about("1.0", {"agent": agent}, Plan([lamps(folder)], wish), wish, limits)


def test_a_folder_has_all_that_the_run_is(tmp_path: Path) -> None:
    pack = lamps(tmp_path)
    run = opened(tmp_path / "run", [pack], WISH, "quick", EpisodeLimits(5, 2.5))
    written = json.loads((run.path / "run.json").read_text("utf-8"))
    options: dict[str, object] = {
        "tasks": [],
        "tickets": [],
        "split": None,
        "seeds": "0-2",
        "trials": 1,
        "max_steps": 5,
    }
    options |= {"max_steps": 5, "episode_time": 2.5}
    guarded = [[["lamps", pack.digest]], {"agent": "quick"}, options]
    assert written == {
        "run": 1,
        "tool": "1.0",
        "agent": {"agent": "quick"},
        "options": options,
        "packs": [{"name": "lamps", "version": "1.0.0", "digest": pack.digest, "file": "lamps"}],
        "planned": 6,
        "guard": sha256(json.dumps(guarded, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
    }
    assert run.plan.packs["lamps"].digest == pack.digest
    assert run.about.limits == EpisodeLimits(5, 2.5)
    assert run.certificate("lamps") == b"{}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lamps.yaml", "run"]


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "grün", "x" * 200, "a:b", "\U0001f4a1" * 200])
def test_a_packs_name_may_be_any_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(PACK.replace("pack: lamps", f'pack: "{name}"'), "utf-8")
    pack = load_pack(path)
    run = opened(tmp_path / "run", [pack], WISH, "quick")
    assert [*run.plan.packs] == [pack.name]
    assert len([*(run.path / "packs").iterdir()]) == 1
    sat(run, "quick")
    assert {record.pack for record in records(run)} == {pack.name}


def test_two_packs_in_one_run_keep_apart(tmp_path: Path) -> None:
    for name in ("a/b", "a:b"):
        (tmp_path / f"{len(name)}{name[1:2] == '/'}.yaml").write_text(
            PACK.replace("pack: lamps", f'pack: "{name}"'), "utf-8"
        )
    packs = [load_pack(path) for path in sorted(tmp_path.glob("*.yaml"))]
    run = opened(tmp_path / "run", packs, WISH, "quick")
    assert {name: pack.digest for name, pack in run.plan.packs.items()} == {pack.name: pack.digest for pack in packs}


# -- Another run's folder


def opting(run: About, **options: object) -> About:
    return replace(run, options={**run.options, **options})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda run: replace(run, agent={"agent": "slow"}), ['the agent: "quick" there, "slow" now']),
        (
            lambda run: replace(run, agent={**run.agent, "temperature": 0.5}),
            ["the agent temperature: null there, 0.5 now"],
        ),
        (
            lambda run: replace(run, options={**run.options, "seeds": "0-9"}),
            ['the option seeds: "0-2" there, "0-9" now'],
        ),
        (
            lambda run: replace(run, options={**run.options, "max_steps": 4}),
            ["the option max steps: null there, 4 now"],
        ),
        (
            lambda run: replace(run, packs=({**run.packs[0], "digest": "b" * 64, "version": "1.0.1"},)),
            ["the pack 'lamps': 1.0.0, digest DIGEST there, 1.0.1, digest bbbbbbbbbbbb now"],
        ),
        (
            lambda run: replace(run, packs=({**run.packs[0], "name": "lights"},)),
            ["the pack 'lamps': played there, not asked for now", "the pack 'lights': not played there, asked for now"],
        ),
    ],
)
def test_another_run_is_refused_and_all_that_differs_is_told(
    tmp_path: Path, change: Callable[[About], About], told: list[str]
) -> None:
    there = asked(tmp_path)
    check_same(tmp_path / "run", there, replace(there, tool="2.0"))
    with pytest.raises(Unusable) as refused:
        check_same(tmp_path / "run", there, change(there))
    digest = there.packs[0]["digest"][:12]
    assert str(refused.value).splitlines() == [
        f"{tmp_path / 'run'} is another run, and can't be gone on with:",
        *(f"  {line}".replace("DIGEST", digest) for line in told),
        "Name another folder with -o.",
    ]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    empty, other, file = tmp_path / "empty", tmp_path / "other", tmp_path / "file"
    empty.mkdir()
    other.mkdir()
    (other / "mine.txt").write_text("mine", "utf-8")
    file.write_text("mine", "utf-8")
    assert not is_run(tmp_path / "nothing")
    assert not is_run(empty)
    with pytest.raises(Unusable, match=r"is no run: there is something in it, but no run.json"):
        is_run(other)
    with pytest.raises(Unusable, match=r"can't be used as a folder: Not a directory"):
        is_run(file)
    opened(empty, [lamps(tmp_path)], WISH, "quick")
    assert is_run(empty)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('"0-2"', '"0-3"'), "was changed after it was written: its guard doesn't fit."),
        (lambda text: text.replace('"run": 1', '"run": 2'), "it is of form 2, and form 1 is read here."),
        (lambda text: text.replace('"run": 1', '"walk": 1'), 'it has no "run": 1.'),
        (lambda text: text.replace('"packs"', '"bags"'), "was changed after it was written: its guard doesn't fit."),
        (lambda text: text.replace('"file": "lamps"', '"file": "../lamps"'), "its guard doesn't fit."),
        (lambda text: text[:-9], "is not JSON."),
        (lambda text: "[]", 'it has no "run": 1.'),
    ],
)
def test_a_run_json_that_is_not_what_was_written_is_refused(
    tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    file = run.path / "run.json"
    file.write_text(change(file.read_text("utf-8")), "utf-8")
    with pytest.raises(Unusable) as refused:
        read(run.path)
    assert str(refused.value).startswith(str(file)) and str(refused.value).endswith(told)


def test_a_pack_that_is_not_the_runs_is_refused(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    file = run.path / "packs" / "lamps.json"
    file.write_text(file.read_text("utf-8").replace("It is green!", "It is blue!"), "utf-8")
    with pytest.raises(Unusable, match="isn't the pack that the run was played with: its digest differs"):
        read(run.path)
    file.unlink()
    with pytest.raises(Unusable, match=r"is no whole run: packs/lamps\.json can't be read"):
        read(run.path)


def test_a_folder_that_can_not_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    pack = lamps(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Unusable, match=r"can't be made: (Not a directory|File exists)"):
        make(tmp_path / "file" / "run", asked(tmp_path), [pack], {"lamps": "{}"})
    run = opened(tmp_path / "run", [pack], WISH, "quick")
    with pytest.raises(Unusable, match="can't be made: Directory not empty"):
        make(run.path, asked(tmp_path), [pack], {"lamps": "{}"})
    assert sorted(tmp_path.iterdir()) == sorted([*before, run.path])


def test_one_process_at_a_time_plays_a_run(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    with locked(run.path), pytest.raises(Unusable, match="is being played by another process"), locked(run.path):
        pass
    with locked(run.path):
        pass


# -- What was played


def test_half_a_line_is_cut_off_and_its_episode_played_again(tmp_path: Path) -> None:
    """At each byte of the last two lines."""
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    sat(run, "quick")
    raw = episodes(run)
    *first, before, last = raw.splitlines(keepends=True)
    for cut in (1, 2, len(last) // 2, len(last), len(last) + 1, len(last) + len(before) - 1):
        (run.path / EPISODES).write_bytes(raw[:-cut])
        assert len(records(run)) == len(first) + (cut <= len(last))
        sat(run, "quick")
        assert episodes(run) == raw


def test_half_a_line_of_the_account_is_cut_off(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    sat(run, "quick")
    times = (run.path / TIMES).read_bytes()
    (run.path / TIMES).write_bytes(times[:-5])
    with closing(OpenLedger(run.path, run.plan)):
        assert (run.path / TIMES).read_bytes() == b"".join(times.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda raw: b"{}\n", 'this line is no record: it has no "pack"'),
        (lambda raw: b"\x00" * 40 + b"\n", "this line is not JSON"),
        (lambda raw: raw.replace(b'"seed":0', b'"seed":9'), "this record is of an episode that isn't planned"),
        (
            lambda raw: raw.replace(b'"pack_digest":"', b'"pack_digest":"0'),
            "this record is of another version of its pack",
        ),
    ],
)
def test_any_other_damage_is_told_and_nothing_is_touched(
    tmp_path: Path, change: Callable[[bytes], bytes], told: str
) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    sat(run, "quick")
    lines = episodes(run).splitlines(keepends=True)
    lines[0] = change(lines[0])
    (run.path / EPISODES).write_bytes(b"".join(lines))
    with pytest.raises(Damaged) as refused:
        sat(run, "quick")
    file = run.path / EPISODES
    assert str(refused.value) == f"{file}:1: {told}. Take the line out, and its episode is played again."
    assert episodes(run) == b"".join(lines)


def test_who_is_killed_while_sorting_loses_nothing(tmp_path: Path) -> None:
    """What was being written then has another name, and goes the next time."""
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    sat(run, "quick")
    raw = episodes(run)
    left = run.path / ".unfinished-0badcafe"
    left.write_bytes(raw[:100])
    (run.path / EPISODES).write_bytes(b"".join(reversed(raw.splitlines(keepends=True))))
    assert b"".join(sorted(raw.splitlines(keepends=True))) == raw  # keys are in the order of their text here
    sat(run, "quick")
    assert episodes(run) == raw
    assert not left.exists()


def test_of_several_lines_of_an_episode_the_last_one_counts(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "fails")
    other = opened(tmp_path / "other", [lamps(tmp_path)], WISH, "quick")
    sat(run, "fails")
    sat(other, "quick")
    (run.path / EPISODES).write_bytes(episodes(run) + episodes(other))
    assert records(run) == records(other)
    assert Ledger(run.path, run.plan).count(State.ERROR) == 0


def test_what_was_spent_stays_spent(tmp_path: Path) -> None:
    """Each time that an episode is played is in the account, also where its record is replaced."""
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    sat(run, "quick")
    sat(run, "quick", Sitting("failing"))
    lines = [json.loads(raw) for raw in (run.path / TIMES).read_bytes().splitlines()]
    failing = sum(not record.resolved for record in records(run))
    assert len(lines) == 6 + failing
    assert {*lines[0]} == {"pack", "ticket", "seed", "trial", "seconds", "input_tokens", "output_tokens", "cost"}
    spent = [{**line, "input_tokens": 100, "output_tokens": 7, "cost": 0.25} for line in lines]
    (run.path / TIMES).write_text("".join(json.dumps(line) + "\n" for line in spent), "utf-8")
    with closing(OpenLedger(run.path, run.plan)) as ledger:
        assert (ledger.tokens, ledger.cost) == (107 * len(lines), 0.25 * len(lines))


@pytest.mark.parametrize("name", [EPISODES, TIMES])
def test_a_file_that_can_not_be_read_is_told(tmp_path: Path, name: str) -> None:
    run = opened(tmp_path / "run", [lamps(tmp_path)], WISH, "quick")
    (run.path / name).mkdir()
    with pytest.raises(Damaged, match=f"{name} can't be read: Is a directory"):
        sat(run, "quick")
