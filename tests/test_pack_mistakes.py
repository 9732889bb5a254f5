"""Everything that a pack can get wrong: each mistake is named, with its place and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.diagnostics import Finding, PackError
from engine.load import check_pack, load_pack
from engine.pack import Pack

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


# What is refused. The edit's '▲' stands right before the place that must be named.

MISTAKES = [
    # Shape.
    ("version: 1.0.0", "version: ▲1.0", "PACK020", "YAML reads 1.0 as a number; quote it", None),
    ("description: A lamp shop.", "description:▲", "PACK020", "an empty item where text is meant", None),
    ("description: A lamp shop.", "description: ▲[A lamp shop]", "PACK020",
     "this is a list; drop the brackets, or quote a text that begins with '['", None),
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
    ("when: {facts:", "when: {classified: [none, ▲shwn], facts:", "PACK024", "'shwn' can't stand here", "shown"),
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
    ('template: "Not {{ colour }}!"', 'template: "Not {{ ▲coulour }}!"', "PACK030", "'coulour'", "colour"),
    ('template: "Not {{ colour }}!"', "template: \"{{ fields['▲colou'] }}\"", "PACK030",
     "unknown field 'colou'", "colour"),
    ("says: [Hold on.]", "says: [{template: '{{ ▲emial }}?'}]", "PACK030", "'emial'", "email"),
    ("category: swap", "category: ▲swop", "PACK031", "unknown category 'swop'", "swap"),
    ("task: medium-complete-info", "task: ▲medium-complete", "PACK032", "unknown task 'medium-complete'",
     "medium-complete-info"),
    ("fields:\n", "tasks: {▲hard: {classifier: desk}}\nfields:\n", "PACK032", "unknown task 'hard'",
     "hard-efficient-resolution"),
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
    ("expect: {outcome:", "expect: {▲outcom:", "PACK022", "unknown key 'outcom'", "outcome"),
    ("final: {score: 0}", "final: {▲scores: 0}", "PACK022", "unknown key 'scores'", "score"),
    # Tests.
    ("do: {type: classify}", "do: {type: ▲clasify}", "PACK035", "there is no action 'clasify'", "classify"),
    ("do: {type: classify}", "do: ▲{category: swap}", "PACK035", "no action is named here", None),
    ("do: {type: classify}", "do: {type: classify, category: ▲swop}", "PACK035",
     "'category' of 'classify' can't be 'swop'", "swap"),
    ("do: {type: classify}", "do: {type: ask_info, parameters: {field: ▲color}}", "PACK035",
     "can't be 'color'", "colour"),
    ("do: {type: classify}", "do: ▲{type: ask_info}", "PACK035", "'ask_info' needs 'field'", None),
    ("do: {type: classify}", "do: {type: ask_info, ▲feild: colour, field: colour}", "PACK035",
     "'ask_info' takes no parameter 'feild'", "field"),
    ("{outcome: classify.right}", "{outcome: ▲clasify.right}", "PACK035",
     "no rule has the outcome 'clasify.right'", "classify.right"),
    ("final: {score: 0}", "final: {outcome: ▲tell.don}", "PACK035", "no rule has the outcome 'tell.don'", "tell.done"),
    ("      - {do: {type: classify}, expect: {outcome: classify.right}}\n", "      ▲[]\n", "PACK024",
     "1 or more items", None),
    # Beside the point.
    ("say: Told.}", "say: Told., ▲learn: true}", "PACK046", "`learn` is about the field that is asked for", None),
    ("when: {facts:", "when: {▲need: required, facts:", "PACK046", "`need` is about the field", None),
    ("when: {facts:", "when: {▲category: right, facts:", "PACK046", "`category` is about the category chosen", None),
    ("    description: Tell what comes next\n", "    asks: x\n    classifies: ▲x\n", "PACK046",
     "'x' can't name a field and a category at once", None),
    ("when: {facts:", "when: {missing: ▲[], facts:", "PACK024", "1 or more items", None),
    ("  told: {values", "  ▲missing: {values: [a]}\n  told: {values", "PACK041", "a word that answers may hold", None),
    ("sample: 'L-###'", "sample: ▲'L-###\\'", "PACK024", "takes the next character as it is, and there is none", None),
    ("version: 1.0.0", "version: 1.0.0\nlanguage: ▲english please", "PACK024",
     "'english please' can't stand here", None),
    ("tell:\n    - {outcome: done, when: {", "tell:\n    - ▲{outcome: last, then: {waste: true}, when: {missing: 0}}\n"
     "    - {outcome: done, when: {", "PACK036", "add `say`, or a phrase 'tell.last'", None),
    # Twice, or taken.
    ("optional: [email]", "optional: [email, ▲email]", "PACK040", "'email' is listed twice", None),
    ("optional: [email]", "optional: [email, ▲colour]", "PACK046", "can't be optional as well", None),
    ("tests:\n", "  - ▲{id: t-1, task: easy-info-collection, messages: [Hi]}\ntests:\n", "PACK040",
     "ticket id 't-1' is taken (first at line 27)", None),
    ("tests:\n", "tests:\n  - {name: one step, ticket: t-1, steps: [{do: {type: resolve}}]}\n", "PACK040",
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
    # Values that contradict each other.
    ("known: {email: a@example.org}", "known: {email: a@example.org}\n    answers: {email: ▲b@example.org}", "PACK046",
     "'email' has another right value at line 31", None),
    ("{say: Let me look.}", "{value: red}", "PACK046", "'colour' has another right value at line 39", None),
    ("{say: I have none., waive: true}", "{say: x, gives: {colour: ▲red}}", "PACK046", "another right value", None),
    ("    person: slow\n", "    answers: {colour: {say: x, gives: {order: ▲L-123}}}\n", "PACK046",
     "is drawn from its sample", None),
    ("{say: I have none., waive: true}", "{say: x, gives: {order: ▲{template: '{{ order }}'}}}", "PACK043",
     "'order' isn't drawn in a ticket that doesn't need it; list it under `optional`", None),
    ("value: green, wrong: true", "value: ▲dark green, wrong: true", "PACK046",
     "this wrong value of 'colour' is the right one", None),
    ("dark green]\n      email", "dark green, {value: ▲red, wrong: true}]\n      email", "PACK046",
     "the last turn repeats, so this wrong value of 'colour' is never put right", None),
    # Values and templates.
    ("known: {email: a@example.org}", "known: {email: ▲nobody}", "PACK044", "doesn't have the format 'email'", None),
    ("dark green]\n      email", "▲dark gren]\n      email", "PACK044", "not one of the field's values", "dark green"),
    ("{say: Let me look.}", "{say: x, gives: {email: ▲nobody}}", "PACK044", "format 'email'", None),
    ("known: {email: a@example.org}", "known: {email: a@x, order: ▲L-1}", "PACK044",
     "doesn't match ^L-[0-9]{3}$", None),
    ("sample: 'L-###'", "sample: ▲'L-##'", "PACK044", "'L-00' is not a valid 'order'", None),
    ("sample: 'L-###'", "sample: [L-123, ▲L-12]", "PACK044", "'L-12' is not a valid 'order'", None),
    ("sample: 'L-###'", "sample: [L-123, ▲L-123]", "PACK040", "'L-123' is listed twice", None),
    ('template: "Not {{ colour }}!"', 'template: "Not ▲{{ colour"', "PACK045", "'{{' is never closed", None),
    ('template: "Not {{ colour }}!"', 'template: "▲{{ colour.x }}"', "PACK045", "template:", None),
    ('"Not {{ colour }}!"', "'Not {{ colour | ▲lowr }}!'", "PACK045", "there is no filter 'lowr'", None),
    ('"Not {{ colour }}!"', "'Not {{ colour | ▲join(1, 2, 3) }}!'", "PACK045", "'join' takes a text in brackets", None),
    ('"Not {{ colour }}!"', "'{{ ▲colour | join }}'", "PACK045", "'join' fits lists only", None),
    ('{template: "Not {{ colour }}!", known: [colour]}', "{template: '{{ colour }} it''s {{ ▲délai }}'}", "PACK030",
     "'délai'", None),
    ("phrases: {", "phrases: {invalid.nothing: {template: 'What is {{ ▲given }}?'}, ", "PACK030", "'given'", None),
    ("say: Told.", "say: {template: '{{ ▲mising | join }}'}", "PACK030", "name in a template: 'mising'", "missing"),
    ("say: Told.", "say: {template: '{{ ▲told | length }}'}", "PACK045", "'length' doesn't fit true or false", None),
    ("say: Told.", "say: {template: '{{ ▲missing | lower }}'}", "PACK045",
     "'lower' doesn't fit a list; join it first", None),
    ("say: Told.", "say: {template: '{{ ▲missing | first }}'}", "PACK045", "add | default('...')", None),
    ("say: Told.", "say: {template: '{{ ▲category | last | upper }}'}", "PACK045", "'upper' has nothing", None),
    ("known: [colour]", "known: [email]", "PACK043", "states 'email', but 'email' has no right value", None),
    ('template: "Not {{ colour }}!"', 'template: "Not {{ email }}!"', "PACK043", "'email' has no right value", None),
    ("say: Told.", "say: {template: ▲'Told {{ colour }}.'}", "PACK043",
     "in ticket 't-1' 'colour' has no right value", None),
    ("says: [Hold on.]", "says: [{template: '{{ colour }}?'}]", "PACK043", "'slow' says 'colour'", None),
    ("known: {email: a@example.org}", "known: {email: ▲{template: '{{ email }}'}}", "PACK043", "made of itself", None),
    ("known: {email: a@example.org}", "known: {}", "PACK042",
     "field 'email' is required, but the customer has no answer", None),
    ("known: {email: a@example.org}", "answers: {▲email: {refuse: true}}", "PACK042",
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


def test_what_a_ticket_does_not_need_is_not_drawn(path: Path) -> None:
    """So a value that another turn gives is the only one. Where the ticket needs the field, a template names it."""
    gives = "{say: x, gives: {order: L-123}}"
    assert findings(path, edited(("{say: I have none., waive: true}", gives))) == ()
    gives = "{say: x, gives: {order: {template: '{{ order }}'}}}"
    needed = ("optional: [email]", "optional: [email, order]")
    assert findings(path, edited(("{say: I have none., waive: true}", gives), needed)) == ()


def test_a_name_in_a_block_is_found(path: Path) -> None:
    text = edited(("[Where is it?]", "[{template: xx}]")).replace(
        "messages: [{template: xx}]",
        "messages:\n      - template: |\n          It's {{ order }}\n          and {{ délai }}.",
    )
    found = findings(path, text)
    assert [(one.code, one.place[1:]) for one in found] == [("PACK030", (33, 18))]


def test_a_test_may_do_what_is_not_valid_to_show_that_it_is_not(path: Path) -> None:
    step = "{do: {type: clasify}, expect: {outcome: invalid}}"
    assert findings(path, edited(("{do: {type: classify}, expect: {outcome: classify.right}}", step))) == ()


# Each with the one finding that it is worth.
NO_MORE = [
    ("email: {description: Address, schema: {format: email}}", "email: The address", "PACK021"),
    ("  told: {values: [false, true]}", "  told: {values: some}", "PACK021"),
    ("category: late", "category: no", "PACK020"),
    ("sample: 'L-###'", "sample: {from: a}", "PACK020"),
    ("sample: 'L-###'", "sample: L #####", "PACK010"),
    ("fields:\n", "rewards: {fields: '0.6'}\nfields:\n", "PACK021"),
    ("fields:\n", "rewards: {fields: .inf}\nfields:\n", "PACK021"),
    ("categories:", "catagories:", "PACK022"),
    ("tickets:", "tikcets:", "PACK022"),
    ("facts:\n", "fatcs:\n", "PACK022"),
    ("people:", "poeple:", "PACK022"),
    ("  told: {values", "  yes: {values: [a]}\n  told: {values", "PACK009"),
    ("    parameters:\n      how: {description: By what, enum: [mail, phone]}", "    parameters: [how]", "PACK021"),
    ("    messages: [Where", "    mesages: [Where", "PACK022"),
]


@pytest.mark.parametrize(("old", "new", "code"), NO_MORE, ids=[case[1][:30] for case in NO_MORE])
def test_nothing_follows_from_a_mistake(path: Path, old: str, new: str, code: str) -> None:
    assert [found.code for found in findings(path, edited((old, new)))] == [code]


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


def test_a_section_under_another_name_hides_no_other_mistake(path: Path) -> None:
    text = edited(("people:", "personas:"), ("requires: [colour]", "requires: [color]"))
    assert [(one.code, one.nearest) for one in findings(path, text)] == [("PACK030", "colour"), ("PACK022", "people")]
    # Where nobody knows what the section was to be, it may have been any that isn't there.
    text = edited(
        ("  slow: {description: Looks first, stalls: 1, says: [Hold on.]}", "  slow: {}"), ("people:", "zzz:")
    )
    assert [(one.code, one.nearest) for one in findings(path, text)] == [("PACK022", None)]


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


def test_all_of_a_great_many_mistakes_are_counted(path: Path) -> None:
    tickets = "".join(f"  - {{id: n-{n}, task: none-{n}, messages: [Hi]}}\n" for n in range(3_000))
    found = findings(path, edited(("tests:\n", f"{tickets}tests:\n")))
    assert (len(found), found[-1].message) == (101, "and 2,900 more")


@pytest.mark.parametrize(
    ("written", "differs"),
    [
        ("cоlour", "character 2 is U+043E (cyrillic small letter o) here and U+006F (latin small letter o) there"),
        ("col\u200bour", "character 4 is U+200B (zero width space) here and U+006F (latin small letter o) there"),
        ("colour\u00a0", "character 7 is U+00A0 (no-break space) here and missing there"),
    ],
)
def test_names_that_look_the_same_are_told_apart(path: Path, written: str, differs: str) -> None:
    [found] = findings(path, edited(("requires: [colour]", f"requires: [{written}]")))
    assert found.message == f"unknown field '{written}' ({differs})"
    assert found.nearest == "colour"


def test_a_list_item_without_a_space_is_named(path: Path) -> None:
    [found] = findings(path, edited(("messages: [Where is it?]", "messages:\n      -Where is it?")))
    assert found.message.endswith("this is a text; a list item needs '- ' before it (a hyphen and a space)")


def test_an_error_prints_everything_that_is_wrong(path: Path) -> None:
    with pytest.raises(PackError) as caught:
        load(path, edited(("category: swap", "category: swop"), ("person: slow", "person: slwo")))
    text = str(caught.value)
    assert text.count("did you mean") == 2
    assert "    category: swop\n" in text
