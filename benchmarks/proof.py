"""How long proofs take, and how much memory: of the shipped packs, of many tickets, and of big ones.

python -m benchmarks.proof

Each proof runs in a process of its own, which loads its pack first; only the proof is timed, by the time that it has
the processor, as it uses one alone. Exits with 1 where one takes longer, or more memory, than is promised, or where it
comes to another end than it should.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NamedTuple

from engine.contract import load_contract
from engine.load import check_draft, load_pack, shipped_packs
from engine.pack import Pack
from engine.proof.prove import prove
from engine.solve import variants
from engine.symmetry import Symmetry

MEMORY = 2_000  # MB, for every proof
TASKS = ("easy-info-collection", "medium-complete-info", "hard-efficient-resolution")
CONTRACT = load_contract()

Document = dict[str, Any]


class Promise(NamedTuple):
    """A proof, how many seconds it may take, and whether it comes to an end within its budget."""

    name: str
    packs: Callable[[], list[Pack]]
    seconds: float
    proved: bool = True


# -- A thousand tickets, no two alike

# How customers answer: one of these for each field.
SCRIPTS: tuple[tuple[str, ...], ...] = (
    ("value",),
    ("waive",),
    ("stall", "value"),
    ("wrong", "value"),
    ("refuse", "value"),
    ("chatty",),
    ("stall", "wrong", "value"),
)


def turn(kind: str, name: str, other: str) -> Document:
    """A turn of a field's script; a chatty one gives another field too."""
    kinds: dict[str, Document] = {
        "value": {"value": f"{name} right"},
        "chatty": {"value": f"{name} right", "gives": {other: f"{other} right"}},
        "wrong": {"value": f"{name} wrong", "wrong": True},
        "stall": {},
        "refuse": {"refuse": True},
        "waive": {"waive": True},
    }
    return {"say": f"About {name}.", **kinds[kind]}


def thousand() -> list[Pack]:
    """One pack with a thousand tickets of different shapes."""
    chance = random.Random(1)
    fields = [f"f{number}" for number in range(6)]
    categories = {f"c{number}": chance.sample(fields, chance.randint(2, 4)) for number in range(6)}
    document: Document = {
        "fields": {name: {} for name in fields},
        "categories": {name: {"requires": needed} for name, needed in categories.items()},
        "people": {"slow": {"stalls": 1, "says": ["Hold on."]}},
    }
    drawn = [ticket(chance, fields, categories, number) for number in range(3_000)]
    pack = loaded({**document, "tickets": drawn})
    shapes: dict[Hashable, Document] = {}
    for each in drawn:
        (machine, *_) = variants(pack, pack.tickets[each["id"]])
        shapes.setdefault(Symmetry(machine).shape(), each)
    return [loaded({**document, "tickets": [*shapes.values()][:1_000]})]


def ticket(chance: random.Random, fields: list[str], categories: dict[str, list[str]], number: int) -> Document:
    """A ticket whose category, answers, needs and messages are drawn; eight asks at the most settle it."""
    category = chance.choice(sorted(categories))
    needed, length = categories[category], 9
    while length > 8:
        scripts = {name: chance.choice(SCRIPTS) for name in needed}
        length = sum(map(len, scripts.values()))
    optional = [name for name in fields if name not in needed and chance.random() < 0.4]
    answers = {name: [turn("value", name, name)] for name in optional}
    for name, script in scripts.items():
        other = chance.choice([other for other in fields if other != name])
        answers[name] = [turn(kind, name, other) for kind in script]
    messages: list[Any] = ["Something is the matter."]
    known = [name for name in needed if "waive" not in scripts[name]]
    if known and chance.random() < 0.3:
        messages.append({"text": "Of this much I am sure.", "known": [chance.choice(known)]})
    found: Document = {"id": f"t{number}", "task": TASKS[number % 3], "category": category, "messages": messages}
    found |= {"optional": optional, "answers": answers}
    return {**found, "person": "slow"} if length <= 4 and chance.random() < 0.1 else found


# -- One big ticket: 12 required fields of two turns each, 8 categories, 40 steps


def big(scripts: list[tuple[str, str]]) -> list[Pack]:
    """`scripts` are the kinds of two turns, in turn for the 12 fields."""
    fields = [f"f{number:02}" for number in range(12)]
    answers = {
        name: [turn(kind, name, fields[number - 1]) for kind in scripts[number % len(scripts)]]
        for number, name in enumerate(fields)
    }
    found: Document = {
        "id": "t",
        "task": TASKS[2],
        "category": "c7",
        "required": fields,
        "messages": ["Hi."],
        "answers": answers,
    }
    document = {
        "fields": {name: {} for name in fields},
        "categories": {f"c{number}": {"requires": fields[: number + 5]} for number in range(8)},
        "max_steps": 40,
        "tickets": [found],
    }
    return [loaded(document)]


def loaded(document: Document) -> Pack:
    """The pack of a document. JSON is YAML as well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.yaml"
        path.write_text(json.dumps({"pack": "made", "version": "1", **document}), encoding="utf-8")
        pack, findings = check_draft(path, CONTRACT)
    if pack is None:
        sys.exit("\n".join(map(str, findings[:3])))
    return pack


ONE_KIND = [("stall", "value")]
TWO_KINDS = [("stall", "value"), ("wrong", "value")]
TWELVE_KINDS = [
    (first, last) for first in ("stall", "wrong", "refuse", "value") for last in ("value", "waive", "chatty")
]
PROMISES = (
    Promise("the shipped packs", lambda: [load_pack(path) for path in shipped_packs()], 5),
    Promise("1,000 tickets, all different", thousand, 60),
    Promise("12 fields that answer in one way", lambda: big(ONE_KIND), 10),
    Promise("12 fields that answer in two ways", lambda: big(TWO_KINDS), 10),
    Promise("12 fields, no two alike", lambda: big(TWELVE_KINDS), 10, proved=False),
)


def measure(promise: Promise) -> None:
    """Prints what a proof came to, as JSON; this process does nothing else."""
    packs = promise.packs()
    start = time.process_time()
    proofs = [prove(pack, CONTRACT.observation_space) for pack in packs]
    took = time.process_time() - start
    numbers = [variant.numbers for proof in proofs for ticket in proof.tickets for variant in ticket.variants]
    result = {
        "seconds": took,
        "tickets": sum(len(proof.tickets) for proof in proofs),
        "states": sum(found.states for found in numbers if found is not None),
        "proved": all(found is not None for found in numbers),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000,
    }
    print(json.dumps(result))


def main() -> None:
    if len(sys.argv) > 1:
        measure(PROMISES[int(sys.argv[1])])
        return
    kept = True
    for number, promise in enumerate(PROMISES):
        child = [sys.executable, "-m", "benchmarks.proof", str(number)]
        found = json.loads(subprocess.run(child, stdout=subprocess.PIPE, check=True, text=True).stdout)
        fine = found["seconds"] <= promise.seconds and found["memory"] <= MEMORY and found["proved"] == promise.proved
        kept = kept and fine
        print(
            f"{promise.name:<40}{found['tickets']:>6,} tickets {found['states']:>8,} states "
            f"{found['seconds']:7.2f} s of {promise.seconds:>3.0f} {found['memory']:7.0f} MB  "
            f"{'proved' if found['proved'] else 'not proved'}{'' if fine else '   <-- not as promised'}"
        )
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
