"""A pack: what the loader makes of it, and everything that it refuses, with the place and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract import load_contract
from engine.diagnostics import Finding
from engine.load import MAX_FILES, check_pack, load_pack, shipped_packs
from engine.pack import Expectation, Given, Message, Pack, ScriptedStep, Turn
from engine.template import compile_template

BASE = (Path(__file__).parent / "packs" / "lamps.yaml").read_text(encoding="utf-8")


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
    right = next((given.value for given in turn.gives if given.field == "colour" and not given.wrong), "x") or "''"
    text = edited(
        ("colour: {description: Colour, schema: {enum: [red, green, dark green]}}", "colour: {}"),
        ('{say: Let me look.}, {say: "Green, I think.", value: green, wrong: true}, dark green', f"{written}, {right}"),
    )
    assert load(path, text).tickets["t-2"].answers["colour"][0] == turn


def test_a_field_with_a_sample_answers_with_what_is_drawn(path: Path) -> None:
    drawn = compile_template("{{ fields['order'] }}")
    pack = load(path, BASE)
    needy = [ticket for ticket in pack.tickets.values() if "order" in ticket.required + ticket.optional]
    assert needy
    for ticket in needy:
        assert ticket.answers["order"] == (Turn(drawn, "value", (Given("order", drawn),)),)


def test_nothing_is_made_up_for_a_field_that_the_ticket_does_not_need(path: Path) -> None:
    pack = load(path, BASE)
    for ticket in pack.tickets.values():
        if "order" not in ticket.required + ticket.optional:
            assert "order" not in ticket.answers


def test_a_known_field_with_a_sample_answers_with_what_is_known(path: Path) -> None:
    pack = load(path, edited(("known: {email: a@example.org}", "known: {email: a@example.org, order: L-007}")))
    assert pack.tickets["t-1"].answers["order"] == (Turn("L-007", "value", (Given("order", "L-007"),)),)


def test_where_the_right_values_are_written(path: Path) -> None:
    answers = "answers: {colour: [{value: green, wrong: true}, {value: dark green, gives: {email: b@x}}, dark green]}"
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
    rules = "phone: [{outcome: told, then: {learn: true}}]\n  sort: [{outcome: done, then: {classify: true, say: Ok.}}]"
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
    early = "{outcome: early, when: {missing: {minimum: 2}}, then: {waste: true, say: No.}}"
    pack = load(
        path,
        edited(("rules:\n", f"rules:\n  resolve: [{early}]\n")),
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
    assert (test.name, test.ticket, test.seeds, test.final.parts) == ("one step", "t-2", (3,), {"score": 0})
    step = ScriptedStep({"type": "classify"}, Expectation({"outcome": "classify.right"}), test.place)
    assert test.steps == (step,)


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
        tmp_path / "folder",
        ("Pack.yaml", "pack: p\n"),
        ("a.yaml", "x: [\n"),
        ("b.yaml", "categores: {}\n"),
        ("c.yml", ""),
        ("d.yaml", ""),
    )
    pack, found = check_pack(folder)
    assert pack is None
    assert (found[0].message, found[0].nearest) == ("a pack's folder holds a file pack.yaml", "Pack.yaml")
    assert [(Path(one.place.file).name, one.code) for one in found] == [
        ("folder", "PACK001"), ("a.yaml", "PACK004"), ("b.yaml", "PACK022"), ("c.yml", "PACK001"),
        ("d.yaml", "PACK013"),
    ]  # fmt: skip


def test_a_file_that_cannot_be_read_hides_nothing_in_the_others(tmp_path: Path) -> None:
    ticket = "tickets:\n  - {id: a, task: esay-info, category: what, messages: [{template: '{{ x'}], answers: {y: z}}\n"
    folder = split(tmp_path / "folder", ("pack.yaml", "fields: [\n"), ("tickets.yaml", ticket))
    # What the first file declares isn't known, so the names of the second are not judged, but for the contract's task.
    assert [one.code for one in check_pack(folder)[1]] == ["PACK004", "PACK032", "PACK045"]


def test_files_in_a_subfolder_are_not_read(tmp_path: Path) -> None:
    folder = split(tmp_path / "folder", ("pack.yaml", BASE))
    split(folder / "more", ("tickets.yaml", "tickets: []\n"))
    pack, [found] = check_pack(folder)
    assert pack is not None
    assert (found.code, found.severity, Path(found.place.file).name) == ("PACK086", "warning", "more")


def test_a_name_too_long_for_a_file(tmp_path: Path) -> None:
    [found] = check_pack(tmp_path / ("x" * 5_000))[1]
    assert found.code == "PACK001"


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
