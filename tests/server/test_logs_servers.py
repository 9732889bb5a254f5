"""The log of real servers: what they say themselves has our form, from the first line to the last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.logs import REDACTED
from tests.serving import free_port, serving

SECRET = "s3cr3t.Value-99"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


def served(command: list[str], cwd: Path, root: Path, use: Callable[[httpx.Client], None]) -> list[dict[str, Any]]:
    """What a server logs from its first line to its last, all of which has to be JSON."""
    port = free_port()
    output = cwd / "output"
    script = f"exec {' '.join(command)} >output 2>&1".replace("PORT", str(port))
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{cwd}"}
    with (
        serving(["sh", "-c", script], port, cwd=cwd, env=environment) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as http,
    ):
        use(http)
    return [json.loads(line) for line in output.read_text("utf-8").splitlines()]


APPLICATION = """
import logging
from server import logs

logs.set_up("json")

async def application(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan\\nhere")
    logging.getLogger("server").info("asked", extra={"path": scope["path"], "headers": scope["headers"]})
    if scope["path"] == "/broken":
        raise ValueError("broken\\non purpose")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})
"""


@pytest.mark.parametrize("server", ["gunicorn", "uvicorn"])
def test_servers_log_in_our_form(server: str, root: Path, tmp_path: Path) -> None:
    (tmp_path / "application.py").write_text(APPLICATION, "utf-8")
    configuration = "from server import logs\nlogs.set_up('json')\nerrorlog = None\nworker_class = 'asgi'\n"
    (tmp_path / "conf.py").write_text(configuration, "utf-8")
    command = {
        "gunicorn": ["-m gunicorn -c conf.py -b 127.0.0.1:PORT application:application"],
        "uvicorn": ["-m uvicorn --port PORT application:application"],
    }[server]

    def use(http: httpx.Client) -> None:
        http.get("/state", headers={"Authorization": f"Bearer {SECRET}", "X-API-Key": SECRET, "Cookie": SECRET})
        assert http.get("/broken").status_code == 500

    found = served([sys.executable, *command], tmp_path, root, use)
    said = "\n".join(event["message"] for event in found)
    expected = {
        "gunicorn": ("Starting gunicorn", "Listening at", "Booting worker", "Handling signal: term", "Shutting down"),
        "uvicorn": ("Started server process", "Uvicorn running on", "Shutting down", "Finished server process"),
    }[server]
    assert [text for text in expected if text not in said] == []
    assert any("ValueError: broken\non purpose" in event.get("error", "") for event in found)
    asked = [event for event in found if event["message"] == "asked" and event["path"] == "/state"]
    assert len(asked) == 1
    assert ["authorization", REDACTED] in asked[0]["headers"]
    assert SECRET not in json.dumps(found)
    assert "GET /" not in said  # no access log


def test_a_log_that_cannot_be_written_stops_nobody(root: Path) -> None:
    script = """
import logging, sys
from server import logs
logs.set_up("json")
for number in range(10):
    logging.getLogger("server").error("x" * 100_000)
print("done")
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        assert one.stderr is not None and one.stdout is not None
        one.stderr.close()
        assert one.stdout.read() == b"done\n"
