"""Any texts, written as CSV in any dialect, imported and loaded as a pack, are what they were."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.importing.columns import Pair, plan
from engine.importing.desk import Head, document, needs
from engine.importing.dialect import find_dialect
from engine.importing.dump import dump
from engine.importing.encoding import decode
from engine.importing.rows import Rows
from engine.importing.tickets import Account, read
from engine.load import check_pack

HEADER = ["id", "text", "queue", "order", "address"]
SAID = {"id": "id", "message": "text", "category": "queue", "field.order": "order", "known.⚠️ address?": "address"}
TASK = "easy-info-collection"
# A text that is no more than blanks is no text here, and NUL is damage.
TEXTS = st.lists(
    st.sampled_from(
        [*"ab01 ,;|\t'\"#:-?!&*{}[]>%@`\\~=.é🙂\x07\x85\u2028", "\n", "\r\n", " #", ": ", "{{ order }}", "no"]
    )
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    min_size=1,
    max_size=12,
).map("".join)
FULL = TEXTS.filter(str.strip)
ROWS = st.lists(st.tuples(FULL, FULL, FULL, FULL, FULL), min_size=1, max_size=4, unique_by=lambda row: row[0])


def imported(content: bytes) -> tuple[Account, dict[str, Any]]:
    """What the command does between reading a file and writing one."""
    text = decode(content).text
    rows = Rows(text, find_dialect(text))
    columns, mistakes = plan([Pair(what, column, at) for at, (what, column) in enumerate(SAID.items())], rows.header)
    assert not mistakes
    account = read(rows, columns, [TASK], TASK)
    fields = {name: name for name in columns.names}
    return account, document(Head("p", "d", 10), account.tickets, fields, needs(account.tickets, columns.names))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packs")


@settings(deadline=None)
@given(
    ROWS,
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_texts_arrive_as_they_were(
    folder: Path, rows: list[tuple[str, ...]], between: str, end: str, quoting: int, encoding: str
) -> None:
    stream = StringIO()
    writer: Any = csv.writer(stream, delimiter=between, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(HEADER)
    if quoting == csv.QUOTE_MINIMAL:
        # Some versions of Python leave a CR unquoted, which no reader can tell from the end of a line then.
        rows = [tuple(text.replace("\r", "") for text in row) for row in rows]
        assume(len({row[0] for row in rows}) == len(rows))
    writer.writerows(rows)
    account, made = imported(stream.getvalue().encode(encoding))
    assert (account.left, account.blank) == ([], 0)
    text = dump(made)
    path = folder / "pack.yaml"
    path.write_text(text, "utf-8", newline="")
    pack, findings = check_pack(path)
    assert pack is not None, findings
    found = [
        (
            ticket.id,
            ticket.messages[0].text,
            ticket.category,
            *(turn.say for turn in ticket.answers["order"]),
            ticket.known["⚠️ address?"],
        )
        for ticket in pack.tickets.values()
    ]
    assert found == rows
    assert dump(imported(stream.getvalue().encode(encoding))[1]) == text
