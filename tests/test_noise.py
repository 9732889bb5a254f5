"""Noise: what customers say besides. It changes no more than what is heard."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.action import action_space
from engine.case import make_case
from engine.contract import load_contract
from engine.episode import Episode
from engine.load import check_draft, load_pack
from engine.pack import Pack
from engine.pack_tests import run_tests
from engine.proof.prove import prove
from engine.proof.result import PackProof
from tests.proof.small_packs import COSTLY, Document, documents, loaded

SPACE = load_contract().observation_space
TASK = "easy-info-collection"
ASK, ASK_MODEL, CLASSIFY = (
    {"type": "ask_info", "field": "email"},
    {"type": "ask_info", "field": "model"},
    {"type": "classify"},
)
TICKET: dict[str, Any] = {
    "id": "d-1",
    "task": TASK,
    "category": "dark",
    "messages": ["It is dark."],
    "answers": {"email": [{"say": "Hm."}, {"say": "kim@example.net, that's it.", "value": "kim@example.net"}]},
}


def written(tmp_path: Path, ticket: dict[str, Any] | None = None, **more: Any) -> Path:
    document = {
        "pack": "lamp-desk",
        "version": "1.0.0",
        "fields": {"email": {"description": "Mail"}, "model": {"description": "Model"}},
        "categories": {"dark": {"description": "Dark lamps", "requires": ["email"]}},
        "tickets": [{**TICKET, **(ticket or {})}],
        **more,
    }
    path = tmp_path / "pack.yaml"
    path.write_text(json.dumps(document), "utf-8")
    return path


def noisy(tmp_path: Path, noise: Any, ticket: dict[str, Any] | None = None, **more: Any) -> Pack:
    return load_pack(written(tmp_path, ticket, noise=noise, **more))


def heard(pack: Pack, *actions: dict[str, Any], seed: int = 0, ticket: str = "d-1") -> list[str]:
    episode = Episode.start(make_case(pack, ticket, seed))
    for action in actions:
        episode = episode.step(action)
    return [step.text for step in episode.steps]


# -- Where it is heard


def test_a_list_is_said_after_each_turn(tmp_path: Path) -> None:
    pack = noisy(tmp_path, ["My dog is barking."])
    said = ["Hm. My dog is barking.", "kim@example.net, that's it. My dog is barking."]
    # The last turn is repeated as it was.
    assert heard(pack, ASK, ASK, ASK) == [*said, said[1]]


def test_before_a_turn(tmp_path: Path) -> None:
    assert heard(noisy(tmp_path, {"before": ["Sorry, the dog."]}), ASK) == ["Sorry, the dog. Hm."]


def test_what_is_not_a_customers_turn_stays_as_it_is(tmp_path: Path) -> None:
    """The opening message, values, the desk, what rules let the customer say, and fields with nothing to say."""
    noise, loud = ["My dog."], tmp_path / "loud"
    loud.mkdir()
    actions = (CLASSIFY, {"type": "nonsense"}, ASK_MODEL, ASK, ASK, {"type": "resolve"})
    quiet = Episode.start(make_case(load_pack(written(tmp_path)), "d-1", 0))
    barking = Episode.start(make_case(noisy(loud, noise), "d-1", 0))
    assert quiet.observation == barking.observation
    for action in actions:
        quiet, barking = quiet.step(action), barking.step(action)
        assert (quiet.outcome, quiet.reward) == (barking.outcome, barking.reward)
        assert quiet.standing == barking.standing
        assert barking.steps[-1].bare == quiet.steps[-1].text
    heard = [after.text for before, after in zip(quiet.steps, barking.steps, strict=True) if before.text != after.text]
    assert heard == ["Hm. My dog.", "kim@example.net, that's it. My dog."]


def test_a_turns_own_text_stays_whole(tmp_path: Path) -> None:
    odd = "  two  blanks,\ta tab\r\n\u202eturned\u202c  "
    pack = noisy(tmp_path, {"before": ["So.\n"], "after": [" Well. "]}, {"answers": {"email": odd}})
    texts = {heard(pack, ASK, seed=seed)[0] for seed in range(30)}
    assert texts == {f"So.\n {odd}", f"{odd}  Well. "}
    assert make_case(pack, "d-1", 0).value(1) == odd


def test_an_empty_text_is_nothing(tmp_path: Path) -> None:
    assert heard(noisy(tmp_path, [""]), ASK) == ["Hm."]
    assert heard(noisy(tmp_path, []), ASK) == ["Hm."]
    assert heard(noisy(tmp_path, ["Well."], {"answers": {"email": {"value": "", "say": ""}}}), ASK) == ["Well."]


def test_a_template_is_filled_in(tmp_path: Path) -> None:
    noise = [{"template": "And the {{ model | upper }}!"}]
    assert heard(noisy(tmp_path, noise, {"known": {"model": "Lumo"}}), ASK) == ["Hm. And the LUMO!"]


# -- Whose it is


def test_a_persons_own_takes_the_place_of_the_packs(tmp_path: Path) -> None:
    people = {
        "dog": {"stalls": 1, "says": ["Wait."], "noise": ["My dog."]},
        "quiet": {"noise": []},
        "anybody": {},
        "shy": {"fields": ["model"], "noise": ["Um."]},
    }
    both = {"answers": {"email": "kim@example.net", "model": "Lumo"}}

    def texts(person: str) -> list[str]:
        return heard(noisy(tmp_path, ["Rain."], {**both, "person": person}, people=people), ASK, ASK_MODEL)

    assert texts("dog") == ["Wait. My dog.", "Wait. My dog."]
    assert texts("quiet") == ["kim@example.net", "Lumo"]
    assert texts("anybody") == ["kim@example.net Rain.", "Lumo Rain."]
    assert texts("shy") == ["kim@example.net Rain.", "Lumo Um."]


# -- How it is drawn


def number(*key: str | int) -> int:
    text = json.dumps(["lamp-desk", "d-1", *key], separators=(",", ":"))
    return int.from_bytes(sha256(text.encode()).digest(), "big")


def test_draws_are_keyed_by_field_and_turn(tmp_path: Path) -> None:
    """Whether: the number of the hash of (pack, ticket, seed, "noise", field, kind, turn), modulo `one_in`, is 0.
    Which: that of (..., "noise text", ...) modulo how many texts there are, those before first."""
    noise = {"before": ["A.", "B."], "after": ["C."], "one_in": 3}
    people = {"slow": {"stalls": 1, "says": ["Wait."]}}
    pack = noisy(tmp_path, noise, {"person": "slow"}, people=people)
    turns = [("stall", 0, "Wait."), ("turn", 0, "Hm."), ("turn", 1, "kim@example.net, that's it.")]
    counted = 0
    for seed in range(60):
        expected = []
        for kind, turn, said in turns:
            text = ["A. " + said, "B. " + said, said + " C."][number(seed, "noise text", "email", kind, turn) % 3]
            loud = number(seed, "noise", "email", kind, turn) % 3 == 0
            counted += loud
            expected.append(text if loud else said)
        assert heard(pack, ASK, ASK, ASK, seed=seed) == expected
    assert 40 <= counted <= 80  # about a third of 180


def test_a_draw_depends_on_nothing_else(tmp_path: Path) -> None:
    """Not on another ticket, another field, the message, or what a person does before."""
    noise = {"before": ["A.", "B."], "after": ["C.", "D."], "one_in": 2}
    plain = noisy(tmp_path, noise)
    said = [heard(plain, ASK, ASK, seed=seed) for seed in range(30)]
    other = {**TICKET, "id": "d-0", "messages": ["Another."]}
    changed = {
        **TICKET,
        "messages": ["It is still dark."],
        "person": "slow",
        "optional": ["model"],
        "answers": {"model": "Lumo", **TICKET["answers"]},
    }
    people = {"slow": {"stalls": 1, "says": ["Wait."]}}
    pack = load_pack(written(tmp_path, noise=noise, people=people, tickets=[other, changed]))
    assert [heard(pack, ASK, ASK_MODEL, ASK, ASK, seed=seed)[-2:] for seed in range(30)] == said


def test_every_process_says_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, noise={"before": ["A.", "Ä."], "after": ["C."], "one_in": 2})
    code = (
        "import sys, json; from engine.load import load_pack; from tests.test_noise import heard, ASK\n"
        "pack = load_pack(sys.argv[1]); print(json.dumps([heard(pack, ASK, ASK, seed=s) for s in range(20)]))"
    )
    done = [
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            cwd=Path(__file__).parent.parent,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert done[0] == done[1]
    assert json.loads(done[0]) == [heard(load_pack(path), ASK, ASK, seed=seed) for seed in range(20)]


# -- What it doesn't change


def test_a_packs_tests_leave_it_out(tmp_path: Path) -> None:
    def test(says: str) -> dict[str, Any]:
        return {"name": "it stalls", "ticket": "d-1", "steps": [{"do": ASK, "expect": {"says": says}}]}

    assert list(run_tests(noisy(tmp_path, ["My dog."], tests=[test("Hm.")]))) == []
    assert len(list(run_tests(noisy(tmp_path, ["My dog."], tests=[test("Hm. My dog.")])))) == 1


def quiet(document: Document) -> Document:
    """A pack without its noise."""
    people = {
        name: {key: value for key, value in person.items() if key != "noise"}
        for name, person in document["people"].items()
    }
    return {**{key: value for key, value in document.items() if key != "noise"}, "people": people}


def proved(pack: Pack) -> PackProof:
    return prove(pack, SPACE)


@settings(COSTLY, suppress_health_check=list(HealthCheck))
@given(document=documents(3))
def test_what_is_proved_is_the_same_without(document: Document) -> None:
    loud, silent = loaded({**document, "noise": {"before": ["Ah."], "after": ["Oh."]}}), loaded(quiet(document))
    if loud is None or silent is None:
        assert loud is None and silent is None
        return
    one, other = proved(loud), proved(silent)
    assert one.tickets == other.tickets and one.blind == other.blind
    # P09 asks whether noise is heard, P11 what it says.
    same = [
        [(check.code, check.ticket, check.status) for check in proof.checks if check.code not in ("P09", "P11")]
        for proof in (one, other)
    ]
    assert same[0] == same[1]


@settings(COSTLY, suppress_health_check=list(HealthCheck))
@given(document=documents(4), data=st.data(), seed=st.integers(0, 5))
def test_play_is_the_same_but_for_what_is_said(document: Document, data: st.DataObject, seed: int) -> None:
    loud, silent = loaded(document), loaded(quiet(document))
    if loud is None or silent is None:
        return
    one, other = (Episode.start(make_case(pack, "t", seed)) for pack in (loud, silent))
    while not one.done:
        action = data.draw(st.sampled_from(action_space(loud).choices)).canonical()
        one, other = one.step(action), other.step(action)
        assert (one.state, one.outcome, one.reward) == (other.state, other.outcome, other.reward)
        assert (one.standing, one.score()) == (other.standing, other.score())
        text, bare = one.steps[-1].text, one.steps[-1].bare
        assert bare == other.steps[-1].text and bare in text


# -- What is wrong with it

MISTAKES: list[tuple[Any, str, str, str | None]] = [
    ("My dog.", "PACK021", "a list or a mapping is meant here", None),
    ([7], "PACK020", "quote it", None),
    ({"befor": ["A."]}, "PACK022", "unknown key 'befor'", "before"),
    ({"after": ["A."], "one_in": 0}, "PACK024", "1 is the least", None),
    ({"after": ["A."], "one_in": 2.5}, "PACK021", "a whole number is meant here", None),
    ([{"template": "{{ modle }}"}], "PACK030", "'modle'", "model"),
    ([{"template": "{% if %}"}], "PACK045", "template", None),
    ([{"template": "{{ missing }}"}], "PACK030", "'missing'", None),
    # The ticket says nothing of it, and nothing is made up.
    ([{"template": "{{ model }}"}], "PACK043", "in ticket 'd-1' 'model' has no right value", None),
]


@pytest.mark.parametrize(("noise", "code", "gist", "near"), MISTAKES, ids=[str(case[0])[:50] for case in MISTAKES])
@pytest.mark.parametrize("whose", ["the pack's", "a person's"])
def test_mistakes(tmp_path: Path, noise: Any, code: str, gist: str, near: str | None, whose: str) -> None:
    if whose == "the pack's":
        path = written(tmp_path, noise=noise)
    else:
        path = written(tmp_path, {"person": "loud"}, people={"loud": {"noise": noise}})
        gist = gist.replace("in ticket 'd-1' 'model'", "'loud' says 'model', but 'model'")
        gist = gist.replace("has no right value", "has no right value in this ticket") if code == "PACK043" else gist
    pack, (found, *others) = check_draft(path, load_contract())
    assert (pack, found.code, others) == (None, code, [])
    assert gist in found.message and found.nearest in (near, None)
    if near is not None:
        assert found.nearest == near


def test_two_files_may_both_have_some(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "pack.yaml").write_bytes(written(tmp_path, noise=["A."]).read_bytes())
    (folder / "more.yaml").write_text("noise: [B.]\n", "utf-8")
    assert load_pack(folder).noise.after == ("A.", "B.")
