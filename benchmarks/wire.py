"""How fast the wire is, beside an OpenEnv server (FastAPI, uvicorn, uvloop) with an environment of the same observation.

python -m benchmarks.wire [SECONDS [ROUNDS]]

Both servers run beside each other, one worker each, and are measured in turns from this process; the median of the
rounds counts. Exits with 1 where a ratio is below what the project promises.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import uvloop

from tests.serving import free_port, healthy, stop

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = 16
BATCH = 64
IDLE = 1_000
TASK = "easy-info-collection"
# Nine steps that don't end the episode; what some of them ask for isn't needed, which costs a reward and no time.
ACTIONS: list[dict[str, Any]] = [{"type": "classify"}] + [
    {"type": "ask_info", "field": field}
    for field in ("order_id", "account_email", "device_type", "browser", "order_id", "account_email", "browser", "browser")
]
# The ratios that are promised, and what is measured.
LEAST = {"HTTP /step": 5, "OpenEnv's client": 2, "websockets": 3, "/batch/step": 40}
TITLES = {
    "HTTP /step": f"HTTP /step, {SESSIONS} connections",
    "OpenEnv's client": f"WebSocket, {SESSIONS} sessions, OpenEnv's client",
    "websockets": f"WebSocket, {SESSIONS} sessions, websockets",
    "/batch/step": f"/batch/step, {BATCH} episodes, to their WebSocket",
}
BATCHES = 4  # connections that send batches
EPISODES = 4_096  # begun at a time
GROUP = 16  # episodes of one case
SEEDS = itertools.count()

# -- The server to compare with, in a process of its own


def reference(port: int, observations: Path) -> None:
    """Serve an OpenEnv environment that plays back these observations."""
    import uvicorn
    from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

    recorded = json.loads(observations.read_text("utf-8"))

    class DeskAction(Action):
        type: str
        field: str | None = None

    class DeskObservation(Observation):
        ticket_id: str
        customer_message: str
        history: list[dict[str, Any]]
        known_info: dict[str, str]
        required: list[str]
        missing_required: list[str]
        info_progress: float
        status: str
        step_count: int
        remaining_steps: int

    class Desk(Environment[DeskAction, DeskObservation, State]):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._state = State(episode_id=None, step_count=len(recorded) // 2)

        def reset(self, seed: int | None = None, episode_id: str | None = None, **asked: Any) -> DeskObservation:
            self._state = State(episode_id=episode_id, step_count=0)
            return DeskObservation(**recorded[0])

        def step(self, action: DeskAction, timeout_s: float | None = None, **asked: Any) -> DeskObservation:
            self._state.step_count = min(self._state.step_count + 1, len(recorded) - 1)
            return DeskObservation(**recorded[self._state.step_count], reward=0.25, done=False)

        @property
        def state(self) -> State:
            return self._state

    app = create_fastapi_app(Desk, DeskAction, DeskObservation, max_concurrent_envs=2 * IDLE)
    uvicorn.run(app, host="127.0.0.1", port=port, loop="uvloop", log_level="error", access_log=False)


def recorded_observations() -> list[dict[str, Any]]:
    """What our server shows in an episode of ACTIONS, so that both have the same to send."""
    from server.app import create_app

    client = create_app().test_client()
    bodies: list[Any] = [client.post("/reset", json={"task_id": TASK, "seed": 1}).json]
    bodies += [client.post("/step", json={"action": action}).json for action in ACTIONS]
    return [body["observation"] for body in bodies]


# -- HTTP


def post(path: str, body: Any) -> bytes:
    content = json.dumps(body, separators=(",", ":")).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


class Connection(asyncio.Protocol):
    """A connection that is kept alive and sends one request after another."""

    def __init__(self) -> None:
        self._buffer: list[bytes] = []
        self._missing = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    async def exchange(self, requests: Iterable[bytes], end: float = math.inf) -> int:
        """The number of answers, when there are no more requests or it is `end`."""
        self._requests, self._end, self._answered = iter(requests), end, 0
        self._done = asyncio.get_running_loop().create_future()
        self._next()
        await self._done
        return self._answered

    def _next(self) -> None:
        request = next(self._requests, None) if time.perf_counter() < self._end else None
        if request is None:
            self._done.set_result(None)
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        if not self._missing:
            head, _, _ = data.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                self._done.set_exception(RuntimeError(data.decode()))
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._missing = len(head) + 4 + int(length)
        self._missing -= len(data)
        if not self._missing:
            self._answered += 1
            self._next()


async def connect_all(url: str, number: int) -> list[Connection]:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Connection, parts.hostname, parts.port))[1] for _ in range(number)]


Count = tuple[int, float]  # how many, in how many seconds


async def http_steps(url: str, seconds: float) -> Count:
    """Steps over SESSIONS connections, of episodes that were begun before."""
    return await timed_steps(url, seconds, SESSIONS, 1)


async def batch_steps(url: str, seconds: float) -> Count:
    """The same, over BATCHES connections, of BATCH episodes in each request."""
    return await timed_steps(url, seconds, BATCHES, BATCH)


async def timed_steps(url: str, seconds: float, connections: int, together: int) -> Count:
    """Steps of EPISODES episodes, `together` of them in a request. Beginning them takes no time."""
    made = await connect_all(url, connections)
    count, took = 0, 0.0
    while took < seconds:
        begin(url)
        shares = [list(steps(first, connections, together)) for first in range(connections)]
        start = time.perf_counter()
        end = start + seconds - took
        answered = await asyncio.gather(*(c.exchange(share, end) for c, share in zip(made, shares, strict=True)))
        count += sum(answered) * together
        took += time.perf_counter() - start
    for connection in made:
        connection.transport.close()
    return count, took


def steps(first: int, connections: int, together: int) -> Iterator[bytes]:
    """The requests of one connection: every step of its share of the episodes."""
    names = [f"http-{number}" for number in range(EPISODES)]
    groups = [names[start : start + together] for start in range(0, EPISODES, together)]
    for group in groups[first::connections]:
        for action in ACTIONS:
            items = [{"episode_id": name, "action": action} for name in group]
            yield post("/step", items[0]) if together == 1 else post("/batch/step", {"items": items})


def begin(url: str) -> None:
    """Reset the episodes, where the server keeps any: groups of GROUP play the same case, as trainers let them."""
    items = [
        {"episode_id": f"http-{number}", "task_id": TASK, "seed": next(SEEDS) if number % GROUP == 0 else None}
        for number in range(EPISODES)
    ]
    for before, item in pairwise(items):
        if item["seed"] is None:
            item["seed"] = before["seed"]
    with suppress(HTTPError), urlopen(Request(f"{url}/batch/reset", json.dumps({"items": items}).encode())):
        pass


# -- WebSocket


async def at_once(player: Callable[[int, float], Coroutine[Any, Any, int]], seconds: float) -> Count:
    """The messages of SESSIONS players, each of which plays until a time and says how many it exchanged."""
    start = time.perf_counter()
    counts = await asyncio.gather(*(player(number, start + seconds) for number in range(SESSIONS)))
    return sum(counts), time.perf_counter() - start


async def own_client(url: str, seconds: float) -> Count:
    """With OpenEnv's own client."""
    from openenv.core import GenericEnvClient

    async def play(number: int, end: float) -> int:
        count = 0
        async with GenericEnvClient(base_url=url) as env:
            while time.perf_counter() < end:
                await env.reset(seed=next(SEEDS), episode_id=f"own-{number}", task_id=TASK)
                for action in ACTIONS:
                    await env.step(action)
                count += 1 + len(ACTIONS)
        return count

    return await at_once(play, seconds)


async def plain_client(url: str, seconds: float) -> Count:
    """With the `websockets` package; nothing is made of the answers."""
    from websockets.asyncio.client import connect

    steps = [json.dumps({"type": "step", "data": action}) for action in ACTIONS]

    async def play(number: int, end: float) -> int:
        count = 0
        async with connect(url.replace("http", "ws", 1) + "/ws", proxy=None) as socket:
            while time.perf_counter() < end:
                asked = {"seed": next(SEEDS), "episode_id": f"ws-{number}", "task_id": TASK}
                for message in (json.dumps({"type": "reset", "data": asked}), *steps):
                    await socket.send(message)
                    answer = await socket.recv()
                    if '"error"' in answer[:30]:
                        raise RuntimeError(answer)
                count += 1 + len(ACTIONS)
        return count

    return await at_once(play, seconds)


async def idle_sockets(url: str, pid: int) -> tuple[float, float]:
    """How much memory a socket takes, in kB, and the slowest of 200 calls of /health, in ms, while IDLE are held."""
    from websockets.asyncio.client import connect

    before = resident(pid)
    address = url.replace("http", "ws", 1) + "/ws"
    async with asyncio.TaskGroup() as group:
        limit = asyncio.Semaphore(50)

        async def hold() -> Any:
            async with limit:
                return await connect(address, proxy=None, ping_interval=None)

        tasks = [group.create_task(hold()) for _ in range(IDLE)]
    sockets = [task.result() for task in tasks]
    each = (resident(pid) - before) / IDLE
    slowest = 0.0
    (connection,) = await connect_all(url, 1)
    for _ in range(200):
        await asyncio.sleep(0.01)
        start = time.perf_counter()
        await connection.exchange([b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"])
        slowest = max(slowest, time.perf_counter() - start)
    await asyncio.gather(*(socket.close() for socket in sockets))
    return each, slowest * 1000


def resident(pid: int) -> int:
    """The memory of a process and its children, in kB."""
    status = Path(f"/proc/{pid}/status").read_text()
    own = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    return own + sum(resident(child) for child in children(pid))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# -- One run


def start(command: list[str], port: int, closing: ExitStack, **env: str) -> tuple[str, int]:
    """A server's address and process id, once it answers."""
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **env}, start_new_session=True
    )
    closing.callback(stop, process)
    address = f"http://127.0.0.1:{port}"
    while not healthy(address):
        if process.poll() is not None:
            sys.exit(f"{command} ended with {process.returncode}")
        time.sleep(0.1)
    return address, process.pid


class Line:
    """What is measured of one server, round by round: requests a second, and a second of its processor's time."""

    def __init__(self, server: tuple[str, int], measure: Callable[[str, float], Coroutine[Any, Any, Count]]) -> None:
        self.url, self.pid = server
        self.measure = measure
        self.rates: list[float] = []
        self.by_processor: list[float] = []

    def run(self, seconds: float) -> None:
        busy = processor_time(self.pid)
        count, took = uvloop.run(self.measure(self.url, seconds))
        self.rates.append(count / took)
        self.by_processor.append(count / (processor_time(self.pid) - busy))


def processor_time(pid: int) -> float:
    """What a process and its children have used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_time(child) for child in children(pid))


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
        observations = Path(folder) / "observations.json"
        observations.write_text(json.dumps(recorded_observations()), "utf-8")
        ports = free_port(), free_port()
        theirs = start([sys.executable, __file__, "reference", str(ports[0]), str(observations)], ports[0], closing)
        ours = start([sys.executable, "-m", "server.app"], ports[1], closing, PORT=str(ports[1]))
        measures = {"HTTP /step": http_steps, "OpenEnv's client": own_client, "websockets": plain_client}
        pairs = {name: (Line(ours, measure), Line(theirs, measure)) for name, measure in measures.items()}
        batch = Line(ours, batch_steps)
        for _ in range(rounds):
            for line in (*(line for pair in pairs.values() for line in pair), batch):
                line.run(seconds)
        each, slowest = uvloop.run(idle_sockets(*ours))
    pairs["/batch/step"] = batch, max(pairs["OpenEnv's client"][1], pairs["websockets"][1], key=lambda line: median(line.rates))
    print(f"{'a second':44}{'ours':>10}{'theirs':>10}{'ratio':>8}{'at least':>10}{'ratio by processor':>20}")
    short = slowest >= 50
    for name, least in LEAST.items():
        mine, other = pairs[name]
        rate, base = median(mine.rates), median(other.rates)
        ratio, by_processor = rate / base, median(mine.by_processor) / median(other.by_processor)
        print(f"{TITLES[name]:44}{rate:10,.0f}{base:10,.0f}{ratio:8.1f}{least:10}{by_processor:20.1f}")
        short = short or ratio < least
    print(f"{IDLE:,} idle sockets: {each:.0f} kB each; the slowest of 200 GET /health took {slowest:.1f} ms (below 50)")
    if short:
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["reference"]:
        reference(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
