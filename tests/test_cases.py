"""Inputs of the kinds that break naive engines: each kind three times, in words of our own.

Real exports, issue forms and dialogues hold all of them. A ticket is written by a YAML dumper, loaded and played to its
end, and every text must be what went in. A bad pack holds one fault, and the loader must say which and where.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.case import make_case
from engine.episode import Episode
from engine.load import check_pack, load_pack

Turns = list[dict[str, Any]]


def said(*texts: str) -> Turns:
    """A script of values, each said as it is."""
    return [{"say": text, "value": text} for text in texts[:1]]


def ticket(
    message: str, fields: dict[str, Turns], category: str | None = "a", names: tuple[str, ...] = ("a", "b")
) -> dict[str, Any]:
    return {"message": message, "fields": fields, "category": category, "categories": names}


HELP = "Please help."
YAML_WORDS = ("yes", "no", "on", "Off", "null", "~", "true", "")

TICKETS: dict[str, list[dict[str, Any]]] = {
    "braces are the customer's own": [
        ticket("The {model} of {order_id} hums. {{serial}} is on it, ${9} too.", {"order": said("{1}")}),
        ticket("{{ order }} {% raw %} {# c #}", {"order": said("{{ order }}")}),
        ticket("%s %(x)s {0} {} }{", {"order": said("{order}")}),
    ],
    "fields are called like keywords and keys of an observation": [
        ticket(HELP, {name: said(name + "!") for name in ("from", "class", "status", "history")}),
        ticket(HELP, {name: said("x") for name in ("category", "required", "missing", "action", "field")}),
        ticket(HELP, {name: said("x") for name in ("None", "true", "fields", "type", "parameters")}),
    ],
    "fields are called by sentences and punctuation": [
        ticket(HELP, {"What did you expect?": said("a"), "x/y.z::w": said("b"), "`run` output": said("c")}),
        ticket(HELP, {"- [ ] I agree: yes, all of it": said("a"), "#": said("b"), "'\"": said("c"), "\\n": said("d")}),
        ticket(HELP, {"I have looked through all of the open reports, and there is none like mine; " * 2: said("a")}),
    ],
    "fields that a slug would merge or empty": [
        ticket("打不开", {"系统": said("一"), "系統": said("二"), "⚠️ 系统?": said("三")}),
        ticket(HELP, {"größe": said("1"), "grosse": said("2"), "Größe": said("3"), "groesse": said("4")}),
        ticket(HELP, {"…": said("1"), "?!": said("2"), "": said("3"), " ": said("4")}),
    ],
    "values and categories that YAML makes something else of": [
        ticket(HELP, {"pin": said("0042"), "day": said("2023-02-29"), "at": said("07:45:00")}, "no", ("yes", "no")),
        ticket(HELP, {"ref": said("#A17"), "ok": said("off"), "n": said("1e5"), "o": said("0o17")}, "null", YAML_WORDS),
        ticket(HELP, {"a": said("~"), "b": said("<<"), "c": said("="), "d": said("- x")}, "", YAML_WORDS),
    ],
    "right values that are not truthy": [
        ticket(HELP, {"why": [{"say": "For no reason.", "value": ""}]}),
        ticket(HELP, {"bags": said("0"), "pets": said("False")}),
        ticket(HELP, {"blank": said(" "), "null": said("null")}),
    ],
    "no category": [
        ticket("Anyone there?", {"order": said("A1")}, None, ()),
        ticket("Anyone there?", {"order": said("A1")}, None),
        ticket("Anyone there?", {}, None, ()),
    ],
    "nothing is required": [ticket("Thanks, it works again.", {}), ticket("", {}), ticket("Bye", {}, "b")],
    "a message of one word that YAML reads as something else": [
        ticket("no", {"order": said("A1")}),
        ticket("0x1F", {"order": said("A1")}),
        ticket("~", {"order": said("A1")}),
    ],
    "an empty message": [
        ticket("", {"order": said("A1")}),
        ticket(" ", {"order": said("A1")}),
        ticket("\n", {"order": said("A1")}),
    ],
    "what the customer can never know": [
        ticket(HELP, {"email": [{"say": "I never had one.", "waive": True}], "order": said("A1")}),
        ticket(HELP, {"email": [{"say": "Hm."}, {"say": "No idea at all.", "waive": True}]}),
        ticket(HELP, {"a": [{"say": "?", "waive": True}], "b": [{"say": "", "waive": True}]}),
    ],
    "one answer for several fields, one of them wrong": [
        ticket(HELP, {"sum": [{"say": "90 to Ann, from savings", "value": "90", "wrong": True, "gives": {"to": "Ann"}},
                              {"say": "I mean 80", "value": "80"}], "to": said("Ann")}),
        ticket(HELP, {"sum": [{"say": "80 to Bob", "value": "80", "gives": {"to": "Bob"}, "gives_wrong": ["to"]}],
                      "to": [{"say": "No, to Ann", "value": "Ann"}]}),
        ticket(HELP, {"sum": [{"say": "80, Ann, savings", "value": "80", "gives": {"to": "Ann", "of": "savings"}}],
                      "to": said("Ann"), "of": said("savings")}),
    ],
    "an answer that belongs to another field": [
        ticket(HELP, {"pet": [{"say": "It is 11 or 12, 11 I'd say.", "gives": {"code": "11"}, "gives_wrong": ["code"]},
                              {"say": "Bello.", "value": "Bello"}], "code": said("12")}),
        ticket(HELP, {"pet": [{"say": "The code? 12.", "gives": {"code": "12"}}, {"say": "Bello.", "value": "Bello"}],
                      "code": said("12")}),
        ticket(HELP, {"pet": [{"say": "12.", "waive": True, "gives": {"code": "12"}}], "code": said("12")}),
    ],
    "a customer who asks back": [
        ticket(HELP, {"born": [{"say": "What is that to you?"}, {"say": "Well. 1 May 1980.", "value": "1980-05-01"}]}),
        ticket(HELP, {"born": [{"say": "Must I?", "refuse": True}, {"say": "1980", "value": "1980"}]}),
        ticket(HELP, {"born": [{"say": "Why?"}, {"say": "Why though?"}, {"say": "1980", "value": "1980"}]}),
    ],
    "text from right to left, marks, spaces of no width": [
        ticket("مرة \u200b\u200bأخرى آليًّا؟", {"المتصفح": said("كروم")}),
        ticket("e\u0323\u0302 / e\u0302\u0323 / \u1ec7", {"ש\u05b8\u05c1": said("א\u200f1")}),
        ticket("\ufeffx\u00a0y\u2028z\u2029", {"a\u00adb": said("\u202eabc\u202c")}),
    ],
    "tabs, line ends and backslashes": [
        ticket("\nOne\ttwo\\nstill one\r\nthree \n", {"log": said("a\n\n   b\n")}),
        ticket("\r\n\r\n", {"log": said("\ta\r")}),
        ticket("C:\\new\\x\n\n\n", {"log": said("# a\n- b: c\n\n")}),
    ],
    "an answer that is a piece of code": [
        ticket(HELP, {"json": said('{"id": 7, "n": "a \\"b\\"", "l": [null, true]}')}),
        ticket(HELP, {"yaml": said("a: &x [1, *x]\n--- !!str\nb: |\n  c\n")}),
        ticket(HELP, {"sql": said("'; DROP TABLE tickets; --")}),
    ],
    "order, in names that sort otherwise": [
        ticket(HELP, {"z": said("1"), "A": said("2"), "m": said("3")}, "z", ("z", "a", "M")),
        ticket(HELP, {"10": said("1"), "9": said("2"), "1": said("3")}),
        ticket(HELP, {"ä": said("1"), "z": said("2"), "a": said("3")}),
    ],
    "values that differ in case or Unicode form alone": [
        ticket(HELP, {"name": said("ann lee"), "town": said("Ko\u0308ln")}),
        ticket(HELP, {"a": said("\u00c5"), "b": said("\u212b"), "c": said("A\u030a")}),
        ticket(HELP, {"a": said("ﬁ"), "b": said("fi"), "c": said("FI")}),
    ],
    "a very long message": [
        ticket("It is very, " * 600 + "very slow.", {"order": said("A1")}),
        ticket("x" * 7000, {"order": said("y" * 3000)}),
        ticket("line\n" * 1500, {"order": said("A1")}),
    ],
    "HTML in a category and a message": [
        ticket("<b>Hi</b><script>x()</script>", {"order": said("<img src=x onerror=x()>")}, "a<br>b", ("a<br>b", "c")),
        ticket("&lt;&amp;amp;", {"<i>": said("&nbsp;")}),
        ticket("<!-- x -->", {"order": said("]]>")}),
    ],
}  # fmt: skip


def document(case: dict[str, Any]) -> dict[str, Any]:
    """A pack of one ticket."""
    written: dict[str, Any] = {
        "id": "t",
        "task": "easy-info-collection",
        "messages": [case["message"]],
        "required": list(case["fields"]),
        "answers": case["fields"],
    }
    if case["category"] is not None:
        written["category"] = case["category"]
    return {
        "pack": "p",
        "version": "1.0.0",
        "fields": {name: {"description": name} for name in case["fields"]},
        "categories": {name: {"description": name} for name in case["categories"]},
        "tickets": [written],
    }


def dumps(data: dict[str, Any]) -> list[str]:
    """The data as several YAML dumpers write it, as far as YAML itself gives it back."""
    dumpers = product((yaml.SafeDumper, yaml.CSafeDumper), (True, False), (True, False), (40, 10**6))
    texts = [
        yaml.dump(data, Dumper=dumper, allow_unicode=unicode, default_flow_style=flow, sort_keys=False, width=width)
        for dumper, unicode, flow, width in dumpers
    ]
    faithful = [text for text in texts if yaml.load(text, yaml.CSafeLoader) == data]
    assert faithful
    return faithful


def play(episode: Episode, case: dict[str, Any]) -> Episode:
    """Asks for every field until its script is played, then resolves."""
    for name, turns in case["fields"].items():
        for turn in turns:
            episode = episode.step({"type": "ask_info", "field": name})
            assert episode.history[-1]["text"] == turn["say"]
            if "value" in turn:
                assert episode.observation["known_info"][name] == turn["value"]
    return episode.step({"type": "resolve"})


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{kind} {number}") for kind, cases in TICKETS.items() for number, case in enumerate(cases)],
)
def test_a_ticket_is_played_to_its_end_byte_for_byte(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    for text in dumps(document(case)):
        path.write_bytes(text.encode())
        pack = load_pack(path)
        assert [*pack.fields] == [*case["fields"]]
        assert [*pack.categories] == [*case["categories"]]
        start = Episode.start(make_case(pack, "t", 0))
        assert start.observation["customer_message"] == case["message"]
        assert start.observation["required"] == [*case["fields"]]
        end = play(start, case)
        assert end.observation["status"] == "resolved"
        right = {name: turns[-1]["value"] for name, turns in case["fields"].items() if "value" in turns[-1]}
        assert {name: value for name, value in end.observation["known_info"].items() if name in right} == right


@pytest.mark.parametrize(
    ("options", "value", "other"),
    [
        ([f"choice {number}" for number in range(1040)], "choice 1039", "choice 1040"),
        (["Ann Lee", "ANN LEE", "ann lee"], "ann lee", "Ann lee"),
        (["Köln", "Ko\u0308ln"], "Ko\u0308ln", "KÖLN"),
    ],
)
def test_a_field_of_many_or_hardly_different_values(options: list[str], value: str, other: str, tmp_path: Path) -> None:
    fields = {f"f.{number}": said(options[0]) for number in range(180)}
    case = ticket("Please enrol me.", {"course": said(value)})
    data = document({**case, "fields": {**case["fields"], **fields}})
    for name in data["fields"]:
        data["fields"][name]["schema"] = {"enum": options}
    data["tickets"][0].update(required=["course"], optional=list(fields)[:3])
    path = tmp_path / "pack.yaml"
    for text in dumps(data)[:2]:
        path.write_text(text, encoding="utf-8")
        assert play(Episode.start(make_case(load_pack(path), "t", 0)), case).observation["known_info"] == {
            "course": value
        }
    data["tickets"][0]["answers"] = {**case["fields"], "course": said(other)}
    path.write_text(yaml.dump(data, Dumper=yaml.CSafeDumper), encoding="utf-8")
    assert [found.code for found in check_pack(path)[1]] == ["PACK044"]


def test_a_category_that_is_not_in_the_pack(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    for label, names, near in (
        ("late_4", ("late_1", "early_1"), "late_1"),
        ("Billing", ("billing", "sales"), "billing"),
        ("退款单", ("退款", "发货"), "退款"),
    ):
        path.write_text(yaml.safe_dump(document(ticket(HELP, {}, label, names)), allow_unicode=True), encoding="utf-8")
        [found] = check_pack(path)[1]
        assert (found.code, found.nearest) == ("PACK031", near)
        assert f"unknown category '{label}'" in found.message


@pytest.mark.parametrize(("turns", "steps", "code"), [(11, 13, "PACK060"), (30, 32, "PACK060"), (9, 11, "PACK061")])
def test_a_script_that_is_longer_than_an_episode(turns: int, steps: int, code: str, tmp_path: Path) -> None:
    # Each turn is an ask; a classification and a resolve come on top. Nine asks and a resolve fit into ten steps, but
    # then nothing is classified.
    script: Turns = [{"say": f"wait {number}"} for number in range(turns - 1)]
    case = ticket(HELP, {"question": [*script, {"say": "now", "value": "now"}]})
    path = tmp_path / "pack.yaml"
    path.write_text(yaml.safe_dump(document(case)), encoding="utf-8")
    [found] = check_pack(path)[1]
    assert (found.code, found.expected) == (code, f"max_steps of at least {steps}")
    path.write_text(yaml.safe_dump({**document(case), "max_steps": steps}), encoding="utf-8")
    assert play(Episode.start(make_case(load_pack(path), "t", 0)), case).observation["status"] == "resolved"


BAD_HEAD = """\
pack: p
version: 1.0.0
fields:
  os: {description: System, sample: [Linux, Haiku]}
  seat: {description: Seat}
categories:
  help: {description: Help, requires: [os]}
tickets:
"""
GOOD_TICKET = "  - {id: a, task: easy-info-collection, category: help, messages: [Hi]}\n"


def one(keys: str) -> str:
    return f"  - {{id: a, task: easy-info-collection, {keys}}}\n"


# Each text follows BAD_HEAD, whose last line is line 8. The '▲' stands right before the place that must be named.
BAD: dict[str, list[tuple[str, str]]] = {
    "'*' starts an alias; quote the text": [
        (one("messages: [▲*Urgent* please]"), "PACK004"),
        (one("messages: [Hi], answers: {os: {say: ▲** no, value: x}}"), "PACK004"),
        (GOOD_TICKET + "phrases: {stall: ▲*}\n", "PACK004"),
    ],
    "'*' starts an alias, and nothing is named": [
        (one("messages: [▲*later]"), "PACK011"),
        (one("category: ▲*help , messages: [Hi]"), "PACK011"),
        (GOOD_TICKET + "instructions: ▲*none\n", "PACK011"),
    ],
    "too many": [
        ("a: &a [" + "x, " * 900 + "x]\nb: &b [" + "*a, " * 900 + "x]\n", "PACK012"),
        ("a: &a {k: &b [" + "x, " * 99 + "x], l: &c [" + "*b, " * 99 + "x]}\nm: [" + "*a, " * 99 + "x]\n", "PACK012"),
        ("a: &a " + "long " * 9_000 + "\nb: [" + "*a , " * 9_000 + "]\n", "PACK012"),
    ],
    "YAML reads": [
        (one("category: help, messages: [▲Yes]"), "PACK020"),
        (one("messages: [Hi], answers: {seat: ▲012}"), "PACK020"),
        (one("messages: [Hi], known: {seat: ▲2024-01-01}"), "PACK020"),
        (one("messages: [Hi], answers: {seat: [{say: ok, value: ▲12:30}]}"), "PACK020"),
        ("  - {id: ▲7, task: easy-info-collection, messages: [Hi]}\n", "PACK020"),
        (GOOD_TICKET + "description: ▲~\n", "PACK020"),
    ],
    "a plain text holds ': '; quote it": [
        (one("messages: [Hi]") + "description: Ask first▲: then answer\n", "PACK004"),
        ("  - id: a\n    task: easy-info-collection\n    messages:\n      - One thing: this▲: it broke\n", "PACK004"),
        (one("messages: [Hi], answers: {seat: {say: Seat▲: 4, value: x}}"), "PACK004"),
    ],
    "ticket id 'a' is taken (first at line 9)": [
        (GOOD_TICKET + "  - ▲{id: a, task: easy-info-collection, messages: [Ho]}\n", "PACK040"),
        (GOOD_TICKET + "  - ▲id: 'a'\n    task: easy-info-collection\n    messages: [Ho]\n", "PACK040"),
        (GOOD_TICKET + GOOD_TICKET.replace("id: a", "id: b") + "  - ▲" + GOOD_TICKET[4:], "PACK040"),
    ],
    "is given twice (first at line 9)": [
        (one("messages: [Hi], ▲task: medium-complete-info"), "PACK005"),
        ("  - task: easy-info-collection\n    id: a\n    messages: [Hi]\n    ▲task: x\n", "PACK005"),
        (one('messages: [Hi], answers: {seat: x, ▲"seat": y}'), "PACK005"),
    ],
    "the ticket can't be resolved": [
        ("  - ▲" + one("messages: [Hi], required: [seat]")[4:], "PACK042"),
        ("  - ▲" + one("messages: [Hi], required: [os, seat], answers: {os: x}")[4:], "PACK042"),
        ("  - " + one("messages: [Hi], required: [seat], answers: {▲seat: {value: x, wrong: true}}")[4:], "PACK042"),
    ],
    "an empty item where text is meant": [
        (one("messages: [Hi, ▲, Ho]"), "PACK004"),
        (one("messages: [▲, Ho]"), "PACK004"),
        ("  - id: a\n    task: easy-info-collection\n    messages:\n      - Hi\n      -▲\n", "PACK020"),
        ("  - id: a\n    task:▲\n    messages: [Hi]\n", "PACK020"),
    ],
    "tag": [
        (one("messages: [▲!!binary aGk=]"), "PACK007"),
        (one("messages: [Hi], known: {seat: ▲!!python/object/new:os.system [x]}"), "PACK007"),
        (one("messages: [▲!wow that is slow]"), "PACK007"),
    ],
    "a second document starts here; a pack is one document": [
        (GOOD_TICKET + "▲---\npack: q\n", "PACK006"),
        (GOOD_TICKET + "...\n▲--- # more\nfields: {}\n", "PACK006"),
        (GOOD_TICKET + "▲---\n", "PACK006"),
    ],
    "unknown field": [
        (one("messages: [Hi], required: [▲oss]"), "PACK030"),
        (one("messages: [Hi], answers: {▲seta: 4A}"), "PACK030"),
        (one("messages: [{text: Hi, known: [▲Seat]}]"), "PACK030"),
    ],
    "'#' starts a comment here": [
        (one("messages: [Hi]") + "description: Order ▲#17 is late\n", "PACK010"),
        ("  - id: a\n    task: easy-info-collection\n    messages:\n      - ▲#17 is late\n", "PACK010"),
        ("  - id: a\n    task: easy-info-collection\n    messages:\n      - Mine is\n        ▲#17, late\n", "PACK010"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("gist", "text", "code"),
    [pytest.param(gist, *bad, id=f"{gist} {number}") for gist, kind in BAD.items() for number, bad in enumerate(kind)],
)
def test_a_fault_is_named_with_its_place(gist: str, text: str, code: str, tmp_path: Path) -> None:
    before, marked, _ = (BAD_HEAD + text).partition("▲")
    path = tmp_path / "pack.yaml"
    path.write_text((BAD_HEAD + text).replace("▲", ""), encoding="utf-8")
    pack, found = check_pack(path)
    assert pack is None
    assert [finding.code for finding in found] == [code]
    assert gist in found[0].message
    if marked:
        assert found[0].place[1:] == (before.count("\n") + 1, len(before) - before.rfind("\n"))


def test_a_pack_without_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(BAD_HEAD + GOOD_TICKET, encoding="utf-8")
    assert check_pack(path)[1] == ()
