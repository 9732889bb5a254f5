"""New packs without a restart: new episodes get them, running ones go on, unfit ones change nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import Result
from websockets.sync.client import connect

from server.reload import NotRunning, tell
from tests.commands import deskproof
from tests.serving import free_port, serving

# A server whose first process hears SIGHUP at each fork, before anything is let go of that was held for it.
FORKED = """
import os, runpy, signal
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGHUP))
runpy.run_module("server.app", run_name="__main__")
"""
LAMPS = Path(__file__).with_name("lamps.yaml")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    copy = tmp_path / "lamps.yaml"
    copy.write_text(LAMPS.read_text("utf-8"), "utf-8")
    return copy


@pytest.fixture
def port(root: Path, tmp_path: Path, pack: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server with three workers; `deskproof reload` finds it."""
    yield from _served(root, tmp_path, pack, monkeypatch, WATCH="0")


@pytest.fixture
def watching(root: Path, tmp_path: Path, pack: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    yield from _served(root, tmp_path, pack, monkeypatch, WATCH="1")


def _served(
    root: Path, folder: Path, pack: Path, monkeypatch: pytest.MonkeyPatch, *command: str, **more: str
) -> Iterator[int]:
    port = free_port()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    env = {
        **os.environ,
        "PYTHONPATH": str(root),
        "PACKS": str(pack),
        "PORT": str(port),
        "WORKERS": "3",
        **more,
    }
    with serving((sys.executable, *(command or ("-m", "server.app"))), port, cwd=folder, env=env):
        yield port


def write(pack: Path, version: str) -> None:
    pack.write_text(LAMPS.read_text("utf-8").replace("version: 1.2.3", f"version: {version}"), "utf-8")


def reload(port: int) -> Result:
    return deskproof("reload", "--port", port)


def versions(port: int) -> set[str]:
    """What the workers serve; each request has a connection of its own, so that any of them may answer."""
    url = f"http://127.0.0.1:{port}/packs"
    # Nothing is to be verified: to load certificates takes longer than to ask.
    return {httpx.get(url, trust_env=False, verify=False).json()["packs"][0]["version"] for _ in range(24)}


def until(port: int, version: str) -> None:
    end = time.monotonic() + 30
    while versions(port) != {version}:
        assert time.monotonic() < end, versions(port)
        time.sleep(0.1)


def test_new_packs_for_new_episodes(port: int, pack: Path) -> None:
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url, trust_env=False) as client, connect(f"ws://127.0.0.1:{port}/ws") as socket:
        client.post("/reset", json={"episode_id": "running", "ticket_id": "t-1"}).raise_for_status()
        socket.send('{"type": "reset", "data": {"episode_id": "held", "ticket_id": "t-1"}}')
        assert '"pack_version":"1.2.3"' in str(socket.recv(timeout=30))
        write(pack, "2.0.0")
        done = reload(port)
        assert (done.exit_code, done.output) == (0, "The packs were loaded anew.\n")
        until(port, "2.0.0")
        step = {"episode_id": "running", "action": {"type": "classify"}}
        assert client.post("/step", json=step).json()["metadata"]["pack_version"] == "1.2.3"
        # The socket is still there, and so is its episode.
        socket.send('{"type": "step", "data": {"type": "classify"}}')
        assert '"pack_version":"1.2.3"' in str(socket.recv(timeout=30))
        begun = client.post("/reset", json={"episode_id": "new", "ticket_id": "t-1"}).json()
        assert begun["metadata"]["pack_version"] == "2.0.0"


def test_unfit_packs_change_nothing(port: int, pack: Path) -> None:
    with pack.open("a", encoding="utf-8") as file:
        file.write("oops\n")
    refused = reload(port)
    assert refused.exit_code == 1
    assert f"{pack}:" in refused.output and "PACK004" in refused.output
    assert versions(port) == {"1.2.3"}
    write(pack, "3.0.0")
    assert reload(port).exit_code == 0
    until(port, "3.0.0")


def test_signals_that_come_while_workers_are_forked(
    root: Path, tmp_path: Path, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At that moment the first process holds the store's lock, which a reload needs as well."""
    for port in _served(root, tmp_path, pack, monkeypatch, "-c", FORKED, WATCH="0"):
        write(pack, "5.0.0")
        assert reload(port).exit_code == 0
        until(port, "5.0.0")


def test_packs_that_are_watched(watching: int, pack: Path) -> None:
    write(pack, "4.0.0")
    until(watching, "4.0.0")


def test_nobody_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(NotRunning, match="No server of yours is known at port 7999"):
        tell(7999)
    result = reload(7999)
    assert result.exit_code == 1 and "--port says where it listens" in result.output
