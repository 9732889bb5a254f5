"""How long a pack of 1,000 tickets (about 1 MB) takes to load, beside a bare yaml.load of the same file.

python -m benchmarks.load [TICKETS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from engine.build import build, pack_validator
from engine.contract import load_contract
from engine.diagnostics import Report
from engine.load import check_pack
from engine.schema import Refused, check
from engine.source import Budget, open_file, parse

HEAD = """\
pack: generated
version: 1.0.0
description: A pack as long as a year of tickets.
fields:
  order_id:
    description: The number on the order confirmation
    schema: {type: string, pattern: '^ORD-[0-9]{5}$'}
    sample: 'ORD-#####'
  email: {description: The address the account is under, schema: {format: email}}
  device: {description: What the customer uses, schema: {maxLength: 40}}
  browser: {description: The program that pages are opened with}
categories:
  delivery: {description: "Parcels late, lost or damaged", requires: [order_id, email]}
  fault: {description: Pages that fail, requires: [email, device, browser]}
people:
  slow: {description: Looks for everything, stalls: 1, says: [Hold on., Let me look.]}
tickets:
"""

TICKET = """\
  - id: t-{n:05}
    task: {task}
    category: delivery
    person: slow
    messages:
      - The app says that parcel {n} was delivered on Monday, but nothing came, and nobody in the house has seen it.
      - Hello! I've been waiting for {n} days now. The tracking page says "delivered", which it wasn't. Where is it?
      - template: "Where is {{{{ order_id }}}}? It was due on the {n}th. I have asked twice, and got no answer."
        known: [order_id]
    known: {{device: Lumo {n}}}
    optional: [browser]
    answers:
      order_id:
        - say: One moment, I have to look for the mail that you sent me about it, it was number {n} or so.
        - {{say: "It's ORD-50231, I think. Or was it the other one? No, it must be.", value: ORD-50231, wrong: true}}
        - {{say: "Sorry, here it is: ORD-{n:05}.", value: ORD-{n:05}, gives: {{device: Lumo {n}}}}}
      email: {{say: "customer{n}@example.org, if I'm not mistaken.", value: customer{n}@example.org}}
      browser: {{say: I only use the app., waive: true}}

"""

TASKS = ("easy-info-collection", "medium-complete-info", "hard-efficient-resolution")


def generate(tickets: int) -> str:
    """The text of a pack with this many tickets, all different."""
    return HEAD + "".join(TICKET.format(n=n, task=TASKS[n % len(TASKS)]) for n in range(tickets))


def timed(run: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The best of a few runs, in milliseconds, and what the last one returned."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return best * 1000, result


def main() -> None:
    tickets = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    contract = load_contract()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.yaml"
        path.write_text(generate(tickets), encoding="utf-8")
        size = path.stat().st_size / 1e6
        bare, _ = timed(lambda: yaml.load(path.read_bytes(), yaml.CSafeLoader))

        def read() -> Any:
            report, budget = Report(), Budget()
            file = open_file(path, budget, report)
            return parse(file, budget, report) if file else None

        reading, document = timed(read)
        schema, _ = timed(lambda: check(document, pack_validator(), Report()))
        building, _ = timed(lambda: build(document, contract, Report(), Refused()))
        whole, (pack, findings) = timed(lambda: check_pack(path))
    if pack is None:
        sys.exit("\n".join(str(finding) for finding in findings[:3]))
    print(f"{tickets} tickets, {size:.2f} MB")
    rows = [
        ("yaml.load, CSafeLoader", bare),
        ("reading with places", reading),
        ("JSON Schema", schema),
        ("building and checks", building),
        ("solving and the rest", whole - reading - schema - building),
        ("load_pack, all in all", whole),
    ]
    for name, took in rows:
        print(f"  {name:<26}{took:8.0f} ms  {took / bare:5.2f} x yaml.load")


if __name__ == "__main__":
    main()
