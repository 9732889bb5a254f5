"""What GET /metrics shows: one process's counts, or all workers', of which any may die at any moment."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from engine.pack import Pack
from server import tally as names
from server.metrics import COUNTERS, HISTOGRAMS, OPENMETRICS, TEXT, Metrics, Shared
from server.tally import REQUEST_SECONDS, STEPS, STORE_ERRORS, Tally
from tests.serving import free_port, serving

SCRAPER = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def metrics(tally: Tally, *packs: Pack, sockets: int = 0, open_episodes: int | None = 5) -> Metrics:
    return Metrics(tally, "1.2.3", packs=lambda: packs, sockets=lambda: sockets, open_episodes=lambda: open_episodes)


def samples(text: str) -> Samples:
    families = text_string_to_metric_families(text)
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def shown(one: Metrics) -> Samples:
    return samples(one.exposition()[0].decode())


def value(of: Samples, name: str, **labels: str) -> float | None:
    return of.get((name, frozenset(labels.items())))


# -- One process


def test_every_metric(lamps: Pack) -> None:
    tally = Tally()
    for labels in (("http", "/step", "200"), ("http", "/step", "200"), ("http", "other", "404")):
        tally.observe(REQUEST_SECONDS, labels, 0.25)
    tally.add(STEPS, ("lamps",), 64)
    tally.add(names.INVALID_STEPS, ("lamps",), 3)
    tally.add(names.EPISODES_STARTED, ("lamps",), 2)
    tally.add(names.EPISODES_ENDED, ("lamps", "terminated"))
    tally.add(STORE_ERRORS)
    found = shown(metrics(tally, lamps, sockets=4, open_episodes=1))
    assert value(found, "deskproof_requests_total", protocol="http", route="/step", status="200") == 2
    assert value(found, "deskproof_requests_total", protocol="http", route="other", status="404") == 1
    assert value(found, "deskproof_steps_total", pack="lamps") == 64
    assert value(found, "deskproof_invalid_steps_total", pack="lamps") == 3
    assert value(found, "deskproof_episodes_started_total", pack="lamps") == 2
    assert value(found, "deskproof_episodes_ended_total", pack="lamps", end_reason="terminated") == 1
    assert value(found, "deskproof_store_errors_total") == 1
    assert value(found, "deskproof_sockets") == 4
    assert value(found, "deskproof_open_episodes") == 1
    assert value(found, "deskproof_build_info", version="1.2.3") == 1
    assert value(found, "deskproof_pack_info", pack="lamps", version="1.2.3", digest=lamps.digest) == 1
    assert value(found, "deskproof_request_seconds_count", protocol="http", route="/step") == 2
    assert len([name for name, _ in found if not name.startswith("deskproof_request_seconds")]) == 11


def test_totals_begin_with_zero(lamps: Pack) -> None:
    found = shown(metrics(Tally(), lamps))
    for name in ("steps", "invalid_steps", "episodes_started"):
        assert value(found, f"deskproof_{name}_total", pack="lamps") == 0
    assert value(found, "deskproof_store_errors_total") == 0


def test_a_store_that_cannot_say() -> None:
    found = shown(metrics(Tally(), open_episodes=None))
    assert value(found, "deskproof_open_episodes") is None
    assert value(found, "deskproof_sockets") == 0


def test_a_histogram_is_cumulative() -> None:
    tally = Tally()
    for seconds in (0.0001, 0.25, 0.25, 0.5, 20.0):
        tally.observe(REQUEST_SECONDS, ("http", "/step", "200"), seconds)
    found = shown(metrics(tally))

    def bucket(le: str) -> float | None:
        return value(found, "deskproof_request_seconds_bucket", protocol="http", route="/step", le=le)

    bounds = ("0.0001", "0.1", "0.25", "0.5", "1.0", "10.0", "+Inf")
    assert [bucket(le) for le in bounds] == [1, 1, 3, 4, 4, 4, 5]
    assert value(found, "deskproof_request_seconds_count", protocol="http", route="/step") == 5
    total = value(found, "deskproof_request_seconds_sum", protocol="http", route="/step")
    assert total == pytest.approx(21.0001)


@pytest.mark.parametrize(
    "accept", ["", "*/*", "text/plain;version=0.0.4", "text/plain; version=spam", "application/json"]
)
def test_plain_text(accept: str) -> None:
    body, media_type = metrics(Tally()).exposition(accept)
    assert media_type == TEXT
    assert b"# TYPE deskproof_steps_total counter\n" in body


@pytest.mark.parametrize(
    "accept", [SCRAPER, "Application/OpenMetrics-Text", "application/openmetrics-text;version=spam"]
)
def test_openmetrics(lamps: Pack, accept: str) -> None:
    tally = Tally()
    tally.add(STEPS, ("lamps",), 2)
    tally.observe(REQUEST_SECONDS, ("http", "/step", "200"), 0.25)
    body, media_type = metrics(tally, lamps).exposition(accept)
    assert media_type == OPENMETRICS
    read = list(openmetrics_families(body.decode()))  # type: ignore[no-untyped-call]  # it is strict
    families = {family.name: family for family in read}
    assert families["deskproof_steps"].samples[0].value == 2
    assert families["deskproof_request_seconds"].type == "histogram"
    assert families["deskproof_pack"].type == "info"


@pytest.mark.parametrize("name", ['a"b\\c\nd', "⚠️ 版本?", "{x}", ""])
def test_any_text_may_be_a_packs_name(name: str) -> None:
    tally = Tally()
    tally.add(STEPS, (name,), 2)
    tally.add(STEPS, ("\ud800",))
    body, _ = metrics(tally).exposition()
    assert value(samples(body.decode()), "deskproof_steps_total", pack=name) == 2


def test_what_can_be_counted_is_shown() -> None:
    defined = {text for text in vars(names).values() if isinstance(text, str) and text.startswith("deskproof_")}
    # Requests aren't counted for themselves: each is timed.
    assert defined | {"deskproof_requests_total"} == {*COUNTERS, *HISTOGRAMS}


# -- Several


def test_each_worker_shows_all(tmp_path: Path) -> None:
    shared = Shared(str(tmp_path))
    tallies = [Tally(), Tally(), Tally()]
    workers = [metrics(tally, sockets=number) for number, tally in enumerate(tallies)]
    for worker in workers:
        worker.join(shared.claim())
    for number, tally in enumerate(tallies):
        tally.add(STEPS, ("lamps",), 10**number)
        tally.observe(REQUEST_SECONDS, ("http", "/step", "200"), 0.25)
        workers[number].flush()
    for worker in workers:
        found = shown(worker)
        assert value(found, "deskproof_steps_total", pack="lamps") == 111
        assert value(found, "deskproof_request_seconds_sum", protocol="http", route="/step") == 0.75
        assert value(found, "deskproof_request_seconds_count", protocol="http", route="/step") == 3
        assert value(found, "deskproof_sockets") == 0 + 1 + 2
        assert value(found, "deskproof_open_episodes") == 5  # the store is everybody's: it isn't added up


def test_what_one_worker_shows_the_next_one_shows_too(tmp_path: Path) -> None:
    shared, tally = Shared(str(tmp_path)), Tally()
    one, two = metrics(tally), metrics(Tally())
    one.join(shared.claim())
    two.join(shared.claim())
    tally.add(STEPS, ("lamps",), 7)  # no flush
    for worker in (one, two):
        assert value(shown(worker), "deskproof_steps_total", pack="lamps") == 7


def test_the_worker_after_a_dead_one(tmp_path: Path) -> None:
    shared, tally = Shared(str(tmp_path)), Tally()
    witness, dead = metrics(Tally()), metrics(tally, sockets=3)
    witness.join(shared.claim())
    file = shared.claim()
    dead.join(file)
    tally.add(STEPS, ("lamps",), 7)
    dead.flush()
    assert value(shown(witness), "deskproof_sockets") == 3
    shared.release(file)
    assert value(shown(witness), "deskproof_sockets") == 0
    assert value(shown(witness), "deskproof_steps_total", pack="lamps") == 7

    assert shared.claim() == file
    again = Tally()
    again.add(STEPS, ("lamps",))
    metrics(again, sockets=1).join(file)
    assert value(shown(witness), "deskproof_sockets") == 1
    assert value(shown(witness), "deskproof_steps_total", pack="lamps") == 8


def test_a_reload_leaves_no_more_files_than_there_were_workers(tmp_path: Path) -> None:
    shared = Shared(str(tmp_path))
    old = [shared.claim() for _ in range(2)]
    for _ in range(10):
        new = [shared.claim() for _ in range(2)]  # before the old ones leave
        assert not set(new) & set(old)
        for file in new:
            metrics(Tally()).join(file)
        for file in old:
            shared.release(file)
        old = new
    assert len(list(shared.folder.iterdir())) == 4


def test_a_folder_that_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shared, tally = Shared(str(tmp_path)), Tally()
    one = metrics(tally)
    file = shared.claim()
    one.join(file)
    shared.remove()
    assert list(tmp_path.iterdir()) == []
    tally.add(STEPS, ("lamps",), 7)
    for _ in range(3):
        one.flush()
    assert value(shown(one), "deskproof_steps_total", pack="lamps") == 7
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    shared.release(file)


COUNTING = """
import sys
from pathlib import Path
from server.metrics import Metrics
from server.tally import STEPS, Tally

tally = Tally()
metrics = Metrics(tally, "1", packs=lambda: (), sockets=lambda: 1, open_episodes=lambda: None)
metrics.join(Path(sys.argv[1]))
for number in range(1, 1_000_000):
    tally.add(STEPS, ("lamps",))
    metrics.flush()
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_kill_in_the_middle_of_anything(root: Path, tmp_path: Path) -> None:
    """Whatever was flushed stays, and at most the one count that was being flushed comes to it, each time."""
    shared, witness = Shared(str(tmp_path)), metrics(Tally())
    witness.join(shared.claim())
    flushed = 0
    for turn in range(1, 4):
        file = shared.claim()
        command = [sys.executable, "-c", COUNTING, str(file)]
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(100 * turn):
                process.stdout.readline()
            process.kill()
            rest = process.stdout.read().split("\n")  # the last line may have been cut off
            flushed += int(rest[-2]) if len(rest) > 1 else 100 * turn
        found = shown(witness)
        steps = value(found, "deskproof_steps_total", pack="lamps")
        assert steps is not None
        assert flushed <= steps <= flushed + turn
        flushed = int(steps)
        shared.release(file)
    assert value(shown(witness), "deskproof_sockets") == 0


CONFIGURATION = """
from server.metrics import Shared

preload_app = True
workers = 3
accesslog = None

def when_ready(server):
    server.shared = Shared(str({parent!r}))

def pre_fork(server, worker):
    worker.counted = server.shared.claim()

def post_worker_init(worker):
    worker.wsgi.metrics.join(worker.counted)

def child_exit(server, worker):
    server.shared.release(worker.counted)

def on_exit(server):
    server.shared.remove()
"""

APPLICATION = """
import os, time
from server.metrics import Metrics
from server.tally import REQUEST_SECONDS, STEPS, Tally

tally = Tally()
metrics = Metrics(tally, "1", packs=lambda: (), sockets=lambda: 1, open_episodes=lambda: None)

def application(environ, start_response):
    content, media_type = str(os.getpid()).encode(), "text/plain"
    if environ["PATH_INFO"] == "/master":
        content = str(os.getppid()).encode()
    elif environ["PATH_INFO"] == "/metrics":
        content, media_type = metrics.exposition(environ.get("HTTP_ACCEPT", ""))
    elif environ["PATH_INFO"] == "/count":
        tally.add(STEPS, ("lamps",))
        tally.observe(REQUEST_SECONDS, ("http", "/step", "200"), 0.25)
        metrics.flush()
        time.sleep(0.02)  # so that others have to take the requests beside it
    start_response("200 OK", [("Content-Type", media_type), ("Content-Length", str(len(content)))])
    return [content]

application.metrics = metrics
"""


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
def test_gunicorn_with_three_workers_of_which_one_is_killed(root: Path, tmp_path: Path) -> None:
    parent = tmp_path / "shared"
    parent.mkdir()
    (tmp_path / "conf.py").write_text(CONFIGURATION.format(parent=str(parent)), "utf-8")
    (tmp_path / "counting.py").write_text(APPLICATION, "utf-8")
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "-c", "conf.py", "-b", f"127.0.0.1:{port}", "counting:application"]
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{tmp_path}"}
    with (
        serving(command, port, cwd=tmp_path, env=environment) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as http,
        ThreadPoolExecutor(6) as pool,
    ):
        counted = 0

        def count_until_seen(fit: Callable[[set[int]], bool]) -> set[int]:
            """Lets requests be counted until the workers that have answered fit."""
            nonlocal counted
            seen: set[int] = set()

            def turn() -> bool:
                nonlocal counted
                seen.update(int(one.text) for one in pool.map(lambda _: http.get("/count"), range(12)))
                counted += 12
                return fit(seen)

            wait_until(turn, "the workers that should answer don't")
            return seen

        def found() -> Samples:
            return samples(http.get("/metrics").raise_for_status().text)

        workers = count_until_seen(lambda seen: len(seen) == 3)
        for _ in range(10):
            assert value(found(), "deskproof_steps_total", pack="lamps") == counted
        assert value(found(), "deskproof_sockets") == 3

        os.kill(min(workers), signal.SIGKILL)
        count_until_seen(lambda seen: bool(seen - workers))
        for _ in range(10):
            here = found()
            assert value(here, "deskproof_steps_total", pack="lamps") == counted
            assert value(here, "deskproof_request_seconds_count", protocol="http", route="/step") == counted
            assert value(here, "deskproof_request_seconds_sum", protocol="http", route="/step") == counted / 4
            assert value(here, "deskproof_sockets") == 3

        os.kill(int(http.get("/master").text), signal.SIGTTOU)  # one worker less
        wait_until(lambda: value(found(), "deskproof_sockets") == 2, "the sockets of the worker that left are counted")
        assert value(found(), "deskproof_steps_total", pack="lamps") == counted
        assert len(list(parent.iterdir())) == 1
    assert list(parent.iterdir()) == []
