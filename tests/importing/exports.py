"""An export for tests, and the command that is given one."""

from __future__ import annotations

from pathlib import Path

from click.testing import Result

from tests.commands import deskproof

# As a help desk exports it: a mark, semicolons, CRLF, a cell with lines in it, zeros in front, an empty cell.
EXPORT = (
    "\ufeffTicket;Subject;Body;Queue;Order number;Requester\r\n"
    '1001;Late parcel;"Hello,\n\nwhere is my parcel #W23?";Delivery;00123;a@example.org\r\n'
    '1002;;"He said ""no"" 🙂";Delivery;;b@example.org\r\n'
    "1003;Login;I can't sign in;Account;;c@example.org\r\n"
)


def run(*arguments: str | Path) -> Result:
    return deskproof("import", "csv", *arguments)


def maps(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--map", pair)]
