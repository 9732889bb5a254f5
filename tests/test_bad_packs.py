"""Packs with one mistake each, and every word that is said about it.

tests/mistakes/bad_packs.txt has the kinds that real exports contain, three times or more each; author_mistakes.txt what
people who write packs by hand get wrong.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from engine.load import check_pack
from engine.manual import TITLES
from tests.mistakes.reading import Case, cases, said

BAD = [*cases("bad_packs")]
AUTHORS = [*cases("author_mistakes")]
NAMED = [pytest.param(case, id=case.name) for case in (*BAD, *AUTHORS)]
BREAKS = [pytest.param("\r\n", id="CRLF"), pytest.param("\r", id="CR")]


@pytest.mark.parametrize("case", NAMED)
def test_these_words_are_said_and_no_others(case: Case, tmp_path: Path) -> None:
    assert said(case.pack, tmp_path) == case.said


@pytest.mark.parametrize("line_break", BREAKS)
@pytest.mark.parametrize("case", NAMED)
def test_the_same_is_said_of_other_line_breaks(case: Case, line_break: str, tmp_path: Path) -> None:
    assert said(case.pack.replace("\n", line_break), tmp_path) == case.said


@pytest.mark.parametrize("case", NAMED)
def test_each_mistake_is_told_of_once_with_its_place(case: Case) -> None:
    """What is found has one code, and stands on one line: nothing follows from a mistake that is told as well."""
    found = re.findall(r"^pack\.yaml:(\d+):\d+: (PACK\d+): ", case.said, re.MULTILINE)
    assert len({*found}) == (1 if case.said else 0)
    assert all(code in TITLES for _, code in found)
    for block in re.split(r"^(?=pack\.yaml:)", case.said, flags=re.MULTILINE)[1:]:
        _, line, caret, *more = block.splitlines()
        assert caret.strip() == "^" and len(caret) <= len(line) + 1
        assert all(each.startswith(("  expected: ", "  did you mean '", "  also at ")) for each in more)


def test_there_are_enough() -> None:
    kinds = {kind: len([*each]) for kind, each in groupby(BAD[1:], lambda case: case.name.split(":")[0])}
    assert len(kinds) == 12 and min(kinds.values()) >= 3
    assert len(AUTHORS) > 40
    assert len({case.name for case in AUTHORS}) == len(AUTHORS)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "pack: caf\u00e9 chairs\n".encode("cp1252"),
            "pack.yaml:1:10: PACK002: byte 0xe9 is not UTF-8 (in Windows-1252 it is 'é'); save the file as UTF-8\n"
            "  pack: caf\ufffd chairs\n           ^\n",
        ),
        (
            "\ufeffpack: it\u2019s\n".encode().replace("\u2019".encode(), b"\x92"),
            "pack.yaml:1:9: PACK002: byte 0x92 is not UTF-8 (in Windows-1252 it is '’'); save the file as UTF-8\n"
            "  pack: it\ufffds\n          ^\n",
        ),
        (
            b"pack: a\x81\n",  # which is nothing in Windows-1252 either
            "pack.yaml:1:8: PACK002: byte 0x81 is not UTF-8; save the file as UTF-8\n  pack: a\ufffd\n         ^\n",
        ),
        ("pack: p\n".encode("utf-16"), "pack.yaml:1:1: PACK002: this is UTF-16; save the file as UTF-8\n"),
        ("pack: p\n".encode("utf-16-be"), "pack.yaml:1:1: PACK002: this is UTF-16; save the file as UTF-8\n"),
        (b"", "pack.yaml:1:1: PACK013: the file is empty\n"),
        (
            b"id;task;message\nt-1;easy;Hello\n",
            "pack.yaml:1:1: PACK013: a mapping (key: value) is meant here, and this is a text\n"
            "  id;task;message\n  ^\n",
        ),
        (
            b"version: '3'\nservices:\n  web: {image: nginx, ports: ['80:80']}\nvolumes: {data: {}}\n",
            "pack.yaml:1:1: PACK014: this is no pack: it has neither `pack` nor `tickets`, and no pack has a "
            "'services'; `deskproof new` writes one to begin with\n  version: '3'\n  ^\n",
        ),
    ],
)
def test_a_file_that_is_no_pack_at_all(content: bytes, words: str, tmp_path: Path) -> None:
    assert said(content, tmp_path) == words


def test_a_field_that_was_copied_to_a_second_file_is_told_of_once(tmp_path: Path) -> None:
    """The name that it should have had is missing; nobody needs to hear that wherever it is named."""
    (tmp_path / "pack.yaml").write_text(BAD[0].pack.replace("  colour: {", "  size: {", 1), "utf-8")
    (tmp_path / "more.yaml").write_text("fields:\n  order: {description: The colour}\n", "utf-8")
    _, [found] = check_pack(tmp_path)
    assert found.message == f"'order' is given twice (first at {tmp_path / 'pack.yaml'}:4:3)"
    assert (found.code, found.place) == ("PACK005", (str(tmp_path / "more.yaml"), 2, 3))


def test_a_ticket_id_in_a_second_file_names_the_first_one(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text(BAD[0].pack, "utf-8")
    (tmp_path / "more.yaml").write_text(
        "tickets:\n  - {id: t-1, task: easy-info-collection, messages: [Hi]}\n", "utf-8"
    )
    _, [found] = check_pack(tmp_path)
    assert found.message == f"ticket id 't-1' is taken (first at {tmp_path / 'pack.yaml'}:10:5)"
