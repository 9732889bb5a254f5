"""A command to begin with: which column is most likely what, by its name and by what is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from engine.importing.columns import JOIN, MESSAGE
from engine.terminal import shell_path, shell_word

TITLE: Final = "title"
# What columns are often called, in letters and digits alone: in English, and in German. The first names say most.
_OFTEN: Final[Mapping[str, tuple[str, ...]]] = {
    "id": (
        *("ticketid", "ticketnumber", "ticketno", "ticketnr", "ticketnummer", "issuekey", "caseid", "casenumber"),
        *("caseno", "requestid", "requestnumber", "conversationid", "issueid", "issuenumber", "id", "ticket", "case"),
        *("key", "number", "nummer", "no", "nr"),
    ),
    TITLE: ("subject", "title", "summary", "betreff", "titel"),
    MESSAGE: (
        *("firstmessage", "customermessage", "message", "messagetext", "messagebody", "msg", "body", "description"),
        *("text", "content", "question", "inquiry", "enquiry", "query", "request", "comment", "comments", "details"),
        *("nachricht", "anfrage", "beschreibung", "frage", "inhalt"),
    ),
    "category": (
        *("category", "cat", "queue", "topic", "issuetype", "tickettype", "requesttype", "contactreason", "reason"),
        *("type", "department", "group", "team", "component", "components", "product", "intent", "label", "tag"),
        *("kategorie", "warteschlange", "thema", "abteilung", "gruppe"),
    ),
}
# Of these, which say nothing at the end of a longer name: an order's number, a kind of device.
_VAGUE: Final = frozenset(
    "id key number nummer no nr case ticket request text content type group team component product label tag details"
    " reason comment comments".split()
)
_WORD = re.compile(r"[^\W_]+")


def command(
    name: str,
    given: Mapping[str, str | None],
    header: Sequence[str],
    lengths: Sequence[int],
) -> str:
    """A command that makes a pack of a file, as far as the names of its columns say what they are.

    `given` are the options that its reader had to give, and `lengths` how many characters stand in each column: one
    with nothing in it is nothing. What no column is called like is left out, but for the message: it is the column
    with most text.
    """
    full = [index for index, length in enumerate(lengths) if length] or [*range(len(header))]
    guessed: dict[str, int] = {}
    for what in _OFTEN:
        likely = next((one for one in _called(what, header) if one in full and one not in guessed.values()), None)
        if likely is not None:
            guessed[what] = likely
    texts = [guessed[what] for what in (TITLE, MESSAGE) if what in guessed]
    if not texts:
        rest = [index for index in full if index not in guessed.values()]
        texts = [max(rest or full, key=lambda index: lengths[index])]
    columns = {what: _named(header, index) for what, index in guessed.items()}
    columns[MESSAGE] = JOIN.join(_named(header, index) for index in texts)
    maps = [f"{what}={columns[what]}" for what in ("id", MESSAGE, "category") if what in columns]
    options = [(option, value) for option, value in given.items() if value is not None]
    options += [("--map", one) for one in maps]
    output = PurePath(name).stem if PurePath(name).suffix else "pack"
    words = ["deskproof import csv", shell_path(name), *(f"{option} {shell_word(value)}" for option, value in options)]
    return " ".join([*words, "-o", shell_path(f"{output}.yaml")])


def _called(what: str, header: Sequence[str]) -> Iterator[int]:
    """The columns whose names say so, the likeliest first: all of the name, then its end."""
    words = [[word.casefold() for word in _WORD.findall(title)] for title in header]
    whole = ["".join(one) for one in words]
    for name in _OFTEN[what]:
        if whole.count(name) == 1:  # of two nobody knows
            yield whole.index(name)
    for index, one in enumerate(words):
        ends = {"".join(one[start:]) for start in range(1, len(one))}
        if ends & {*_OFTEN[what]} - _VAGUE:
            yield index


def _named(header: Sequence[str], index: int) -> str:
    """A column's name; its number, where that says more."""
    title = header[index]
    clear = title.isprintable() and title.strip() and list(header).count(title) == 1 and JOIN not in title
    return title if clear else f"#{index + 1}"
