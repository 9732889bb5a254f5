"""How long an author waits: from saving a file to the findings of `deskproof check --watch`.

python -m benchmarks.check [ROUNDS]

The pack has a hundred tickets, no two alike, with three messages each, and ten tests of ten seeds. The command runs as
a process of its own; each round saves the file with a change of another kind, and ends where the line with the count is
read. A plain parse of the file, which builds no pack, is what the ratio is to. Then how long all lints of a pack take
that has a thousand tickets of three messages: of the processor's time, as they use one alone. Exits with 1 where the
median round, or a pack's lints, take longer than is promised: the slowest round is slow where others use the processors
as well.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import IO, Any

import yaml

from benchmarks.proof import TASKS, loaded, ticket
from engine.contract import load_contract
from engine.lints.lint import lint
from engine.load import read_draft
from engine.solve import variants
from engine.symmetry import Symmetry

PROMISED, LINTS_PROMISED = 0.2, 1.0  # seconds
TICKETS, MESSAGES, TESTS = 100, 3, 10
MANY = 1_000
CLOSING = re.compile(r"No findings\.|\d+ errors?, \d+ warnings?")
STALL = "    - say: Let me look for it first, please.\n"

Document = dict[str, Any]


def vocabulary(chance: random.Random) -> list[str]:
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(3_000)]


def document() -> Document:
    """A pack of tickets of different shapes."""
    chance = random.Random(2)
    words = vocabulary(chance)
    fields = [f"f{number}" for number in range(6)]
    categories = {f"c{number}": chance.sample(fields, chance.randint(2, 4)) for number in range(6)}
    made: Document = {
        "fields": {name: {} for name in fields},
        "categories": {name: {"requires": needed} for name, needed in categories.items()},
        "people": {"slow": {"stalls": 1, "says": ["Hold on."]}},
    }
    drawn = [ticket(chance, fields, categories, number) for number in range(3 * TICKETS)]
    pack = loaded({**made, "tickets": drawn})
    shapes: dict[Hashable, Document] = {}
    for each in drawn:
        machine = variants(pack, pack.tickets[each["id"]])[0]
        shapes.setdefault(Symmetry(machine).shape(), each)
    tickets = [*shapes.values()][:TICKETS]
    if len(tickets) < TICKETS:
        sys.exit(f"Only {len(tickets)} tickets are different.")
    for each in tickets:
        each["messages"] = [" ".join(chance.choices(words, k=chance.randint(8, 40))) for _ in range(MESSAGES)]
    steps = [{"do": {"type": "classify"}, "expect": {"outcome": "classify.right"}}]
    easy = [each["id"] for each in tickets if each["task"].startswith("easy")][:TESTS]
    about = {"seeds": {"from": 0, "to": 9}, "steps": steps, "final": {"score": 0}}
    tests = [{"name": f"{name} is classified", "ticket": name, **about} for name in easy]
    return {"pack": "hundred", "version": "1.0.0", **made, "tickets": tickets, "tests": tests}


def changes(text: str) -> list[str]:
    """The file with a word less, with a turn more, without a field that is asked for, and with a quote left open."""
    ticket_at = text.index("- id:", len(text) // 3)
    message = text.index("messages:\n  - ", ticket_at) + len("messages:\n  - ")
    answer = re.compile(r"(?<=\n    )(f\d):\n").search(text, ticket_at)
    if answer is None:
        sys.exit("The pack has no answers.")
    return [
        text[:message] + text[text.index(" ", message) + 1 :],
        text[: answer.end()] + STALL + text[answer.end() :],
        text.replace("  f0: {}\n", "", 1),
        text[:message] + "'" + text[message:],
        text,
    ]


def until_counted(stream: IO[str]) -> str:
    """The next line that counts what was found."""
    for line in stream:
        if CLOSING.fullmatch(line.strip()):
            return line.strip()
    sys.exit("The command ended.")


def rounds(folder: Path, texts: list[str], number: int) -> dict[str, list[float]]:
    """How long each round took, in seconds, by what was found."""
    path = folder / "pack.yaml"
    took: dict[str, list[float]] = {}
    command = [sys.executable, "-m", "engine.cli", "check", "--watch", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        until_counted(process.stdout)
        for count in range(number):
            time.sleep(0.3)  # as if somebody wrote
            if count % 2:
                path.write_text(texts[count % len(texts)], encoding="utf-8")
            else:
                new = path.with_name(".new")
                new.write_text(texts[count % len(texts)], encoding="utf-8")
                new.replace(path)
            saved = time.perf_counter()
            found = until_counted(process.stdout)
            took.setdefault(found, []).append(time.perf_counter() - saved)
        process.terminate()
    return took


def many(number: int) -> float:
    """How long the lints of a thousand tickets take, in seconds of the processor's.

    0: their words are about as frequent as in a language; 1: all messages are near, 2: half of each is the same.
    """
    chance = random.Random(3)
    words = vocabulary(chance)
    common = [1 / rank for rank, _ in enumerate(words, 1)]
    same = chance.choices(words, k=25)

    def message() -> str:
        if number == 1:
            return " ".join([*same[:12], chance.choice(words), *same[12:]])
        own = chance.choices(words, common, k=chance.randint(10, 50))
        return " ".join([*(same if number else ()), *own])

    tickets = [
        {
            "id": f"t{index}",
            "task": TASKS[index % 3],
            "category": f"c{index % 20}",
            "messages": [message() for _ in range(MESSAGES)],
            "answers": {"f0": f"value {index}", "f1": f"XY-{index}"},
        }
        for index in range(MANY)
    ]
    fields: Document = {"f0": {}, "f1": {}}
    categories = {f"c{index}": {"requires": [*fields]} for index in range(20)}
    made = {"pack": "many", "version": "1.0.0", "fields": fields, "categories": categories, "tickets": tickets}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "pack.yaml"
        path.write_text(json.dumps(made), encoding="utf-8")
        pack, nodes, findings = read_draft(path, load_contract())
    if pack is None or nodes is None:
        sys.exit("\n".join(map(str, findings[:3])))
    began = time.process_time()
    lint(pack, nodes, {})
    return time.process_time() - began


def seconds(run: Callable[[], object]) -> float:
    """The median time of seven calls."""
    times = []
    for _ in range(7):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    text = yaml.safe_dump(document(), sort_keys=False, width=200)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pack.yaml").write_text(text, encoding="utf-8")
        took = rounds(folder, changes(text), number)
    parse = seconds(lambda: yaml.load(text, yaml.CSafeLoader))
    every = [each for own in took.values() for each in own]
    for found, own in took.items():
        print(
            f"{found:<24}{len(own):>4} rounds {statistics.median(own) * 1e3:7.0f} ms {max(own) * 1e3:7.0f} ms at most"
        )
    median, slowest = statistics.median(every), max(every)
    promised = f"promised {PROMISED * 1e3:.0f} ms"
    print(f"{'all':<24}{number:>4} rounds {median * 1e3:7.0f} ms {slowest * 1e3:7.0f} ms at most; {promised}")
    print(f"{'a plain parse':<36}{parse * 1e3:7.0f} ms, ratio {median / parse:.1f}; {len(text):,} bytes")
    lints = [many(number) for number in range(3)]
    for name, took_long in zip(("of all kinds", "all near", "half the same"), lints, strict=True):
        what = f"lints of {MANY:,} tickets, {name}"
        print(f"{what:<44}{took_long * 1e3:7.0f} ms; promised {LINTS_PROMISED * 1e3:.0f} ms")
    sys.exit(0 if median <= PROMISED and max(lints) <= LINTS_PROMISED else 1)


if __name__ == "__main__":
    main()
