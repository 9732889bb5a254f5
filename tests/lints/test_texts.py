"""PACK094 to PACK096: texts cut at a comma, messages without words, characters that nobody sees."""

from __future__ import annotations

import pytest

from tests.lints.marked import HEAD, TESTS, found, linted, ticket

TICKET = ticket("a", "late", "Where is it?")


def opening(messages: str) -> str:
    return HEAD + TICKET.replace("    messages:\n      - Where is it?\n", f"    messages: {messages}\n") + TESTS


# -- Cut at a comma


def cut(many: int) -> str:
    return (
        f"a comma begins the next text in a list, so there are {many}; put a text with a comma in quotes, or each of "
        f"the {many} if they are meant"
    )


@pytest.mark.parametrize(
    ("messages", "many"),
    [
        ("[Hello, ▲my parcel is late]", 2),
        ("[Hello, ▲I want it blue.]", 2),
        ("[Hi there, ▲I want it blue, and soon.]", 3),
        ("[Where is it?, Well, ▲my lamp never came]", 3),
    ],
)
def test_one_sentence_that_became_several_messages(messages: str, many: int) -> None:
    assert found(opening(messages), "PACK094") == [cut(many)]


@pytest.mark.parametrize(
    "messages",
    [
        "[Where is it?, Help!]",
        "[where is it, help me]",
        "[Where is it, Help me]",
        "['Hello', my parcel is late]",
        "[Hello, 'my parcel is late']",
        "['Hello, my parcel is late']",
        "[Hello]",
        "\n      - Hello\n      - my parcel is late.",
        "[{text: Hello}, my parcel is late]",
    ],
)
def test_several_messages_that_are_meant(messages: str) -> None:
    assert found(opening(messages), "PACK094") == []


@pytest.mark.parametrize(
    "owner",
    [
        "people: {slow: {stalls: 1, says: [One moment, ▲please.]}}\nperson: slow\n",
        "people: {slow: {refuses: 1, refuses_with: [Why, ▲if I may ask]}}\nperson: slow\n",
        "people: {slow: {noise: [Sorry, ▲the dog barks.]}}\nperson: slow\n",
        "people: {slow: {noise: {before: [Sorry, ▲the dog barks.]}}}\nperson: slow\n",
        "noise: [Sorry, ▲the dog barks.]\n",
        "noise: {after: [Sorry, ▲the dog barks.]}\n",
    ],
)
def test_wherever_one_of_several_texts_is_said(owner: str) -> None:
    assert found(HEAD.replace("tickets:\n", f"{owner}tickets:\n") + TICKET + TESTS, "PACK094") == [cut(2)]


# -- Without words


@pytest.mark.parametrize("message", ["''", "'  '", '"\\n"', "{text: ''}", '"\\u200b\\u2060"', "{template: ' '}"])
def test_a_message_that_says_nothing(message: str) -> None:
    said = found(HEAD + ticket("a", "late", "Where is it?", f"▲{message}") + TESTS, "PACK095")
    assert said == ["this message says nothing, and an episode may open with it"]


@pytest.mark.parametrize("message", ["'?'", "'🙂'", "'\u0301'", "{template: '{{ order }}', known: [order]}"])
def test_little_is_something(message: str) -> None:
    assert found(HEAD + ticket("a", "late", message) + TESTS, "PACK095") == []


# -- That nobody sees


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\u202e", "U+202E (right-to-left override)"),
        ("\u2066", "U+2066 (left-to-right isolate)"),
        ("\u200b", "U+200B (zero width space)"),
        ("\xad", "U+00AD (soft hyphen)"),
        ("\ufeff", "U+FEFF (zero width no-break space)"),
        ("\U000e0041", "U+E0041 (tag latin capital letter a)"),
    ],
)
def test_a_character_that_nobody_sees(character: str, name: str) -> None:
    text = HEAD + ticket("a", "late", f"'Where ▲{character}is it?'") + TESTS
    assert found(text, "PACK096") == [f"nobody sees {name}; take it out"]


def test_one_that_is_written_as_an_escape_and_one_in_a_name() -> None:
    text = HEAD + ticket("a", "late", '▲"Where \\e[31m is it?"') + TESTS
    assert found(text, "PACK096") == ["nobody sees U+001B (no name); take it out"]
    text = (HEAD + TICKET + TESTS).replace("exchange: {desc", "ex▲\u200bchange: {desc")
    assert found(text, "PACK096") == ["nobody sees U+200B (zero width space); take it out"]


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 and ⚠\ufe0f",
        "می\u200cخواهم",  # which Persian is written with
        "\u200fשלום\u200e",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
        "a\u00a0b",
    ],
)
def test_what_scripts_and_pictures_are_made_of(text: str) -> None:
    assert found(HEAD + ticket("a", "late", f"'{text}'") + TESTS, "PACK096") == []


def test_line_breaks_and_tabs_are_seen() -> None:
    assert found(HEAD + ticket("a", "late", '"one\\n\\ttwo"') + TESTS, "PACK096") == []
    assert [finding.code for finding in linted(HEAD + ticket("a", "late", '"one\\n\\ttwo"') + TESTS)] == ["PACK090"]
