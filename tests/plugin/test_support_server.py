"""The fixture support_server: a real server, whatever the user's folder, path and environment look like."""

from __future__ import annotations

import re
import signal
import socket
import time
from pathlib import Path

import pytest

from deskproof_pytest import process
from tests.plugin.projects import PACK, lamps, outside
from tests.serving import free_port

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


def listens(port: int) -> bool:
    """Whether a socket listens on the port, as the kernel says it."""
    wanted = f":{port:04X} "
    lines = Path("/proc/net/tcp").read_text("utf-8").splitlines()
    return any(wanted in line and line.split()[3] == "0A" for line in lines)


# Of another server, and of none at all.
OTHERS = {
    "PACKS": "nowhere", "PORT": "1", "TOKENS": "nowhere", "RATE": "1", "STORE": "sqlite:/nowhere", "WORKERS": "3",
    "LOG": "nonsense", "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:1",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", ["python -m pytest", "PYTHONPATH"])
def test_it_serves_the_packs_of_markers_whatever_is_around_and_ends_with_the_run(tmp_path: Path, way: str) -> None:
    """A server and a folder of tests of one's own come first on the path, and are what the user's own tests import;
    the environment is that of another server."""
    mine = PLAYED.replace("import pytest\n", "import pytest, server\nfrom server import app\n", 1)
    project(tmp_path, mine + "\ndef test_mine():\n    assert server.MINE and app.MINE\n")
    (tmp_path / "server").mkdir()
    for name in ("server/__init__", "server/app", "tests/__init__", "gunicorn"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n", "utf-8")
    path = {"PYTHONPATH": str(tmp_path)} if way == "PYTHONPATH" else {}
    code, said = outside(tmp_path, "-s", module=way != "PYTHONPATH", **OTHERS, **path)
    assert code == 0, said
    assert "3 passed" in said
    ports = set(re.findall(r"port (\d+)", said))
    assert len(ports) == 1  # one server for both
    assert not listens(int(ports.pop()))


UNNAMED = """
def test_it(support_server):
    assert support_server.get('/packs')['default'] == 'customer-support'

def test_bad(support_server):
    support_server.post("/step", {"action": {}, "episode_id": "nobody's"})
"""


@pytest.mark.slow
def test_without_packs_it_serves_those_that_ship_and_an_answer_that_is_no_good_one_is_said(tmp_path: Path) -> None:
    code, said = outside(project(tmp_path, UNNAMED))
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed" in said
    assert "AssertionError: POST /step: 404 Not Found" in said
    assert "deskproof_pytest/" not in said


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
def test_one_that_takes_too_long_is_ended_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "START", 0.0)
    said = r"The support server didn't start within 0 s\. It said:\n"
    with pytest.raises(process.NoServer, match=said), process.serving([]):
        raise AssertionError("it serves")


@pytest.mark.slow
def test_another_port_is_tried_where_somebody_takes_the_one_that_was_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port, free = taken.getsockname()[1], free_port()
        ports = iter([port, free])
        monkeypatch.setattr(process, "_free_port", lambda: next(ports))
        with process.serving([lamps(tmp_path)]) as server:
            assert server.port == free
            assert repr(server) == f"<SupportServer http://127.0.0.1:{free}>"
            assert f"http://127.0.0.1:{free}" in server.log


ENDING = """
import os
from pathlib import Path
import pytest

@pytest.mark.scenario(pack="../scenarios/lamps")
@pytest.mark.parametrize("number", [1, 2])
def test_it(support_server, number):
    Path(f"{os.getpid()}.port").write_text(str(support_server.port))
    os.kill(os.getpid(), NUMBER)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "arguments", "code"),
    [
        (signal.SIGINT, (), pytest.ExitCode.INTERRUPTED),
        (signal.SIGTERM, (), -signal.SIGTERM),
        (signal.SIGKILL, ("-n", "2", "--max-worker-restart=0"), pytest.ExitCode.TESTS_FAILED),
    ],
    ids=["Ctrl-C", "SIGTERM", "workers that crash"],
)
def test_it_ends_with_the_process_however_that_ends(
    tmp_path: Path, number: signal.Signals, arguments: tuple[str, ...], code: int
) -> None:
    """Each worker has one."""
    project(tmp_path, ENDING.replace("NUMBER", str(int(number))))
    ended, said = outside(tmp_path, *arguments)
    assert ended == code, said
    ports = [int(file.read_text("utf-8")) for file in tmp_path.glob("*.port")]
    assert len(set(ports)) == (2 if arguments else 1)
    end = time.monotonic() + 20
    while any(map(listens, ports)):
        assert time.monotonic() < end
        time.sleep(0.05)
