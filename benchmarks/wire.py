"""How fast the wire is, beside an OpenEnv server (FastAPI, uvicorn) whose environment shows the same.

python -m benchmarks.wire [SECONDS [ROUNDS]]

Both servers run at once, one worker each, with the defaults they ship with, both on uvloop; but ours keeps its episodes
in memory, as theirs does, unless STORE says otherwise. They are measured in short turns by the same client. The median
of the rounds counts, and a ratio is taken within each round: machines have slow minutes. All episodes play one case, as
trainers let them, so that the other environment can play back what ours shows: it has nothing to work out.

Ratios are of what a server does in a second of its own processor time. That is what one worker does with a core to
itself; by the clock, other jobs on the machine count as well, and for the fast server more than for the slow one: each
time it has answered everybody it waits for its client to get a core. What the clock says is printed too. Exits with 1
where a promised ratio isn't met.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import uvloop

from tests.serving import free_port, healthy, stop

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = 16  # sockets, or connections
BATCH = 64  # episodes in a request
BATCHES = 4  # connections that send batches
IDLE = 1_000
EPISODES = 32 * BATCH  # that are begun before HTTP steps are measured
TASK = "easy-info-collection"
FIELDS = "order_id account_email device_type browser order_id account_email browser browser".split()
# Nine steps that don't end the episode. What isn't needed is asked for too: that costs a reward, and no time.
ACTIONS: list[dict[str, str]] = [{"type": "classify"}, *({"type": "ask_info", "field": field} for field in FIELDS)]

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
            # Over HTTP each step has an environment of its own: it shows the middle of the episode.
            self._state = State(episode_id=None, step_count=len(recorded) // 2 - 1)

        def reset(self, seed: int | None = None, episode_id: str | None = None, **asked: Any) -> DeskObservation:
            self._state = State(episode_id=episode_id, step_count=0)
            return DeskObservation(**recorded[0])

        def step(self, action: DeskAction, timeout_s: float | None = None, **asked: Any) -> DeskObservation:
            self._state.step_count += 1
            return DeskObservation(**recorded[self._state.step_count], reward=0.25, done=False)

        @property
        def state(self) -> State:
            return self._state

    app = create_fastapi_app(Desk, DeskAction, DeskObservation, max_concurrent_envs=2 * IDLE)
    uvicorn.run(app, host="127.0.0.1", port=port, loop="uvloop", log_level="error", access_log=False)


def recorded_observations() -> list[dict[str, Any]]:
    """What our server shows in an episode of ACTIONS."""
    from server.app import create_app
    from server.store.memory import MemoryStore

    client = create_app(store=MemoryStore()).test_client()
    bodies: list[Any] = [client.post("/reset", json={"task_id": TASK, "seed": 1}).json]
    bodies += [client.post("/step", json={"action": action}).json for action in ACTIONS]
    return [body["observation"] for body in bodies]


# -- A turn


class Server(NamedTuple):
    address: str
    pid: int

    def used(self) -> float:
        """Processor time, in seconds: its own, and that of the processes that it started."""
        # What clock_getcpuclockid gives: Linux's clock of what a process has used.
        return sum(time.clock_gettime(~pid << 3 | 2) for pid in (self.pid, *children(self.pid)))


class Turn(NamedTuple):
    """Steps or messages, and the seconds that they took: on the clock, and of the server's processor time."""

    answered: int
    clock: float
    used: float


Player = Callable[[float], Coroutine[Any, Any, int]]  # plays until a time, and returns how many were answered


async def take_turn(server: Server, seconds: float, players: Iterable[Player]) -> Turn:
    used, start = server.used(), time.perf_counter()
    counts = await asyncio.gather(*(play(start + seconds) for play in players))
    return Turn(sum(counts), time.perf_counter() - start, server.used() - used)


# -- HTTP


class Connection(asyncio.BufferedProtocol):
    """A connection that is kept alive and sends one request after another. Nothing is made of the answers: what the
    client does, it does beside the server, mostly on the other half of its core."""

    def __init__(self) -> None:
        self._missing = 0
        self._buffer = bytearray(1 << 18)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    async def exchange(self, requests: Iterable[bytes], together: int = 1, end: float = math.inf) -> int:
        """How many steps were answered, `together` a request, when there are no more requests or it is `end`."""
        self._requests, self._end, self._answered = iter(requests), end, 0
        self._done = asyncio.get_running_loop().create_future()
        self._next()
        await self._done
        return self._answered * together

    def _next(self) -> None:
        request = next(self._requests, None) if time.perf_counter() < self._end else None
        if request is None:
            self._done.set_result(None)
        else:
            self.transport.write(request)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if not self._missing:
            end = self._buffer.find(b"\r\n\r\n", 0, nbytes)
            head = bytes(self._buffer[:end]).lower()
            if not head.startswith(b"http/1.1 200"):
                self._done.set_exception(RuntimeError(self._buffer[:nbytes].decode()))
                return
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._missing = end + 4 + int(length)
        self._missing -= nbytes
        if not self._missing:
            self._answered += 1
            self._next()


async def connections(url: str, number: int) -> list[Connection]:
    address = urlsplit(url)
    connect = asyncio.get_running_loop().create_connection
    return [(await connect(Connection, address.hostname or "", address.port or 80))[1] for _ in range(number)]


def post(path: str, body: Any) -> bytes:
    content = json.dumps(body, separators=(",", ":")).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n%b" % (len(content), content)


async def http_steps(server: Server, seconds: float) -> Turn:
    return await timed_steps(server, seconds, SESSIONS, 1)


async def batch_steps(server: Server, seconds: float) -> Turn:
    return await timed_steps(server, seconds, BATCHES, BATCH)


async def timed_steps(server: Server, seconds: float, number: int, together: int) -> Turn:
    """Steps over a number of connections, `together` in a request. Beginning the episodes takes no time."""
    names = [f"http-{episode}" for episode in range(EPISODES)]
    items = [{"episode_id": name, "task_id": TASK, "seed": 1} for name in names]
    reset = f"{server.address}/batch/reset"
    with suppress(HTTPError):  # the other server keeps no episodes
        for first in range(0, EPISODES, 1_000):
            urlopen(Request(reset, json.dumps({"items": items[first : first + 1_000]}).encode())).close()
    groups = [names[first : first + together] for first in range(0, EPISODES, together)]
    shares = [list(steps(groups[first::number])) for first in range(number)]
    made = await connections(server.address, number)
    players = [partial(connection.exchange, share, together) for connection, share in zip(made, shares, strict=True)]
    turn = await take_turn(server, seconds, players)
    for connection in made:
        connection.transport.close()
    return turn


def steps(groups: list[list[str]]) -> Iterator[bytes]:
    """The requests that take these groups of episodes through ACTIONS."""
    for group in groups:
        for action in ACTIONS:
            items = [{"episode_id": name, "action": action} for name in group]
            yield post("/step", items[0]) if len(group) == 1 else post("/batch/step", {"items": items})


# -- WebSocket: whole episodes over and over, resets and all; messages are counted


async def own_client(server: Server, seconds: float) -> Turn:
    """With OpenEnv's own client."""
    from openenv.core import GenericEnvClient

    async def play(env: Any, number: int, end: float) -> int:
        count = 0
        while time.perf_counter() < end:
            await env.reset(seed=1, episode_id=f"own-{number}", task_id=TASK)
            for action in ACTIONS:
                await env.step(action)
            count += 1 + len(ACTIONS)
        return count

    async with AsyncExitStack() as stack:
        clients = [GenericEnvClient(base_url=server.address) for _ in range(SESSIONS)]
        made = [await stack.enter_async_context(client) for client in clients]
        return await take_turn(server, seconds, [partial(play, env, number) for number, env in enumerate(made)])


async def plain_client(server: Server, seconds: float) -> Turn:
    """With the `websockets` package as it is; nothing is made of the answers."""
    from websockets.asyncio.client import connect

    messages = [json.dumps({"type": "step", "data": action}) for action in ACTIONS]

    async def play(socket: Any, number: int, end: float) -> int:
        count = 0
        asked = {"seed": 1, "episode_id": f"plain-{number}", "task_id": TASK}
        episode = [json.dumps({"type": "reset", "data": asked}), *messages]
        while time.perf_counter() < end:
            for message in episode:
                await socket.send(message)
                answer = str(await socket.recv())
                if '"error"' in answer[:20]:
                    raise RuntimeError(answer)
            count += len(episode)
        return count

    async with AsyncExitStack() as stack:
        sockets = [connect(websocket(server), proxy=None) for _ in range(SESSIONS)]
        made = [await stack.enter_async_context(socket) for socket in sockets]
        return await take_turn(server, seconds, [partial(play, socket, number) for number, socket in enumerate(made)])


def websocket(server: Server) -> str:
    return server.address.replace("http", "ws", 1) + "/ws"


async def idle_sockets(server: Server) -> tuple[float, float]:
    """How much memory a socket takes, in kB, and the slowest of 200 calls of /health, in ms, while IDLE are held."""
    from websockets.asyncio.client import connect

    before = resident(server.pid)
    limit = asyncio.Semaphore(50)

    async def hold() -> Any:
        async with limit:
            return await connect(websocket(server), proxy=None, ping_interval=None)

    sockets = await asyncio.gather(*(hold() for _ in range(IDLE)))
    each = (resident(server.pid) - before) / IDLE
    slowest = 0.0
    (connection,) = await connections(server.address, 1)
    for _ in range(200):
        await asyncio.sleep(0.01)
        start = time.perf_counter()
        await connection.exchange([b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"])
        slowest = max(slowest, time.perf_counter() - start)
    await asyncio.gather(*(socket.close() for socket in sockets))
    return each, slowest * 1000


# -- One run

MEASURES = (http_steps, own_client, plain_client, batch_steps)
# What is measured, what it is called, and the ratio that is promised. Batches are compared with their WebSocket.
PROMISED = {
    "http_steps": (f"HTTP /step, {SESSIONS} connections", 5),
    "own_client": (f"WebSocket, {SESSIONS} sessions, OpenEnv's client", 2),
    "plain_client": (f"WebSocket, {SESSIONS} sessions, websockets", 3),
    "batch_steps": (f"/batch/step, {BATCH} episodes, to their WebSocket", 40),
}


def start(command: list[str], port: int, closing: ExitStack, **env: str) -> Server:
    """A server, once it answers."""
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **env}, start_new_session=True
    )
    closing.callback(stop, process)
    address = f"http://127.0.0.1:{port}"
    while not healthy(address):
        if process.poll() is not None:
            sys.exit(f"{command} ended with {process.returncode}")
        time.sleep(0.1)
    return Server(address, process.pid)


def resident(pid: int) -> int:
    """The memory of a process and its children, in kB."""
    status = Path(f"/proc/{pid}/status").read_text()
    own = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    return own + sum(resident(child) for child in children(pid))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    turns: dict[tuple[str, str], list[Turn]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
        observations = Path(folder) / "observations.json"
        observations.write_text(json.dumps(recorded_observations()), "utf-8")
        ports = free_port(), free_port()
        theirs = start([sys.executable, __file__, "reference", str(ports[0]), str(observations)], ports[0], closing)
        kept = os.environ.get("STORE", "memory:")
        ours = start([sys.executable, "-m", "server.app"], ports[1], closing, PORT=str(ports[1]), STORE=kept)
        for _ in range(rounds):
            for measure in MEASURES:
                turns[measure.__name__, "ours"].append(uvloop.run(measure(ours, seconds)))
                if measure is not batch_steps:
                    turns[measure.__name__, "theirs"].append(uvloop.run(measure(theirs, seconds)))
        each, slowest = uvloop.run(idle_sockets(ours))
    sockets = [turns[name, "theirs"] for name in ("own_client", "plain_client")]
    turns["batch_steps", "theirs"] = max(sockets, key=own)
    print(f"{'a second':50}{'on the clock':>20}{'of its own time':>20}")
    print(f"{'':50}{'ours':>10}{'theirs':>10}{'ours':>10}{'theirs':>10}{'ratio':>8}{'at least':>10}")
    short = slowest >= 50
    for name, (title, least) in PROMISED.items():
        both = turns[name, "ours"], turns[name, "theirs"]
        ratio = median(our.answered / our.used * their.used / their.answered for our, their in zip(*both, strict=True))
        numbers = "".join(f"{rate:10,.0f}" for rate in (*map(clock, both), *map(own, both)))
        print(f"{title:50}{numbers}{ratio:8.1f}{least:10}")
        short = short or ratio < least
    print(f"{IDLE:,} idle sockets: {each:.0f} kB each; the slowest of 200 GET /health took {slowest:.1f} ms (below 50)")
    if short:
        sys.exit(1)


def clock(turns: list[Turn]) -> float:
    return median(turn.answered / turn.clock for turn in turns)


def own(turns: list[Turn]) -> float:
    return median(turn.answered / turn.used for turn in turns)


if __name__ == "__main__":
    if sys.argv[1:2] == ["reference"]:
        reference(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
