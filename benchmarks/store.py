"""What it costs to keep episodes: HTTP steps a second with SQLite beside the same server with memory, and one append.

python -m benchmarks.store [SECONDS [ROUNDS]]

Both servers run at once, one worker each, and are measured in short turns by the client of the wire's benchmark, as
that says; the ratio that counts is of what a server does in a second of its own processor time, and what the clock
says, with all waiting for the disk, is printed too. Exits with 1 where the promised ratio isn't met.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

import uvloop

from benchmarks.wire import ACTIONS, SESSIONS, TASK, Turn, clock, http_steps, own, start
from server.store import EpisodeStore, Start, Step
from server.store.opening import open_store
from tests.server.redis_server import redis_server
from tests.serving import free_port

PROMISED = 0.7
EPISODES = 320  # whose appends are timed one by one, SESSIONS at a time


def http_turns(folder: Path, seconds: float, rounds: int) -> dict[str, list[Turn]]:
    """By the name of the store."""
    turns: dict[str, list[Turn]] = defaultdict(list)
    with ExitStack() as closing:
        servers = {}
        for name, url in (("memory", "memory:"), ("SQLite", f"sqlite:{folder}/served.db")):
            port = free_port()
            servers[name] = start([sys.executable, "-m", "server.app"], port, closing, PORT=str(port), STORE=url)
        for _ in range(rounds):
            for name, server in servers.items():
                turns[name].append(uvloop.run(http_steps(server, seconds)))
    return turns


def appends(store: EpisodeStore) -> list[float]:
    """How long each append took, in microseconds, smallest first."""
    took = []
    for first in range(0, EPISODES, SESSIONS):
        names = [f"append-{number}" for number in range(first, first + SESSIONS)]
        begun = Start("0" * 64, "t-1", 1, {"task_id": TASK, "seed": 1}, None, time.time())
        keys = [store.create(name, begun).key for name in names]
        for index, action in enumerate(ACTIONS):
            for key in keys:
                step = Step(action, None, time.time())
                at = time.perf_counter()
                store.append(key, index, step, None)
                took.append((time.perf_counter() - at) * 1e6)
    store.close()
    return sorted(took)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    with tempfile.TemporaryDirectory() as name, redis_server("--appendonly", "yes") as redis:
        folder = Path(name)
        turns = http_turns(folder, seconds, rounds)
        stores = {
            "memory": "memory:",
            "SQLite": f"sqlite:{folder}/normal.db",
            "SQLite, synchronous=full": f"sqlite:{folder}/full.db?synchronous=full",
            "Redis, appendonly": redis.url,
        }
        costs = {title: appends(open_store(url)) for title, url in stores.items()}
    print(f"{f'HTTP /step, {SESSIONS} connections':30}{'memory':>10}{'SQLite':>10}{'ratio':>8}{'at least':>10}")
    for title, rate in (("a second on the clock", clock), ("a second of its own time", own)):
        memory, sqlite = rate(turns["memory"]), rate(turns["SQLite"])
        ratio = sqlite / memory
        print(f"{title:30}{memory:10,.0f}{sqlite:10,.0f}{ratio:8.2f}{PROMISED if rate is own else '':>10}")
    print(f"\n{'one append, microseconds':30}{'median':>10}{'mean':>10}{'p99':>10}")
    for title, took in costs.items():
        print(f"{title:30}{median(took):10.1f}{sum(took) / len(took):10.1f}{quantiles(took, n=100)[-1]:10.1f}")
    if ratio < PROMISED:
        sys.exit(1)


if __name__ == "__main__":
    main()
