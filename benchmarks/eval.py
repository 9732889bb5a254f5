"""How fast `deskproof eval` plays, and in how much memory: 100,000 episodes of a policy, of all shipped packs.

python -m benchmarks.eval [EPISODES]

The command runs as a process of its own; what it and its children hold is added up while it runs, so that pages that
they share count more than once. Exits with 1 where that is more than is promised, or where an episode is missing. The
rate is of the whole command: loading, proving, playing, sorting and working out the numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine.evaluation.ledger import EPISODES
from engine.load import load_pack, shipped_packs

MEMORY = 300  # MB, of all processes together
EPISODES_PLAYED = 100_000


def held(process: int) -> int:
    """Resident bytes of a process and its descendants; 0 where it has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text("utf-8").split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split()
    except OSError:
        return 0
    return pages * 4_096 + sum(held(int(child)) for child in children)


def measure(agent: str, workers: int, seeds: int, planned: int) -> bool:
    """Prints what a run took; whether all is as promised."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        words = ["eval", agent, "--seeds", str(seeds), "--workers", str(workers), "-o", f"{folder}/run", "--json"]
        start, most = time.monotonic(), 0
        command = subprocess.Popen([sys.executable, "-m", "engine.cli", *words], stdout=output)
        while command.poll() is None:
            most = max(most, held(command.pid))
            time.sleep(0.05)
        took = time.monotonic() - start
        output.seek(0)
        found = json.load(output)["overall"]
        with Path(folder, "run", EPISODES).open("rb") as file:
            lines = sum(1 for _ in file)
    memory = most / 1_000_000
    fine = memory <= MEMORY and lines == planned == found["done"] and command.returncode == 0
    print(  # at once: the next one takes a while
        f"{agent:<10}{workers} {'worker ' if workers == 1 else 'workers'}{planned:>10,} episodes {took:8.1f} s"
        f"{planned / took:>8,.0f} a second {memory:6.0f} of {MEMORY} MB{'' if fine else '   <-- not as promised'}",
        flush=True,
    )
    return fine


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else EPISODES_PLAYED
    tickets = sum(len(load_pack(path).tickets) for path in shipped_packs())
    seeds = -(-wanted // tickets)
    kept = [measure("playbook", workers, seeds, seeds * tickets) for workers in (1, 2)]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
