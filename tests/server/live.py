"""Real servers, and sockets that do what no decent client does."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from tests.serving import free_port, healthy, stop

LAMPS = Path(__file__).with_name("lamps.yaml")
GUNICORN = ("-m", "server.app")
UVICORN = ("-m", "uvicorn", "server.app:app", "--port")
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
RESET = {"type": "reset", "data": {"ticket_id": "t-1", "seed": 1}}
STEP = {"type": "step", "data": {"type": "classify"}}
SOON = 30  # seconds in which anything should have happened


class Server(NamedTuple):
    port: int
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    def listening(self) -> str:
        (found,) = re.findall(r"Listening at: (\S+)", self.printed())
        return str(found)

    def printed(self) -> str:
        self.output.seek(0)
        return self.output.read().decode()


def environment(root: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root), "PACKS": str(LAMPS), **more}


@contextmanager
def running(
    root: Path, command: Sequence[str] = GUNICORN, *, port: int = 0, files: int = 0, **env: str
) -> Iterator[Server]:
    """A server that is ready. `files` is how many it may have open unless it asks for more; 0 leaves that as it is."""
    port = port or free_port()
    port_of_its_own = (str(port),) if command is UVICORN else ()
    shell = () if not files else ("sh", "-c", f'ulimit -Sn {files}; exec "$@"', "sh")
    with TemporaryFile() as output:
        process = subprocess.Popen(
            (*shell, sys.executable, *command, *port_of_its_own),
            env=environment(root, PORT=str(port), **env),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        server = Server(port, process, output)
        try:
            eventually(lambda: process.poll() is not None or healthy(server.http))
            assert process.poll() is None, server.printed()
            yield server
            assert "Traceback" not in server.printed()
        finally:
            stop(process)


def eventually(happened: Callable[[], Any]) -> None:
    end = time.monotonic() + SOON
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def refused(root: Path, command: Sequence[str], **env: str) -> str:
    """All that a server prints that doesn't start."""
    done = subprocess.run(
        (sys.executable, *command), env=environment(root, **env), capture_output=True, text=True, timeout=SOON
    )
    assert done.returncode == 1
    return done.stdout + done.stderr


# -- Sockets


def ask(socket: Connection, message: Any) -> dict[str, Any]:
    socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    reply: dict[str, Any] = json.loads(socket.recv(timeout=SOON))
    return reply


def farewell(socket: Connection) -> tuple[int, str]:
    """The code and the reason that the server closes with; nothing else comes before."""
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=SOON)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


class Raw:
    """A socket that does only what it is told to: it answers no ping and no goodbye."""

    def __init__(self, server: Server, path: str = "/ws") -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=SOON)
        self._file = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        assert b"101" in self._file.readline()
        while self._file.readline() != b"\r\n":
            pass

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def read(self) -> tuple[int, bytes] | None:
        """The opcode and the payload of the next frame; None where the connection is at its end."""
        try:
            head = self._file.read(2)
            if not head:
                return None
            size = head[1]
            if size >= 126:
                size = int.from_bytes(self._file.read(2 if size == 126 else 8), "big")
            return head[0] & 0x0F, self._file.read(size)
        except ConnectionResetError:
            return None

    def read_json(self) -> Any:
        frame = self.read()
        assert frame is not None
        assert frame[0] == TEXT
        return json.loads(frame[1])

    def close_code(self) -> int:
        """The code of the close frame, which nothing but pings comes before."""
        while True:
            frame = self.read()
            assert frame is not None
            if frame[0] != PING:
                assert frame[0] == CLOSE
                return int.from_bytes(frame[1][:2], "big")


def frame(
    opcode: int, payload: bytes | str = b"", *, last: bool = True, first_bits: int = 0, mask: bool = True
) -> bytes:
    """A frame as RFC 6455, 5.2 has it; the mask is all ones."""
    raw = payload.encode() if isinstance(payload, str) else payload
    size, masked = len(raw), 0x80 if mask else 0
    if size < 126:
        length = bytes([masked | size])
    elif size < 65_536:
        length = bytes([masked | 126]) + size.to_bytes(2, "big")
    else:
        length = bytes([masked | 127]) + size.to_bytes(8, "big")
    head = bytes([(0x80 if last else 0) | first_bits | opcode]) + length
    return head + b"\xff" * 4 + bytes(octet ^ 0xFF for octet in raw) if mask else head + raw
