"""Certificates: what they say, that they are the same each time, and that programs in any language can read them."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from fractions import Fraction
from math import comb, factorial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.contract import load_contract
from engine.diagnostics import PackError
from engine.load import check_draft, shipped_packs
from engine.pack import Demands
from engine.proof.certificate import certificate, read, write
from engine.proof.prove import BUDGET, prove
from engine.split import assign
from tests.commands import deskproof as run
from tests.proof.drafts import TINY

SCHEMA = Path(__file__).parents[2] / "engine" / "proof" / "certificate.schema.json"


def certified(folder: Path, text: str, budget: int = BUDGET, demands: Demands | None = None) -> dict[str, Any]:
    path = folder / "pack.yaml"
    path.write_text(text, "utf-8")
    contract = load_contract()
    pack, findings = check_draft(path, contract)
    assert pack is not None, findings
    proof = prove(pack, contract.observation_space, demands, budget)
    return certificate([(pack, proof)], "1.2.3")


@pytest.fixture
def tiny(tmp_path: Path) -> dict[str, Any]:
    return certified(tmp_path, TINY)


# -- What it says


def test_the_numbers_of_a_ticket(tiny: dict[str, Any]) -> None:
    """By hand. Three actions: ask, classify, resolve. Waste is -1 / 2 = -0.5, and without a category a classification
    is waste; progress is 0.5 for the field, so the goal pays 1.5. The nine sequences of two steps, with their returns:

        ask ask 0        ask classify 0         ask resolve 2
        classify ask 0   classify classify -1   classify resolve -1
        resolve ask 0    resolve classify -1    resolve resolve -1

    Easy grades 1 where the field is known, in five of nine. Medium divides by the asks: 1/2, 1, 1, 1, 1 in these, and 0
    elsewhere, 9/2 in all. Hard grades the one that resolves, in as few steps as can be, 1. An agent that stops after a
    rewarded ask has 0.5 and misses the goal.
    """
    (pack,) = tiny["packs"]
    ((variant,),) = [ticket["variants"] for ticket in pack["tickets"]]
    numbers = dict(variant["numbers"])
    assert numbers.pop("states") >= 3  # nothing known, known, resolved
    assert numbers == {
        "optimum": 2.0,
        "worst": -1.0,
        "short": 0.5,
        "fewest_steps": 2,
        "optimal_steps": 2,
        "optimal_episodes": 1,
        "random_return": {"exact": "-2/9", "about": -2 / 9},
        "random_grades": {
            "easy": {"exact": "5/9", "about": 5 / 9},
            "medium": {"exact": "1/2", "about": 0.5},
            "hard": {"exact": "1/9", "about": 1 / 9},
        },
    }
    assert (variant["known"], variant["stalls"], variant["share"]["exact"]) == ([], 0, "1/1")


def test_what_it_says_of_a_pack(tiny: dict[str, Any]) -> None:
    (pack,) = tiny["packs"]
    assert (tiny["certificate"], tiny["deskproof"]) == (2, "1.2.3")
    assert (pack["pack"], pack["version"], pack["sound"], pack["warnings"]) == ("tiny", "1.0.0", True, 0)
    assert set(pack["checks"]) == {f"P{number:02}" for number in range(1, 12)}
    assert pack["checks"]["P01"] == pack["checks"]["P05"] == "holds"
    # No agent classifies here, so nobody has to read.
    assert (pack["checks"]["P07"], pack["blind"]) == ("no matter", {})
    # What is asked where nobody asks for anything else: design, section 6.
    assert pack["demands"]["P04"] == {"severity": "warning", "margin": {"exact": "1/2", "about": 0.5}}
    assert pack["demands"]["P01"] == {"severity": "error"}
    (ticket,) = pack["tickets"]
    assert (ticket["ticket"], ticket["task"]) == ("t-1", "easy-info-collection")
    assert ticket["checks"] == dict.fromkeys(("P01", "P02", "P03", "P04", "P05", "P06", "P08", "P10"), "holds")


def test_what_fails_stands_there_with_the_episode_that_shows_it(tmp_path: Path) -> None:
    """2.0 less 0.5 for asking alone are 1.5, and 1.6 are asked for."""
    demands = Demands({"P04": Fraction(8, 5)}, {"P04": "error", "P06": "ignore"})
    (pack,) = certified(tmp_path, TINY, demands=demands)["packs"]
    assert not pack["sound"]
    assert (pack["checks"]["P04"], pack["checks"]["P06"]) == ("fails", "ignored")
    assert pack["demands"]["P04"] == {"severity": "error", "margin": {"exact": "8/5", "about": 1.6}}
    (finding,) = pack["findings"]
    assert (finding["code"], finding["status"], finding["severity"]) == ("P04", "fails", "error")
    assert finding["ticket"] == "t-1" and "misses the goal" in finding["message"]
    shown = finding["counterexample"]
    assert shown["actions"] == [{"type": "ask_info", "field": "order"}]
    assert (shown["ticket"], shown["paid"], shown["rule"]) == ("t-1", 1, "ask_info.answered")


def test_what_is_too_large_is_not_proved(tmp_path: Path) -> None:
    """One move isn't enough to see two steps."""
    (pack,) = certified(tmp_path, TINY, budget=1)["packs"]
    assert not pack["sound"]
    assert pack["checks"]["P01"] == "not proved"
    assert pack["tickets"][0]["variants"][0]["numbers"] is None
    assert {finding["status"] for finding in pack["findings"] if finding["code"] == "P01"} == {"not proved"}


# -- The same each time, and for everybody


def test_the_same_pack_gives_the_same_bytes_wherever_it_stands(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        texts.append(write(certified(tmp_path / name, TINY)))
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]


def test_what_is_written_can_be_read(tiny: dict[str, Any]) -> None:
    assert read("c.json", write(tiny).encode()) == tiny


def many() -> str:
    names = [f"f{number}" for number in range(18)]
    fields = "\n".join(f"  {name}: {{description: F}}" for name in ("order", *names))
    answers = ", ".join(f"{name}: x" for name in ("order", *names))
    return (
        f"pack: many\nversion: 1.0.0\ndescription: Many ways.\nmax_steps: 20\nfields:\n{fields}\ntickets:\n"
        f"  - {{id: t-1, task: easy-info-collection, messages: [Hello.], required: [order], "
        f"optional: [{', '.join(names)}], answers: {{{answers}}}}}\n"
    )


def test_a_whole_number_that_is_too_large_for_other_languages_is_text(tmp_path: Path) -> None:
    """An optional field may be asked for at no cost, once. So a best episode is the one required field and any k of the
    18 optional ones, in any order, and then the end: C(18, k) choices times (k + 1)! orders. 19! alone is over 2^53."""
    document = certified(tmp_path, many())
    episodes = document["packs"][0]["tickets"][0]["variants"][0]["numbers"]["optimal_episodes"]
    expected = sum(comb(18, k) * factorial(k + 1) for k in range(19))
    assert expected > 2**53
    assert episodes == str(expected)
    text = write(document)
    assert read("c.json", text.encode()) == document
    # A reader to whom every number is a float, such as JavaScript, reads the same.
    assert json.loads(text, parse_int=float) == document


def test_numbers_of_thousands_of_digits(tmp_path: Path) -> None:
    """Three actions and 9,000 steps would be too many for a pack; 1,000 are the most, and 3^1000 has 478 digits."""
    text = TINY.replace("max_steps: 2", "max_steps: 1000")
    document = certified(tmp_path, text)
    numbers = document["packs"][0]["tickets"][0]["variants"][0]["numbers"]
    assert len(numbers["random_return"]["exact"]) > 400
    assert read("c.json", write(document).encode()) == document


def test_what_decides_a_ticket_of_a_few_words(tiny: dict[str, Any]) -> None:
    """The ticket of TINY, put down by hand: one field that is told when asked for, no message that states it, nobody
    who stalls; of "tiny" and "t-1" the split is worked out elsewhere."""
    decided: dict[str, Any] = {
        "answers": {"order": [["value", [["order", False]]]]},
        "category": None,
        "facts": {},
        "goal": {},
        "known": [],
        "optional": [],
        "required": ["order"],
        "split": assign("tiny", {"t-1": None})["t-1"],
        "stalls": [0],
        "stated": [[]],
        "task": "easy-info-collection",
    }
    canonical = json.dumps(decided, sort_keys=True, separators=(",", ":"))
    ((ticket,),) = (pack["tickets"] for pack in tiny["packs"])
    assert ticket["decides"] == hashlib.sha256(canonical.encode()).hexdigest()


# -- Its schema


def test_the_schema_is_one(tiny: dict[str, Any]) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors(tiny)) == []


def members(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all members of a document whose names are fixed."""
    if isinstance(part, list):
        return [found for index, item in enumerate(part) for found in members(item, (*path, index))]
    if not isinstance(part, dict):
        return []
    found = [inner for name, value in part.items() for inner in members(value, (*path, name))]
    free = path and path[-1] in ("checks", "demands", "blind", "actions")
    return found if free else [*found, *((*path, name) for name in part)]


def test_every_member_is_required_and_no_other_is_known(tiny: dict[str, Any]) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    paths = [path for path in members(tiny) if path[-1] != "margin"]
    assert len(paths) > 40
    for path in paths:
        without, more = deepcopy(tiny), deepcopy(tiny)
        inner, other = without, more
        for step in path[:-1]:
            inner, other = inner[step], other[step]
        del inner[path[-1]]
        other["surprise"] = 1
        assert not validator.is_valid(without), path
        assert not validator.is_valid(more), path


# -- What isn't one


def wrong(content: bytes) -> str:
    with pytest.raises(PackError) as raised:
        read("c.json", content)
    return str(raised.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "c.json:1:1: PACK004: this is not JSON"),
        (b'{\n "certificate": 1,\n oops}', "c.json:3:2: PACK004: this is not JSON"),
        (b"\xff\xfe\xfd", "c.json:1:1: PACK004: this is not JSON in UTF-8"),
        (b'{"certificate": NaN}', "c.json:1:1: PACK004: this is not JSON in UTF-8, or holds a number"),
        (b"[" * 100_000, "c.json:1:1: PACK004: this is no certificate: it nests too deep"),
        (b"[]", 'c.json:1:1: PACK013: this is no certificate: it has no "certificate": 2'),
        (b'{"certificate": 1}', "this certificate is of form 1, and form 2 is read here: prove the packs again"),
        (b'{"certificate": 3}', "expected: what `deskproof prove --certificate` writes"),
        (b'{"certificate": true}', 'this is no certificate: it has no "certificate": 2'),
        (b'{"certificate": 2, "deskproof": "1"}', "c.json:1:1: PACK023: 'packs' is missing"),
    ],
)
def test_what_is_no_certificate(content: bytes, said: str) -> None:
    assert said in wrong(content)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"optimum"', '"optimun"', "PACK022: unknown key 'optimun'"),
        ('"optimum": 2.0', '"optimum": "two"', "PACK021: a number is meant here"),
        ('"status"', '"state"', "did you mean 'status'?"),
        ('"fails"', '"failed"', "did you mean 'fails'?"),
        ('"exact": "5/9"', '"exact": "5:9"', "expected: like 1/2"),
        ('"fewest_steps": 2', '"fewest_steps": 2.5', "PACK021: a whole number or null is meant here"),
    ],
)
def test_a_mistake_has_a_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    good = write(certified(tmp_path, TINY, demands=Demands({"P04": Fraction(8, 5)})))
    line = next(number for number, text in enumerate(good.splitlines(), 1) if old in text)
    found = wrong(good.replace(old, new, 1).encode())
    assert f"c.json:{line}:" in found
    assert said in found


def test_names_that_stand_there_twice(tiny: dict[str, Any]) -> None:
    packs = deepcopy(tiny)
    packs["packs"] *= 2
    assert "two packs of this certificate have one name" in wrong(write(packs).encode())
    tickets = deepcopy(tiny)
    tickets["packs"][0]["tickets"] *= 2
    assert "two tickets of pack 'tiny' have one id" in wrong(write(tickets).encode())


# -- On the command line


def test_the_shipped_packs_prove_clean(tmp_path: Path) -> None:
    """What CI shows of them: every check holds, or is about another kind of ticket, and nothing is ignored."""
    file = tmp_path / "shipped.json"
    done = run("prove", *shipped_packs(), "--certificate", file)
    assert done.exit_code == 0, done.output
    assert done.output.endswith("Everything holds.\n")
    document = read(str(file), file.read_bytes())
    assert [pack["pack"] for pack in document["packs"]] == ["bank-disputes", "customer-support", "it-helpdesk-de"]
    for pack in document["packs"]:
        assert (pack["sound"], pack["warnings"], pack["findings"]) == (True, 0, [])
        assert set(pack["checks"].values()) == {"holds"}
        for ticket in pack["tickets"]:
            for variant in ticket["variants"]:
                assert variant["numbers"]["optimum"] == 2.0


def test_a_certificate_is_of_whole_packs_of_different_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(TINY, "utf-8")
    one, two, file = tmp_path / "one.yaml", tmp_path / "two.yaml", tmp_path / "c.json"
    alone = run("prove", one, "--ticket", "t-1", "--certificate", file)
    assert (alone.exit_code, "leave --ticket out" in alone.output) == (2, True)
    both = run("prove", one, two, "--certificate", file)
    assert (both.exit_code, "Two of these packs are called 'tiny'" in both.output) == (2, True)
    assert not file.exists()
    nowhere = run("prove", one, "--certificate", tmp_path / "none" / "c.json")
    assert nowhere.exit_code == 2


def test_a_certificate_of_what_is_unsound_is_written_too(tmp_path: Path) -> None:
    path, file = tmp_path / "tiny.yaml", tmp_path / "c.json"
    path.write_text(TINY, "utf-8")
    done = run("prove", path, "--margin", "P04=1.6", "--severity", "P04=error", "--certificate", file)
    assert done.exit_code == 1
    assert read(str(file), file.read_bytes())["packs"][0]["sound"] is False
