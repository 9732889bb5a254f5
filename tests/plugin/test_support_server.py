"""The fixture support_server: a real server, whatever the user's folder, path and environment look like."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.plugin.projects import PACK, lamps, outside

PLAYED = """
import pytest

@pytest.mark.scenario(pack="../scenarios/lamps", seeds=[7])
def test_it(scenario, support_server):
    begun = support_server.post(
        "/reset", {"pack": scenario.pack.name, "ticket_id": scenario.ticket, "seed": scenario.seed}
    )
    episode = begun["metadata"]["episode_id"]
    answer = support_server.post("/step", {"action": {"type": "classify"}, "episode_id": episode})
    assert answer["reward"] == 0.5
    assert [pack["name"] for pack in support_server.get("/packs")["packs"]] == ["lamps"]
    print("port", support_server.port, support_server.url)
"""


def project(folder: Path, test: str = PLAYED) -> Path:
    lamps(folder)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(test, "utf-8")
    return folder


@pytest.mark.slow
def test_it_serves_the_packs_of_markers_and_ends_with_the_run(tmp_path: Path) -> None:
    code, said = outside(project(tmp_path), "-s")
    assert code == 0, said
    assert "2 passed" in said
    ports = set(re.findall(r"port (\d+)", said))
    assert len(ports) == 1  # one server for both
    assert not listens(int(ports.pop()))


def listens(port: int) -> bool:
    """Whether a socket listens on the port, as the kernel says it."""
    wanted = f":{port:04X} "
    lines = Path("/proc/net/tcp").read_text("utf-8").splitlines()
    return any(wanted in line and line.split()[3] == "0A" for line in lines)


@pytest.mark.slow
def test_it_runs_beside_a_server_and_a_folder_of_tests_of_ones_own(tmp_path: Path) -> None:
    """They come first on the path, and are what the user's own tests import."""
    mine = PLAYED.replace("import pytest\n", "import pytest, server\nfrom server import app\n", 1)
    project(tmp_path, mine + "\ndef test_mine():\n    assert server.MINE and app.MINE\n")
    (tmp_path / "server").mkdir()
    for name in ("server/__init__", "server/app", "tests/__init__", "gunicorn"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n", "utf-8")
    for module, env in ((True, {}), (False, {"PYTHONPATH": str(tmp_path)})):
        code, said = outside(tmp_path, module=module, **env)
        assert code == 0, said
        assert "3 passed" in said


@pytest.mark.slow
def test_the_environment_of_another_server_is_not_its_own(tmp_path: Path) -> None:
    code, said = outside(
        project(tmp_path), "-k", "t-1", PACKS="nowhere", PORT="1", TOKENS="nowhere", RATE="1", STORE="sqlite:/nowhere",
        WORKERS="3", LOG="nonsense", GUNICORN_CMD_ARGS="--bind 127.0.0.1:1",
    )  # fmt: skip
    assert code == 0, said


@pytest.mark.slow
def test_each_worker_has_one(tmp_path: Path) -> None:
    code, said = outside(project(tmp_path), "-n", "2")
    assert code == 0, said
    assert "2 passed" in said


@pytest.mark.slow
def test_without_packs_it_serves_those_that_ship(tmp_path: Path) -> None:
    test = "def test_it(support_server):\n    assert support_server.get('/packs')['default'] == 'customer-support'\n"
    code, said = outside(project(tmp_path, test))
    assert code == 0, said


@pytest.mark.slow
def test_what_it_says_is_shown_where_it_does_not_start(tmp_path: Path) -> None:
    project(tmp_path, "def test_it(support_server): pass\n")
    wrong = PACK.replace("requires: [order, colour]", "requires: [ordr, colour]")
    (tmp_path / "scenarios/lamps/pack.yaml").write_text(wrong, "utf-8")
    code, said = outside(tmp_path, "-o", "deskproof_packs=scenarios", "tests")
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "The support server didn't start: it ended with 1. It said:" in said
    assert "PACK030: unknown field 'ordr'" in said
    assert "Traceback" not in said
    assert "1 error" in said


@pytest.mark.slow
def test_an_answer_that_is_none_of_the_good_ones_is_said(tmp_path: Path) -> None:
    test = """
        def test_it(support_server):
            support_server.post("/step", {"action": {}, "episode_id": "nobody's"})
    """
    lines = "\n".join(line[8:] for line in test.splitlines())
    code, said = outside(project(tmp_path, lines))
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "AssertionError: POST /step: 404 Not Found" in said
    assert "deskproof_pytest/" not in said


@pytest.mark.slow
def test_ctrl_c_ends_it_too(tmp_path: Path) -> None:
    test = """
import os, signal

def test_it(support_server):
    print("port", support_server.port)
    os.kill(os.getpid(), signal.SIGINT)
"""
    code, said = outside(project(tmp_path, test), "-s")
    assert code == pytest.ExitCode.INTERRUPTED, said
    (port,) = set(re.findall(r"port (\d+)", said))
    end = time.monotonic() + 20
    while listens(int(port)):
        assert time.monotonic() < end
        time.sleep(0.05)
