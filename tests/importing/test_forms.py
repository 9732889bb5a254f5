"""Issue forms as they are written, and the fields that they become."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.diagnostics import Report
from engine.importing.desk import Head
from engine.importing.dump import dump
from engine.importing.form_desk import document, field_names
from engine.importing.forms import Form, read_form
from engine.nodes import File
from engine.source import Budget, parse


def read(text: str, name: str = "form.yml") -> tuple[Form | None, list[str]]:
    """The form in a text, and what was found, as line:column: code: message."""
    report = Report()
    root = parse(File(name, text), Budget(), report)
    form = read_form(root, report) if root is not None else None
    return form, [f"{one.place.line}:{one.place.column}: {one.code}: {one.message}" for one in report.findings()]


def form(name: str, *elements: str) -> Form:
    """A form of such elements, each in braces."""
    found, findings = read(f"name: {name}\nbody:\n" + "".join(f"- {{{element}}}\n" for element in elements), name)
    assert found is not None and not findings, findings
    return found


def fields(*forms: Form) -> tuple[list[dict[str, str]], list[str]]:
    return field_names(forms)


BODY = "[{type: input, id: a}]"
NOTHING = "this form asks for nothing: its 'body' needs an element that isn't markdown"
DIFFERENT = "'Version' doesn't offer the same in all forms, so it is 2 fields:"
CHOICE = "type: dropdown, attributes: {{label: {}, options: [{}]}}"
INPUT = "type: input, attributes: {{label: {}, description: {}}}"


@pytest.mark.parametrize(
    ("written", "option"),
    [
        *(
            (same, same)
            for same in ("1.10", "no", "~", "null", "0314", "12:30:45", "2022-08-01", "1_000", "0x1F", ".inf")
        ),
        *((f"'{quoted}'", quoted) for quoted in ("1.10", "no", "", " x ")),
        ("", ""),
        ('"\\u00e9"', "é"),
        ("a  # a comment", "a"),
    ],
)
def test_options_are_texts_as_they_are_written(written: str, option: str) -> None:
    attributes = f"    label: {written}\n    options:\n    - {written}\n"
    text = f"name: f\nbody:\n- type: dropdown\n  id: it\n  attributes:\n{attributes}"
    found, findings = read(text)
    assert found is not None and not findings
    assert found.elements[0].options == (option,)
    assert found.elements[0].label == (option or "it")


def test_an_alias_is_what_it_stands_for() -> None:
    found, findings = read("name: &it 1.10\nbody:\n- {type: dropdown, id: *it, attributes: {options: [*it]}}\n")
    assert found is not None and not findings
    assert (found.name, found.elements[0].name, found.elements[0].options) == ("1.10", "1.10", ("1.10",))


def test_a_plain_truth_may_have_a_comment_behind_it() -> None:
    found, findings = read("name: f\nbody:\n- type: input\n  id: a\n  validations:\n    required: true #1\n")
    assert found is not None and found.elements[0].required
    assert [one.split(": ")[1] for one in findings] == ["PACK010"]


def test_more_options_than_a_field_can_have() -> None:
    listed = "".join(f"    - o{number}\n" for number in range(20_001))
    text = f"name: f\nbody:\n- type: dropdown\n  attributes:\n    label: a\n    options:\n{listed}"
    assert read(text)[1] == ["7:5: PACK012: 20,001 options: 20,000 are the most"]


def test_names_of_elements() -> None:
    """The id; else the label; else, of boxes, the first of them."""
    found = form(
        "f",
        "type: input, id: a, attributes: {label: A}",
        "type: input, attributes: {label: '⚠️ 版本?'}",
        "type: checkboxes, attributes: {options: [{label: I agree, required: true}, {label: And I}]}",
        "type: markdown, attributes: {value: Thanks}",
    )
    assert [(one.name, one.label, one.required) for one in found.elements] == [
        ("a", "A", False),
        ("⚠️ 版本?", "⚠️ 版本?", False),
        ("I agree", "I agree", True),
    ]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (
            "blank_issues_enabled: false\n",
            ["1:1: PACK023: this is no issue form: it has no list 'body' of what is asked for"],
        ),
        ("name: f\nbody: {}\n", ["2:7: PACK023: this is no issue form: it has no list 'body' of what is asked for"]),
        (f"body: {BODY}\n", ["1:1: PACK023: a form has a 'name'"]),
        (f"name:\nbody: {BODY}\n", ["1:6: PACK023: a form has a 'name'"]),
        (f"name: ' '\nbody: {BODY}\n", ["1:7: PACK023: a form has a 'name'"]),
        (
            f"name: [f]\nbody: {BODY}\n",
            ["1:7: PACK021: a text is meant here, and this is a list", "1:7: PACK023: a form has a 'name'"],
        ),
        ("name: f\nbody: []\n", [f"2:7: PACK023: {NOTHING}"]),
        ("name: f\nbody:\n- {type: markdown, attributes: {value: Hi}}\n", [f"3:1: PACK023: {NOTHING}"]),
        ("name: f\nbody: [a]\n", ["2:8: PACK021: an element of a form is meant here, and this is a text"]),
        ("name: f\nbody: [{type: inptu, id: a}]\n", ["2:15: PACK024: unknown type of element 'inptu'"]),
        ("name: f\nbody: [{id: a}]\n", ["2:8: PACK024: an element has a 'type'"]),
        ("name: f\nbody: [{type: input}]\n", ["2:8: PACK023: an element has an 'id' or a 'label'"]),
        (
            "name: f\nbody: [{type: input, attributes: {label: ' '}}]\n",
            ["2:8: PACK023: an element has an 'id' or a 'label'"],
        ),
        ("name: f\nbody: [{type: dropdown, id: a}]\n", ["2:8: PACK023: a list has 'options'"]),
        (
            "name: f\nbody: [{type: input, id: a, attributes: b}]\n",
            ["2:41: PACK021: a mapping (key: value) is meant here, and this is a text"],
        ),
        (
            "name: f\nbody: [{type: dropdown, id: a, attributes: {options: [Other: say which]}}]\n",
            ["2:55: PACK021: a text is meant here, and this is a mapping (key: value); quote a text that holds ': '"],
        ),
        (
            "name: f\nbody: [{type: checkboxes, id: a, attributes: {options: [b]}}]\n",
            ["2:57: PACK021: a mapping with a 'label' is meant here, and this is a text"],
        ),
        (
            "name: f\nbody: [{type: checkboxes, id: a, attributes: {options: [{required: true}]}}]\n",
            ["2:57: PACK023: a box has a 'label'"],
        ),
        (
            "name: f\nbody: [{type: dropdown, id: a, attributes: {options: b}}]\n",
            ["2:54: PACK021: a list is meant here, and this is a text"],
        ),
        (
            "name: f\nbody:\n- type: dropdown\n  id: a\n  attributes:\n    options:\n    - 1\n    - 2\n    - '1'\n",
            ["9:7: PACK040: the option '1' is given twice (first at line 7)"],
        ),
        (
            "name: f\nbody: [{type: checkboxes, id: a, attributes: {options: [{label: b}, {label: b}]}}]\n",
            ["2:69: PACK040: the option 'b' is given twice (first at line 2)"],
        ),
        (
            "name: f\nbody: [{type: input, id: a, validations: {required: maybe}}]\n",
            ["2:53: PACK021: true or false is meant here, and this is a text"],
        ),
        *(
            (
                f"name: f\nbody: [{{type: input, id: a, validations: {{required: {quoted}}}}}]\n",
                ["2:53: PACK021: true or false is meant here, and this is a text; take the quotes away"],
            )
            for quoted in ('"true"', "'False'")
        ),
        (
            "name: f\nbody: [{type: input, id: a, validations: {required: 1}}]\n",
            ["2:53: PACK021: true or false is meant here, and YAML reads 1 as a number"],
        ),
        (
            "name: f\nbody: [{type: input, id: a}, {type: input, id: a}]\n",
            ["2:30: PACK040: 'a' is the name of another element (first at line 2); give this one an id"],
        ),
        # What may be a slip, and what YAML can do and a form needn't.
        ("name: f\nbody: [{type: input, id: a, validation: {}}]\n", ["2:29: PACK022: unknown key 'validation'"]),
        (f"name: f\ndesciption: g\nbody: {BODY}\n", ["2:1: PACK022: unknown key 'desciption'"]),
        (
            "name: f\nbody: [{type: input, id: a, validations: {requierd: true}}]\n",
            ["2:43: PACK022: unknown key 'requierd'"],
        ),
        (
            "name: f\nbody: [{type: checkboxes, id: a, attributes: {options: [{label: b, requred: true}]}}]\n",
            ["2:68: PACK022: unknown key 'requred'"],
        ),
        ("name: f\nbody: [{type: input, id: a, required: true}]\n", ["2:29: PACK022: 'required' isn't read here"]),
        (
            "name: f\nbody: [{type: input, id: a, attributes: {options: [b]}}]\n",
            ["2:42: PACK022: 'options' isn't read here"],
        ),
        (f"name: f\nname: g\nbody: {BODY}\n", ["2:1: PACK005: 'name' is given twice (first at line 1)"]),
        (
            f"name: !x f\nbody: {BODY}\n",
            ["1:7: PACK007: packs don't allow tags, and this is one ('!x'); if it is text, quote it"],
        ),
    ],
)
def test_what_is_wrong_has_a_place(text: str, findings: list[str]) -> None:
    assert read(text)[1] == findings


# -- Fields


def test_the_same_in_two_forms_is_one_field() -> None:
    one, two = form("One", CHOICE.format("Version", "1, 2")), form("Two", CHOICE.format("Version", "1, 2"))
    assert fields(one, two) == ([{"Version": "Version"}, {"Version": "Version"}], [])


def test_other_options_are_another_field() -> None:
    one, two, three = (form(name, CHOICE.format("Version", of)) for name, of in (("A", "1"), ("B", "2"), ("C", "1")))
    assert fields(one, two, three) == (
        [{"Version": "Version (A)"}, {"Version": "Version (B)"}, {"Version": "Version (A)"}],
        [f"{DIFFERENT} 'Version (A)' (A:3:3), 'Version (B)' (B:3:3)"],
    )
    # The order of options counts, and so does whether one or several may be taken, or anything at all.
    several = form("D", "type: dropdown, attributes: {label: Version, options: [1], multiple: true}")
    free = form("E", "type: input, attributes: {label: Version}")
    assert [own["Version"] for own in fields(one, several, free)[0]] == ["Version (A)", "Version (D)", "Version (E)"]


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    one = form("A", CHOICE.format("V", "1"), CHOICE.format("V (A)", "1"))
    two = form("B", CHOICE.format("V", "2"))
    assert fields(one, two)[0] == [{"V": "V (A) 2", "V (A)": "V (A)"}, {"V": "V (B)"}]


def test_other_words_are_said() -> None:
    one, two = form("A", INPUT.format("Name", "Yours")), form("B", INPUT.format("Name", "Theirs"))
    names, notes = fields(one, two)
    assert names == [{"Name": "Name"}, {"Name": "Name"}]
    assert notes == ["'Name' is described in more than one way; the first one counts (A:3:3, B:3:3)"]
    made = document(Head("p", "d", 10), [one, two], names, "a task")
    assert made["fields"] == {"Name": {"description": "Yours"}}


def test_there_are_steps_enough() -> None:
    """Nine required fields, the category and resolving are eleven steps; two are to spare."""
    required = [f"type: input, id: f{number}, validations: {{required: true}}" for number in range(9)]
    for many, steps in ((8, None), (9, 13)):
        one = form("A", *required[:many])
        made = document(Head("p", "d", 10), [one], fields(one)[0], "a task")
        assert made.get("max_steps") == steps


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20), min_size=1, max_size=4, unique=True)
)
def test_any_option_arrives(options: list[str]) -> None:
    """Written by another YAML library, in quotes."""
    body = [{"type": "dropdown", "id": "it", "attributes": {"options": options}}]
    text = yaml.safe_dump({"name": "f", "body": body}, allow_unicode=False)
    found, findings = read(text)
    assert found is not None and not findings
    names, _ = fields(found)
    made = yaml.safe_load(dump(document(Head("p", "d", 10), [found], names, "a task")))
    assert made["fields"]["it"]["schema"]["enum"] == options
