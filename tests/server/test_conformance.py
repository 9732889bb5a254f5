"""What is served is what /openapi.json says, and all of it: asked by Schemathesis, and by whole episodes.

`Everything` plays through every route until it has seen each status that the document promises; an answer that the
document doesn't have fails, and so does a promise that nobody saw kept.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.load import load_pack
from engine.pack import Pack
from server.app import create_app
from server.settings import Settings
from server.store import Unavailable
from server.tokens import digest
from tests.server.everything import BATCHES, NEVER_500, ONE, Everything, faces, place
from tests.server.specification import Specification
from tests.serving import free_port, fresh_environment, serving

LAMPS = Path(__file__).with_name("lamps.yaml")
DESK = Path(__file__).parent.parent / "packs" / "desk.yaml"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, folder = free_port(), tmp_path_factory.mktemp("conformance")
    packs = os.pathsep.join(map(str, (LAMPS, DESK)))
    own = {"PYTHONPATH": str(root), "PORT": str(port), "PACKS": packs, "STORE": f"sqlite:{folder / 'episodes.db'}"}
    with serving((sys.executable, "-m", "server.app"), port, cwd=folder, env={**os.environ, **own}) as url:
        yield url


# -- Schemathesis


def test_schemathesis_finds_nothing(root: Path, address: str, tmp_path: Path) -> None:
    """All of its checks; the requests are the same each time (schemathesis.toml)."""
    config = Path(__file__).with_name("schemathesis.toml")
    command = (sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{address}/openapi.json")
    env = {**fresh_environment(), "PYTHONPATH": str(root), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    document = httpx.get(f"{address}/openapi.json", trust_env=False).json()
    many = sum(len(methods) for path, methods in document["paths"].items() if path != "/openapi.json")
    assert re.search(rf"Tested: {many}\n", done.stdout), done.stdout  # all but the document's own route


# -- Every route, every status


def test_every_route_and_every_status_is_seen_and_is_as_described(address: str, lamps: Pack, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"kim {digest('token-of-kim')}\nsam {digest('token-of-sam')}\n")
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as http:
        specification = Specification(http.get("/openapi.json").json())
        everything = Everything(http, specification)
        everything.catalogue()
        everything.episodes()
        everything.batches()
        everything.mcp()
        everything.tasks()
        everything.ors()
        everything.too_much()
        everything.from_a_page()
        everything.with_tokens(lamps, tokens)
        everything.with_a_rate(lamps)
        everything.with_little_room(lamps)
        everything.with_no_room_for_large_bodies(lamps)
        everything.with_a_pack_that_is_gone(lamps, load_pack(DESK))
        everything.with_an_episode_that_expired(lamps)
        promised = set(specification.promised())
        unstored = {label for label in everything.labels() if (label, "503") not in promised or label in BATCHES}
        everything.with_a_store_that_fails(lamps, Unavailable("The disk is full: make room on it."), 503, unstored)
        everything.with_a_store_that_fails(lamps, RuntimeError("the disk is on fire"), 500, NEVER_500)
        everything.with_a_body_that_stops(lamps)
    unseen = promised - specification.seen
    assert unseen == {(label, "500") for label in NEVER_500}


def test_a_preflight_is_answered_on_every_route(lamps: Pack) -> None:
    """By 204, with what may be sent; whoever asks it on behalf of another page is told nothing."""
    for http in faces(lambda: create_app([lamps], configured=Settings(origins=(ONE,)))):
        here = Everything(http, Specification(http.get("/openapi.json").json()))
        for label in here.labels():
            method, path = place(label)
            asks = {"Origin": ONE, "Access-Control-Request-Method": method}
            answer = http.options(path, headers=asks)
            assert (answer.status_code, answer.content) == (204, b"")
            assert answer.headers["Access-Control-Allow-Origin"] == ONE
            assert method in answer.headers["Access-Control-Allow-Methods"].split(", ")
            asks["Origin"] = "https://evil.example"
            refusal = http.options(path, headers=asks)
            assert refusal.status_code == 403
            assert "Access-Control-Allow-Origin" not in refusal.headers
        here.get("/packs", headers={"Origin": ONE})
        assert http.post("/reset", headers={"Origin": ONE}).headers["Access-Control-Allow-Origin"] == ONE


def test_a_status_or_a_route_that_is_not_described_is_noticed(address: str) -> None:
    document = httpx.get(f"{address}/openapi.json", trust_env=False).json()
    with httpx.Client(base_url=address, trust_env=False) as http:
        for path, status, sent in (("/tasks", "404", {"params": {"pack": "x"}}), ("/health", "200", {})):
            described = document["paths"][path]["get"]["responses"]
            without = {code: response for code, response in described.items() if code != status}
            paths = {**document["paths"], path: {"get": {**document["paths"][path]["get"], "responses": without}}}
            here = Everything(http, Specification({**document, "paths": paths}))
            with pytest.raises(AssertionError, match="is not described"):
                here.get(path, int(status), **sent)
        with pytest.raises(AssertionError, match="/nothing is not described"):
            Everything(http, Specification(document)).get("/nothing", 404)
        described = {**document, "paths": {"/health": document["paths"]["/packs"]}}
        with pytest.raises(Exception, match="'default' is a required property"):
            Everything(http, Specification(described)).get("/health")
