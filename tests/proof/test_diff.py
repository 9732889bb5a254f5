"""`deskproof diff`: which scores stop being comparable, what it prints, and its exit codes: 0 none, 1 some, 2 usage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import deskproof as run
from tests.proof.diffs import BASE, THIRD, Packs, data


@pytest.fixture
def packs(tmp_path: Path) -> Packs:
    return Packs(tmp_path)


# -- What stays comparable


def test_the_same_pack(packs: Packs) -> None:
    done = run("diff", packs.base, packs.base)
    assert done.exit_code == 0
    assert done.output == (
        "lamps: 1.0.0, the same digest\n"
        "  2 tickets with the same numbers: returns and scores stay comparable\n"
        "Nothing changed.\n"
    )


def test_another_wording(packs: Packs) -> None:
    done = run("diff", packs.base, packs.changed("It hums.", "It is humming."))
    assert done.exit_code == 0
    assert done.output.endswith(
        "  2 tickets with the same numbers: returns and scores stay comparable; texts may have changed\n"
        "All scores stay comparable.\n"
    )


def test_another_version_of_it(packs: Packs) -> None:
    """The version is part of the digest, and of no number."""
    done = run("diff", packs.base, packs.changed("version: 1.0.0", "version: 1.1.0"))
    assert done.exit_code == 0
    assert done.output.startswith("lamps: 1.0.0 -> 1.1.0, digest ")


# -- What doesn't


def test_tickets_that_came_and_went(packs: Packs) -> None:
    more = packs.write("more.yaml", BASE + THIRD)
    came, went = run("diff", packs.base, more), run("diff", more, packs.base)
    assert (came.exit_code, went.exit_code) == (1, 1)
    assert "  hot came\n" in came.output and "0 tickets changed, 1 came, 0 went" in came.output
    assert "  hot went\n" in went.output and "0 tickets changed, 0 came, 1 went" in went.output
    assert (data(packs.base, more)["came"], data(more, packs.base)["went"]) == (["hot"], ["hot"])


def test_a_ticket_that_takes_longer(packs: Packs) -> None:
    """A stall comes first now: two asks and the end, instead of one and the end. The best return is still 2.0. The
    least is as well: four wasted steps of -0.25."""
    stalling = packs.changed("{socket: E27}", '{socket: [{say: "Let me look."}, E27]}')
    done = run("diff", packs.base, stalling)
    assert done.exit_code == 1
    assert "  hum: nothing known at the start: fewest steps 2 -> 3, optimal steps 2 -> 3, " in done.output
    assert "1 ticket changed, 0 came, 0 went" in done.output
    found = data(packs.base, stalling)
    assert list(found["changed"]) == ["hum"] and found["same"] == ["dark"]
    changes = {change["what"]: change for change in found["changed"]["hum"]}
    assert {"fewest_steps", "optimal_steps", "random_return", "easy", "medium", "hard"} <= set(changes)
    assert not {"optimum", "worst", "states"} & set(changes)
    assert changes["optimal_steps"] == {
        "what": "optimal_steps",
        "cases": {"known": [], "stalls": 0},
        "old": 2,
        "new": 3,
    }


def test_a_ticket_of_another_task(packs: Packs) -> None:
    """No number is another one, but the grade is given by another formula."""
    text = BASE.replace("id: hum, task: easy-info-collection", "id: hum, task: medium-complete-info")
    other = packs.write("other.yaml", text)
    done = run("diff", packs.base, other)
    assert done.exit_code == 1
    assert "  hum: task easy-info-collection -> medium-complete-info\n" in done.output
    assert data(packs.base, other)["changed"] == {
        "hum": [{"what": "task", "cases": None, "old": "easy-info-collection", "new": "medium-complete-info"}]
    }


def test_a_wording_that_tells_more(packs: Packs) -> None:
    """Where the message states the field, there are cases that begin with it known; the others are half of all now."""
    telling = packs.changed("[It hums.]", "[It hums., {template: 'My {{ socket }} hums.', known: [socket]}]")
    done = run("diff", packs.base, telling)
    assert done.exit_code == 1
    assert "  hum: socket known at the start: new cases, and 1 more change\n" in done.output
    back = run("diff", telling, packs.base)
    assert "  hum: socket known at the start: no such cases any more, and 1 more change\n" in back.output


def test_a_wording_that_tells_more_often(packs: Packs) -> None:
    """The cases are what they were, but there are more of some: two of three wordings state the field, not one of two.
    So what an agent returns in the mean is something else."""
    telling = "[It hums., {template: 'My {{ socket }} hums.', known: [socket]}]"
    twice = telling.replace("]}]", "]}, {template: 'It hums: {{ socket }}.', known: [socket]}]")
    once, more = packs.changed("[It hums.]", telling), packs.write("more.yaml", BASE.replace("[It hums.]", twice))
    (first, second) = data(once, more)["changed"]["hum"]
    assert (first["what"], first["old"]["exact"], first["new"]["exact"]) == ("share", "1/2", "1/3")
    assert (second["what"], second["old"]["exact"], second["new"]["exact"]) == ("share", "1/2", "2/3")
    said = run("diff", once, more).output
    assert "  hum: nothing known at the start: share of the cases 0.5 -> 0.3333, and 1 more change\n" in said


def test_customers_who_stall(packs: Packs) -> None:
    """People make cases of their own: with nobody named there are those without stalls alone."""
    person = "people:\n  busy: {description: Busy, stalls: 1, says: [One moment.]}\ntickets:\n"
    busy = packs.write("busy.yaml", BASE.replace("tickets:\n", person).replace("id: hum,", "id: hum, person: busy,"))
    (first, second) = data(packs.base, busy)["changed"]["hum"]
    assert (first["cases"], first["old"], first["new"]) == ({"known": [], "stalls": 0}, "proved", "not there")
    assert (second["cases"], second["old"], second["new"]) == ({"known": [], "stalls": 1}, "not there", "proved")
    assert "nothing known at the start, 1 stall before each answer" in run("diff", busy, packs.base).output


def test_a_pack_of_another_name(packs: Packs) -> None:
    done = run("diff", packs.base, packs.changed("pack: lamps", "pack: lights"))
    assert done.exit_code == 1
    assert done.output.startswith(
        "lamps: the pack went, with 2 tickets\nlights: the pack came, with 2 tickets\n0 tickets changed, 2 came, 2 went"
    )


READING = """\
pack: reading
version: 1.0.0
description: Lamps.
fields: {model: {description: Model}}
categories:
  dark: {description: No light, requires: [model]}
  loud: {description: Noise, requires: [model]}
tickets:
  - {id: a, task: hard-efficient-resolution, category: dark, messages: [Dark.], answers: {model: L-7}}
  - {id: b, task: hard-efficient-resolution, category: loud, messages: [Loud.], answers: {model: L-7}}
"""


def test_what_is_left_to_those_who_do_not_read(packs: Packs) -> None:
    """Two tickets that look alike. Naming a category first is right for one of them, which may go on to 2.0; it costs
    the other the 0.5 of classifying and a wasted step, so that 1.4 are left: 1.7 in the mean. Anything else first
    leaves 1.5 at the most, or the same choice for later. With both of one category its name is worth 2.0."""
    old = packs.write("old.yaml", READING)
    new = packs.write("new.yaml", READING.replace("category: loud", "category: dark"))
    found = data(old, new)
    assert found["blind"]["hard-efficient-resolution"]["old"]["exact"] == "17/10"
    assert found["blind"]["hard-efficient-resolution"]["new"]["exact"] == "2/1"
    assert not found["comparable"] and list(found["changed"]) == ["b"]
    assert (
        "  hard-efficient-resolution: what isn't read comes to 1.7 -> 2 at the most\n" in run("diff", old, new).output
    )


# -- Certificates


def test_certificates_say_the_same_as_packs(packs: Packs) -> None:
    stalling = packs.changed("{socket: E27}", '{socket: [{say: "Let me look."}, E27]}')
    old, new = packs.certificate(packs.base), packs.certificate(stalling)
    said = run("diff", packs.base, stalling).output
    assert run("diff", old, new).output == run("diff", old, stalling).output == said


def test_what_is_not_proved(packs: Packs) -> None:
    """One move proves nothing, and what isn't proved can't be compared, whichever side it is on."""
    old = packs.certificate(packs.base, "--budget", "1")
    new = packs.certificate(packs.changed("It hums.", "It is humming."), "--budget", "1")
    for pair, said, sides in (
        ((old, packs.base), "not proved before", (False, True)),
        ((packs.base, old), "not proved any more", (True, False)),
        ((old, new), "not proved, before or now", (False, False)),
    ):
        done = run("diff", *pair)
        assert done.exit_code == 1
        assert f"  dark: {said}, so it can't be compared\n  hum: {said}, so it can't be compared\n" in done.output
        assert "same numbers" not in done.output and "changed by hand" not in done.output
        assert "0 tickets changed, 0 came, 0 went, 2 not proved: their scores don't compare" in done.output
        found = data(*pair)
        assert found["unproved"] == {name: {"old": sides[0], "new": sides[1]} for name in ("dark", "hum")}
        assert (found["changed"], found["same"], found["contradictory"]) == ({}, [], False)


def test_some_of_a_pack_is_not_proved(packs: Packs) -> None:
    """The bound of those who don't read is missing with the tickets: it isn't said to be another."""
    pack = packs.write("reading.yaml", READING)
    whole, part = packs.certificate(pack), packs.folder / "part.json"
    run("prove", pack, "--certificate", part, "--budget", "5")
    found = data(part, whole)
    assert set(found["unproved"]) == {"a", "b"} and not found["contradictory"]
    assert found["blind"]["hard-efficient-resolution"]["old"] == "not proved"
    assert "what isn't read comes to not proved -> 1.7" in run("diff", part, whole).output


# -- Contradictions, and checks that fail


def edited(file: Path, edit: Callable[[Any], None]) -> Path:
    document = json.loads(file.read_text("utf-8"))
    edit(document)
    other = file.with_name("edited.json")
    other.write_text(json.dumps(document), "utf-8")
    return other


def test_the_same_digest_under_another_version_of_deskproof(packs: Packs) -> None:
    """A number that is worked out in another way is another number, whatever the digest says."""

    def edit(document: Any) -> None:
        document["deskproof"] = "0.0.1"
        document["packs"][0]["tickets"][0]["variants"][0]["numbers"]["optimal_steps"] = 1

    old = packs.certificate(packs.base)
    done = run("diff", old, edited(old, edit))
    assert done.exit_code == 1
    assert "dark: nothing known at the start: optimal steps 2 -> 1\n" in done.output
    assert "changed by hand" not in done.output


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tickets", 0, "variants", 0, "numbers", "optimal_steps"), 1),
        (("tickets", 0, "variants", 0, "numbers", "states"), 7_000),
        (("tickets", 0, "variants", 0, "seed"), 3),
        (("tickets", 0, "task"), "medium-complete-info"),
        (("tickets", 0, "decides"), "0" * 64),
        (("decides",), "0" * 64),
        (("tickets", 0, "checks", "P04"), "fails"),
        (("checks", "P04"), "fails"),
        (("version",), "1.0.1"),
        (("sound",), False),
    ],
)
@pytest.mark.parametrize("options", [(), ("--severity", "P06=ignore")])
def test_a_certificate_changed_by_hand(
    packs: Packs, path: tuple[str | int, ...], value: Any, options: tuple[str, ...]
) -> None:
    """Also beside one that was asked for something else, where what has nothing to do with that is another."""

    def edit(document: Any) -> None:
        part = document["packs"][0]
        for step in path[:-1]:
            part = part[step]
        assert part[path[-1]] != value
        part[path[-1]] = value

    old = packs.certificate(packs.base)
    other = edited(old, edit)
    against = packs.certificate(packs.write("asked.yaml", BASE), *options)
    assert run("diff", old, against).exit_code == 0
    if options and path[-1] in ("states", "seed", "sound"):
        return  # no score and no check depends on these
    done = run("diff", against, other)
    assert done.exit_code == 1
    assert "one of the two was changed by hand, or made by other code\n" in done.output
    assert data(against, other)["contradictory"]


def test_a_check_that_fails_and_one_that_stopped(packs: Packs) -> None:
    """2.0 less 0.5 for asking alone are 1.5, and 1.6 are asked for. Scores are what they were."""
    asking = packs.write("asking.yaml", BASE + "proof: {P04: {margin: 1.6}}\n")
    done = run("diff", packs.base, asking)
    assert (done.exit_code, "  P04 fails now: dark, hum\n" in done.output) == (0, True)
    assert done.output.endswith("All scores stay comparable.\n")
    assert data(packs.base, asking)["failing"] == {"P04": {"began": ["dark", "hum"], "stopped": [], "now": "fails"}}
    assert "  P04 doesn't fail any more: dark, hum\n" in run("diff", asking, packs.base).output
    assert run("diff", asking, asking).output.endswith("Nothing changed.\n")
    ignoring = packs.write("ignoring.yaml", BASE + "proof: {P04: {severity: ignore}}\n")
    assert "  P04 is ignored now: dark, hum\n" in run("diff", asking, ignoring).output


def test_many_changes_are_counted(packs: Packs) -> None:
    """Five steps instead of four change all 30 tickets; 20 are shown."""
    tickets = "".join(THIRD.replace("id: hot", f"id: t-{number}") for number in range(28))
    old = packs.write("old.yaml", BASE + tickets)
    new = packs.write("new.yaml", (BASE + tickets).replace("max_steps: 4", "max_steps: 5"))
    done = run("diff", old, new)
    assert done.exit_code == 1
    assert "  and 10 more tickets; --json has every one\n" in done.output
    assert len(data(old, new)["changed"]) == 30


# -- What can't be compared


def test_usage(packs: Packs) -> None:
    missing = run("diff", packs.base, packs.folder / "none.yaml")
    assert (missing.exit_code, "There is no file or folder" in missing.output) == (2, True)
    assert run("diff", packs.base).exit_code == 2
    assert run("diff", packs.base, packs.base, packs.base).exit_code == 2


def test_what_is_broken(packs: Packs) -> None:
    broken = packs.write("broken.json", '{\n "certificate": 1,\n')
    done = run("diff", packs.base, broken)
    assert (done.exit_code, f"{broken}:3:1: PACK004: this is not JSON" in done.output) == (2, True)
    pack = packs.changed("required: [socket]", "required: [sockte]")
    done = run("diff", pack, packs.base)
    assert (done.exit_code, "did you mean 'socket'?" in done.output) == (2, True)
    folder = packs.folder / "folder.json"
    folder.mkdir()
    assert run("diff", packs.base, folder).exit_code == 2


def test_names_are_safe_to_print(packs: Packs) -> None:
    odd = packs.write("odd.yaml", BASE.replace("id: hum", r'id: "hum\e[2J"'))
    done = run("diff", packs.base, odd)
    assert r"hum\x1b[2J came" in done.output and "\x1b" not in done.output
