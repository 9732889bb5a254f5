"""The server as a process: gunicorn as it ships, driven over real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.live import eventually
from tests.serving import free_port, healthy, serving

LAMPS = Path(__file__).with_name("lamps.yaml")
COMMAND = (sys.executable, "-m", "server.app")
GOOD = (
    {"type": "classify"},
    {"type": "ask_info", "field": "order"},
    {"type": "ask_info", "field": "email"},
    {"type": "resolve"},
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


def environment(root: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root), "PACKS": str(LAMPS), **more}


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that was started from a folder of its own."""
    port = free_port()
    folder = tmp_path_factory.mktemp("elsewhere")
    with serving(COMMAND, port, cwd=folder, env=environment(root, PORT=str(port))) as url:
        yield url


def client(address: str) -> httpx.Client:
    # Nothing is to be verified: to load certificates takes longer than to ask.
    return httpx.Client(base_url=address, trust_env=False, verify=False, timeout=30)


def failed(root: Path, cwd: Path, **more: str) -> str:
    """What a server that won't start says."""
    done = subprocess.run(COMMAND, cwd=cwd, env=environment(root, **more), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stderr


def test_a_client_with_cookies(address: str) -> None:
    with client(address) as http:
        http.post("/reset", json={"ticket_id": "t-1", "seed": 1}).raise_for_status()
        answers = [http.post("/step", json={"action": action}).raise_for_status().json() for action in GOOD]
    assert [answer["reward"] for answer in answers] == [0.5, 0.25, 0.25, 1.0]
    assert answers[-1]["done"] is True
    assert (answers[-1]["metadata"]["score"], answers[-1]["metadata"]["addressed_by"]) == (1.0, "cookie")


def test_a_client_without_anything(address: str) -> None:
    def post(path: str, body: Any) -> Any:
        return httpx.post(address + path, json=body, trust_env=False, verify=False).raise_for_status().json()

    first = post("/reset", {"ticket_id": "t-1"})
    answers = [post("/step", action) for action in GOOD]
    assert {answer["metadata"]["episode_id"] for answer in answers} == {first["metadata"]["episode_id"]}
    assert {answer["metadata"]["addressed_by"] for answer in answers} == {"address"}
    assert answers[-1]["metadata"]["score"] == 1.0


def test_many_clients_at_once(address: str) -> None:
    def play(number: int) -> list[str]:
        with client(address) as http:
            http.post("/reset", json={"episode_id": f"many-{number}", "ticket_id": "t-1", "seed": 1}).raise_for_status()
            bodies = [http.post("/step", json={"action": action}).raise_for_status().text for action in GOOD]
        return [body.replace(f"many-{number}", "many") for body in bodies]

    with ThreadPoolExecutor(16) as pool:
        transcripts = list(pool.map(play, range(48)))
    assert all(transcript == transcripts[0] for transcript in transcripts)


def test_many_writers_of_one_episode(address: str) -> None:
    """Each step is taken by one of them; whoever came too late is told so."""
    with client(address) as http:
        http.post("/reset", json={"episode_id": "shared", "ticket_id": "t-1"}).raise_for_status()

        def step(number: int) -> httpx.Response:
            return http.post("/step", json={"action": {"number": number}, "episode_id": "shared"})

        with ThreadPoolExecutor(16) as pool:
            responses = list(pool.map(step, range(32)))
        taken = [answer.json()["observation"]["step_count"] for answer in responses if answer.status_code == 200]
        assert sorted(taken) == list(range(1, 11))
        assert {answer.status_code for answer in responses} == {200, 409}
        assert http.get("/state", params={"episode_id": "shared"}).json()["step_count"] == 10


def test_many_repeats_of_one_request(address: str) -> None:
    body = {"episode_id": "repeated", "ticket_id": "t-1", "request_id": "r0"}
    with client(address) as http, ThreadPoolExecutor(16) as pool:
        resets = list(pool.map(lambda _: http.post("/reset", json=body), range(16)))
        step = {"action": {"type": "classify"}, "episode_id": "repeated", "request_id": "r1"}
        steps = list(pool.map(lambda _: http.post("/step", json=step), range(16)))
        assert len({answer.text for answer in resets}) == len({answer.text for answer in steps}) == 1
        state = http.get("/state", params={"episode_id": "repeated"}).json()
    assert state["step_count"] == 1


def test_a_body_that_is_too_large(address: str) -> None:
    large = b" " * 1_000_000
    with client(address) as http:
        for content in (large, iter([large[:500_000]] * 2)):
            response = http.post("/reset", content=content)
            assert (response.status_code, response.headers["content-type"]) == (413, "application/problem+json")
        assert http.get("/health").json() == {"status": "healthy"}


def test_nothing_redirects(address: str) -> None:
    for path, status in (("//health", b"200"), ("/health/", b"404"), ("/health//", b"404")):
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            assert connection.makefile("rb").readline().split()[1] == status, path


def test_a_port_that_is_taken(root: Path, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = listener.getsockname()[1]
        said = failed(root, tmp_path, PORT=str(port))
    assert f"Port {port} is already taken" in said
    assert said.strip().count("\n") <= 1


@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("WORKERS", "-1")])
def test_settings_that_make_no_sense(root: Path, tmp_path: Path, name: str, value: str) -> None:
    assert f"{name} must be a whole number" in failed(root, tmp_path, **{name: value})


def test_a_bad_pack_stops_the_start(root: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(LAMPS.read_text("utf-8").replace("category: exchange", "category: exchnge", 1), "utf-8")
    port = free_port()
    said = failed(root, tmp_path, PACKS=f"{LAMPS} {bad}", PORT=str(port))
    line = next(number for number, text in enumerate(bad.read_text("utf-8").splitlines(), 1) if "exchnge" in text)
    assert f"{bad}:{line}:" in said
    assert "did you mean 'exchange'?" in said
    assert said.count(f"{bad}:{line}:") == 1
    assert "Listening" not in said


def test_packs_that_cannot_be_served(root: Path, tmp_path: Path) -> None:
    assert "missing.yaml" in failed(root, tmp_path, PACKS="missing.yaml", PORT=str(free_port()))
    again = failed(root, tmp_path, PACKS=f"{LAMPS}{os.pathsep}{LAMPS}", PORT=str(free_port()))
    assert "'lamps'" in again


def test_more_workers_than_can_share_a_memory(root: Path, tmp_path: Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        COMMAND,
        cwd=tmp_path,
        env=environment(root, PORT=str(port), WORKERS="3", STORE="memory:"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "Booting worker" in line:
            break
    eventually(lambda: healthy(f"http://127.0.0.1:{port}"))
    process.terminate()
    rest = process.communicate(timeout=30)[1]
    said = "".join(lines) + rest
    assert process.returncode == 0
    assert "one worker is started, not 3" in said
    assert said.count("Booting worker") == 1
