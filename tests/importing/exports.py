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
# Which column is what in it, and the pack that becomes of it.
MAPS = ("id=Ticket", "message=Subject+Body", "category=queue", "field.order_id=Order number", "known.email=Requester")
PACK = """\
# yaml-language-server: $schema=pack.schema.json
pack: desk
version: 0.1.0
description: 'TODO: what this help desk has to ask before it can help'
fields:
  order_id:
    description: Order number
  email:
    description: Requester
categories:
  Delivery:
    requires:
      - order_id
      - email
  Account:
    requires:
      - email
tickets:
  - id: '1001'
    task: easy-info-collection
    category: Delivery
    messages:
      - |-
        Late parcel

        Hello,

        where is my parcel #W23?
    known:
      email: a@example.org
    answers:
      order_id: '00123'
  - id: '1002'
    task: easy-info-collection
    category: Delivery
    messages:
      - He said "no" 🙂
    known:
      email: b@example.org
    answers:
      order_id: TODO
  - id: '1003'
    task: easy-info-collection
    category: Account
    messages:
      - |-
        Login

        I can't sign in
    known:
      email: c@example.org
"""


def run(*arguments: str | Path) -> Result:
    return deskproof("import", "csv", *arguments)


def maps(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--map", pair)]
