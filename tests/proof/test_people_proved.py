"""What proofs say of people and of noise: every way of theirs is explored, and what they say is read."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.case import make_case
from engine.contract import load_contract
from engine.diagnostics import Report
from engine.episode import Episode, replay
from engine.load import check_draft, load_pack, read_pack
from engine.pack import Pack
from engine.proof.certificate import certificate, read, write
from engine.proof.compare import compare
from engine.proof.document import as_json
from engine.proof.leaks import leaks
from engine.proof.mutants import mutants
from engine.proof.observed import Observations
from engine.proof.page import page
from engine.proof.prove import BUDGET, prove
from engine.proof.result import Check, PackProof
from engine.proof.told import Proved, title
from engine.solve import variants
from engine.symmetry import Symmetry

CONTRACT = load_contract()
SPACE = CONTRACT.observation_space
EASY = "easy-info-collection"
SCHEMA = Path(__file__).parents[2] / "engine" / "proof" / "certificate.schema.json"

# One refusal, then one stall; and the same under one of two fields; and nothing of the kind.
PEOPLE: dict[str, Any] = {
    "wary": {"refuses": 1, "stalls": 1},
    "picky": {"refuses": 1, "stalls": 1, "fields": ["model"]},
    "plain": {},
}
TICKET: dict[str, Any] = {
    "id": "d-1",
    "task": EASY,
    "messages": ["It is dark."],
    "required": ["model", "email"],
    "answers": {"model": "Lumo", "email": "kim@example.net"},
}


def document(customer: Any = (), people: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    tickets = [{**TICKET, "person": [customer] if isinstance(customer, str) else list(customer)}]
    fields = {"model": {"description": "Model"}, "email": {"description": "Mail"}}
    found = {
        "pack": "lamp-desk",
        "version": "1.0.0",
        "fields": fields,
        "people": people if people is not None else PEOPLE,
    }
    return {**found, "tickets": tickets, **more}


def desk(tmp_path: Path, *arguments: Any, **more: Any) -> Pack:
    path = tmp_path / "pack.yaml"
    path.write_text(json.dumps(document(*arguments, **more)), "utf-8")
    pack, findings = check_draft(path, CONTRACT)
    assert pack is not None, findings
    return pack


def proof_of(pack: Pack) -> PackProof:
    return prove(pack, SPACE)


def of_code(proof: PackProof, code: str) -> list[Check]:
    return [check for check in proof.checks if check.code == code and check.status != "holds"]


# -- Every way is explored


def test_every_person_has_numbers(tmp_path: Path) -> None:
    """Two fields and the end are three steps; wary people make each of the asks three, picky ones one of them."""
    pack = desk(tmp_path, ["plain", "wary", "picky"])
    ((*found,),) = (ticket.variants for ticket in proof_of(pack).tickets)
    assert [one.numbers.optimal_steps for one in found if one.numbers is not None] == [3, 7, 5]
    assert [title(one) for one in found] == [
        "nothing known at the start",
        "nothing known at the start; 1 refusal and 1 stall before each answer",
        "nothing known at the start; 1 refusal and 1 stall before each answer under model",
    ]
    for one in found:
        assert make_case(pack, "d-1", one.seed).automaton.manner == one.manner


def test_interchangeable_fields_are_not_where_somebody_is_particular(tmp_path: Path) -> None:
    """Both fields have one answer each: they are alike, unless it takes longer to hear one of them."""
    pack = desk(tmp_path, ["wary", "picky"])
    wary, picky = (Symmetry(machine) for machine in variants(pack, pack.tickets["d-1"]))
    assert wary.kind(0) == wary.kind(1)
    assert picky.kind(0) != picky.kind(1)
    # Whichever of the fields it is, the shape is the same: it is looked at once.
    other = desk(tmp_path, "picky", {"picky": {**PEOPLE["picky"], "fields": ["email"]}})
    (machine,) = variants(other, other.tickets["d-1"])
    assert Symmetry(machine).shape() == picky.shape() != wary.shape()


def test_a_worst_person_that_no_episode_can_serve_is_shown(tmp_path: Path) -> None:
    pack = desk(tmp_path, ["plain", "wary"], max_steps=6)
    (check,) = of_code(proof_of(pack), "P01")
    assert check.status == "fails" and check.counterexample is not None
    customer = make_case(pack, "d-1", check.counterexample.seed).person
    assert customer is not None and customer.name == "wary"


# -- P08: what is said is valid under the contract


def short(length: int) -> dict[str, Any]:
    """The contract's space, but for texts of no more than so many characters."""
    item = {"type": "object", "properties": {"text": {"type": "string", "maxLength": length}}}
    return {**SPACE, "properties": {**SPACE["properties"], "history": {"type": "array", "items": item}}}


def observed(pack: Pack, length: int) -> list[Check | None]:
    observations = Observations(pack, short(length), BUDGET)
    return [observations.check(machine) for machine in variants(pack, pack.tickets["d-1"])]


LONG = (
    "And this is a story that goes on, and on, and on, and on, and on, and on, and on, and on, and on, and on, and on."
)


@pytest.mark.parametrize("whose", ["the pack's noise", "a person's noise", "refusals"])
def test_texts_that_the_contract_does_not_take(tmp_path: Path, whose: str) -> None:
    """A long text among others is found although a seed alone makes it heard."""
    texts = ["Oh.", "Ah.", "So.", LONG]
    people: dict[str, Any] = {"loud": {"noise": texts}} if whose == "a person's noise" else {}
    people |= {"loud": {"refuses": 1, "refuses_with": texts}} if whose == "refusals" else {}
    more = {"noise": texts} if whose == "the pack's noise" else {}
    pack = desk(tmp_path, list(people), people, **more)
    (check,) = observed(pack, len(LONG) - 1)
    assert check is not None and check.status == "fails" and check.counterexample is not None
    shown = check.counterexample
    episode = replay(make_case(pack, shown.ticket, shown.seed), shown.actions)
    assert episode.steps[-1].text.endswith(LONG)
    assert not Draft202012Validator(short(len(LONG) - 1)).is_valid(episode.observation)


def test_words_that_are_drawn_are_not_proved(tmp_path: Path) -> None:
    """None of these is too long, but that isn't worked out for every seed; without a draw there is nothing to miss."""
    assert observed(desk(tmp_path, noise=["Oh."]), 200) == [None]
    assert observed(desk(tmp_path, noise={"after": ["Oh."], "one_in": 1}), 200) == [None]
    for noise in (["Oh.", "Ah."], {"after": ["Oh."], "one_in": 2}):
        (check,) = observed(desk(tmp_path, noise=noise), 200)
        assert check is not None and check.status == "not proved"
        assert "the contract looks at words of `history` that are drawn" in check.message
    people = {"loud": {"refuses": 1, "refuses_with": ["No.", "Why?"]}}
    (check,) = observed(desk(tmp_path, "loud", people), 200)
    assert check is not None and check.status == "not proved"


# -- P09: what can never come up


def p09(pack: Pack) -> list[str]:
    return [check.message for check in of_code(proof_of(pack), "P09")]


def test_a_turn_of_a_person_that_is_never_heard(tmp_path: Path) -> None:
    people = {"wary": {"refuses": 2, "refuses_with": ["No."], "stalls": 2, "says": ["Hm."]}}
    pack = desk(tmp_path, "wary", people, max_steps=3)
    checks = of_code(proof_of(pack), "P09")
    (own,) = [check for check in checks if "of the person" in check.message]
    # Three asks are two refusals and a stall.
    assert own.message == "stall 2 of the person 'wary' is never played: no ask gets that far"
    assert own.counterexample is not None
    episode = replay(make_case(pack, "d-1", own.counterexample.seed), own.counterexample.actions)
    assert [step.text for step in episode.steps] == ["No.", "No.", "Hm."]
    # The ticket's own turns behind it are told as well.
    assert len(checks) == 3


def test_people_who_can_never_come_up(tmp_path: Path) -> None:
    people = {**PEOPLE, "far": {"stalls": 1, "fields": ["email", "colour"]}}
    fields = {**document()["fields"], "colour": {"description": "Colour"}}
    pack = desk(tmp_path, ["wary", "far"], people, fields=fields, person="plain")
    assert set(p09(pack)) == {
        "no ticket has anything to do with the field 'colour'",
        "no ticket has anything to do with the person 'picky'",
        # All tickets say who their customer is.
        "no ticket has anything to do with the person 'plain'",
        "no ticket of the person 'far' has an answer for 'colour', one of their fields",
    }


def test_noise_that_nobody_makes(tmp_path: Path) -> None:
    people: dict[str, Any] = {"quiet": {"noise": []}, "plain": {}}
    text = "no customer ever says anything of the pack's noise"
    assert p09(desk(tmp_path, "quiet", {"quiet": {"noise": []}}, noise=["Oh."])) == [text]
    assert p09(desk(tmp_path, ["quiet", "plain"], people, noise=["Oh."])) == []


# -- P11: what must not be said


def p11(pack: Pack) -> list[str]:
    return [check.message for check in leaks(pack) if check.status == "fails"]


def test_a_value_in_what_is_said_besides(tmp_path: Path) -> None:
    said = ["Oh.", "My LUMO hums."]
    text = "says 'lumo', a value of 'model' that has to be asked for"
    assert p11(desk(tmp_path, noise=said)) == [f"the pack's noise {text}"]
    assert p11(desk(tmp_path, noise={"before": said})) == [f"the pack's noise {text}"]
    for key in ("noise", "says", "refuses_with"):
        people = {"loud": {"refuses": 1, "stalls": 1, key: said}}
        where = "the noise of the person 'loud'" if key == "noise" else "the person 'loud'"
        assert p11(desk(tmp_path, "loud", people)) == [f"{where} {text}"]


def test_a_value_that_is_filled_in(tmp_path: Path) -> None:
    noise = [{"template": "So much for the {{ model }}."}]
    text = "states 'model', which has to be asked for in ticket 'd-1'"
    assert p11(desk(tmp_path, noise=noise)) == [f"the pack's noise {text}"]
    people = {"loud": {"refuses": 1, "refuses_with": noise}}
    assert p11(desk(tmp_path, "loud", people)) == [f"the person 'loud' {text}"]
    # What is known from the start may be said at any time.
    tickets = [{**TICKET, "known": {"model": "Lumo"}, "answers": {"email": "kim@example.net"}}]
    assert p11(desk(tmp_path, noise=noise, tickets=tickets)) == []


def test_a_word_counts_in_the_tickets_where_it_may_be_heard(tmp_path: Path) -> None:
    """Of two models the pack's noise tells nothing; somebody who comes with one of them only tells it."""
    other = {**TICKET, "id": "d-2", "answers": {"model": "Orb", "email": "sam@example.net"}}
    people = {"loud": {"noise": ["It was a Lumo."]}}
    both = [TICKET, other]
    assert p11(desk(tmp_path, people={}, tickets=both, noise=["It was a Lumo."])) == []
    assert p11(desk(tmp_path, people=people, tickets=[{**one, "person": "loud"} for one in both])) == []
    assert len(p11(desk(tmp_path, people=people, tickets=[{**TICKET, "person": "loud"}, other]))) == 1
    assert p11(desk(tmp_path, people=people, tickets=[TICKET, {**other, "person": "loud"}])) == []


def test_the_name_of_a_category(tmp_path: Path) -> None:
    categories = {name: {"description": "x", "requires": ["model"]} for name in ("late_parcel", "swap")}
    more = {"categories": categories, "tickets": [{**TICKET, "category": "swap"}]}
    noise = ["A late parcel? Me?"]
    assert p11(desk(tmp_path, people={}, noise=noise, **more)) == ["the pack's noise names the category 'late_parcel'"]
    assert p11(desk(tmp_path, people={}, noise=["Too late, parcel!", "Swapped."], **more)) == [
        "the pack's noise names the category 'late_parcel'"
    ]
    assert p11(desk(tmp_path, people={}, noise=["Late!", "Swapped."], **more)) == []
    assert p11(desk(tmp_path, people={}, noise=noise, categories={"late_parcel": categories["late_parcel"]})) == []


# -- Certificates, pages and differences


def stated(tmp_path: Path, *arguments: Any, **more: Any) -> dict[str, Any]:
    pack = desk(tmp_path, *arguments, **more)
    return certificate([(pack, proof_of(pack))], "1.2.3")


def test_what_a_certificate_says_of_people(tmp_path: Path) -> None:
    found = stated(tmp_path, ["plain", "wary", "picky"])
    assert list(Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).iter_errors(found)) == []
    assert read("c.json", write(found).encode()) == found
    shown = [
        {name: variant[name] for name in ("stalls", "refuses", "fields", "share") if name in variant}
        for variant in found["packs"][0]["tickets"][0]["variants"]
    ]
    third = {"exact": "1/3", "about": float(Fraction(1, 3))}
    assert shown == [
        {"stalls": 0, "share": third},
        {"stalls": 1, "refuses": 1, "share": third},
        {"stalls": 1, "refuses": 1, "fields": ["model"], "share": third},
    ]
    pack = desk(tmp_path, "picky")
    ((variant,),) = (ticket["variants"] for ticket in as_json(proof_of(pack))["tickets"])
    assert (variant["stalls"], variant["refuses"], variant["fields"]) == (1, 1, ["model"])


def test_other_people_make_scores_incomparable(tmp_path: Path) -> None:
    """A refusal in place of a stall takes as many steps, but it is another ticket; noise makes no other one."""
    stalls, refuses = ({"one": {key: 1}} for key in ("stalls", "refuses"))
    before = stated(tmp_path, "one", stalls)
    (other,) = compare(before, stated(tmp_path, "one", refuses))
    assert not other.comparable and list(other.changed) == ["d-1"]
    (louder,) = compare(before, stated(tmp_path, "one", {"one": {**stalls["one"], "noise": ["Oh."]}}, noise=["Ah."]))
    assert louder.comparable and not louder.identical
    (picky,) = compare(before, stated(tmp_path, "one", {"one": {**stalls["one"], "fields": ["model"]}}))
    assert not picky.comparable


def test_the_page_tells_who_the_customer_is(tmp_path: Path) -> None:
    pack = desk(tmp_path, ["wary", "picky"])
    text = page([Proved(pack, proof_of(pack))], BUDGET)
    assert "1 refusal and 1 stall before each answer<" in text
    assert "1 refusal and 1 stall before each answer under model<" in text


# -- Mutants


def test_mutants_of_people(tmp_path: Path) -> None:
    people = {**PEOPLE, "picky": {**PEOPLE["picky"], "fields": ["model", "email"]}}
    path = tmp_path / "pack.yaml"
    path.write_text(json.dumps(document(["wary", "plain"], people, person=["picky"])), "utf-8")
    pack, (nodes, _) = load_pack(path), read_pack(path, Report())
    assert nodes is not None
    told = {mutant.what: mutant for mutant in mutants(pack, nodes)}
    of_people = {what for what in told if "person" in what}
    assert of_people == {
        "lets the person 'wary' stall one time less",
        "lets the person 'wary' refuse one time less",
        "lets the person 'picky' stall one time less",
        "lets the person 'picky' refuse one time less",
        "lets the person 'picky' be like that whatever is asked for",
        "lets the person 'picky' simply answer when asked for 'model'",
        "lets the person 'picky' simply answer when asked for 'email'",
        # Nothing is different without the plain one but how often the wary one comes.
        "takes the person 'wary' from ticket 'd-1'",
    }
    assert told["lets the person 'wary' refuse one time less"].value == 0
    assert told["takes the person 'wary' from ticket 'd-1'"].value["person"] == ["plain"]


def test_without_its_only_person_a_ticket_has_nobody(tmp_path: Path) -> None:
    """Not the pack's own: then it would hardly be another ticket."""
    path = tmp_path / "pack.yaml"
    tickets = [{key: value for key, value in TICKET.items() if key != "person"}]
    path.write_text(json.dumps(document(tickets=tickets, person="wary")), "utf-8")
    pack, (nodes, _) = load_pack(path), read_pack(path, Report())
    assert nodes is not None
    (taken,) = [mutant for mutant in mutants(pack, nodes) if mutant.what.startswith("takes the person")]
    assert taken.value["person"] == []


def test_play_starts_as_ever(tmp_path: Path) -> None:
    """Whoever the customer is, the first observation is the same."""
    pack = desk(tmp_path, ["plain", "wary", "picky"], noise=["Oh."])
    first = [Episode.start(make_case(pack, "d-1", seed)).observation for seed in range(20)]
    assert all(one == first[0] for one in first)
