"""PACK088 to PACK090: fields, people and categories that are declared and hardly used."""

from __future__ import annotations

import pytest

from tests.lints.marked import EASY, HARD, HEAD, TESTS, found, linted, ticket

ONE = ticket("a", "late", "Where is it?") + ticket("b", "exchange", "Another colour, please.")

# -- Fields

EMAIL = "  ▲email: {description: The address}\n"
UNUSED = (
    "no ticket and no category uses the field 'email', and agents may ask for it all the same: take it out, or let a "
    "category require it"
)


def with_email(*edits: tuple[str, str], more: str = "") -> str:
    text = HEAD.replace("categories:\n", f"{EMAIL}categories:\n") + ONE + more + TESTS
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_a_field_that_nothing_uses() -> None:
    assert found(with_email(), "PACK088") == [UNUSED]


def test_a_test_makes_no_use_of_a_field() -> None:
    step = "{do: {type: ask_info, field: email}, expect: {outcome: ask_info.unneeded}}"
    text = with_email(("steps: [", f"steps: [{step}, "))
    assert found(text, "PACK088") == [UNUSED]


ANSWERS = "    answers: {order: L-4821, colour: dark green}\n"
SAMPLE = (EMAIL, "  email: {description: The address, sample: [sam@example.org]}\n")


PRIVATE = "{outcome: private, when: {parameters: {field: email}}, then: {waste: true, say: No.}}"


@pytest.mark.parametrize(
    "edits",
    [
        [("requires: [order]", "requires: [order, email]"), ("order: L-4821", "order: L-4821, email: sam@example.org")],
        [(ANSWERS, f"{ANSWERS}    required: [email]\n"), SAMPLE],
        [(ANSWERS, f"{ANSWERS}    optional: [email]\n")],
        [(ANSWERS, f"{ANSWERS}    known: {{email: sam@example.org}}\n")],
        [("order: L-4821,", "order: L-4821, email: sam@example.org,")],
        [("order: L-4821,", "order: {say: It is L-4821., value: L-4821, gives: {email: sam@example.org}},")],
        [("- Where is it?", "- {text: 'I am sam@example.org', known: [email]}"), SAMPLE],
        # Filled in somewhere: in what is said, by a rule, or by a person.
        [("order: L-4821,", "order: {say: {template: 'To {{ email }}.'}, value: L-4821},"), SAMPLE],
        [
            ("tickets:\n", "phrases: {resolve.done: {template: 'Written to {{ email }}.'}}\ntickets:\n"),
            SAMPLE,
        ],
        [("tickets:\n", f"rules: {{ask_info: [{PRIVATE}]}}\ntickets:\n")],
    ],
    ids=["requires", "required", "optional", "known", "answers", "gives", "stated", "said", "phrase", "rule"],
)
def test_a_field_that_something_uses(edits: list[tuple[str, str]]) -> None:
    text = with_email(*edits).replace("▲", "")
    assert found(text, "PACK088") == []


# -- People


def test_a_person_that_no_ticket_names() -> None:
    people = "people:\n  quick: {stalls: 0}\n  ▲slow: {stalls: 1}\n  late: {stalls: 2}\n"
    text = HEAD.replace("tickets:\n", f"{people}tickets:\n")
    text += ticket("a", "late", "Where is it?", more="    person: quick\n")
    text += ticket("b", "late", "It's nowhere!", more="    person: [quick, late]\n")
    assert found(text + TESTS, "PACK089") == [
        "no ticket names the person 'slow': say `person: slow` in one, or take this person out"
    ]


def test_a_person_of_the_pack_s_own_that_no_ticket_leaves_it_to() -> None:
    head = HEAD.replace("tickets:\n", "people: {▲slow: {stalls: 1}, quick: {}}\nperson: [slow, quick]\ntickets:\n")
    text = head + ticket("a", "late", "Where is it?", more="    person: quick\n") + TESTS
    assert found(text, "PACK089") == [
        "no ticket has the person 'slow' of the pack's own `person`, as each says who it is: leave `person` out in "
        "one, or take this person out"
    ]
    assert found(head.replace("▲", "") + ticket("a", "late", "Where is it?") + TESTS, "PACK089") == []


# -- Categories


def hard(category: str, count: int, task: str = HARD) -> str:
    """Tickets of a category, of words that are nowhere else."""
    return "".join(ticket(f"{category}{n}", category, f"{category}{n} " * 4, task=task) for n in range(count))


def balanced(*counts: int, head: str = HEAD, task: str = HARD) -> list[str]:
    names = ("late", "exchange")
    tickets = "".join(hard(name, count, task) for name, count in zip(names, counts, strict=True))
    return found(head + tickets + TESTS.replace("ticket: a", "ticket: late0"), "PACK090")


MARKED = HEAD.replace("  exchange:", "  ▲exchange:")


def test_a_category_without_a_ticket() -> None:
    expected = "no ticket is of the category 'exchange': write one, or take the category out"
    assert balanced(1, 0, head=MARKED) == balanced(1, 0, head=MARKED, task=EASY) == [expected]


def test_a_category_with_far_fewer_tickets_than_another() -> None:
    """Eleven are more than five times two; ten are not; and nine are too few to say anything of one."""
    assert balanced(11, 2, head=MARKED) == [
        "'exchange' is the category of 2 of the 13 tickets that agents classify, and 'late' of 11: who always says "
        "'late' gains by that; write more tickets of 'exchange'"
    ]
    assert balanced(10, 2) == []
    assert balanced(9, 1) == []
    assert balanced(10, 1, head=MARKED)[0].startswith("'exchange' is the category of 1 of the 11 tickets")


def test_where_the_desk_classifies_no_balance_is_asked_for() -> None:
    assert balanced(11, 1, task=EASY) == []


def test_tickets_that_the_desk_classifies_do_not_count() -> None:
    text = MARKED + hard("late", 10) + hard("exchange", 9, EASY) + hard("late", 0)
    [message] = found(text + TESTS.replace("ticket: a", "ticket: late0"), "PACK090")
    assert message.startswith("'exchange' is the category of 0 of the 10 tickets that agents classify")


def test_a_whole_pack_without_findings() -> None:
    assert linted(HEAD + ONE + TESTS) == []
