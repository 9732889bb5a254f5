"""How much, and how slowly: bodies, headers, connections and episodes beyond what there is room for."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from engine.pack import Pack
from server.app import create_app
from server.body import MAX_BATCH
from server.intake import ROOM
from server.settings import Settings
from tests.server.guarded import client
from tests.server.live import GUNICORN, LAMPS, SOON, Server, eventually, running
from tests.server.specification import Specification
from tests.serving import free_port, healthy, serving

PARTS = 131_072  # objects and arrays, as docs/http-api.md has it

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def plain(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Everybody may play."""
    with running(root, STORE=f"sqlite:{tmp_path_factory.mktemp('plain') / 'episodes.db'}") as server:
        yield server


def test_so_many_may_be_open(lamps: Pack) -> None:
    """They are counted once a second, so a few more may come in."""
    http = create_app([lamps], configured=Settings(max_episodes=3)).test_client()

    def reset(name: str) -> int:
        return http.post("/reset", json={"episode_id": name, "ticket_id": "t-1"}).status_code

    assert [reset(name) for name in ("a", "b", "c")] == [200] * 3
    eventually(lambda: reset("a") == 503)
    refused = http.post("/reset", json={})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
    assert "3 open episodes" in refused.text
    for name in ("a", "b", "c"):  # what runs goes on, and makes room with its end
        for _ in range(10):
            assert http.post("/step", json={"episode_id": name, "action": {}}).status_code == 200
    eventually(lambda: reset("d") == 200)


def test_large_bodies_one_after_another(plain: Server) -> None:
    """Together they are more than there is room for; whatever becomes of one, it gives its room back."""
    large = b" " * (ROOM // 12)
    with client(plain) as http:
        for _ in range(5):
            found = [http.post(path, content=large + b"{").status_code for path in ("/batch/step", "/batch/nowhere")]
            assert found == [400, 404]
            assert http.post("/batch/step", content=large + b'{"items":[]}').json() == {"items": []}


def test_large_bodies_at_the_same_time(plain: Server) -> None:
    """Those that are never finished leave room for everything but large bodies, and none of it once they are gone."""
    large = b" " * (MAX_BATCH - 100) + b'{"items":[]}'
    with client(plain) as http, ExitStack() as held:
        described = Specification(http.get("/openapi.json").json())

        def is_crowded_by_one_more() -> bool:
            half = held.enter_context(socket.create_connection(("127.0.0.1", plain.port), timeout=SOON))
            half.sendall(f"POST /batch/step HTTP/1.1\r\nHost: x\r\nContent-Length: {MAX_BATCH}\r\n\r\n".encode())
            half.sendall(b" " * (MAX_BATCH - 1))
            refused = http.post("/batch/step", content=large)
            if refused.status_code != 503:
                return False
            described.check("POST", "/batch/step", 503, refused.headers, refused.content)
            return refused.headers["Retry-After"] == "1"

        eventually(is_crowded_by_one_more)
        assert http.post("/batch/reset", json={"items": [{"ticket_id": "t-1"}] * 100}).status_code == 200
        held.close()
        eventually(lambda: http.post("/batch/step", content=large).status_code == 200)


def test_a_body_of_many_parts(plain: Server) -> None:
    """So many objects and arrays are read, whatever they are; one more are not. Brackets in texts are none."""
    with client(plain) as http:
        described = Specification(http.get("/openapi.json").json())
        for path in ("/batch/reset", "/batch/step"):
            # The object, its array, and as many empty arrays: each is an item too many, which is another mistake.
            for parts, status in ((PARTS, 422), (PARTS + 1, 400)):
                answer = http.post(path, content=b'{"items":[' + b",".join([b"[]"] * (parts - 2)) + b"]}")
                told = described.check("POST", path, answer.status_code, answer.headers, answer.content)
                assert answer.status_code == status, told
            assert told["detail"].endswith(f"it has more than {PARTS} objects and arrays.")
            texts = json.dumps({"items": ["[" * (2 * PARTS)]})
            assert http.post(path, content=texts).status_code == 200


def test_a_body_that_trickles_is_told_so(root: Path) -> None:
    """A server with a minute's patience would make this last a minute: this one has a second's."""
    hasty = "from server import asgi, intake; asgi.Intake = lambda: intake.Intake(within=1)"
    with running(root, ("-c", f"{hasty}; from server.app import serve; serve()"), STORE="memory:") as server:
        described = Specification(httpx.get(f"{server.http}/openapi.json", trust_env=False).json())
        for path in ("/step", "/batch/step", "/create"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=SOON) as slow:
                slow.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n".encode())
                for _ in range(8):  # not after it was given up: that would break the answer off
                    slow.sendall(b" ")
                    time.sleep(0.1)
                answer = read(slow)
            told = described.check("POST", path, answer.status_code, answer.headers, answer.content)
            assert (told["status"], told["detail"]) == (408, "The body of the request did not come within 1 seconds.")
        assert healthy(server.http)


def read(connection: socket.socket) -> httpx.Response:
    """The answer that a connection ends with."""
    raw = b""
    while piece := connection.recv(65_536):
        raw += piece
    head, _, content = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return httpx.Response(int(first.split()[1]), headers=headers, content=content)


def test_headers_that_trickle_are_given_up(root: Path, tmp_path: Path) -> None:
    command = ("-m", "gunicorn", "--config", str(root / "server" / "gunicorn.conf.py"), "--keep-alive", "1")
    store = f"sqlite:{tmp_path / 'episodes.db'}"
    with (
        running(root, (*command, "server.app:app"), STORE=store) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=SOON) as slow,
    ):
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        slow.settimeout(0.1)

        def is_given_up() -> bool:
            try:
                slow.sendall(b"x: y\r\n")
                return slow.recv(1) == b""
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        eventually(is_given_up)


def test_more_connections_than_there_may_be_open_files(root: Path, tmp_path: Path) -> None:
    """Nobody is answered while somebody holds them all; afterwards everybody is."""
    port = free_port()
    shell = ("sh", "-c", 'ulimit -Sn 128; ulimit -Hn 128; exec "$@"', "sh")
    settings = {"PYTHONPATH": str(root), "PACKS": str(LAMPS), "PORT": str(port)}
    with serving((*shell, sys.executable, *GUNICORN), port, cwd=tmp_path, env={**os.environ, **settings}) as address:
        with ExitStack() as held:
            for _ in range(300):
                held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SOON))
        eventually(lambda: healthy(address))
        played = httpx.post(f"{address}/reset", json={"ticket_id": "t-1"}, trust_env=False, timeout=SOON)
        assert played.status_code == 200
