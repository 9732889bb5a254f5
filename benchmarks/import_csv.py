"""How long it takes to make a pack of 10,000 rows in which everything is broken that is broken in exports.

python -m benchmarks.import_csv [ROWS]

Exits with 1 where it takes longer than is promised, or where a row is counted wrongly; tests/importing checks the same
account. Loading the pack is timed too, and promised nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from engine.load import check_pack

PROMISED = 10  # seconds, for 10,000 rows
ROWS = 10_000
HEADER = "Ticket,Subject,Body,Queue,Order number,Requester"
QUEUES = ("Delivery", "Returns", "Account", "Billing, and more")


class Export(NamedTuple):
    """A file, and what is in it: tickets, blank rows, and why rows can't be used."""

    content: bytes
    tickets: int
    blank: int
    reasons: Counter[str]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def good(number: int) -> str:
    """A row as it should be: quotes, commas, newlines in cells, zeros in front, and letters of many scripts."""
    body = (
        f'Hello,\n\nparcel "{number}" is late, as is #{number}.\r\nÄrgerlich! 🙂 {{name}}'
        if number % 3
        else "It's late."
    )
    queue = quoted(QUEUES[number % len(QUEUES)])
    order = f"{number:08}" if number % 5 else ""
    return f"{number},Order {number},{quoted(body)},{queue},{order},customer{number}@example.org"


# What may be wrong with a row, how often that is so, and the row. Each row is broken in one way at the most.
BROKEN: tuple[tuple[int, str, Callable[[int], str]], ...] = (
    (97, "too few cells", lambda number: f"{number},Cut off,here"),
    (101, "too many cells", lambda number: f"{good(number)},more,and more"),
    (103, "a quote isn't closed", lambda number: f'{number},Late,"My parcel, the big one,Delivery,7,a@example.org'),
    (
        107,
        "a quote inside a quoted cell isn't doubled",
        lambda number: f'{number},Late,"He said "no" to me",Delivery,7,a',
    ),
    (109, "the id is taken", lambda number: good(1)),
    (113, "the message is empty", lambda number: f"{number},, ,Delivery,7,a@example.org"),
    (127, "a NUL byte", lambda number: f"{number},Late,No\0thing,Delivery,7,a@example.org"),
)


def export(rows: int) -> Export:
    """An export of so many rows, blank ones aside; a byte order mark in front, and the file ends inside a quote."""
    lines, reasons, blank = [HEADER + "\r\n"], Counter[str](), 0
    for number in range(1, rows):
        end = "\r\n" if number % 2 else "\n"
        for often, why, row in BROKEN:
            if number % often == 0:
                lines.append(row(number) + end)
                reasons[why] += 1
                break
        else:
            lines.append(good(number) + end)
        if number % 50 == 0:
            lines.append(end if number % 100 else ",,,,," + end)
            blank += 1
    lines.append(f'{rows},Late,"The file ends here')
    reasons["a quote isn't closed"] += 1
    content = b"\xef\xbb\xbf" + "".join(lines).encode()
    return Export(content, rows - reasons.total(), blank, reasons)


def account(made: Export) -> list[str]:
    """What the command has to say of its rows."""
    left = made.reasons.total()
    width = len(f"{max(made.reasons.values()):,}")
    return [
        f"{made.tickets + left:,} rows read: {made.tickets:,} tickets, {left:,} rows skipped"
        f"; {made.blank:,} blank rows left out",
        *sorted(f"  {number:>{width},} {why}" for why, number in made.reasons.items()),
    ]


def command(file: Path, pack: Path) -> list[str]:
    """The import of such a file."""
    maps = ("id=Ticket", "message=Subject+Body", "category=Queue", "field.order=Order number", "known.email=Requester")
    given = [word for one in maps for word in ("--map", one)]
    return [sys.executable, "-m", "engine.cli", "import", "csv", str(file), *given, "-o", str(pack), "--force"]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    made = export(rows)
    with tempfile.TemporaryDirectory() as folder:
        file, pack = Path(folder) / "export.csv", Path(folder) / "desk.yaml"
        file.write_bytes(made.content)
        start = time.perf_counter()
        done = subprocess.run(command(file, pack), capture_output=True, text=True)
        took = time.perf_counter() - start
        printed = done.stdout.splitlines()
        said = [printed[1], *sorted(printed[2 : 2 + len(made.reasons)])] if len(printed) > 1 else printed
        start = time.perf_counter()
        loaded, _ = check_pack(pack)
        loading = time.perf_counter() - start
        size = pack.stat().st_size / 1e6 if pack.exists() else 0
    right = said == account(made) and loaded is not None and len(loaded.tickets) == made.tickets
    print(f"{rows:,} rows, {len(made.content) / 1e6:.2f} MB: {made.tickets:,} tickets, {size:.2f} MB")
    print(f"  import       {took:6.2f} s (promised: {PROMISED})")
    print(f"  check_pack   {loading:6.2f} s")
    print(f"  the account is {'exact' if right else 'wrong'}")
    if not right:
        print("\n".join([*printed[:12], done.stderr[-2000:]]))
    sys.exit(0 if right and took <= PROMISED else 1)


if __name__ == "__main__":
    main()
