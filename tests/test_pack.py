"""A pack: what the loader makes of it, and everything that it refuses, with the place and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract import load_contract
from engine.diagnostics import Finding, PackError
from engine.load import MAX_FILES, check_pack, load_pack, shipped_packs
from engine.pack import Given, Message, Pack, Turn
from engine.template import compile_template

BASE = """\
pack: lamps
version: 1.0.0
description: A lamp shop.
fields:
  order: {description: Order number, schema: {pattern: '^L-[0-9]{3}$'}, sample: 'L-###'}
  email: {description: Address, schema: {format: email}}
  colour: {description: Colour, schema: {enum: [red, green, dark green]}}
categories:
  late: {description: Late parcels, requires: [order, email]}
  swap: {description: Another colour, requires: [colour]}
people:
  slow: {description: Looks first, stalls: 1, says: [Hold on.]}
facts:
  told: {values: [false, true]}
  age: {values: [new, old], initial: old}
actions:
  tell:
    description: Tell what comes next
    parameters:
      how: {description: By what, enum: [mail, phone]}
rules:
  tell:
    - {outcome: done, when: {facts: {told: false}, parameters: {how: mail}}, then: {set: {told: true}, say: Told.}}
    - {outcome: idle, then: {waste: true, say: {phrase: idle}}}
phrases: {idle: Not now.}
tickets:
  - id: t-1
    task: easy-info-collection
    category: late
    messages: [Where is it?]
    known: {email: a@example.org}
    person: slow
  - id: t-2
    task: medium-complete-info
    category: swap
    messages: [Another colour., {template: "Not {{ colour }}!", known: [colour]}]
    optional: [email]
    answers:
      colour: [{say: Let me look.}, {say: "Green, I think.", value: green, wrong: true}, dark green]
      email: {say: I have none., waive: true}
    facts: {age: new}
    goal: {told: true}
tests:
  - name: one step
    ticket: t-2
    seed: 3
    steps:
      - {do: {type: classify}, expect: {outcome: classify.right}}
    final: {score: 0}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pack.yaml"


def load(path: Path, text: str) -> Pack:
    path.write_text(text, encoding="utf-8")
    return load_pack(path)


def findings(path: Path, text: str) -> tuple[Finding, ...]:
    path.write_text(text, encoding="utf-8")
    pack, found = check_pack(path)
    assert (pack is None) == any(finding.severity == "error" for finding in found)
    return found


def edited(*edits: tuple[str, str]) -> str:
    text = BASE
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# What a pack becomes.


def test_fields_categories_people_and_facts(path: Path) -> None:
    pack = load(path, BASE)
    assert (pack.name, pack.version, pack.language, pack.description) == ("lamps", "1.0.0", "en", "A lamp shop.")
    assert [*pack.fields] == ["order", "email", "colour"]
    assert (pack.fields["order"].schema, pack.fields["order"].sample) == ({"pattern": "^L-[0-9]{3}$"}, "L-###")
    assert pack.categories["late"].requires == ("order", "email")
    assert (pack.people["slow"].stalls, pack.people["slow"].says) == (1, ("Hold on.",))
    assert (pack.facts["told"].values, pack.facts["told"].initial) == ((False, True), False)
    assert pack.facts["age"].initial == "old"


def test_a_ticket(path: Path) -> None:
    ticket = load(path, BASE).tickets["t-2"]
    assert (ticket.task, ticket.category, ticket.people) == ("medium-complete-info", "swap", ())
    assert (ticket.required, ticket.optional) == (("colour",), ("email",))  # required: what the category requires
    assert ticket.messages == (Message("Another colour."), Message(compile_template("Not {{ colour }}!"), ("colour",)))
    assert ticket.answers["colour"] == (
        Turn("Let me look.", "stall"),
        Turn("Green, I think.", "wrong", (Given("colour", "green", True),)),
        Turn("dark green", "value", (Given("colour", "dark green"),)),
    )
    assert ticket.answers["email"] == (Turn("I have none.", "waive"),)
    assert (ticket.facts, ticket.goal) == ({"age": "new"}, {"told": True})
    assert ticket.place == (str(path), 33, 5)


@pytest.mark.parametrize(
    ("written", "turn"),
    [
        ("red", Turn("red", "value", (Given("colour", "red"),))),
        ("''", Turn("", "value", (Given("colour", ""),))),
        ("{value: red}", Turn("red", "value", (Given("colour", "red"),))),
        ("{say: It's red., value: red}", Turn("It's red.", "value", (Given("colour", "red"),))),
        ("{value: red, wrong: true}", Turn("red", "wrong", (Given("colour", "red", True),))),
        ("{value: red, wrong: false}", Turn("red", "value", (Given("colour", "red"),))),
        ("{say: Later.}", Turn("Later.", "stall")),
        ("{refuse: true}", Turn(None, "refusal")),
        ("{say: No., refuse: true}", Turn("No.", "refusal")),
        ("{waive: true}", Turn(None, "waive")),
        ("{say: '', waive: true}", Turn("", "waive")),
        ("{say: Ask me that., gives: {email: b@example.org}}",
         Turn("Ask me that.", "stall", (Given("email", "b@example.org"),))),
        (
            "{say: Both., value: red, gives: {email: x@y, order: L-1}, gives_wrong: [order]}",
            Turn("Both.", "value", (Given("colour", "red"), Given("email", "x@y"), Given("order", "L-1", True))),
        ),
        ("{say: Which?, waive: true, gives: {email: x@y}}", Turn("Which?", "waive", (Given("email", "x@y"),))),
        (
            "{say: {template: '{{ colour }}!'}, value: red}",
            Turn(compile_template("{{ colour }}!"), "value", (Given("colour", "red"),)),
        ),
    ],
)  # fmt: skip
def test_a_turn(path: Path, written: str, turn: Turn) -> None:
    text = edited(
        ("colour: {description: Colour, schema: {enum: [red, green, dark green]}}", "colour: {}"),
        ('{say: Let me look.}, {say: "Green, I think.", value: green, wrong: true}, dark green', f"{written}, last"),
    )
    assert load(path, text).tickets["t-2"].answers["colour"][0] == turn


def test_a_field_with_a_sample_answers_with_what_is_drawn(path: Path) -> None:
    drawn = compile_template("{{ fields['order'] }}")
    pack = load(path, BASE)
    for ticket in pack.tickets.values():  # whether it needs the field or not
        assert ticket.answers["order"] == (Turn(drawn, "value", (Given("order", drawn),)),)


def test_a_known_field_with_a_sample_answers_with_what_is_known(path: Path) -> None:
    pack = load(path, edited(("known: {email: a@example.org}", "known: {email: a@example.org, order: L-007}")))
    assert pack.tickets["t-1"].answers["order"] == (Turn("L-007", "value", (Given("order", "L-007"),)),)


def test_where_the_right_values_are_written(path: Path) -> None:
    answers = "answers: {colour: [{value: green, wrong: true}, {value: red, gives: {email: b@x}}, dark green]}"
    ticket = load(
        path, edited(("known: {email: a@example.org}", f"known: {{}}\n    optional: [colour]\n    {answers}"))
    ).tickets["t-1"]
    assert ticket.right_values() == {
        "colour": ("dark green", "colour"),  # the last right one of its own script
        "email": ("b@x", "colour"),  # given by another's
        "order": (compile_template("{{ fields['order'] }}"), "order"),
    }


def test_the_contracts_actions_are_completed_with_the_packs_fields_and_categories(path: Path) -> None:
    pack = load(path, BASE)
    assert [*pack.actions] == ["ask_info", "classify", "resolve", "tell"]
    ask, classify, resolve, tell = pack.actions.values()
    assert [(one.name, one.enum, one.required) for one in ask.parameters] == [
        ("field", ("order", "email", "colour"), True)
    ]
    assert [(one.name, one.enum, one.required) for one in classify.parameters] == [
        ("category", ("late", "swap"), False)
    ]
    assert (ask.asks, ask.speaker, classify.classifies, classify.speaker) == ("field", "customer", "category", "desk")
    assert (resolve.parameters, resolve.speaker, tell.speaker) == ((), "customer", "desk")
    assert [(one.name, one.enum, one.type) for one in tell.parameters] == [("how", ("mail", "phone"), "string")]


def test_a_pack_without_categories_has_nothing_to_choose_when_it_classifies(path: Path) -> None:
    pack = load(path, "pack: p\nversion: 1.0.0\ntickets: [{id: a, task: easy-info-collection, messages: [Hi]}]\n")
    assert (pack.actions["classify"].parameters, pack.actions["classify"].classifies) == ((), None)


def test_a_packs_own_action_may_ask_and_classify(path: Path) -> None:
    phone, sort = (
        "phone: {asks: what, speaker: customer}",
        "sort: {classifies: pile, parameters: {how: {type: boolean}}}",
    )
    rules = "phone: [{outcome: told, then: {learn: true}}]\n  sort: [{outcome: done, then: {classify: true}}]"
    pack = load(
        path,
        edited(
            ("actions:\n  tell:", f"actions:\n  {phone}\n  {sort}\n  tell:"),
            ("rules:\n  tell:", f"rules:\n  {rules}\n  tell:"),
        ),
    )
    assert [(one.name, one.enum) for one in pack.actions["phone"].parameters] == [
        ("what", ("order", "email", "colour"))
    ]
    assert [(one.name, one.enum, one.required) for one in pack.actions["sort"].parameters] == [
        ("how", (False, True), True), ("pile", ("late", "swap"), False),
    ]  # fmt: skip


def test_a_packs_rules_stand_before_the_default_ones(path: Path) -> None:
    pack = load(
        path,
        edited(
            ("rules:\n", "rules:\n  resolve: [{outcome: early, when: {missing: {minimum: 2}}, then: {waste: true}}]\n")
        ),
    )
    assert [rule.outcome for rule in pack.actions["resolve"].rules][:2] == ["resolve.early", "resolve.done"]
    assert [rule.outcome for rule in pack.actions["tell"].rules] == ["tell.done", "tell.idle"]
    done, idle = pack.actions["tell"].rules
    assert (done.when, done.then.set, done.then.say) == (
        {"facts": {"told": False}, "parameters": {"how": "mail"}}, {"told": True}, "Told.",
    )  # fmt: skip
    assert (idle.then.say, idle.then.waste) == ("Not now.", True)


def test_a_packs_phrases_stand_over_the_default_ones(path: Path) -> None:
    pack = load(
        path, edited(("phrases: {idle: Not now.}", "phrases: {idle: Not now., resolve.done: Bye., stall: Hm.}"))
    )
    assert (pack.phrases["resolve.done"], pack.phrases["stall"], pack.phrases["idle"]) == ("Bye.", "Hm.", "Not now.")
    assert "refusal" in pack.phrases


def test_tasks_and_rewards_have_defaults(path: Path) -> None:
    pack = load(path, BASE)
    assert [(task.id, task.classifier, task.required) for task in pack.tasks.values()] == [
        ("easy-info-collection", "desk", "always"),
        ("medium-complete-info", "desk", "always"),
        ("hard-efficient-resolution", "agent", "after_classify"),
    ]
    rewards = pack.rewards
    assert (rewards.fields, rewards.classification, rewards.waste) == (5_000, 5_000, -1_000)
    assert (rewards.minimum, rewards.maximum, pack.max_steps) == (-10_000, 20_000, 10)


def test_a_pack_may_set_steps_rewards_and_tasks(path: Path) -> None:
    more = "max_steps: 30\nrewards: {fields: 0.3}\ntasks: {easy-info-collection: {classifier: agent}}\nfields:"
    pack = load(path, BASE.replace("fields:", more, 1))
    assert (pack.max_steps, pack.rewards.fields, pack.rewards.classification) == (30, 3_000, 5_000)
    assert pack.rewards.waste == -333  # -1 / 30 = -0.0333..., rounded towards zero
    assert (pack.tasks["easy-info-collection"].classifier, pack.tasks["easy-info-collection"].required) == (
        "agent",
        "always",
    )


def test_instructions_are_made_unless_they_are_given(path: Path) -> None:
    assert "Another colour" in load(path, BASE).instructions
    assert load(path, BASE + "instructions: ''\n").instructions == ""


def test_the_default_packs_fields_are_the_contracts(path: Path) -> None:
    text = edited(
        ("pack: lamps", "pack: customer-support"),
        ("email: {description: Address, schema: {format: email}}", "account_email: {}"),
    )
    text = (
        text.replace("email:", "account_email:")
        .replace("account_account_", "account_")
        .replace(", email]", ", account_email]")
    )
    text = text.replace("[email]", "[account_email]").replace("order:", "order_id:").replace("[order,", "[order_id,")
    text = text.replace("colour:", "browser:").replace("[colour]", "[browser]").replace("{{ colour }}", "{{ browser }}")
    pack = load(path, text)
    assert [*pack.fields] == ["order_id", "account_email", "browser", "device_type"]
    assert pack.fields["device_type"].description == "device_type"
    [found] = findings(path, text.replace("fields:", "fields:\n  browsr: {}", 1))
    assert (found.code, found.nearest, found.place.line) == ("PACK050", "browser", 5)


def test_a_tests_steps(path: Path) -> None:
    [test] = load(path, BASE).tests
    assert (test.name, test.ticket, test.seed, test.final) == ("one step", "t-2", 3, {"score": 0})
    assert [(step.do, step.expect) for step in test.steps] == [({"type": "classify"}, {"outcome": "classify.right"})]


def test_a_loaded_pack_cannot_be_changed(path: Path) -> None:
    pack = load(path, BASE)
    with pytest.raises(TypeError):
        pack.fields["x"] = pack.fields["order"]  # type: ignore[index]
    with pytest.raises(TypeError):
        pack.tickets["t-2"].answers["x"] = ()  # type: ignore[index]


def test_the_shipped_packs_load() -> None:
    assert {path.name for path in shipped_packs()} >= {"bank_disputes", "customer_support", "it_helpdesk_de"}
    assert all(load_pack(path).tickets for path in shipped_packs())


# Folders and digests.


def split(folder: Path, *parts: tuple[str, str]) -> Path:
    folder.mkdir()
    for name, text in parts:
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_folder_is_merged_key_by_key(path: Path, tmp_path: Path) -> None:
    cut = BASE.index("tickets:\n")
    second = BASE.index("  - id: t-2")
    third = BASE.index("tests:\n")
    folder = split(
        tmp_path / "folder",
        ("pack.yaml", "# all but tickets\n" + BASE[:cut]),
        ("a.yaml", BASE[cut:second]),
        ("b.yaml", "tickets:\n" + BASE[second:third]),
        ("c.yaml", BASE[third:]),
        (".hidden.yaml", "]"),
        ("notes.txt", "]"),
    )
    merged, single = load_pack(folder), load(path, BASE)
    assert [*merged.tickets] == ["t-1", "t-2"]
    assert merged.tickets["t-2"].place == (str(folder / "b.yaml"), 2, 5)
    assert merged.digest == single.digest


def test_what_two_files_both_give_is_refused(tmp_path: Path) -> None:
    folder = split(
        tmp_path / "folder",
        ("pack.yaml", BASE),
        ("x.yaml", "version: 2.0.0\nfields:\n  new: {}\n  email: {}\nfacts: []\n"),
    )
    _, found = check_pack(folder)
    first = folder / "pack.yaml"
    assert [(one.code, one.message, one.place[1:]) for one in found] == [
        ("PACK005", f"'version' is given twice (first at {first}:2:1)", (1, 1)),
        ("PACK005", f"'email' is given twice (first at {first}:6:3)", (4, 3)),
        ("PACK005", f"'facts' is given twice (first at {first}:13:1)", (5, 1)),
    ]


def test_every_file_of_a_folder_is_reported(tmp_path: Path) -> None:
    folder = split(
        tmp_path / "folder", ("a.yaml", "x: [\n"), ("b.yaml", "categores: {}\n"), ("c.yml", ""), ("d.yaml", "")
    )
    pack, found = check_pack(folder)
    assert pack is None
    assert [(Path(one.place.file).name, one.code) for one in found] == [
        ("a.yaml", "PACK004"), ("b.yaml", "PACK022"), ("c.yml", "PACK001"), ("d.yaml", "PACK013"), ("pack.yaml",
         "PACK001"),
    ]  # fmt: skip


def test_a_folder_of_too_many_files(tmp_path: Path) -> None:
    folder = split(
        tmp_path / "folder", *((f"{n}.yaml", "phrases: {}") for n in range(MAX_FILES + 1)), ("pack.yaml", BASE)
    )
    assert [one.code for one in check_pack(folder)[1]] == ["PACK012"]


def test_the_digest_does_not_depend_on_comments_and_places(path: Path) -> None:
    plain = load(path, BASE).digest
    assert load(path, "# a comment\n\n" + BASE.replace("{order", "{  order")).digest == plain
    assert load(path, BASE.replace("[Where is it?]", "['Where is it?']")).digest == plain


LATE = "  late: {description: Late parcels, requires: [order, email]}\n"
SWAP = "  swap: {description: Another colour, requires: [colour]}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Where is it?", "Where is it"),
        ("requires: [order, email]", "requires: [email, order]"),
        (f"{LATE}{SWAP}", f"{SWAP}{LATE}"),
        ("fields:\n", "max_steps: 11\nfields:\n"),
        ("fields:\n", "rewards: {waste: -0.05}\nfields:\n"),
        ("seed: 3", "seed: 4"),
    ],
)  # fmt: skip
def test_the_digest_depends_on_everything_else(path: Path, old: str, new: str) -> None:
    assert load(path, BASE.replace(old, new, 1)).digest != load(path, BASE).digest


def test_the_digest_depends_on_the_contract(path: Path, root: Path, tmp_path: Path) -> None:
    text = (root / "openenv.yaml").read_text(encoding="utf-8")
    other = tmp_path / "openenv.yaml"
    other.write_text(text.replace("max_steps: 10", "max_steps: 11"), encoding="utf-8")
    plain = load(path, BASE).digest
    assert load_pack(path, load_contract(other)).digest != plain
    other_comment = tmp_path / "same.yaml"
    other_comment.write_text("# a comment\n" + text, encoding="utf-8")
    assert load_pack(path, load_contract(other_comment)).digest == plain


# What is refused. The edit's '▲' stands right before the place that must be named.

MISTAKES = [
    # Shape.
    ("version: 1.0.0", "version: ▲1.0", "PACK020", "YAML reads 1.0 as a number; quote it", None),
    ("description: A lamp shop.", "description:▲", "PACK020", "an empty item where text is meant", None),
    ("description: A lamp shop.", "description: ▲[A lamp shop]", "PACK020",
     "quote a text that begins with '{' or '['", None),
    ("description: A lamp shop.", "▲descripton: A lamp shop.", "PACK022", "unknown key 'descripton'", "description"),
    ("requires: [colour]", "▲require: [colour]", "PACK022", "unknown key 'require'", "requires"),
    ("stalls: 1", "stalls: ▲1.5", "PACK021", "a whole number is meant here", None),
    ("stalls: 1", "stalls: ▲-1", "PACK024", "0 is the least", None),
    ("says: [Hold on.]", "says: ▲Hold on.", "PACK021", "a list is meant here, and this is a text", None),
    ("says: [Hold on.]", "says: [▲{wait}]", "PACK020", "quote a text that begins with '{'", None),
    ("messages: [Where is it?]", "messages: ▲[]", "PACK024", "1 or more items", None),
    ("wrong: true", "wrong: ▲'yes'", "PACK021", "true or false is meant here", None),
    ("{say: Let me look.}", "{▲sya: Let me look.}", "PACK022", "unknown key 'sya'", "say"),
    ("{say: Let me look.}", "▲{}", "PACK024", "1 or more entries", None),
    ("format: email", "format: ▲emial", "PACK024", "'emial' can't stand here", "email"),
    ("format: email", "▲minimum: 3", "PACK022", "unknown key 'minimum'", None),
    ("values: [new, old]", "values: [new, old, ▲0.5]", "PACK020", "YAML reads 0.5 as a number", None),
    ("facts: {told: false}", "▲fact: {told: false}", "PACK022", "unknown key 'fact'", "facts"),
    ("when: {facts:", "when: {need: ▲requird, facts:", "PACK024", "'requird' can't stand here", "required"),
    ("when: {facts:", "when: {reply: [stall, ▲refuse], facts:", "PACK024", "'refuse' can't stand here", "refusal"),
    ("when: {facts:", "when: {missing: {▲minimun: 1}, facts:", "PACK022", "unknown key 'minimun'", "minimum"),
    ("when: {facts:", "when: {missing: ▲some, facts:", "PACK021", "a whole number, a list or a mapping", None),
    ("waste: true", "▲wasted: true", "PACK022", "unknown key 'wasted'", "waste"),
    ("enum: [mail, phone]", "enum: [mail, phone], type: ▲text", "PACK024", "'text' can't stand here", None),
    ("seed: 3", "seed: ▲-3", "PACK024", "0 is the least", None),
    # Names.
    ("requires: [colour]", "requires: [▲color]", "PACK030", "unknown field 'color'", "colour"),
    ("optional: [email]", "optional: [▲mail]", "PACK030", "unknown field 'mail'", "email"),
    ("optional: [email]", "required: [▲colours]", "PACK030", "unknown field 'colours'", "colour"),
    ("known: {email:", "known: {▲emial:", "PACK030", "unknown field 'emial'", "email"),
    ("      email: {say", "      ▲Email: {say", "PACK030", "unknown field 'Email'", "email"),
    ("known: [colour]", "known: [▲colors]", "PACK030", "unknown field 'colors'", "colour"),
    ("{say: Let me look.}", "{say: x, gives: {▲oder: L-1}}", "PACK030", "unknown field 'oder'", "order"),
    ('template: "Not {{ colour }}!"', 'template: ▲"Not {{ coulour }}!"', "PACK030", "'coulour'", "colour"),
    ('template: "Not {{ colour }}!"', "template: ▲\"{{ fields['colou'] }}\"", "PACK030",
     "unknown field 'colou'", "colour"),
    ("says: [Hold on.]", "says: [{template: ▲'{{ emial }}?'}]", "PACK030", "'emial'", "email"),
    ("category: swap", "category: ▲swop", "PACK031", "unknown category 'swop'", "swap"),
    ("task: medium-complete-info", "task: ▲medium-complete", "PACK032", "unknown task 'medium-complete'",
     "medium-complete-info"),
    ("fields:\n", "tasks: {▲hard: {classifier: desk}}\nfields:\n", "PACK032", "unknown task 'hard'", None),
    ("person: slow", "person: ▲slwo", "PACK033", "unknown person 'slwo'", "slow"),
    ("person: slow", "person: [slow, ▲fast]", "PACK033", "unknown person 'fast'", None),
    ("facts: {age: new}", "facts: {▲agee: new}", "PACK034", "unknown fact 'agee'", "age"),
    ("facts: {age: new}", "facts: {age: ▲newer}", "PACK034", "the fact 'age' can't be 'newer'", "new"),
    ("initial: old", "initial: ▲older", "PACK034", "the fact 'age' can't be 'older'", "old"),
    ("goal: {told: true}", "goal: {▲tolt: true}", "PACK034", "unknown fact 'tolt'", "told"),
    ("goal: {told: true}", "goal: {told: ▲'true'}", "PACK034", "the fact 'told' can't be 'true'", None),
    ("set: {told: true}", "set: {▲toldd: true}", "PACK034", "unknown fact 'toldd'", "told"),
    ("set: {told: true}", "set: {told: ▲1}", "PACK034", "the fact 'told' can't be 1", None),
    ("facts: {told: false}", "facts: {▲tol: false}", "PACK034", "unknown fact 'tol'", "told"),
    ("facts: {told: false}", "facts: {age: {not: {enum: [▲olt]}}}", "PACK034", "can't be 'olt'", "old"),
    ("{values: [new, old], initial: old}", "{values: [new, ▲new, old], initial: old}", "PACK040",
     "'new' is listed twice", None),
    ("  told: {values: [false, true]}", "  ▲told: {values: [false, true, 1]}", "PACK034", "more than one type", None),
    ("parameters: {how: mail}", "parameters: {▲who: mail}", "PACK035", "unknown parameter 'who'", "how"),
    ("parameters: {how: mail}", "parameters: {how: [phone, ▲mial]}", "PACK035",
     "the parameter 'how' can't be 'mial'", "mail"),
    ("rules:\n  tell:", "rules:\n  ▲resolv: [{outcome: x}]\n  tell:", "PACK035", "unknown action 'resolv'", "resolve"),
    ("how: {description: By what, enum: [mail, phone]}", "how: ▲{description: By what}", "PACK035",
     "finitely many", None),
    ("enum: [mail, phone]", "enum: [mail, phone, ▲5]", "PACK035", "5 is not of the type 'string'", None),
    ("enum: [mail, phone]", "enum: [mail, phone, ▲mail]", "PACK040", "'mail' is listed twice", None),
    ("say: {phrase: idle}", "say: {phrase: ▲idel}", "PACK036", "unknown phrase 'idel'", "idle"),
    ("phrases: {idle: Not now.}", "phrases: {idle: Not now., ▲tell.don: X}", "PACK036",
     "nothing says the phrase 'tell.don'", "tell.done"),
    ("    ticket: t-2", "    ticket: ▲t-3", "PACK037", "unknown ticket 't-3'", "t-1"),
    ("expect: {outcome:", "expect: {▲outcom:", "PACK022", "'outcom' is nothing that can be expected", "outcome"),
    ("expect: {outcome:", "expect: {▲score: 1, outcome:", "PACK022", "'score' is nothing that can be expected", None),
    ("final: {score: 0}", "final: {▲scores: 0}", "PACK022", "'scores' is nothing", "score"),
    # Twice, or taken.
    ("optional: [email]", "optional: [email, ▲email]", "PACK040", "'email' is listed twice", None),
    ("optional: [email]", "optional: [email, ▲colour]", "PACK046", "can't be optional as well", None),
    ("tests:\n", "  - ▲{id: t-1, task: easy-info-collection, messages: [Hi]}\ntests:\n", "PACK040",
     "ticket id 't-1' is taken (first at line 27)", None),
    ("tests:\n", "tests:\n  - {name: one step, ticket: t-1, steps: []}\n", "PACK040",
     "test name 'one step' is taken", None),
    ("  told: {values", "  ▲email: {values: [a]}\n  told: {values", "PACK041", "'email' is a field already", None),
    ("actions:\n", "actions:\n  ▲resolve: {description: x}\n", "PACK040", "the contract's own action", None),
    ("actions:\n", "actions:\n  ▲wait: {description: x}\n", "PACK048", "the action 'wait' has no rules", None),
    # Turns that contradict themselves.
    ("{say: Let me look.}", "{▲waive: true, value: red}", "PACK046", "can't waive", None),
    ("{say: Let me look.}", "{▲refuse: true, value: red}", "PACK046", "can't refuse", None),
    ("{say: Let me look.}", "{waive: true, ▲refuse: true}", "PACK046", "can't both waive and refuse", None),
    ("{say: Let me look.}", "{say: x, ▲wrong: true}", "PACK046", "`wrong` goes with a `value`", None),
    ("{say: Let me look.}", "{say: x, gives: {▲colour: red}}", "PACK046", "its value goes under `value`", None),
    ("{say: Let me look.}", "{say: x, gives: {order: L-1}, gives_wrong: [▲email]}", "PACK046",
     "not among the fields", None),
    ("[Where is it?]", "[▲{text: a, template: b}]", "PACK046", "either a `text` or a `template`", None),
    ("[Where is it?]", "[▲{known: [email]}]", "PACK023", "'text' or 'template' is missing", None),
    # Values and templates.
    ("known: {email: a@example.org}", "known: {email: ▲nobody}", "PACK044", "doesn't have the format 'email'", None),
    ("dark green]\n      email", "▲dark gren]\n      email", "PACK044", "not one of the field's values", "dark green"),
    ("{say: Let me look.}", "{say: x, gives: {order: ▲L-1}}", "PACK044", "doesn't match ^L-[0-9]{3}$", None),
    ("sample: 'L-###'", "sample: ▲'L-##'", "PACK044", "'L-00' is not a valid 'order'", None),
    ("sample: 'L-###'", "sample: [L-123, ▲L-12]", "PACK044", "'L-12' is not a valid 'order'", None),
    ("sample: 'L-###'", "sample: [L-123, ▲L-123]", "PACK040", "'L-123' is listed twice", None),
    ('template: "Not {{ colour }}!"', 'template: ▲"Not {{ colour"', "PACK045", "template:", None),
    ('template: "Not {{ colour }}!"', 'template: ▲"{{ colour.x }}"', "PACK045", "template:", None),
    ("known: [colour]", "known: [email]", "PACK043", "states 'email', but 'email' has no right value", None),
    ('template: "Not {{ colour }}!"', 'template: "Not {{ email }}!"', "PACK043", "'email' has no right value", None),
    ("say: Told.", "say: {template: ▲'Told {{ colour }}.'}", "PACK043",
     "in ticket 't-1' 'colour' has no right value", None),
    ("says: [Hold on.]", "says: [{template: '{{ colour }}?'}]", "PACK043", "'slow' says 'colour'", None),
    ("known: {email: a@example.org}", "known: {email: ▲{template: '{{ email }}'}}", "PACK043", "made of itself", None),
    ("known: {email: a@example.org}", "known: {}", "PACK042",
     "field 'email' is required, but the customer has no answer", None),
    ("known: {email: a@example.org}", "answers: {email: {refuse: true}}", "PACK042",
     "none of its answers gives a right value", None),
    ("pattern: '^L-[0-9]{3}$'", "pattern: ▲'^(L+)+$'", "PACK047", "a repeat", None),
    ("pattern: '^L-[0-9]{3}$'", "pattern: ▲'^L-['", "PACK047", "not a regular expression", None),
    ("pattern: '^L-[0-9]{3}$'", "pattern: ▲'(.)\\1'", "PACK047", "not allowed", None),
    # Rewards.
    ("fields:\n", "rewards: {fields: ▲0.00005}\nfields:\n", "PACK049", "ten-thousandths", None),
    ("fields:\n", "rewards: ▲{fields: 1.6}\nfields:\n", "PACK049", "more than the range's maximum, 2.0", None),
    ("fields:\n", "rewards: ▲{waste: -0.2}\nfields:\n", "PACK049",
     "10 wasted steps cost more than the range's minimum, -1.0", None),
    ("fields:\n", "rewards: {waste: ▲0.1}\nfields:\n", "PACK024", "0 is the most", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "code", "gist", "near"), MISTAKES, ids=[f"{case[2]} {case[1][:40]}" for case in MISTAKES]
)
def test_a_mistake_is_named_and_so_is_its_place(
    path: Path, old: str, new: str, code: str, gist: str, near: str | None
) -> None:
    text = BASE.replace(old, new, 1)
    assert text != BASE
    before, marked, _ = text.partition("▲")
    [found] = findings(path, text.replace("▲", ""))
    assert (found.code, found.nearest) == (code, near)
    assert gist in found.message
    if marked:
        assert found.place[1:] == (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert found.source is not None


def test_all_mistakes_are_reported_at_once_in_order(path: Path) -> None:
    text = edited(
        ("version: 1.0.0", "version: 1.0"),
        ("requires: [colour]", "requires: [color]"),
        ("stalls: 1", "stalls: soon"),
        ("messages: [Where is it?]", "messages: [Where is it?]\n    messages: [What?]"),
        ("person: slow", "person: slaw"),
        ("optional: [email]", "optinal: [email]"),
        ("seed: 3", "seed: three"),
    )
    assert [(found.place.line, found.code) for found in findings(path, text)] == [
        (2, "PACK020"), (10, "PACK030"), (12, "PACK021"), (31, "PACK005"), (33, "PACK033"), (38,
         "PACK022"), (47, "PACK021"),
    ]  # fmt: skip


def test_what_follows_from_a_mistake_is_not_reported_as_well(path: Path) -> None:
    # Without the merged key the ticket has no task and no messages; nobody needs to hear that.
    text = edited(("    task: easy-info-collection\n    category: late\n", "    <<: {task: easy-info-collection}\n"))
    assert [found.code for found in findings(path, text)] == ["PACK008"]
    # An answer under a misspelt field: that the right field has none is no news.
    text = edited(("known: {email: a@example.org}", "answers: {emial: a@example.org}"))
    assert [found.code for found in findings(path, text)] == ["PACK030"]


def test_a_missing_key_is_named(path: Path) -> None:
    found = findings(path, "pack: p\n")
    assert [(one.code, one.message, one.place[1:]) for one in found] == [
        ("PACK023", "'version' is missing", (1, 1)), ("PACK023", "'tickets' is missing", (1, 1)),
    ]  # fmt: skip


def test_a_pack_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="there is no such file"):
        load_pack(tmp_path / "none")


def test_a_ticket_that_cannot_be_solved_is_shown_with_its_line(path: Path) -> None:
    # Eleven asks, a classification and a resolve: 13 steps, where 10 are allowed.
    turns = ", ".join(["{say: Not now.}"] * 10)
    [found] = findings(
        path, edited(("{say: Let me look.}", turns), ('{say: "Green, I think.", value: green, wrong: true}, ', ""))
    )
    assert found.code == "PACK060"
    assert (found.place.line, found.source) == (33, "  - id: t-2")


def test_an_error_prints_everything_that_is_wrong(path: Path) -> None:
    with pytest.raises(PackError) as caught:
        load(path, edited(("category: swap", "category: swop"), ("person: slow", "person: slwo")))
    text = str(caught.value)
    assert text.count("did you mean") == 2
    assert "    category: swop\n" in text


# The contract's observation space holds for every ticket's first observation.


@pytest.mark.parametrize(
    ("old", "new", "tickets"),
    [
        ("    info_progress:\n      type: number", "    info_progress:\n      type: string", ["t-1", "t-2"]),
        (
            "    customer_message:\n      type: string",
            "    customer_message:\n      type: string\n      maxLength: 12",
            ["t-2"],
        ),
        (
            "    known_info:\n      type: object",
            "    known_info:\n      type: object\n      maxProperties: 0",
            ["t-1", "t-2"],
        ),
        ("    ticket_id:\n      type: string", "    ticket_id:\n      type: string\n      pattern: '1$'", ["t-2"]),
    ],
)
def test_a_first_observation_that_breaks_the_contract(
    path: Path, root: Path, tmp_path: Path, old: str, new: str, tickets: list[str]
) -> None:
    # t-2's longer opening message has 15 characters, t-1's has 12.
    text = (root / "openenv.yaml").read_text(encoding="utf-8")
    assert old in text
    contract = tmp_path / "openenv.yaml"
    contract.write_text(text.replace(old, new), encoding="utf-8")
    path.write_text(BASE, encoding="utf-8")
    _, found = check_pack(path, load_contract(contract))
    assert [(one.code, one.message.split("'")[1]) for one in found] == [("PACK063", ticket) for ticket in tickets]
