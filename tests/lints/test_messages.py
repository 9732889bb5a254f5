"""PACK087 and PACK091: messages that are nearly given twice, and those that give the answer away."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract import load_contract
from engine.lints.near import near, words
from engine.load import check_draft
from engine.proof.leaks import leaks
from engine.proof.result import Check
from tests.lints.marked import HARD, HEAD, TESTS, found, linted, ticket

TEN = "The red lamp that I ordered here hums all night"
TRAIN, TEST = "    split: train\n", "    split: test\n"


def near_ones(*tickets: str) -> list[str]:
    return found(HEAD + "".join(tickets) + TESTS, "PACK087")


# -- Nearly given twice


def test_in_one_ticket() -> None:
    # Line 14 is the fifth of the ticket, which begins at line 10.
    assert near_ones(ticket("a", "late", TEN, f"▲{TEN.replace('night', 'day')}", "Where is it?")) == [
        "this message has nearly the words of the one at line 14: reword it, or leave it out"
    ]


def test_the_same_in_one_ticket_is_not_said_twice() -> None:
    text = HEAD + ticket("a", "late", TEN, TEN) + TESTS
    assert [finding.code for finding in linted(text)] == ["PACK090", "PACK084"]
    # Another punctuation makes it another message, of the same words.
    assert near_ones(ticket("a", "late", TEN, f"▲{TEN}!")) == [
        "this message has the same words as the one at line 14: reword it, or leave it out"
    ]


def test_in_another_ticket_of_the_same_category_and_split() -> None:
    assert near_ones(
        ticket("a", "late", TEN, more=TRAIN), ticket("b", "late", "Hello", f"▲{TEN.lower()}.", more=TRAIN)
    ) == ["this message has the same words as one of ticket 'a' at line 14: reword it, or leave it out"]


def test_in_another_split() -> None:
    assert near_ones(ticket("a", "late", TEN, more=TEST), ticket("b", "late", f"▲{TEN} now", more=TRAIN)) == [
        "this message has nearly the words of one of ticket 'a' at line 14, which is in another split (test, this one "
        "is in train): reword it, or give both tickets the same `split`"
    ]


def test_of_another_category() -> None:
    assert near_ones(ticket("a", "late", TEN, more=TRAIN), ticket("b", "exchange", f"▲{TEN}", more=TRAIN)) == [
        "this message has the same words as one of ticket 'a' at line 14, which is of another category, 'late': say in "
        "each what sets the two apart"
    ]
    assert near_ones(ticket("a", "late", TEN, more=TRAIN), ticket("b", "exchange", f"▲{TEN}", more=TEST)) == [
        "this message has the same words as one of ticket 'a' at line 14, which is of another category, 'late' and in "
        "another split (train, this one is in test): say in each what sets the two apart"
    ]


def test_the_gravest_is_told() -> None:
    """Of three that are near, the one of another category, though it stands last."""
    [first, second, last] = near_ones(
        ticket("a", "late", TEN, more=TRAIN),
        ticket("b", "late", f"▲{TEN}", more=TEST),
        ticket("c", "exchange", f"▲{TEN}", more=TRAIN),
        ticket("d", "late", f"▲{TEN}", more=TRAIN),
    )
    assert "one of ticket 'a' at line 14, which is in another split" in first
    assert "one of ticket 'a' at line 14, which is of another category, 'late': " in second
    assert "one of ticket 'c' at line 28, which is of another category, 'exchange': " in last


OTHER = TEN.replace("night", "day")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("late", ""), ("exchange", "")),
        (("late", ""), ("late", "    required: [order, colour]\n")),
        (("late", ""), ("late", "    facts: {paid: true}\n")),
        (("late", ""), ("late", "    goal: {paid: true}\n")),
    ],
)
@pytest.mark.parametrize("split", [TRAIN, TEST])
def test_what_differs_in_what_decides_is_meant(one: tuple[str, str], other: tuple[str, str], split: str) -> None:
    """A minimal pair: who reads it knows what to do. Where the words are the same, nobody could."""
    head = HEAD.replace("tickets:\n", "facts: {paid: {values: [false, true]}}\ntickets:\n")
    head = head.replace("tickets:\n", "rules: {resolve: [{outcome: x, then: {set: {paid: true}, say: x}}]}\ntickets:\n")
    first = head + ticket("a", one[0], TEN, more=one[1] + TRAIN)
    assert found(first + ticket("b", other[0], OTHER, more=other[1] + split) + TESTS, "PACK087") == []
    said = found(first + ticket("b", other[0], f"▲{TEN}", more=other[1] + split) + TESTS, "PACK087")
    assert len(said) == 1 and "the same words as one of ticket 'a'" in said[0]


def test_other_answers_are_no_other_task() -> None:
    """Whatever the order's number is, an agent has to ask for it."""
    more = TRAIN.replace("    split", "    known: {colour: red}\n    split")
    [message] = near_ones(
        ticket("a", "late", TEN, more=TRAIN),
        ticket("b", "late", f"▲{OTHER}", more=more).replace(
            "    answers: {order: L-4821, colour: dark green}\n", "    answers: {order: L-1}\n"
        ),
    )
    assert "nearly the words of one of ticket 'a'" in message


def test_short_ones_are_anybody_s() -> None:
    assert near_ones(ticket("a", "late", "Help me!", more=TRAIN), ticket("b", "late", "help me", more=TEST)) == []
    # Unless agents have to tell them apart.
    short = (ticket("a", "late", "Help me!", more=TRAIN), ticket("b", "exchange", "help me", more=TRAIN))
    assert near_ones(*short) == []
    [message] = near_ones(short[0], ticket("b", "exchange", "▲help me", more=TRAIN, task=HARD))
    assert "the same words as one of ticket 'a'" in message


def test_templates_are_near_where_they_name_the_same_fields() -> None:
    one, other = (
        f"{{template: 'Hello there, where is {{{{ {name} }}}} that I ordered here?', known: [{name}]}}"
        for name in ("order", "colour")
    )
    # "order" in "exchange": nine words, with another one in the middle six of ten pairs.
    assert near_ones(ticket("a", "late", one), ticket("b", "late", other)) == []
    [message] = near_ones(ticket("a", "late", one, more=TRAIN), ticket("b", "late", f"▲{one}", more=TRAIN))
    assert message.startswith("this message has the same words as one of ticket 'a' at line 14")


def test_what_is_still_to_be_written_is_near_to_nothing() -> None:
    open_ones = (ticket(name, category, "TODO", task=HARD) for name, category in (("a", "late"), ("b", "exchange")))
    assert {finding.code for finding in linted(HEAD + "".join(open_ones) + TESTS)} == {"PACK093"}


@given(st.lists(st.sampled_from("abc"), max_size=5), st.data())
@settings(deadline=None)
def test_the_order_of_tickets_makes_no_difference(drawn: list[str], data: st.DataObject) -> None:
    """A pair of near messages is found whichever ticket stands first."""
    end = {"a": "", "b": " now", "c": " and I can't sleep because of it, which nobody believes"}
    tickets = [ticket(f"t{number}", "late", TEN + end[which]) for number, which in enumerate(drawn)]
    tickets.append(ticket("a", "late", "Where is it?"))
    mixed = data.draw(st.permutations(tickets))
    counts = [
        sum(finding.code == "PACK087" for finding in linted(HEAD + "".join(each) + TESTS)) for each in (tickets, mixed)
    ]
    # "a" and "b" are near to each other and to nothing else: each after the first of them has an earlier one.
    assert near(words(TEN), words(TEN + end["b"])) and not near(words(TEN + end["b"]), words(TEN + end["c"]))
    kinds = ["c" if which == "c" else "ab" for which in drawn]
    assert counts == [len(kinds) - len(set(kinds))] * 2


# -- The answer given away


def giving(*tickets: str) -> list[str]:
    return found(HEAD + "".join(tickets) + TESTS, "PACK091")


def naming(name: str) -> str:
    return (
        f"this message names its category, '{name}', and no message of another category does, so that alone tells it: "
        "reword this one, or let one of another category name it as well"
    )


def test_a_message_that_names_its_category() -> None:
    assert giving(ticket("a", "late", "▲My lamp is LATE.", "It never came.", task=HARD)) == [naming("late")]


@pytest.mark.parametrize("message", ["It came lately.", "It's belated.", "My l-a-t-e lamp"])
def test_a_category_is_named_as_a_whole_word(message: str) -> None:
    assert giving(ticket("a", "late", message, task=HARD)) == []


def test_a_category_is_named_where_an_agent_looks_for_it_only() -> None:
    assert giving(ticket("a", "late", "My lamp is late.")) == []


def test_a_name_that_others_use_too_tells_nothing() -> None:
    assert giving(ticket("a", "late", "It's late.", task=HARD), ticket("b", "exchange", "Am I too late?")) == []
    # The same where one message names two.
    assert giving(ticket("a", "late", "Late, and I want an exchange.", task=HARD)) == []


def test_a_category_of_several_words() -> None:
    text = (
        HEAD.replace("late:", "came_too_late:") + ticket("a", "came_too_late", "▲It came too late.", task=HARD) + TESTS
    )
    assert found(text, "PACK091") == [naming("came_too_late")]


def test_a_category_in_a_script_without_blanks() -> None:
    text = HEAD.replace("late:", "退款:") + ticket("a", "退款", "▲我要退款！", "我不想要了。", task=HARD) + TESTS
    assert found(text, "PACK091") == [naming("退款")]


def test_one_category_alone_has_no_name_to_find() -> None:
    text = HEAD.replace("  exchange: {description: Another colour, requires: [colour]}\n", "")
    assert found(text + ticket("a", "late", "It is late.", task=HARD) + TESTS, "PACK091") == []


SAYS = "this message says 'l-4821', a value of 'order', which has to be asked for all the same: "


def test_a_message_that_says_what_has_to_be_asked_for() -> None:
    assert giving(ticket("a", "late", "▲Where is  l-4821 now?")) == [
        f"{SAYS}list 'order' under `known` of this message, or leave the value out"
    ]


def word(message: str, value: str, *others: str) -> list[str]:
    """What is said of a message of a ticket with this colour; `others` are messages of tickets with another one."""
    text = ticket("a", "exchange", message).replace("dark green", value)
    return giving(text, *(ticket(f"b{number}", "exchange", other) for number, other in enumerate(others)))


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("May I have another one?", "May"),
        ("It ran out.", "out"),
        ("Can I have one?", "can"),
        ("I can't see it.", "can"),
        ("One broke.", "One"),
        ("I will wait.", "Will"),  # a word of four letters, but without its capital
        ("I won't, she willn't", "will"),
    ],
)
def test_a_plain_word_may_stand_in_any_message(message: str, value: str) -> None:
    assert word(message, value) == []


@pytest.mark.parametrize(
    ("message", "value", "said"),
    [
        ("▲My GREEN one broke.", "green", "green"),
        ("▲Where is Will's lamp?", "Will", "will"),
        ("▲It came in Q2 2024.", "q2", None),
        ("▲A dark red one.", "dark red", "dark red"),
        ("▲My 123 broke.", "123", "123"),
    ],
)
def test_a_word_that_is_distinct_tells_its_value(message: str, value: str, said: str | None) -> None:
    if said is None:  # two characters are too few, whatever they are
        assert word(message.replace("▲", ""), value) == []
    else:
        [text] = word(message, f"'{value}'")
        assert text.startswith(f"this message says '{said}', a value of 'colour', ")


def test_a_word_that_messages_of_other_tickets_have_too_tells_nothing() -> None:
    assert len(word("▲My green one broke.", "green", "Where is it?")) == 1
    assert word("My green one broke.", "green", "I gave it the green light.") == []
    # Of a value of several words, or one with digits, that makes no difference.
    assert len(word("▲A dark red one.", "dark red", "No dark red, please.")) == 1


def test_a_short_plain_category_is_named_by_chance() -> None:
    text = HEAD.replace("late:", "out:") + ticket("a", "out", "It ran out.", task=HARD) + TESTS
    assert found(text, "PACK091") == []


def test_what_is_known_is_said_on_purpose() -> None:
    assert giving(ticket("a", "late", "{text: 'Where is L-4821?', known: [order]}")) == []
    assert giving(ticket("a", "late", "Where is L-4821?", more="    known: {order: L-4821}\n")) == []


def test_what_is_not_required_gives_nothing_away() -> None:
    assert giving(ticket("a", "exchange", "Where is L-4821?")) == []


def test_a_value_is_said_as_a_whole() -> None:
    assert giving(ticket("a", "late", "Where is XL-48215?", "It says no. L 4821.")) == []


def test_a_wrong_value_and_one_that_is_drawn_are_not_known() -> None:
    """`known` would say that it is right."""
    wrong = "    answers: {order: [{say: L-5, value: L-555, wrong: true}, L-4821]}\n"
    text = ticket("a", "late", "▲Where is L-555?").replace("    answers: {order: L-4821, colour: dark green}\n", wrong)
    says = "which has to be asked for all the same: leave it out, or "
    says += "write {template: ...} with the field's name, and `known`"
    assert giving(text) == [f"this message says 'l-555', a value of 'order', {says}"]
    drawn = HEAD.replace("order confirmation}", "order confirmation, sample: 'L-####'}")
    text = ticket("a", "late", "▲Where is L-1111?").replace("order: L-4821, ", "")
    assert found(drawn + text + TESTS, "PACK091") == [f"this message says 'l-1111', a value of 'order', {says}"]


def test_what_a_template_states_is_left_to_the_loader() -> None:
    """PACK081 says it. What it says besides is said here."""
    text = HEAD + ticket("a", "late", "{template: 'Is {{ order }} L-4821?', known: [order]}") + TESTS
    assert found(text, "PACK091") == []


MESSAGES = ("L-4821?", "A dark green one.", "It's DARK  GREEN, no. L-4821", "XL-4821", "green, dark", "darkgreen")


def leaked(text: str) -> tuple[Check, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.yaml"
        path.write_text(text, encoding="utf-8")
        pack, _ = check_draft(path, load_contract())
    assert pack is not None
    return leaks(pack)


@given(st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=3, unique=True), st.sampled_from(["late", "exchange"]))
@settings(deadline=None)
def test_it_agrees_with_the_proof(messages: list[str], category: str) -> None:
    """P11 looks at all fields, this at those that the ticket requires: of these both say the same."""
    text = HEAD + ticket("a", category, *(f'"{message}"' for message in messages)) + TESTS
    required = {"late": "order", "exchange": "colour"}[category]
    said = [
        (finding.place.line - 13, finding.message.split("'")[1])
        for finding in linted(text)
        if finding.code == "PACK091"
    ]
    proved = [check.message.split("'") for check in leaked(text) if "message" in check.message]
    assert said == [(int(parts[2].split()[2]), parts[3]) for parts in proved if parts[5] == required]
