"""A server in a process of its own, for the length of a test run. Imports nothing of the engine.

The engine's keeper, run by its path, ends it with the process that asked for it, however that one ends.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deskproof_pytest.own import HERE

# Seconds until it answers, packs that nobody has proved yet included; and until it has ended.
START, END = 180.0, 15.0
SECONDS = 60.0
# How often another port is tried, where somebody takes the one that was free a moment ago.
TRIES = 5
_TAKEN = "is already taken"
_KEEPER = str(HERE / "engine" / "evaluation" / "keeper.py")

# Our own modules come first, whatever else is called so; what is installed, before what somebody has put on the path.
_RUN = """
import json, sys
own, *more = json.loads(sys.argv.pop(1))
sys.path.insert(0, own)
import engine, graders, server
sys.path[:] = sys.path[1:] + more
from engine.entry import run
run()
"""

# What would make another server of it than the one that is meant here.
_SETTINGS = frozenset(
    "ALLOW_UNPROVED BURST CORS EXTRA_PORTS GUNICORN_CMD_ARGS GUNICORN_FD IDLE KEEP LOG LOG_LEVEL MAX_EPISODES "
    "MAX_SESSIONS PACKS PORT RATE STORE TOKENS WATCH WORKERS WS_IDLE WS_PING WS_SILENT".split()
)


class NoServer(Exception):
    """The server can't be started; the text has what it said."""


class SupportServer:
    """A server that runs: `url`, without a slash at its end, and `port`."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._log = log

    def __repr__(self) -> str:
        return f"<SupportServer {self.url}>"

    @property
    def log(self) -> str:
        """All that it has said so far."""
        return self._log.read_text("utf-8", "replace")

    def get(self, path: str) -> Any:
        """The answer to a GET, as data. Raises AssertionError where it isn't a good one."""
        __tracebackhide__ = True
        return self._request("GET", path, None)

    def post(self, path: str, body: Any = None) -> Any:
        """The answer to a POST of JSON, as data. Raises AssertionError where it isn't a good one."""
        __tracebackhide__ = True
        return self._request("POST", path, body)

    def _request(self, method: str, path: str, body: Any) -> Any:
        __tracebackhide__ = True
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            content = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
            connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise AssertionError(f"{method} {path}: {response.status} {response.reason}\n{answer.decode()}")
        return json.loads(answer) if answer else None


@contextmanager
def serving(packs: Sequence[str | os.PathLike[str]]) -> Iterator[SupportServer]:
    """A server of `packs`, by default of the shipped ones, that keeps episodes in memory.

    Raises:
        NoServer: it doesn't start.
    """
    with TemporaryDirectory(prefix="deskproof-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        kept, server = _started([str(pack) for pack in packs], folder)
        try:
            yield server
        finally:
            kept.end()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A process that lives as long as this one holds its lifeline."""

    process: subprocess.Popen[bytes]
    lifeline: int

    def end(self) -> None:
        """Ends it, and all that it started: politely, then by force."""
        os.close(self.lifeline)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END)
        self.process.kill()
        self.process.wait()


def _started(packs: Sequence[str], folder: Path) -> tuple[_Kept, SupportServer]:
    for number in range(TRIES):
        server = SupportServer(_free_port(), folder / f"log-{number}")
        kept = _kept(server.port, packs, folder, folder / f"log-{number}")
        try:
            what = _wait(kept.process, server)
        except BaseException:  # Ctrl-C too
            kept.end()
            raise
        if what is None:
            return kept, server
        kept.end()
        if _TAKEN not in server.log:
            break
    raise NoServer(f"{what} It said:\n{server.log.strip() or '(nothing)'}")


def _kept(port: int, packs: Sequence[str], folder: Path, log: Path) -> _Kept:
    """The process. It stands in an empty folder, and in a session of its own: Ctrl-C is for pytest, which ends it."""
    env = {name: value for name, value in os.environ.items() if name not in _SETTINGS}
    env["XDG_STATE_HOME"] = str(folder)
    put = filter(None, env.pop("PYTHONPATH", "").split(os.pathsep))
    path = json.dumps([str(HERE), *map(os.path.abspath, put)])
    command = [sys.executable, "-P", "-c", _RUN, path, "serve", "--host", "127.0.0.1", "--port", str(port)]
    theirs, lifeline = os.pipe()
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, str(theirs), *command, "--store", "memory:", *packs],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs,),
                start_new_session=True,
            )
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(theirs)
    return _Kept(process, lifeline)


def _wait(process: subprocess.Popen[bytes], server: SupportServer) -> str | None:
    """None once it serves; otherwise why it doesn't."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        code = process.poll()
        if code is not None:
            return f"The support server didn't start: it ended with {code}."
        # Another server on the same port would answer too: this one has said that it listens there.
        if f"127.0.0.1:{server.port}" in server.log and _is_healthy(server):
            return None
        time.sleep(0.05)
    return f"The support server didn't start within {START:g} s."


def _is_healthy(server: SupportServer) -> bool:
    try:
        server.get("/health")
    except (OSError, http.client.HTTPException, AssertionError, ValueError):
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
