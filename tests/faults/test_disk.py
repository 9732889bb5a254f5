"""A server whose disk is full, or whose file can't be written: clear refusals, and all is well once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from engine.load import load_pack
from server.app import create_app
from server.naming import stored
from server.store.opening import open_store
from tests.serving import free_port, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

LONG = {"type": "ask_info", "field": "x" * 1_000}  # an invalid action, kept as it came


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "deskproof-test", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode and os.environ.get("CI"):
        pytest.fail(f"no disk can be mounted: {mounted.stderr}")
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted: {mounted.stderr}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(file: Path) -> None:
    """With as much as there is room for."""
    with file.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"\0" * 4096)


def step(client: httpx.Client, request_id: str) -> httpx.Response:
    return client.post("/step", json={"episode_id": "e", "request_id": request_id, "action": LONG})


def begin(client: httpx.Client, name: str) -> int:
    return client.post("/reset", json={"episode_id": name, "seed": 1, "request_id": "r"}).status_code


def test_a_full_disk(root: Path, disk: Path, tmp_path: Path) -> None:
    port = free_port()
    store = f"sqlite:{disk / 'episodes.db'}"
    env = {**os.environ, "PYTHONPATH": str(root), "PORT": str(port), "STORE": store, "WORKERS": "2"}
    with (
        serving((sys.executable, "-m", "server.app"), port, cwd=tmp_path, env=env) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
    ):
        assert begin(client, "e") == 200
        first = step(client, "s0")
        assert first.status_code == 200
        ballast = disk / "ballast"
        fill(ballast)
        answers = [step(client, f"s{number}") for number in range(1, 9)]
        refused = [answer for answer in answers if answer.status_code != 200]
        assert refused, "the disk was not full"
        for answer in refused:
            document = answer.json()
            assert (document["status"], answer.headers["content-type"]) == (503, "application/problem+json")
            assert "full" in document["detail"] and int(answer.headers["retry-after"]) >= 1
        assert client.get("/health").status_code == 200
        ballast.unlink()
        assert client.get("/ready").status_code == 200
        taken = [step(client, f"s{number}") for number in range(1, 9)]
        assert [answer.status_code for answer in taken] == [200] * 8
        assert step(client, "s0").content == first.content
        for before, after in zip(answers, taken, strict=True):
            assert before.status_code == 503 or before.content == after.content
    opened = open_store(store)
    record = opened.get(stored("", "e"))
    opened.close()
    assert record is not None
    # What was refused first was taken later, and nothing twice.
    assert sorted(str(taken.request_id) for taken in record.steps) == [f"s{number}" for number in range(9)]


def test_a_disk_that_becomes_read_only(root: Path, disk: Path) -> None:
    store = open_store(f"sqlite:{disk / 'episodes.db'}")
    client = create_app([load_pack(root / "tests" / "server" / "lamps.yaml")], store).test_client()
    asked = {"episode_id": "e", "request_id": "s1", "action": {"type": "classify"}}
    assert client.post("/reset", json={"episode_id": "e"}).status_code == 200
    store.close()  # nobody has the file open: a disk that is written to can't be made read-only
    remount(disk, "ro")
    refused = client.post("/step", json=asked)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "see to its permissions" in json.loads(refused.data)["detail"]
    assert client.get("/ready").status_code == 503
    remount(disk, "rw")
    assert client.post("/step", json=asked).status_code == 200
    assert client.get("/ready").status_code == 200
    store.close()


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def test_a_file_that_can_not_be_used_stops_the_start(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "episodes.db"
    file.write_text("Dear diary, " * 1_000)
    env = {**os.environ, "PYTHONPATH": str(root), "PORT": str(free_port()), "STORE": f"sqlite:{file}"}
    done = subprocess.run(
        (sys.executable, "-m", "server.app"), cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert str(file) in done.stderr and "Traceback" not in done.stderr
    assert file.read_text() == "Dear diary, " * 1_000
