"""What `deskproof mutate` prints, and with what it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.new import EXAMPLE
from tests.commands import deskproof
from tests.proof.changes import TINY, written


def run(*arguments: str) -> tuple[int, str]:
    result = deskproof("mutate", *arguments)
    return result.exit_code, result.output


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    written(tmp_path, TINY)
    return str(tmp_path / "pack.yaml")


def test_the_command_lists_survivors_with_their_lines(tiny: str) -> None:
    code, output = run(tiny)
    assert code == 0 and "tiny 1.0.0: 26 mutants" in output
    place = f"{tiny}:16:7: survived: drops the rule call.again"
    note = '(ticket k-1, seed 0): call, call; outcome is "call.again", not "call.no_effect"'
    assert f"{place}\n  a test would notice {note}\n" in output
    assert output.count(": survived: ") == 6 and ": tested: " not in output
    assert output.endswith("Score: 0.7500 (18 of 24 noticed; 2 that no episode can tell from the pack left out).\n")


def test_the_score_may_be_asked_for(tiny: str) -> None:
    assert run(tiny, "--at-least", "0.75")[0] == 0
    assert run(tiny, "--at-least", "0.76")[0] == 1
    for share in ("75", "nan", "-nan", "inf", "-0.1"):
        code, output = run(tiny, "--at-least", share)
        assert code == 2 and "is not in the range 0<=x<=1" in output


def test_survivors_alone_all_and_some(tiny: str) -> None:
    code, output = run(tiny, "--survivors-only")
    assert code == 0 and len(output.splitlines()) == 12 and "Score" not in output
    assert run(tiny, "--all")[1].count(": equivalent: ") == 2
    assert "tiny 1.0.0: 4 mutants" in run(tiny, "--most", "4")[1]
    assert "tiny 1.0.0: 2 mutants" in run(tiny, "--kind", "rule")[1]


def test_nothing_to_change_is_told_and_no_score(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_text(EXAMPLE, "utf-8")
    code, output = run(str(path), "--kind", "rule", "--kind", "fact")
    assert (code, output) == (
        0,
        "my-desk 0.1.0: there is nothing to change (rule: drops a rule that the pack adds; fact: lets a fact begin "
        "with its next value, in a ticket or in the pack).\n",
    )


def test_everything_as_json(tiny: str) -> None:
    code, output = run(tiny, "--json")
    told = json.loads(output)
    assert code == 0 and told["score"] == 0.75
    assert [told[fate] for fate in ("refused", "tested", "proved", "survived", "equivalent")] == [5, 11, 2, 6, 2]
    goal = next(one for one in told["mutants"] if one["what"] == "closes ticket 'k-1' whatever 'called' is")
    assert (goal["kind"], goal["ticket"], goal["file"], goal["line"], goal["fate"]) == (
        "goal",
        "k-1",
        tiny,
        27,
        "survived",
    )
    # Two asks until the name is there: then it can be resolved, though nobody called.
    assert len(goal["test"]["steps"]) == 3 and goal["test"]["steps"][-1] == {"type": "resolve"}
    assert goal["test"]["expect"] == {"outcome": "resolve.unmet"}
    assert goal["test"]["mutant"] == {"outcome": "resolve.done"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("return: 2.0", "return: 1.9"), "PACK070"),
        (("requires: [name]", "requires: [nam]"), "did you mean 'name'?"),
        (("say: It's the Lumo.,", "wrong: true, say: It's the Lumo.,"), "PACK042"),
    ],
    ids=["its test fails", "it can't be read", "it can't be resolved"],
)
def test_a_pack_that_isnt_sound_isnt_changed(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(TINY.replace(*change), "utf-8")
    code, output = run(str(path))
    assert code == 1 and told in output and "nothing was changed" in output
    code, output = run(str(path), "--json")
    assert code == 1 and json.loads(output)["findings"]


def test_a_pack_that_isnt_there(tmp_path: Path) -> None:
    code, output = run(str(tmp_path / "nothing.yaml"))
    assert code == 2 and "There is no file or folder" in output
