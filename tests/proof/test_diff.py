"""`deskproof diff`: which scores stop being comparable, what it prints, and its exit codes: 0 none, 1 some, 2 usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engine.cli import main

# Four steps: an ask and the end make an optimal episode of two.
BASE = """\
pack: lamps
version: 1.0.0
description: Lamps.
max_steps: 4
fields: {model: {description: Model}, socket: {description: Socket}}
tickets:
  - {id: dark, task: easy-info-collection, messages: [It stays dark.], required: [model], answers: {model: L-7}}
  - {id: hum, task: easy-info-collection, messages: [It hums.], required: [socket], answers: {socket: E27}}
"""
THIRD = "  - {id: hot, task: easy-info-collection, messages: [It's hot.], required: [model], answers: {model: L-9}}\n"


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


class Packs:
    """Versions of a pack in a folder, each a change to the base."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = self.write("base.yaml", BASE)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def changed(self, old: str, new: str) -> Path:
        assert old in BASE
        return self.write("changed.yaml", BASE.replace(old, new))

    def certificate(self, pack: Path, *options: str) -> Path:
        file = pack.with_suffix(".json")
        run("prove", pack, "--certificate", file, *options)
        return file


@pytest.fixture
def packs(tmp_path: Path) -> Packs:
    return Packs(tmp_path)


def data(old: Path, new: Path) -> Any:
    """What --json prints of the one pack; its exit code is that of the text."""
    done = run("diff", old, new, "--json")
    assert done.exit_code == run("diff", old, new).exit_code
    document = json.loads(done.stdout)
    assert document["comparable"] == (done.exit_code == 0)
    (pack,) = document["packs"]
    return pack


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
    assert not found["comparable"] and found["changed"] == {}
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
    """One move proves nothing: of the same pack that doesn't matter, of another one nobody knows."""
    old = packs.certificate(packs.base, "--budget", "1")
    new = packs.certificate(packs.changed("It hums.", "It is humming."), "--budget", "1")
    assert run("diff", old, old).exit_code == run("diff", old, packs.base).exit_code == 0
    done = run("diff", old, new)
    assert done.exit_code == 1
    assert "  dark: nothing known at the start: not proved, before or now\n" in done.output
    assert (
        "  dark: nothing known at the start: not proved any more\n"
        in run("diff", packs.changed("hums", "sings"), new).output
    )


def test_the_same_digest_under_another_version_of_deskproof(packs: Packs) -> None:
    """A number that is worked out in another way is another number, whatever the digest says."""
    old = packs.certificate(packs.base)
    other = old.with_name("other.json")
    other.write_text(old.read_text("utf-8").replace('"optimal_steps": 2', '"optimal_steps": 1', 1), "utf-8")
    done = run("diff", old, other)
    assert done.exit_code == 1
    assert "dark: nothing known at the start: optimal steps 2 -> 1\n" in done.output


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
