"""Runs a real server for a test, in a process group of its own, and ends it afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen


def free_port() -> int:
    """A TCP port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def fresh_environment() -> dict[str, str]:
    """The environment of somebody who runs neither pytest nor make, and has no virtual environment active."""
    dropped = ("PYTHON", "VIRTUAL_ENV", "PYTEST", "MAKE", "MFLAGS", "PORT", "EXTRA_PORTS", "WORKERS", "PACKS", "STORE")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


@contextmanager
def serving(
    command: Sequence[str],
    port: int,
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    user: int | None = None,
    seconds: float = 60,
) -> Iterator[str]:
    """Starts `command` and yields the server's address once `/health` answers, within `seconds`.

    `user` is the numeric id to run as (its group is the same number). Raises AssertionError with everything that the
    command printed where it ends or is too late.
    """
    address = f"http://127.0.0.1:{port}"
    with TemporaryFile() as output, TemporaryDirectory(prefix="deskproof-", ignore_cleanup_errors=True) as state:
        if user is not None:
            os.chown(state, user, user)
        # Each server keeps its episodes for itself, unless the test says otherwise.
        env = {"XDG_STATE_HOME": state, **(os.environ if env is None else env)}
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdout=output, stderr=output, start_new_session=True, **as_user(user)
        )
        try:
            end = time.monotonic() + seconds
            while not healthy(address):
                if process.poll() is not None or time.monotonic() > end:
                    output.seek(0)
                    raise AssertionError(f"{command} serves nothing on {port}:\n{output.read().decode()}")
                time.sleep(0.05)
            yield address
        finally:
            stop(process)


def as_user(user: int | None) -> dict[str, Any]:
    """The keywords that make subprocess run a command as `user`; none where that is whoever runs the tests."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def healthy(address: str) -> bool:
    try:
        with urlopen(f"{address}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, ConnectionError, TimeoutError):
        return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the whole group: politely, and after ten seconds by force."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
            process.wait(timeout=10)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            process.wait()
            return
