"""A server whose disk is full, or whose file can't be written: clear refusals, and all is well once there is room."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from engine.load import load_pack
from server.app import create_app
from server.naming import stored
from server.store.opening import open_store
from tests.faults.processes import workers_of
from tests.serving import free_port, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

NOBODY = 65534
LONG = {"type": "ask_info", "field": "x" * 1_000}  # an invalid action, kept as it came


class Disk:
    """A disk of two megabytes, mounted at `folder`."""

    said = "The disk that holds the episodes is full: make room on it."

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, port: int) -> None:
        with self._ballast.open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(b"\0" * 4096)

    def make_room(self) -> None:
        self._ballast.unlink()


class Limit:
    """A folder whose files may grow no more, as far as a server's workers are concerned: that takes no permission."""

    said = "The disk that holds the episodes fails to read or to write: see to it."

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before: dict[int, tuple[int, int]] = {}

    def fill(self, port: int) -> None:
        largest = (self.folder / "episodes.db-wal").stat().st_size  # every change is written there first
        for worker in workers_of(port):
            _, most = self._before[worker] = resource.prlimit(worker, resource.RLIMIT_FSIZE)
            resource.prlimit(worker, resource.RLIMIT_FSIZE, (largest, most))

    def make_room(self) -> None:
        for worker, limits in self._before.items():
            resource.prlimit(worker, resource.RLIMIT_FSIZE, limits)


@pytest.fixture(params=[Disk, Limit], ids=["disk", "limit"])
def full(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk | Limit]:
    """What can be filled. Where no disk can be mounted, which takes being root, the limit has to do for it, too."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "deskproof-test", str(folder)]
    if request.param is Limit or subprocess.run(mount, capture_output=True).returncode:
        yield Limit(folder)
        return
    yield Disk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def nobody() -> Iterator[None]:
    """Be somebody who may not write everything, as root may."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def step(client: httpx.Client, request_id: str) -> httpx.Response:
    return client.post("/step", json={"episode_id": "e", "request_id": request_id, "action": LONG})


def test_a_disk_that_fills_up(root: Path, full: Disk | Limit, tmp_path: Path) -> None:
    port = free_port()
    store = f"sqlite:{full.folder / 'episodes.db'}"
    env = {**os.environ, "PYTHONPATH": str(root), "PORT": str(port)}
    env |= {"STORE": store, "WORKERS": "2"}
    with (
        serving((sys.executable, "-m", "server.app"), port, cwd=tmp_path, env=env) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
    ):
        assert client.post("/reset", json={"episode_id": "e", "seed": 1}).status_code == 200
        first = step(client, "s0")
        assert first.status_code == 200
        full.fill(port)
        answers = [step(client, f"s{number}") for number in range(1, 9)]
        refused = [answer for answer in answers if answer.status_code != 200]
        assert refused, "the disk was not full"
        for answer in refused:
            document = answer.json()
            assert (document["status"], answer.headers["content-type"]) == (503, "application/problem+json")
            assert document["detail"] == full.said and int(answer.headers["retry-after"]) >= 1
        assert client.get("/health").status_code == 200
        full.make_room()
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


def test_a_file_that_may_not_be_written_any_more(root: Path) -> None:
    with TemporaryDirectory(prefix="deskproof-", ignore_cleanup_errors=True) as name:  # pytest's own folders are root's
        folder, file = Path(name), Path(name) / "episodes.db"
        store = open_store(f"sqlite:{file}")
        client = create_app([load_pack(root / "tests" / "server" / "lamps.yaml")], store).test_client()
        asked = {"episode_id": "e", "request_id": "s1", "action": {"type": "classify"}}
        assert client.post("/reset", json={"episode_id": "e"}).status_code == 200
        store.close()  # what is open stays writable
        file.chmod(0o444)
        folder.chmod(0o555)
        with nobody():
            refused = client.post("/step", json=asked)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "see to its permissions" in json.loads(refused.data)["detail"]
            assert client.get("/ready").status_code == 503
        folder.chmod(0o755)
        file.chmod(0o644)
        assert client.post("/step", json=asked).status_code == 200
        assert client.get("/ready").status_code == 200
        store.close()


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
