"""Nothing acknowledged is lost or doubled, whatever dies: workers by SIGKILL, and Redis in the middle.

Every client's transcript has to equal the replay of what is stored. `make soak` runs this for a minute.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.contract import load_contract
from engine.load import load_pack, shipped_packs
from server.answers import encode
from server.naming import stored
from server.service import Caller, Service
from server.store import EpisodeStore
from server.store.opening import open_store
from tests.faults.players import Player, play
from tests.faults.processes import workers_of
from tests.server.redis_server import redis_server
from tests.serving import free_port, serving

SECONDS = 60.0 if os.environ.get("SOAK") else 6.0
CLIENTS = 32

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.xdist_group("faults")]


def start(closing: ExitStack, root: Path, folder: Path, store: str, workers: int) -> int:
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(root), "PORT": str(port)}
    env |= {"STORE": store, "WORKERS": str(workers), "LOG": "json"}
    closing.enter_context(serving((sys.executable, "-m", "server.app"), port, cwd=folder, env=env))
    return port


def check(store: EpisodeStore, players: Sequence[Player]) -> Counter[str]:
    """Whether each transcript equals the replay of what is stored."""
    counts: Counter[str] = Counter()
    service = Service([load_pack(path) for path in shipped_packs()], store, load_contract())
    for player in players:
        assert player.wrong == []
        counts.update(unanswered=player.unanswered, refused=player.refused)
        for episode_id, exchanges in player.told.items():
            if not exchanges:
                continue
            record = store.get(stored("", episode_id))
            assert record is not None, f"{episode_id} is lost"
            assert record.key.attempt == 1
            taken = [record.start.request_id, *(step.request_id for step in record.steps)]
            assert taken == [exchange.request_id for exchange in exchanges], episode_id
            for exchange in exchanges:
                again = service.again(episode_id, exchange.request_id, Caller())
                assert again is not None and encode(again) == exchange.answer, exchange.request_id
            counts.update(answers=len(exchanges), episodes=1)
    return counts


def test_workers_that_are_killed(root: Path, tmp_path: Path) -> None:
    """Four workers on one SQLite file; one of them is killed every second."""
    store = f"sqlite:{tmp_path / 'episodes.db'}"
    killed: list[int] = []

    def kill(done: threading.Event) -> None:
        while not done.wait(1.0):
            workers = workers_of(port)
            if workers:
                killed.append(random.choice(workers))
                os.kill(killed[-1], signal.SIGKILL)

    with ExitStack() as closing:
        port = start(closing, root, tmp_path, store, workers=4)
        end = time.monotonic() + 30
        while len(workers_of(port)) < 4:
            assert time.monotonic() < end, "four workers were asked for"
            time.sleep(0.05)
        players = play([("127.0.0.1", port)], CLIENTS, SECONDS, kill)
    opened = open_store(store)
    counts = check(opened, players)
    opened.close()
    print(f"\n{len(killed)} workers killed: {dict(counts)}")
    assert len(killed) >= SECONDS // 2
    assert counts["unanswered"] > 0, "no connection broke: this showed nothing"
    assert counts["refused"] == 0
    assert counts["answers"] > 50 * SECONDS


def test_redis_that_is_restarted(root: Path, tmp_path: Path) -> None:
    """Two servers on one Redis that writes everything down at once; it is killed and started again, once."""
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as redis, ExitStack() as closing:
        restarted = threading.Event()

        def restart(done: threading.Event) -> None:
            done.wait(SECONDS / 3)
            redis.kill()
            done.wait(0.5)
            redis.start()
            restarted.set()

        ports = [start(closing, root, tmp_path, redis.url, workers=2) for _ in range(2)]
        players = play([("127.0.0.1", port) for port in ports], CLIENTS, SECONDS, restart)
        opened = open_store(redis.url)
        counts = check(opened, players)
        opened.close()
    print(f"\nRedis restarted: {dict(counts)}")
    assert restarted.is_set()
    assert counts["refused"] > 0, "nobody noticed: this showed nothing"
    assert counts["answers"] > 20 * SECONDS
