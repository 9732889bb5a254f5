"""`deskproof replay` of a run: what is played again is the same, and whatever is changed in a run's folder is found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from engine.case import make_case
from engine.episode import Episode
from engine.evaluation.folder import About, locked
from engine.evaluation.ledger import EPISODES, REPLACED, TIMES
from engine.evaluation.limits import OF_RUNS, EpisodeLimits
from engine.evaluation.record import line, parse, recorded
from engine.evaluation.replay.records import contradiction
from engine.load import load_pack
from tests.commands import deskproof
from tests.evaluation import made
from tests.evaluation.runs import PLAYERS, lamps

ASK = {"type": "ask_info", "field": "order"}


def careless(episode: Episode, trial: int) -> Mapping[str, Any] | str | None:
    """Resolves too early, which costs 0.1, then asks for what is missing; at seed 2 it fails at its second step, at
    seed 3 it gives up there."""
    if episode.step_count == 1 and episode.case.seed >= 2:
        return "It broke." if episode.case.seed == 2 else None
    missing = episode.observation["missing_required"]
    if episode.step_count == 0 or not missing:
        return {"type": "resolve"}
    return {"type": "ask_info", "field": missing[0]}


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


def replayed(run: Path, *more: str | Path, code: int = 1) -> Result:
    result = deskproof("replay", run, *more)
    assert result.exit_code == code, result.output
    return result


def lines(run: Path, name: str = EPISODES) -> list[bytes]:
    return (run / name).read_bytes().splitlines(keepends=True)


def rewritten(run: Path, changed: list[bytes]) -> None:
    (run / EPISODES).write_bytes(b"".join(changed))


def changed(run: Path, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the record on a line, counted from 1."""
    found = lines(run)
    document = json.loads(found[number - 1])
    change(document)
    found[number - 1] = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    rewritten(run, found)


# -- The same


def test_a_run_is_the_same_anywhere_and_its_numbers_come_out_again(run: Path, tmp_path: Path) -> None:
    """Of each ticket two seeds are resolved, one is given up, and one is an error, which is in no mean: 4 of 6 are
    resolved. By hand: a resolve that is refused costs 0.1, no classification 0.5, so what is resolved returns 1.4, and
    what is given up -0.1: (2 * 1.4 - 0.1) / 3 = 0.9."""
    (run / TIMES).unlink(missing_ok=True)  # what isn't the same every time isn't looked at
    told = replayed(run, code=0).stdout.splitlines()
    assert told[0] == "8 episodes played again, 1 pack proved again: all is the same."
    assert told[1] == "all tickets: 6 of 8 episodes done (75.0%), 2 tickets"
    assert next(line for line in told if line.startswith("  return ")).split()[1] == "0.900"
    assert next(line for line in told if line.startswith("  success rate ")).split()[2] == "0.667"


def test_what_the_command_played_is_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures, limits and what was played twice included."""
    monkeypatch.chdir(tmp_path)
    lamps(tmp_path)
    words = ("eval", f"{PLAYERS}:fails", "lamps.yaml", "--seeds", 40, "-o", "run", "--max-steps", 9)
    assert deskproof(*words).exit_code == 1
    assert {parse(raw).status for raw in lines(Path("run"))} == {"done", "error", "limit"}
    assert deskproof("eval", "random", "lamps.yaml", "--seeds", 5, "-o", "twice").exit_code == 0
    assert deskproof("eval", "random", "lamps.yaml", "--seeds", 5, "-o", "twice", "--only-failing").exit_code == 0
    assert lines(Path("twice"), REPLACED)
    for run in ("run", "twice"):
        told = replayed(Path(run), code=0).stdout
        assert "all is the same." in told


# -- Records that were changed


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("pack", "lamp", "this episode isn't planned"),
        ("pack_digest", "0" * 64, f'pack_digest: "{"0" * 64}" is written'),
        ("task", "easy", 'task: "easy" is written, "easy-info-collection" comes of it'),
        ("ticket", "t-2", "it is planned, and has no record: the first of 1 episode without a record"),
        ("seed", 1, "another record of the same episode"),
        ("seed", 7, "this episode isn't planned"),
        ("trial", 2, "this episode isn't planned"),
        ("status", "error", 'a cause stands in "error" where it isn\'t done'),
        ("error", "It broke.", 'a cause stands in "error" where it isn\'t done'),
        ("actions", [{"type": "resolve"}] * 4, "outcomes"),
        ("actions", [{"type": "resolve"}, ASK, ASK, {"name": "resolve"}], "step 4, actions: "),
        ("outcomes", ["resolve.done"] * 4, 'step 1, outcomes: "resolve.done" is written, "resolve.'),
        ("rewards", [0.0, 0.0, 0.5, 0.9], "step 1, rewards: 0.0 is written, -0.1 comes of it"),
        ("return", 2.0, 'its "return" isn\'t the sum of its rewards'),
        ("score", 0.9, "score: 0.9 is written, 1.0 comes of it"),
        ("resolved", False, "resolved: false is written, true comes of it"),
        ("steps", 3, "it doesn't have one of everything for each of 3 steps"),
        ("optimal_steps", 5, "optimal_steps: 5 is written, 4 comes of it"),
        ("end_reason", "max_steps", 'end_reason: "max_steps" is written, "resolved" comes of it'),
        ("regrets", [0.0, 0.0, 0.0, 0.5], "step 1, regrets: 0.0 is written, 0.1 comes of it"),
        ("regrets", None, "regrets: null is written, [0.1, 0.0, 0.0, 0.5] comes of it"),
        ("more", 1, "more: 1 is written, nothing comes of it"),
    ],
)
def test_a_record_that_was_changed_is_found(run: Path, field: str, value: Any, told: str) -> None:
    """Each field of the first record: t-1 at seed 0, resolved at the fourth step, one step wasted and nothing
    classified, which would have been worth 0.5."""
    changed(run, 1, lambda document: document.update({field: value}))
    out = replayed(run).stdout
    assert told in out
    assert f"{run / EPISODES}:1: " in out or field in ("ticket", "seed")


def test_a_raised_score_is_told_with_its_episode_and_does_not_count(run: Path) -> None:
    """An episode that was given up, as if it were the best there is: the numbers are those of its actions."""
    good = {"rewards": [2.0], "return": 2.0, "score": 1.0, "resolved": True}
    changed(run, 8, lambda document: document.update(good))
    where = f"{run / EPISODES}:8: lamps t-2, seed 3, trial 1"
    told = replayed(run).stdout.splitlines()
    assert told[:5] == [
        f"{where}: step 1, rewards: 2.0 is written, -0.1 comes of it",
        f"{where}: return: 2.0 is written, -0.1 comes of it",
        f"{where}: score: 1.0 is written, 0.0 comes of it",
        f"{where}: resolved: true is written, false comes of it",
        "8 episodes played again, 1 pack proved again: 4 differences.",
    ]
    assert next(line for line in told if line.startswith("  return ")).split()[1] == "0.900"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: rows[:3] + rows[4:], "lamps t-1, seed 3, trial 1: it is planned, and has no record"),
        (
            lambda rows: [*rows, rows[0]],
            f"{EPISODES}:9: lamps t-1, seed 0, trial 1: another record of the same episode",
        ),
        (lambda rows: [rows[1], rows[0], *rows[2:]], f"{EPISODES}:2: lamps t-1, seed 0, trial 1: it is out of order"),
        (lambda rows: [*rows[:-1], rows[-1][:-1]], f"{EPISODES}:8: lamps t-2, seed 3, trial 1: form: "),
        (lambda rows: [*rows[:-1], rows[-1][:40]], f"{EPISODES}:8: this line is not JSON"),
        (lambda rows: [rows[0].replace(b'":', b'": ', 1), *rows[1:]], "form: "),
        (lambda rows: [], "the first of 8 episodes without a record"),
    ],
)
def test_records_that_are_missing_twice_or_elsewhere(
    run: Path, change: Callable[[list[bytes]], list[bytes]], told: str
) -> None:
    rewritten(run, change(lines(run)))
    assert told in replayed(run).stdout


def test_actions_that_no_episode_has(run: Path) -> None:
    def more(document: dict[str, Any]) -> None:
        for name, value in (("actions", {"type": "resolve"}), ("outcomes", "x"), ("rewards", 0.0), ("regrets", 0.0)):
            document[name].append(value)
        document["steps"] += 1

    changed(run, 1, more)
    assert "its actions go on after the end of the episode" in replayed(run).stdout
    changed(run, 1, lambda document: document["actions"].__setitem__(0, {"type": float("nan")}))
    changed(run, 1, lambda document: [document[name].pop() for name in ("actions", "outcomes", "rewards", "regrets")])
    changed(run, 1, lambda document: document.update(steps=4))
    assert "its actions aren't JSON" in replayed(run).stdout


def test_what_was_replaced_is_played_again_too(run: Path) -> None:
    (run / REPLACED).write_bytes(lines(run)[0].replace(b'"score":1.0', b'"score":0.5'))
    assert f"{run / REPLACED}:1: lamps t-1, seed 0, trial 1: score: 0.5 is written" in replayed(run).stdout
    (run / REPLACED).write_bytes(lines(run)[2])
    assert "it wasn't done before it was played again" in replayed(run).stdout


# -- Episodes that aren't done


def test_an_error_that_is_called_done_is_found_where_it_was_not_given_up(run: Path) -> None:
    changed(run, 3, lambda document: document.update(status="done", error=None))
    assert 'end_reason: null is written, "stopped" comes of it' in replayed(run).stdout


def test_a_good_episode_that_is_called_an_error_is_found(run: Path) -> None:
    changed(run, 1, lambda document: document.update(status="error", error="It broke."))
    assert 'its status is "error", though its actions end the episode' in replayed(run).stdout


@pytest.mark.parametrize(
    ("actions", "status", "error", "limits", "told"),
    [
        (1, "limit", OF_RUNS[0], EpisodeLimits(), None),
        (1, "limit", "It rained.", EpisodeLimits(), "the limit that it names isn't one that ended it"),
        (1, "limit", EpisodeLimits(2).too_many(), EpisodeLimits(2), "the limit that it names isn't one that ended it"),
        (2, "limit", EpisodeLimits(2).too_many(), EpisodeLimits(2), None),
        (2, "done", None, EpisodeLimits(2), "it is done, though It wasn't over after 2 steps (--max-steps)."),
        (2, "error", "It broke.", EpisodeLimits(2), "the agent failed at a step that it wasn't asked for: "),
        (1, "error", "It broke.", EpisodeLimits(2), None),
        (1, "limit", EpisodeLimits(None, 3.0).too_long(), EpisodeLimits(None, 3.0), None),
        (1, "limit", EpisodeLimits(None, 3.0).too_long(), EpisodeLimits(None, 4.0), "the limit that it names isn't"),
        (1, "done", None, EpisodeLimits(2), None),
    ],
)
def test_how_an_episode_can_have_ended(
    tmp_path: Path, actions: int, status: Any, error: str | None, limits: EpisodeLimits, told: str | None
) -> None:
    episode = Episode.start(make_case(lamps(tmp_path), "t-2", 0))
    for _ in range(actions):
        episode = episode.step(ASK)
    found = contradiction(recorded(episode, 1, status, error, stopped=status == "done"), episode, limits)
    assert (found is None) if told is None else (found or "").startswith(told)


def written_anew(run: Path, **members: Any) -> None:
    """Writes run.json with other options or another `planned`, and a guard that fits."""
    document = json.loads((run / "run.json").read_bytes())
    own = {name: document[name] for name in ("tool", "agent", "planned")}
    options = {**document["options"], **members}
    about = About(packs=tuple(document["packs"]), options=options, **own)
    (run / "run.json").write_text(about.text(), "utf-8")


def test_a_limit_that_was_not_kept_is_found(run: Path) -> None:
    """t-1 was resolved at its fourth step at seeds 0 and 1, t-2 at its fifth: no run of --max-steps 3 plays on."""
    written_anew(run, max_steps=3)
    told = [line for line in replayed(run).stdout.splitlines() if "--max-steps" in line]
    assert told[0] == f"{run / EPISODES}:1: lamps t-1, seed 0, trial 1: it has 4 steps, and the run's --max-steps is 3"
    assert len(told) == 4
    written_anew(run, max_steps=9)
    assert "all is the same." in replayed(run, code=0).stdout


# -- Packs, certificates, and what the run is a run of


def test_a_pack_that_was_changed_is_found(run: Path) -> None:
    file = run / "packs" / "lamps.json"
    file.write_text(file.read_text("utf-8").replace('"L-2"', '"L-3"'), "utf-8")
    told = replayed(run, "--sign-off", run.parent / "off.json").stderr
    assert "isn't the pack that the run was played with: its digest differs" in told
    assert not (run.parent / "off.json").exists()


def test_a_ticket_that_was_swapped_is_found(run: Path, tmp_path: Path) -> None:
    """Whoever puts an easier pack in the folder has to change its digest wherever it stands; what was proved of it and
    what the actions come to is another thing then."""
    lamps(tmp_path)
    easier = tmp_path / "lamps.yaml"
    easier.write_text(easier.read_text("utf-8").replace("[{say: Let me look.}, L-1]", "L-1"), "utf-8")
    pack = load_pack(easier)
    document = json.loads((run / "run.json").read_bytes())
    old = document["packs"][0]["digest"]
    document["packs"][0]["digest"] = pack.digest
    members = {name: document[name] for name in ("tool", "agent", "options", "planned")}
    about = About(packs=tuple(document["packs"]), **members)
    (run / "run.json").write_text(about.text(), "utf-8")
    (run / "packs" / "lamps.json").write_text(pack.source, "utf-8")
    rewritten(run, [raw.replace(old.encode(), pack.digest.encode()) for raw in lines(run)])
    told = replayed(run).stdout
    assert f'certificates/lamps.json: packs[0].digest: "{old}" is written, "{pack.digest}" comes of it' in told
    where = "jsonl:1: lamps t-1, seed 0, trial 1: step 2, outcomes"
    assert f'{where}: "ask_info.stalled" is written, "ask_info.answered" comes of it' in told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"optimum": 2.0', '"optimum": 1.9', "packs[0].tickets[0].variants[0].numbers.optimum: 1.9 is written, 2.0"),
        ('"sound": true', '"sound": false', "packs[0].sound: false is written, true comes of it"),
        ('"optimum": 2.0', '"optimum":  2.0', "it isn't written as Deskproof writes it"),
        ("{", "", "this isn't JSON that can be read"),
    ],
)
def test_a_certificate_that_was_changed_is_found(run: Path, old: str, new: str, told: str) -> None:
    file = run / "certificates" / "lamps.json"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    assert f"{file}: {told}" in replayed(run).stdout


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"planned": 8', '"planned": 9', "planned: 9 is written, 8 comes of it"),
        ('"version": "1.0.0"', '"version": "1.0.1"', 'packs[0].version: "1.0.1" is written, "1.0.0" comes of it'),
        ('"agent": "mine"', '"agent": "yours"', "was changed after it was written: its guard doesn't fit."),
    ],
)
def test_a_run_json_that_was_changed_is_found(run: Path, old: str, new: str, told: str) -> None:
    file = run / "run.json"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    result = replayed(run)
    assert told in result.stdout + result.stderr


def test_options_that_nothing_can_be_made_of_are_no_traceback(run: Path) -> None:
    """Whoever can write the folder can write a guard that fits."""
    before = (run / "run.json").read_bytes()
    for name, value in (
        *(("seeds", 4), ("tasks", [7]), ("split", "mine"), ("trials", 0), ("trials", None), ("max_steps", 0)),
        *(("max_steps", False), ("episode_time", -1), ("episode_time", 10**400)),
    ):
        written_anew(run, **{name: value})
        assert "its guard doesn't fit" in replayed(run).stderr, name
        (run / "run.json").write_bytes(before)


# -- What can't be used


def test_what_is_no_run(run: Path, tmp_path: Path) -> None:
    assert "is no run: its run.json can't be read" in replayed(tmp_path, code=2).stderr
    (run / "certificates" / "lamps.json").unlink()
    told = f"Error: {run / 'certificates' / 'lamps.json'} can't be read: No such file or directory."
    assert told in replayed(run, code=2).stderr


def test_a_run_that_is_played_now(run: Path) -> None:
    with locked(run):
        assert f"{run} is being played by another process" in replayed(run, code=2).stderr
    replayed(run, code=0)


def test_a_run_that_was_broken_off_is_told_once(run: Path) -> None:
    """Records stand as they were played, by seeds, and the last isn't there."""
    rows = lines(run)
    rewritten(run, [rows[number] for number in (0, 4, 1, 5, 2, 6, 3)])
    assert replayed(run).stdout.splitlines()[:3] == [
        f"{run / EPISODES}:3: lamps t-1, seed 1, trial 1: it is out of order: the first of 3 records out of order, "
        "as where a run isn't played to its end",
        f"{run / EPISODES}: lamps t-2, seed 3, trial 1: it is planned, and has no record: "
        "the first of 1 episode without a record",
        "7 episodes played again, 1 pack proved again: 2 differences.",
    ]


def test_files_and_runs_take_what_is_theirs(run: Path, tmp_path: Path) -> None:
    assert "no --store, no --pack" in replayed(run, "--pack", run, code=2).stderr
    file = run / EPISODES
    assert "--sign-off is about the folder of a run" in replayed(file, "--sign-off", tmp_path / "off", code=2).stderr
    assert "this line is no transcript" in replayed(file).stderr
    assert line(parse(lines(run)[0])) == lines(run)[0]
