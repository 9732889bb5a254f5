"""People: what they do before they answer, under which fields, who is drawn; and what is wrong with them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode
from engine.load import check_draft, check_pack, load_pack, rebuild
from engine.pack import Pack
from engine.solve import solve, variants
from engine.turns import Manner

# Two fields, and somebody who refuses once and then stalls twice.
DESK: dict[str, Any] = {
    "pack": "lamp-desk",
    "version": "1.0.0",
    "fields": {"model": {"description": "Model"}, "email": {"description": "Mail"}},
    "people": {
        "wary": {
            "description": "Asks back",
            "refuses": 1,
            "refuses_with": ["Why?"],
            "stalls": 2,
            "says": ["Hm."],
        },
        "plain": {},
    },
    "tickets": [
        {
            "id": "d-1",
            "task": "easy-info-collection",
            "messages": ["It is dark."],
            "person": "wary",
            "required": ["model", "email"],
            "answers": {"model": {"say": "The Lumo.", "value": "Lumo"}, "email": "kim@example.net"},
        }
    ],
}


def document(customer: Any = "wary", wary: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """DESK with another customer, or another `wary`."""
    ticket = {**DESK["tickets"][0], "person": customer}
    people = {**DESK["people"], **({"wary": wary} if wary is not None else {})}
    return {**DESK, "people": people, "tickets": [{k: v for k, v in ticket.items() if v is not None}], **more}


def desk(tmp_path: Path, *arguments: Any, **more: Any) -> Pack:
    path = tmp_path / "pack.yaml"
    path.write_text(json.dumps(document(*arguments, **more)), "utf-8")
    return load_pack(path)


def asked(pack: Pack, *fields: str, seed: int = 0, ticket: str = "d-1") -> list[tuple[str, str, float]]:
    """The outcome, the words and the reward of asking for these fields in turn."""
    episode, found = Episode.start(make_case(pack, ticket, seed)), []
    for field in fields:
        episode = episode.step({"type": "ask_info", "field": field})
        found.append((str(episode.outcome), episode.steps[-1].text, episode.reward or 0.0))
    return found


# -- What they do


def test_refusals_come_first_then_stalls_then_the_answer(tmp_path: Path) -> None:
    # Two fields share 0.5; what isn't the agent's fault costs nothing, what is known already costs 1.0 / 10.
    assert asked(desk(tmp_path), *["model"] * 5) == [
        ("ask_info.refused", "Why?", 0.0),
        ("ask_info.stalled", "Hm.", 0.0),
        ("ask_info.stalled", "Hm.", 0.0),
        ("ask_info.answered", "The Lumo.", 0.25),
        ("ask_info.known", "The Lumo.", -0.1),
    ]


def test_each_field_has_turns_of_its_own(tmp_path: Path) -> None:
    outcomes = [outcome for outcome, _, _ in asked(desk(tmp_path), *["model", "email"] * 4)]
    assert outcomes == [f"ask_info.{each}" for each in ("refused", "stalled", "stalled", "answered") for _ in range(2)]


def test_the_fewest_steps_count_what_people_do(tmp_path: Path) -> None:
    # Two fields take 1 + 2 + 1 asks each, then the ticket is resolved: nine steps, of ten.
    (machine,) = variants(pack := desk(tmp_path), pack.tickets["d-1"])
    solution = solve(machine)
    assert solution is not None and (solution.best, solution.optimal_steps) == (20_000, 9)


def test_without_words_of_their_own_they_use_the_phrases(tmp_path: Path) -> None:
    pack = desk(tmp_path, wary={"refuses": 1, "stalls": 1}, phrases={"refusal": "No.", "stall": "Wait."})
    assert [text for _, text, _ in asked(pack, "model", "model")] == ["No.", "Wait."]


def test_a_phrase_says_what_is_missing_by_then(tmp_path: Path) -> None:
    """A stall's phrase may speak of the state: a case says it anew each time, whatever it was asked before."""
    phrases = {"stall": {"template": "You miss {{ missing | join(', ') }}."}}
    pack = desk(tmp_path, wary={"stalls": 1, "fields": ["email"]}, phrases=phrases)
    start = Episode.start(make_case(pack, "d-1", 0))
    ask_email, ask_model = ({"type": "ask_info", "field": name} for name in ("email", "model"))
    assert start.step(ask_email).steps[-1].text == "You miss model, email."
    assert start.step(ask_model).step(ask_email).steps[-1].text == "You miss email."


def test_under_some_fields_only(tmp_path: Path) -> None:
    pack = desk(tmp_path, wary={**DESK["people"]["wary"], "fields": ["email"]})
    assert [outcome for outcome, _, _ in asked(pack, "model", "email")] == ["ask_info.answered", "ask_info.refused"]
    (machine,) = variants(pack, pack.tickets["d-1"])
    assert machine.manner == Manner(refuses=1, stalls=2, fields=("email",))
    # One ask and four, and the end.
    solution = solve(machine)
    assert solution is not None and solution.optimal_steps == 6


def test_fields_that_change_nothing_make_no_automaton_of_their_own(tmp_path: Path) -> None:
    """All of a ticket's fields are no different from all there are, and none of them is nobody in particular."""
    fields = {**DESK["fields"], "colour": {"description": "Colour"}}
    wary = {"stalls": 1, "fields": ["email", "model", "colour"]}
    far = {"stalls": 1, "fields": ["colour"]}
    people = {"wary": wary, "slow": {"stalls": 1}, "far": far, "plain": {"stalls": 0, "noise": ["So."]}}
    pack = desk(tmp_path, ["wary", "slow", "far", "plain"], fields=fields, people=people)
    assert [machine.manner for machine in variants(pack, pack.tickets["d-1"])] == [Manner(stalls=1), Manner()]


def test_what_is_said_is_drawn_turn_by_turn(tmp_path: Path) -> None:
    """By the key that is written down in the docs: SHA-256 of its JSON, as a number, modulo how many there are."""
    refusals, stalls = ["No.", "Why?", "What for?"], ["Hm.", "Wait.", "So.", "Oh."]
    wary = {"refuses": 2, "refuses_with": refusals, "stalls": 2, "says": stalls}
    pack = desk(tmp_path, wary=wary, max_steps=12)

    def drawn(texts: list[str], seed: int, purpose: str, number: int) -> str:
        key = json.dumps(["lamp-desk", "d-1", seed, purpose, "model", number], separators=(",", ":"))
        return texts[int.from_bytes(sha256(key.encode()).digest(), "big") % len(texts)]

    for seed in range(20):
        expected = [drawn(refusals, seed, "refusal", number) for number in (0, 1)]
        expected += [drawn(stalls, seed, "stall", number) for number in (0, 1)]
        assert [text for _, text, _ in asked(pack, *["model"] * 4, seed=seed)] == expected


# -- Who the customer is


def who(pack: Pack, ticket: str = "d-1", seeds: int = 40) -> set[str | None]:
    people = (make_case(pack, ticket, seed).person for seed in range(seeds))
    return {person.name if person is not None else None for person in people}


def test_the_pack_says_who_it_is_where_a_ticket_does_not(tmp_path: Path) -> None:
    assert who(desk(tmp_path, None)) == {None}
    assert who(desk(tmp_path, None, person="wary")) == {"wary"}
    assert who(desk(tmp_path, None, person=["wary", "plain"])) == {"wary", "plain"}
    assert who(desk(tmp_path, "plain", person="wary")) == {"plain"}
    assert who(desk(tmp_path, [], person="wary")) == {None}


def test_a_ticket_must_be_solvable_with_the_worst_of_its_people(tmp_path: Path) -> None:
    # Two fields with five turns each, and the end, are eleven steps of ten.
    path = tmp_path / "pack.yaml"
    worst = {"refuses": 2, "stalls": 2}
    path.write_text(json.dumps(document(None, worst, person=["plain", "wary"])), "utf-8")
    pack, (found,) = check_pack(path)
    assert pack is None
    assert (found.code, found.expected) == ("PACK060", "max_steps of at least 11")
    path.write_text(json.dumps(document(None, worst, person=["plain", "wary"], max_steps=11)), "utf-8")
    assert check_pack(path)[1] == ()


# -- What is wrong with them

MISTAKES: list[tuple[dict[str, Any], str, str, str | None]] = [
    ({"wary": {"refuses": -1}}, "PACK024", "0 is the least", None),
    ({"wary": {"refuses": 1.5}}, "PACK021", "a whole number is meant here", None),
    ({"wary": {"refuses": 101}}, "PACK024", "100 is the most", None),
    ({"wary": {"refuses_with": "No."}}, "PACK021", "a list is meant here", None),
    ({"wary": {"refuse": 1}}, "PACK022", "unknown key 'refuse'", "refuses"),
    ({"wary": {"stalls": 1, "fields": ["emial"]}}, "PACK030", "unknown field 'emial'", "email"),
    ({"wary": {"stalls": 1, "fields": ["email", "email"]}}, "PACK040", "'email' is listed twice", None),
    ({"wary": {"stalls": 1, "fields": []}}, "PACK024", "1 or more items are meant", None),
    ({"wary": {"refuses": 1, "refuses_with": [{"template": "{{ modle }}?"}]}}, "PACK030", "'modle'", "model"),
    ({"person": "warry"}, "PACK033", "unknown person 'warry'", "wary"),
    ({"person": ["plain", "plain"]}, "PACK040", "'plain' is listed twice", None),
    ({"person": 7}, "PACK020", "quote it", None),
]


@pytest.mark.parametrize(("change", "code", "gist", "near"), MISTAKES, ids=[str(case[0])[:50] for case in MISTAKES])
def test_mistakes(tmp_path: Path, change: dict[str, Any], code: str, gist: str, near: str | None) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(json.dumps(document(**change)), "utf-8")
    pack, (found, *others) = check_draft(path, load_contract())
    assert (pack, found.code, found.nearest, others) == (None, code, near, [])
    assert gist in found.message


def test_a_value_that_a_ticket_does_not_have(tmp_path: Path) -> None:
    fields = {**DESK["fields"], "colour": {"description": "Colour"}}
    path = tmp_path / "pack.yaml"
    wary = {"refuses": 1, "refuses_with": [{"template": "{{ colour }}?"}]}
    path.write_text(json.dumps(document(wary=wary, fields=fields)), "utf-8")
    (found,) = check_draft(path, load_contract())[1]
    assert found.code == "PACK043"
    assert found.message == "'wary' says 'colour', but 'colour' has no right value in this ticket"


# -- The digest, and the source


def test_the_digest_covers_people(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"person": "wary"},
        {"wary": {**DESK["people"]["wary"], "refuses": 2}},
        {"wary": {**DESK["people"]["wary"], "refuses_with": ["No."]}},
        {"wary": {**DESK["people"]["wary"], "fields": ["email"]}},
        {"wary": {**DESK["people"]["wary"], "noise": []}},
        {"noise": ["So."]},
        {"noise": {"before": ["So."]}},
    ]
    digests = {desk(tmp_path, None, **{**change, "max_steps": 12}).digest for change in changes}
    assert len(digests) == len(changes)


def test_what_a_pack_does_not_say_is_not_digested(desk: Pack) -> None:
    """Packs from before there were refusals and noise keep their digests: of what is digested they have the same."""
    source = json.loads(desk.source)
    assert not {"person", "noise"} & source.keys()
    assert source["people"]["slow"].keys() == {"description", "stalls", "says"}


def test_a_pack_is_made_again_of_its_source(tmp_path: Path) -> None:
    wary = {"refuses": 1, "stalls": 1, "fields": ["email"], "noise": {"before": ["So."], "one_in": 2}}
    pack = desk(tmp_path, None, wary, person=["wary", "plain"], noise=["Well."], max_steps=12)
    again = rebuild(pack.source)
    assert (again.digest, again.people, again.noise) == (pack.digest, pack.people, pack.noise)
    assert again.tickets == pack.tickets
    for seed in range(10):
        assert asked(again, *["email", "model"] * 3, seed=seed) == asked(pack, *["email", "model"] * 3, seed=seed)
