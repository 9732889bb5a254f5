"""`deskproof compare`: what it prints, what it refuses, and its exit codes: 0 compared, 1 it can't be, 2 usage."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from engine.contract import load_contract
from engine.episode import Episode
from engine.evaluation.ledger import EPISODES, REPLACED
from engine.load import check_draft
from engine.pack import Pack
from tests.commands import deskproof
from tests.evaluation.made import Play, run
from tests.proof.diffs import BASE, THIRD

ASK = {"dark": "model", "hum": "socket", "hot": "model"}
Made = Callable[..., Path]


def perfect(episode: Episode, trial: int) -> Mapping[str, Any]:
    """Asks for what is missing, and resolves: a return of 2 in two steps."""
    return {"type": "ask_info", "field": ASK[episode.case.ticket.id]} if not episode.steps else {"type": "resolve"}


def forgetful(episode: Episode, trial: int) -> Mapping[str, Any] | None:
    """The same, but at seed 1 it gives the ticket `hum` up after the first step, which is worth 0.5."""
    if episode.case.ticket.id == "hum" and episode.case.seed == 1 and episode.steps:
        return None
    return perfect(episode, trial)


def broken(episode: Episode, trial: int) -> Mapping[str, Any] | str:
    """Fails at seed 2."""
    return "It broke." if episode.case.seed == 2 else perfect(episode, trial)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes a run of the pack `lamps`, or of a change of it."""

    def make(name: str, play: Play, old: str = "", new: str = "", seeds: str = "3", text: str = BASE) -> Path:
        path = tmp_path / f"{name}.yaml"
        assert old in text
        path.write_text(text.replace(old, new) if old else text, "utf-8")
        pack: Pack | None = check_draft(path, load_contract())[0]
        assert pack is not None
        return run(tmp_path / name, [pack], play, seeds=seeds, name=name)

    return make


def compare(*arguments: str | Path) -> Result:
    return deskproof("compare", *arguments)


def data(first: Path, second: Path, *more: str) -> Any:
    done = compare(first, second, "--json", *more)
    assert done.exit_code == compare(first, second, *more).exit_code
    return json.loads(done.stdout)


def test_what_is_not_done_is_told_with_what_success_is_at_least(made: Made) -> None:
    """Both tickets fail at one of three seeds, and succeed else: 4 of 6."""
    first, second = made("first", perfect), made("second", broken)
    lines = compare(first, second).output.splitlines()
    assert lines[1] == f"second: {second}: second, 4 of 6 episodes done; success at least 0.667"
    assert lines[-1] == (
        "Episodes that aren't compared: 2 done in the first run only (in the second run 2 ended in an error)"
    )


def test_what_differs(made: Made) -> None:
    """`hum` returns 2, 0.5 and 2 in the second run, so on average 1.5 and by 0.5 less; `dark` 2: together 0.25 less."""
    first, second = made("first", perfect), made("second", forgetful)
    done = compare(first, second)
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == f"first:  {first}: first, 6 of 6 episodes done"
    assert lines[1] == f"second: {second}: second, 6 of 6 episodes done"
    assert lines[3] == "all tickets: 6 pairs of 2 tickets"
    rows = {line[2:20].strip(): line[20:].split() for line in lines[5:] if line.startswith("  ")}
    assert rows["return"][:3] == ["2.000", "1.750", "-0.250"]
    assert rows["success rate"][:3] == ["1.000", "0.833", "-0.167"]
    assert "1 episode of 1 ticket flipped: 0 succeeded in the second run only, 1 in the first only" in lines
    assert "  lamps hum: lost 1 at seed 1" in lines
    assert "compared" not in done.output  # nothing is left out


def test_as_data(made: Made) -> None:
    found = data(made("first", perfect), made("second", forgetful))
    assert found["comparable"] is True and found["unlike"] == []
    assert found["first"]["agent"] == {"agent": "first"} and found["second"]["done"] == 6
    overall = found["overall"]
    assert (overall["pairs"], overall["tickets"]) == (6, 2)
    assert overall["numbers"]["return"]["difference"]["value"] == -0.25
    assert found["flips"] == [{"pack": "lamps", "ticket": "hum", "seed": 1, "trial": 1, "succeeded": "first"}]
    assert set(found["unpaired"].values()) == {0}


def test_the_same_run_twice(made: Made) -> None:
    first = made("first", perfect)
    done = compare(first, first)
    assert done.exit_code == 0
    assert "No episode succeeds in one run only." in done.output
    assert not {"better", "worse"} & set(done.output.split())


def test_what_is_not_done_in_both_is_not_compared(made: Made) -> None:
    done = compare(made("first", perfect, seeds="4"), made("second", broken))
    assert done.exit_code == 0
    assert "all tickets: 4 pairs of 2 tickets" in done.output
    assert "compared: 2 recorded in the first run only, 2 done in the first run only" in done.output


def test_numbers_of_what_was_played_again_are_not_taken_for_others(made: Made) -> None:
    """`hum` at seed 1 wasn't resolved at first: its record of then stands beside the others."""
    first, second = made("first", perfect), made("second", perfect)
    record = (made("before", forgetful) / EPISODES).read_bytes().splitlines(keepends=True)[4]
    assert b'"ticket":"hum","seed":1' in record
    (second / REPLACED).write_bytes(record)
    told = (
        "The second run played again what was done (--only-failing), 1 episode: its numbers are better than the "
        "agent is"
    )
    assert [line for line in compare(first, second).output.splitlines() if "--only-failing" in line] == [told]
    assert [data(first, second)[name]["replaced"] for name in ("first", "second")] == [0, 1]
    (second / REPLACED).write_bytes(b"{}\n")
    damaged = compare(first, second)
    assert damaged.exit_code == 2 and f"{REPLACED} holds what is no record: this line is no record" in damaged.output


# -- Which is better


def test_better_and_worse(made: Made) -> None:
    """All of ten tickets are resolved in one run only. A greater return is better, a greater regret is worse."""
    names = [f"t{number}" for number in range(10)]
    rows = [
        f"  - {{id: {name}, task: easy-info-collection, messages: [Dark.], required: [model], answers: {{model: L}}}}"
        for name in names
    ]
    text = BASE.partition("tickets:")[0] + "tickets:\n" + "\n".join(rows) + "\n"
    text = text.replace(
        "fields: {model: {description: Model}, socket: {description: Socket}}", "fields: {model: {description: Model}}"
    )

    def asks(episode: Episode, trial: int) -> Mapping[str, Any]:
        return {"type": "ask_info", "field": "model"} if not episode.steps else {"type": "resolve"}

    def wastes(episode: Episode, trial: int) -> Mapping[str, Any]:
        return {"type": "resolve"}

    first, second = made("first", wastes, text=text), made("second", asks, text=text)
    better = {line[2:20].strip(): line.split()[-1] for line in compare(first, second).output.splitlines()[5:12]}
    worse = {line[2:20].strip(): line.split()[-1] for line in compare(second, first).output.splitlines()[5:12]}
    assert {better[name] for name in ("score", "return", "regret", "success rate")} == {"better"}
    assert {worse[name] for name in ("score", "return", "regret", "success rate")} == {"worse"}


# -- What isn't the same


STALLING = ("{socket: E27}", '{socket: [{say: "Let me look."}, E27]}')


def patient(episode: Episode, trial: int) -> Mapping[str, Any]:
    """Asks until nothing is missing."""
    missing = episode.observation["missing_required"]
    return {"type": "ask_info", "field": missing[0]} if missing else {"type": "resolve"}


def test_a_ticket_that_is_not_the_same_is_refused(made: Made) -> None:
    first, second = made("first", patient), made("second", patient, *STALLING)
    done = compare(first, second)
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        "These runs can't be compared: 1 of 2 tickets that both play is not the same in both.",
        "  lamps hum: nothing known at the start: fewest steps 2 -> 3, optimal steps 2 -> 3, "
        + done.output.split("optimal steps 2 -> 3, ")[1].splitlines()[0],
        "--common compares the other 1.",
    ]
    found = data(first, second)
    assert found["comparable"] is False and "overall" not in found
    (one,) = found["unlike"]
    assert (one["pack"], one["ticket"]) == ("lamps", "hum")
    assert {"what": "optimal_steps", "old": 2, "new": 3} in [
        {name: change[name] for name in ("what", "old", "new")} for change in one["changes"]
    ]


def test_the_rest_can_be_compared(made: Made) -> None:
    first, second = made("first", patient), made("second", patient, *STALLING)
    done = compare(first, second, "--common")
    assert done.exit_code == 0
    assert "1 ticket left out:" in done.output and "lamps has another digest in each run" in done.output
    assert "all tickets: 3 pairs of 1 ticket" in done.output
    found = data(first, second, "--common")
    assert [one["ticket"] for one in found["unlike"]] == ["hum"] and found["overall"]["pairs"] == 3


def test_other_words_are_said(made: Made) -> None:
    done = compare(made("first", perfect), made("second", perfect, "It hums.", "It is humming."))
    assert done.exit_code == 0
    assert "lamps has another digest in each run: its texts may have changed" in done.output


def test_only_the_tickets_of_both_runs_count(made: Made) -> None:
    """The second run has a ticket more, which keeps nobody from comparing."""
    done = compare(made("first", perfect), made("second", perfect, text=BASE + THIRD))
    assert done.exit_code == 0
    assert "all tickets: 6 pairs of 2 tickets" in done.output


def test_nothing_is_left(made: Made) -> None:
    first, second = made("first", patient), made("second", patient, "max_steps: 4", "max_steps: 5")
    done = compare(first, second, "--common")
    assert done.exit_code == 1
    assert "2 of 2 tickets that both play are not the same in both" in done.output
    assert "--common" not in done.output


def test_what_decides_all_tickets(made: Made) -> None:
    """A fact that nothing uses changes no number: that it is there is the only change."""
    facts = "facts: {called: {values: [false, true]}}\n"
    done = compare(made("first", perfect), made("second", perfect, text=BASE + facts))
    assert done.exit_code == 1
    for ticket in ("dark", "hum"):
        assert (
            f"  lamps {ticket}: the pack's names, actions, rules, facts, rewards or tasks decide otherwise"
            in done.output
        )


def test_no_ticket_in_both(made: Made) -> None:
    done = compare(made("first", perfect), made("second", perfect, "pack: lamps", "pack: bulbs"))
    assert (done.exit_code, done.output) == (1, "These runs can't be compared: no ticket is played in both.\n")


def test_no_episode_in_both(made: Made) -> None:
    done = compare(made("first", perfect, seeds="0-1"), made("second", perfect, seeds="2-3"))
    assert done.exit_code == 1
    assert "all tickets: 0 pairs of 0 tickets" in done.output
    assert "4 recorded in the first run only, 4 recorded in the second run only" in done.output


# -- What is no run


def test_no_run(made: Made, tmp_path: Path) -> None:
    first = made("first", perfect)
    done = compare(first, tmp_path / "nothing")
    assert done.exit_code == 2 and "is no run" in done.output


def test_a_record_that_is_none(made: Made) -> None:
    first = made("first", perfect)
    with (first / EPISODES).open("ab") as file:
        file.write(b"{}\n")
    done = compare(first, first)
    assert done.exit_code == 2 and f"{EPISODES}:7: this line is no record" in done.output


@pytest.mark.parametrize("content", [b"", b"{}", b'{"certificate": 2, "deskproof": "1.0.0", "packs": []}'])
def test_a_certificate_that_is_none(made: Made, content: bytes) -> None:
    first = made("first", perfect)
    (first / "certificates" / "lamps.json").write_bytes(content)
    done = compare(first, first)
    assert done.exit_code == 2 and "certificate of pack 'lamps'" in done.output and "Traceback" not in done.output


def test_a_certificate_that_is_gone(made: Made) -> None:
    first = made("first", perfect)
    (first / "certificates" / "lamps.json").unlink()
    done = compare(first, first)
    assert done.exit_code == 2 and "can't be read" in done.output
