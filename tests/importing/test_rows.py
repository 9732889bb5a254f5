"""Rows under a header: cells as RFC 4180 has them, what is broken, and where reading goes on."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.importing.dialect import Dialect, OneSign, find_dialect
from engine.importing.encoding import UNREADABLE
from engine.importing.rows import Broken, NoHeader, Row, Rows

COMMAS = Dialect(",", '"')


def cells(text: str, dialect: Dialect = COMMAS) -> list[list[str]]:
    found = list(Rows(text, dialect))
    assert all(isinstance(row, Row) for row in found), found
    return [row.cells for row in found if isinstance(row, Row)]


def told(text: str, dialect: Dialect = COMMAS) -> list[tuple[int, int, str]]:
    """Each row's first and last line, and its first cell, or what is wrong with it."""
    rows = Rows(text, dialect)
    return [
        (row.line, row.last, row.why if isinstance(row, Broken) else "" if row.empty else row.cells[0]) for row in rows
    ]


# -- What is whole


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1,2", ["1", "2"]),
        ("  1 , 2 ", ["  1 ", " 2 "]),  # blanks are text
        ('"1","2"', ["1", "2"]),
        ('"a, b","say ""hi"""', ["a, b", 'say "hi"']),
        ('"",""""', ["", '"']),
        ('5" lamp,it"s', ['5" lamp', 'it"s']),  # quotes inside a plain cell are text
        ('"a" , "b"', ["a", "b"]),  # blanks around a quoted cell belong to nothing
        ('a, "b" c', ["a", ' "b" c']),
        ("=1+1,@x", ["=1+1", "@x"]),  # a formula is text
        ("no,0042", ["no", "0042"]),
        ('"a\nb\r\nc\rd","\n"', ["a\nb\r\nc\rd", "\n"]),
        ("a\u2028b\x85c\x0bd\x0ce,f", ["a\u2028b\x85c\x0bd\x0ce", "f"]),  # for CSV none of these ends a line
    ],
)
def test_cells(line: str, expected: list[str]) -> None:
    for end in ("", "\n", "\r\n", "\r"):
        assert cells(f"x,y\n{line}{end}") == [expected]


def test_lines_may_end_in_different_ways() -> None:
    assert told('x,y\r\n1,a\n2,"b\r\nc"\r3,d\r\n\r\n4,e') == [
        (2, 2, "1"),
        (3, 4, "2"),
        (5, 5, "3"),
        (6, 6, ""),
        (7, 7, "4"),
    ]


def test_rows_without_anything_in_them() -> None:
    """Whatever their width."""
    found = list(Rows('\n \nx,y\n\n,\n ,\t\n"",""\n,,,,\n1,a\n', COMMAS))
    assert [(row.line, row.empty) for row in found if isinstance(row, Row)] == [
        *((line, True) for line in range(4, 9)),
        (9, False),
    ]


def test_what_stands_behind_the_last_column_is_let_go_where_it_is_blank() -> None:
    """Some programs end each row with a separator, or with many."""
    assert cells("x,y\n1,a,\n2,b, ,,\n3,c\n") == [["1", "a"], ["2", "b"], ["3", "c"]]
    # A quote that was never closed swallows no rows there either.
    text = 'x,y,z\n1,a,q,\n2,b,q,\n3,c,q,\n4,"d,q,\n5,e,q,\n6,5",q,\n7,g,q,\n'
    assert told(text) == [
        *((line, line, str(line - 1)) for line in (2, 3, 4)),
        (5, 5, OPEN),
        (6, 6, "5"),
        (7, 7, "6"),
        (8, 8, "7"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file is empty"),
        ("\r\n \n", "the file is empty"),
        ('\na,"b', "line 2, the row of column names: a quote isn't closed"),
        ('"a"b,c\n', "line 1, the row of column names: a quote inside a quoted cell isn't doubled"),
        (f"a,{UNREADABLE}\n", "line 1, the row of column names: bytes that can't be read"),
    ],
)
def test_no_header(text: str, why: str) -> None:
    with pytest.raises(NoHeader) as error:
        Rows(text, COMMAS)
    assert str(error.value) == why


# -- What is broken

HEAD = "id,text,queue\n1,a,q\n2,b,q\n3,c,q\n"  # so rows begin with digits
GOOD = [(2, 2, "1"), (3, 3, "2"), (4, 4, "3")]
OPEN, STRAY = "a quote isn't closed", "a quote inside a quoted cell isn't doubled"
FEW, MANY = "too few cells", "too many cells"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("4,d\n5,e,q\n", [(5, 5, FEW), (6, 6, "5")]),
        ("4,d,q,q\n5,e,q\n", [(5, 5, MANY), (6, 6, "5")]),
        # An unclosed quote swallows nothing: to the end of the file, up to the next quoted cell, or a quote in a text.
        ('4,"d,q\n5,e,q\n6,f,q\n', [(5, 5, OPEN), (6, 6, "5"), (7, 7, "6")]),
        ('4,"d,q\n5,"e",q\n6,f,q\n', [(5, 5, OPEN), (6, 6, "5"), (7, 7, "6")]),
        ('4,"d,q\n5,"","q"\n6,f,q\n', [(5, 5, OPEN), (6, 6, "5"), (7, 7, "6")]),
        ('4,"d,q\n5,", e",q\n6,f,q\n', [(5, 5, OPEN), (6, 6, "5"), (7, 7, "6")]),
        ('4,"d,q\n5,a 5" lamp,q\n6,f,q\n', [(5, 5, OPEN), (6, 6, "5"), (7, 7, "6")]),
        # It is closed by a quote at the end of a later cell: each line is a row by itself, so it can't be one row.
        ('4,"d,q\n5,e,q\n6,5",q\n7,g,q\n', [(5, 5, OPEN), (6, 6, "5"), (7, 7, "6"), (8, 8, "7")]),
        # With other cells and rows swallowed in between.
        ('4,"d, or so,q\n\n,,\n5,e,q\n', [(5, 5, OPEN), (6, 6, ""), (7, 7, ""), (8, 8, "5")]),
        ('4,"d,q\n5,e\n6,f,q,q\n7,g,q\n', [(5, 5, OPEN), (6, 6, FEW), (7, 7, MANY), (8, 8, "7")]),
        # Two in a row, and one at the end of the file, with lines of text in it.
        ('4,"d,q\n5,"e,q\n6,f,q\n', [(5, 5, OPEN), (6, 6, OPEN), (7, 7, "6")]),
        ('4,d,q\n5,"e\nand more\n', [(5, 5, "4"), (6, 7, OPEN)]),
        ('4,"d "no" d",q\n5,e,q\n', [(5, 5, STRAY), (6, 6, "5")]),
        # What stands in the lines of a broken text is no row.
        ('4,"d\n"no, or yes, " d",q\n5,e,q\n', [(5, 6, OPEN), (7, 7, "5")]),
        ('4,"d\nHello, you, there\n",q,q\n5,e,q\n', [(5, 7, MANY), (8, 8, "5")]),
        ("4,d\0,q\n5,e,q\n", [(5, 5, "a NUL byte"), (6, 6, "5")]),
        (f'4,"d\n{UNREADABLE}",q\n5,e,q\n', [(5, 6, "bytes that can't be read"), (7, 7, "5")]),
        ("id,text,queue\n5,e,q\n", [(5, 5, "the header once more"), (6, 6, "5")]),
    ],
)
def test_what_is_broken_is_told_and_reading_goes_on(lines: str, expected: list[tuple[int, int, str]]) -> None:
    assert told(HEAD + lines) == [*GOOD, *expected]
    assert told((HEAD + lines).replace("\n", "\r\n")) == [*GOOD, *expected]


def test_a_long_text_of_one_cell_is_one_row() -> None:
    """A greeting with a comma, a list, lines that look like rows of something else: a quoted cell may hold all that."""
    text = "Hi,\nmy lamp is broken, please\n\n1. it blinks\n2. it hums, loudly\nThanks, Kim"
    assert told(f'{HEAD}4,"{text}",q\n5,e,q\n') == [*GOOD, (5, 10, "4"), (11, 11, "5")]


def test_rows_that_begin_with_any_text() -> None:
    """Then the number of cells alone says where a row is."""
    lines = ["Hello there", 'It is "broken"', '"Oh "no" it is"', "Is it?", '"Never closed', '"Nor "this""', "My lamp"]
    text = "text,queue\n" + "".join(f"{line},q\n" for line in lines)
    assert told(text) == [
        (2, 2, "Hello there"),
        (3, 3, 'It is "broken"'),
        (4, 4, STRAY),
        (5, 5, "Is it?"),
        (6, 6, OPEN),
        (7, 7, STRAY),
        (8, 8, "My lamp"),
    ]


def test_a_place_is_that_of_the_quote() -> None:
    (broken,) = [row for row in Rows('x,y\n1,"a\nb","c "d" e"\n', COMMAS) if isinstance(row, Broken)]
    assert broken.spot is not None
    assert (broken.spot.line, broken.spot.column, broken.spot.before, broken.spot.after) == (3, 7, 'b","c ', '"d" e"')


# -- In which dialect


@pytest.mark.parametrize("between", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_dialect_is_found_out(between: str, quote: str, end: str) -> None:
    stream = StringIO()
    writer = csv.writer(stream, delimiter=between, quotechar=quote, quoting=csv.QUOTE_ALL, lineterminator=end)
    rows = [["id", "text"], ["1", "It's one, two; three | four\tfive"], ["2", f'"Really?"{end}he said']]
    writer.writerows(rows)
    dialect = find_dialect(stream.getvalue())
    assert dialect == Dialect(between, quote)
    assert cells(stream.getvalue(), dialect) == rows[1:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", COMMAS),
        ("id;name, first\n1;a\n2;b, c, d\n", Dialect(";", '"')),  # rows have two cells with semicolons only
        ("text\nHello, you\nYes, I, too\n", Dialect(";", '"')),  # one column, in whatever doesn't cut it
        ("id,text\n1,'tis so\n2,'tis not\n", COMMAS),  # apostrophes
        ("id,text\n1,'hello'\n", COMMAS),
        ('id,text,queue\n1,"a"b,q\n2,"a,q\n3,x\n', COMMAS),  # most rows are broken, and the header says it
        ("sep=;\nid;a,b,c\n", Dialect(";", '"', 6)),
        ("sep=|\r\nid,a\n", Dialect("|", '"', 7)),
    ],
)
def test_dialects_that_are_hard_to_tell(text: str, expected: Dialect) -> None:
    assert find_dialect(text) == expected


def test_its_owner_knows_the_dialect_better() -> None:
    assert find_dialect("a,b;c\n", delimiter=";") == Dialect(";", '"')
    assert find_dialect("a,b\n", quote="~") == Dialect(",", "~")
    assert find_dialect('a"b\n', delimiter='"').quote == "'"
    assert find_dialect("sep=;\na;b|c\n", delimiter="|") == Dialect("|", '"', 6)
    # A quote that stands between cells in most files does so in this one only if that is how it is cut.
    assert find_dialect("id;text\n1;,a;b,\n", quote=",") == Dialect(";", ",")
    for text, delimiter, quote in (("a,b\n", None, ","), ("a;b\n", ";", ";"), ("sep=~\na~b\n", None, "~")):
        with pytest.raises(OneSign):
            find_dialect(text, delimiter, quote)


# -- Anything

MARKS = st.sampled_from(['"', ",", "\n", "\r\n", "\r", "1", "a", " ", "\0", UNREADABLE, ";", "'"])


@given(st.lists(MARKS, max_size=60).map("".join))
def test_every_line_is_accounted_for(text: str) -> None:
    """Each row begins where the one before ended, and the last one ends with the file."""
    try:
        rows = Rows(f"id,text\n{text}", COMMAS)
    except NoHeader:
        return
    line = 2
    for row in rows:
        assert row.line == line and row.last >= line
        line = row.last + 1
    lines = f"{text}.".replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert line == 2 + lines - text.endswith(("\n", "\r")) - (not text)
