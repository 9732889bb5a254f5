"""P11: texts that say what has to be asked for, ids that tell the category, and what only looks like that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode, replay
from engine.load import check_draft, shipped_packs
from engine.pack import Pack
from engine.proof.leaks import leaks
from engine.proof.mentions import folded, mentioned_like, mentions, telling
from engine.proof.result import Check

CONTRACT = load_contract()
EASY = "easy-info-collection"


def pack_of(tmp_path: Path, **keys: Any) -> Pack:
    path = tmp_path / "pack.yaml"
    document = {"pack": "small", "version": "1.0.0", **keys}
    path.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), encoding="utf-8")
    pack, findings = check_draft(path, CONTRACT)
    assert pack is not None, findings
    return pack


def found(pack: Pack) -> list[str]:
    """What leaks, in words; nothing where the check holds."""
    checks = leaks(pack)
    assert [check.status for check in checks] in (["holds"], ["fails"] * len(checks))
    return [check.message for check in checks if check.status == "fails"]


def ticket(message: Any = "Please help.", value: Any = "blue-fox", **keys: Any) -> dict[str, Any]:
    """A ticket about an adapter, of which the name has to be asked for."""
    messages = message if isinstance(message, list) else [message]
    return {"id": "q-1", "task": EASY, "messages": messages, "required": ["adapter"],
            "answers": {"adapter": value}, **keys}  # fmt: skip


def desk(tmp_path: Path, one: dict[str, Any], **keys: Any) -> Pack:
    fields = {"adapter": {"description": "Its name"}, "port": {"description": "Where it is plugged in"}}
    return pack_of(tmp_path, **{"fields": fields, "tickets": [one], **keys})


SAID = [
    ("Adapter: blue-fox is broken", "blue-fox"),
    ("The BLUE-FOX hums.", "blue-fox"),
    ("blue-fox", "blue-fox"),
    ("It is (blue-fox).", "blue-fox"),
    ("It hums, the Blue\n  Fox.", "Blue Fox"),
    ("The number is ４８２１.", "4821"),  # wide digits are the same number
    ("Cafe\u0301 is the name", "caf\u00e9"),  # and so are two ways to write an accent
    ("Mine is a STRASSE", "straße"),
    ("我的统信系统打不开", "统信系统"),
    ("打不开，蓝狐坏了", "蓝狐"),
    ("It says A{1} on it.", "A{1} on"),
    ("my phone", "phone"),
]


@pytest.mark.parametrize(("message", "value"), SAID)
def test_a_message_that_says_it(message: str, value: str, tmp_path: Path) -> None:
    pack = desk(tmp_path, ticket(["Hello.", message], value))
    (text,) = found(pack)
    assert "'q-1'" in text and "message 2" in text and "'adapter'" in text
    (check,) = leaks(pack)
    assert check.counterexample is not None and check.counterexample.actions == ()
    shown = make_case(pack, "q-1", check.counterexample.seed)
    assert shown.message == message  # the seed is one that opens with it


NOT_SAID = [
    ("The blue foxes are out.", "blue fox"),
    ("My headphones hum.", "phone"),
    ("The phones hum.", "phone"),
    ("It is no. 48213.", "4821"),
    ("It has 3 of them.", "3"),
    ("It costs 1.0.", "1.0"),
    ("Yes, it hums.", "yes"),
    ("None of them hums.", "none"),
    ("blue fox", "blue-fox"),
    ("狐坏了", "狐"),
]


@pytest.mark.parametrize(("message", "value"), NOT_SAID)
def test_a_message_that_does_not(message: str, value: str, tmp_path: Path) -> None:
    assert found(desk(tmp_path, ticket(message, value))) == []


def test_wrong_values_are_hidden_too(tmp_path: Path) -> None:
    script = [{"say": "Red.", "value": "red-fox", "wrong": True}, "blue-fox"]
    (text,) = found(desk(tmp_path, ticket("Is a red-fox an adapter?", script)))
    assert "'red-fox'" in text


def test_what_is_known_is_stated_on_purpose(tmp_path: Path) -> None:
    says = {"text": "My blue-fox hums.", "known": ["adapter"]}
    assert found(desk(tmp_path, ticket(["Help.", says]))) == []
    assert found(desk(tmp_path, ticket("My blue-fox hums.", known={"adapter": "blue-fox"}))) == []
    # It is also a part of what is known of something else.
    both = {"text": "It hums in port blue-fox 7.", "known": ["port"]}
    answers = {"adapter": "blue-fox", "port": "blue-fox 7"}
    assert found(desk(tmp_path, {**ticket([both]), "answers": answers})) == []


def test_a_template_that_fills_in_what_is_not_known(tmp_path: Path) -> None:
    pack = desk(tmp_path, ticket([{"template": "My {{ adapter }} hums."}]))
    (text,) = found(pack)
    assert "message 1 states 'adapter'" in text


def test_ids_and_what_is_known_of_others(tmp_path: Path) -> None:
    (text,) = found(desk(tmp_path, ticket(id="q_blue-fox-7")))
    assert "the id says 'blue-fox'" in text
    (text,) = found(desk(tmp_path, ticket(known={"port": "the one of the blue-fox"})))
    assert "what is known of 'port' says 'blue-fox'" in text


def drawn(tmp_path: Path, message: str, sample: Any, **keys: Any) -> Pack:
    one = {"id": "q-1", "task": EASY, "messages": [message], "required": ["order"], **keys}
    return pack_of(tmp_path, fields={"order": {"description": "Such as L-1234", "sample": sample}}, tickets=[one])


def test_samples(tmp_path: Path) -> None:
    (text,) = found(drawn(tmp_path, "Where is l-4821?", "L-####"))
    assert "'l-4821'" in text and "'order'" in text
    assert found(drawn(tmp_path, "Where is l-48213?", "L-####")) == []
    assert found(drawn(tmp_path, "Where is L-4821 A?", r"L-#### \?")) == []
    assert len(found(drawn(tmp_path, "Where is L-4821 ?", r"L-#### \?"))) == 1
    # Any year is a number of four digits: a pattern without anything of its own says nothing.
    assert found(drawn(tmp_path, "Since 2019 I wait.", "####")) == []
    (text,) = found(drawn(tmp_path, "It is the Late Lamp.", ["Late Lamp", "Early Lamp"]))
    assert "'late lamp'" in text
    # Where a ticket has an answer of its own, nothing is drawn.
    assert found(drawn(tmp_path, "It isn't L-4821.", "L-####", answers={"order": "L-7777"})) == []


def test_an_answer_that_says_another_field(tmp_path: Path) -> None:
    port: list[dict[str, Any]] = [{"say": "Hm."}, {"say": "Where the Blue-Fox was.", "value": "P-7"}]
    answers = {"adapter": "blue-fox", "port": port}
    pack = desk(tmp_path, {**ticket(), "answers": answers})
    (check,) = leaks(pack)
    assert "turn 2 under 'port' says 'blue-fox', a value of 'adapter'," in check.message
    assert check.counterexample is not None
    episode = replay(make_case(pack, "q-1", check.counterexample.seed), check.counterexample.actions)
    assert [step.text for step in episode.steps] == ["Hm.", "Where the Blue-Fox was."]
    assert episode.observation["known_info"] == {"port": "P-7"}
    # The same words, and the value is given: there, or before.
    port[1]["gives"] = {"adapter": "blue-fox"}
    assert found(desk(tmp_path, {**ticket(), "answers": answers})) == []
    port[:] = [port[1], {"say": "Where the blue-fox was."}]
    assert found(desk(tmp_path, {**ticket(), "answers": answers})) == []


SHARED: dict[str, dict[str, Any]] = {
    "the pack's description": {"description": "All about blue-fox adapters."},
    "the instructions": {"instructions": "Ask for the adapter, blue-fox say."},
    "the phrase 'stall'": {"phrases": {"stall": "Is it a blue-fox?"}},
    "the person 'slow'": {"people": {"slow": {"stalls": 1, "says": ["I and my blue-fox."]}}},
    "the description of the field 'port'": {
        "fields": {"adapter": {"description": "Its name"}, "port": {"description": "Of the blue-fox"}}
    },
    "the description of the category 'late'": {
        "categories": {"late": {"description": "A blue-fox that is late", "requires": []}}
    },
    "the rule 'resolve.odd'": {
        "rules": {"resolve": [{"outcome": "odd", "when": {"missing": 5}, "then": {"say": "Blue-Fox!"}}]}
    },
    "the description of the action 'tell'": {
        "actions": {"tell": {"description": "Tell of a blue-fox"}},
        "rules": {"tell": [{"outcome": "told", "then": {"say": "So."}}]},
    },
    "the description of 'how' of 'tell'": {
        "actions": {
            "tell": {"description": "Tell", "parameters": {"how": {"description": "By blue-fox", "enum": ["a"]}}}
        },
        "rules": {"tell": [{"outcome": "told", "then": {"say": "So."}}]},
    },
}


@pytest.mark.parametrize("where", SHARED)
def test_texts_that_all_tickets_share(where: str, tmp_path: Path) -> None:
    (text,) = found(desk(tmp_path, ticket(), **SHARED[where]))
    assert text.startswith(where) and "'blue-fox'" in text and "'adapter'" in text


def test_a_word_of_several_points_to_no_ticket(tmp_path: Path) -> None:
    fields = {"adapter": {"description": "A fox or a hare"}}
    tickets = [{**ticket("Hm.", "fox"), "id": "q-1"}, {**ticket("Oh.", "hare"), "id": "q-2"}]
    assert found(pack_of(tmp_path, fields=fields, tickets=tickets)) == []
    (text,) = found(pack_of(tmp_path, fields=fields, tickets=tickets[:1]))
    assert "the description of the field 'adapter' says 'fox'" in text


def test_what_a_schema_lists_is_public(tmp_path: Path) -> None:
    fields = {"adapter": {"description": "blue-fox or red-fox", "schema": {"enum": ["blue-fox", "red-fox"]}}}
    assert found(pack_of(tmp_path, fields=fields, tickets=[ticket()])) == []
    # Which of them it is isn't.
    assert len(found(pack_of(tmp_path, fields=fields, tickets=[ticket("My blue-fox hums.")]))) == 1


def test_a_value_that_several_fields_can_have_tells_nothing(tmp_path: Path) -> None:
    one = {**ticket("From savings, please."), "answers": {"adapter": "savings", "port": "savings"}}
    assert found(desk(tmp_path, one)) == []


# -- Ids


def numbered(tmp_path: Path, ids: dict[str, str]) -> Pack:
    """A pack of tickets with these ids, each of a category."""
    names = dict.fromkeys(ids.values())
    tickets = [{"id": name, "task": EASY, "category": category, "messages": ["Hm."]} for name, category in ids.items()]
    return pack_of(tmp_path, categories={name: {"description": "x", "requires": []} for name in names}, tickets=tickets)


def test_an_id_that_names_the_category(tmp_path: Path) -> None:
    (text,) = found(numbered(tmp_path, {"t-late-parcel-1": "late_parcel", "t-2": "swap", "t-3": "late_parcel"}))
    assert "'t-late-parcel-1'" in text and "'late_parcel'" in text
    # Inside a longer word it doesn't.
    assert found(numbered(tmp_path, {"t-plate": "late", "t-2": "swap"})) == []


def test_a_word_that_only_one_category_has(tmp_path: Path) -> None:
    (text,) = found(numbered(tmp_path, {"p1-x": "late", "p2-y": "late", "r1": "swap", "q-z": "late"}))
    assert "'p' in the id of ticket 'p1-x'" in text and "'late'" in text
    # Once is no rule; nor are two of five; nor what another category has as well.
    assert found(numbered(tmp_path, {"p1": "late", "r1": "swap"})) == []
    two_of_five = {"p-1": "late", "p-2": "late", "a": "late", "b": "late", "c": "late", "d": "swap"}
    assert found(numbered(tmp_path, two_of_five)) == []
    assert found(numbered(tmp_path, {"p-1": "late", "p-2": "late", "p-3": "swap"})) == []
    # Hexadecimal numbers have letters in them.
    assert found(numbered(tmp_path, {"9bc7": "late", "3bc1": "late", "1f0a": "swap", "7d2e": "swap"})) == []


def test_tickets_that_are_numbered_by_category(tmp_path: Path) -> None:
    # There are 252 ways to share ten numbers between two categories of five. In two of them they are in blocks.
    blocks = {f"t-{number}": "late" if number < 10 else "swap" for number in range(5, 15)}
    (text,) = found(numbered(tmp_path, blocks))
    assert "'t-5' to 't-14'" in text
    # In any other order of writing too: the numbers count.
    assert len(found(numbered(tmp_path, dict(reversed(blocks.items()))))) == 1
    # Of the 70 ways to share eight, two are one in thirty-five.
    assert found(numbered(tmp_path, {name: blocks[name] for name in list(blocks)[1:-1]})) == []
    assert found(numbered(tmp_path, {**blocks, "t-3": "swap"})) == []
    assert found(numbered(tmp_path, {**blocks, "other": "swap"})) == []


def test_with_one_category_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert found(numbered(tmp_path, {f"late-{number}": "late" for number in range(20)})) == []


# -- Words


def test_mentions() -> None:
    assert mentions(folded("A  Blue\tFox!"), folded("blue fox"))
    assert not mentions("bluefoxes", "blue") and mentions("a blue_fox", "blue")
    assert mentions("foxes and a fox", "fox")  # the first is part of a word, the second isn't
    assert not mentions("i can't", "can") and not mentions("don\u2019t", "don") and mentions("can 't", "can")
    assert mentions("sam's lamp", "sam") and mentions("en d'avril", "avril") and mentions("'can'", "can")
    assert mentioned_like("order ab-12x ab-34", "??-##") == "ab-34"
    assert mentioned_like("2019", "####") is None
    assert telling("abc") and telling("蓝狐") and not telling("ab") and not telling("1.0") and not telling("- - -")


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_what_ships_leaks_nothing(path: Path) -> None:
    pack, _ = check_draft(path, CONTRACT)
    assert pack is not None
    assert leaks(pack) == (Check("P11", "holds"),)
    for one in pack.tickets:  # nor does it by what is drawn
        for seed in range(5):
            start = Episode.start(make_case(pack, one, seed)).observation
            known = {folded(value) for value in start["known_info"].values()}
            for name, turns in pack.tickets[one].answers.items():
                values = {folded(given.value) for turn in turns for given in turn.gives if given.field == name}
                said = {value for value in values - known if telling(value)}
                assert not any(mentions(folded(start["customer_message"]), value) for value in said)
