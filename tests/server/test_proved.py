"""Packs are proved before they are served: what is refused, what is kept of proofs, drafts, and what /packs says."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from engine.cli import main
from engine.contract import Contract
from engine.load import load_pack
from server.app import create_app
from server.loading import Unfit, load_packs
from server.reload import Reloader
from server.service import Service
from server.store.memory import MemoryStore
from tests.server.live import eventually, running

# Whoever asks and leaves has 0.5, which is 1.5 less than 2.0.
SOUND = """\
pack: desk
version: 1.0.0
description: A desk.
fields: {model: {description: Model}}
categories: {dark: {description: No light, requires: [model]}}
proof: {P04: {margin: 1, severity: error}, P10: {severity: ignore}}
tickets:
  - {id: t-1, task: easy-info-collection, category: dark, messages: [It's dark.], answers: {model: L-7}}
"""
# With the classification that is 1.0, which is no more than 1.0 less.
UNSOUND = SOUND.replace("margin: 1,", "margin: 1.25,")
# Two asks and the end don't go into two steps; with the classification that the best return needs, not into three.
DRAFT = SOUND.replace("proof:", "max_steps: 2\nproof:").replace("{model: L-7}", "{model: [{say: Wait.}, L-7]}")
POOR = DRAFT.replace("max_steps: 2", "max_steps: 3")
NEVER = SOUND.replace("dark.]", "dark.], required: [modle]")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write(tmp_path / "desk.yaml", SOUND)


@pytest.fixture
def proofs(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "proofs"


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def shown(client: FlaskClient) -> Any:
    """What /packs says of the proof of the one pack."""
    (pack,) = client.get("/packs").json["packs"]  # type: ignore[index]
    return pack["proved"]


def served(path: Path, allow_unproved: bool = False, proofs: Path | None = None) -> FlaskClient:
    return create_app(load_packs([path], allow_unproved, proofs), MemoryStore()).test_client()


def refusal(path: Path, allow_unproved: bool = False, proofs: Path | None = None) -> str:
    with pytest.raises(Unfit) as raised:
        load_packs([path], allow_unproved, proofs)
    return str(raised.value)


# -- The verdict


def test_what_packs_says(pack: Path) -> None:
    holds = dict.fromkeys(("P01", "P02", "P03", "P04", "P05", "P06", "P08", "P09", "P11"), "holds")
    # Nobody has to read under the easy task, and P10 is not asked for.
    checks = {**holds, "P07": "no matter", "P10": "ignored"}
    assert shown(served(pack)) == {"sound": True, "checks": checks, "warnings": 0}


def test_a_warning_is_counted_and_refuses_nothing(tmp_path: Path) -> None:
    found = shown(served(write(tmp_path / "desk.yaml", UNSOUND.replace("severity: error", "severity: warning"))))
    assert (found["sound"], found["checks"]["P04"], found["warnings"]) == (True, "fails", 1)


def test_packs_that_nobody_proved(pack: Path) -> None:
    """Packs that a program made itself are served as they are."""
    assert shown(create_app([load_pack(pack)]).test_client()) is None


def test_an_unsound_pack_is_refused_with_the_episode_that_shows_it(tmp_path: Path) -> None:
    path = write(tmp_path / "desk.yaml", UNSOUND)
    said = refusal(path)
    assert f"{path}:8:5: P04: ticket 't-1' pays 1.0 to an episode that misses the goal" in said
    assert "  ticket t-1, seed 0: " in said
    assert "classify" in said and "ask_info model" in said
    assert "  step 1 paid, by rule " in said
    assert said.endswith(f"`deskproof prove {path}` shows all of it.")


def test_ten_findings_are_told(tmp_path: Path) -> None:
    line = UNSOUND.splitlines(keepends=True)[-1]
    more = "".join(line.replace("t-1", f"t-{number}") for number in range(2, 14))
    said = refusal(write(tmp_path / "desk.yaml", UNSOUND + more))
    assert said.count("P04:") == 10
    assert "and 3 more findings\n" in said


# -- What is kept


def kept(proofs: Path) -> Path:
    (file,) = proofs.iterdir()
    return file


def test_what_was_proved_is_known_at_the_next_start(pack: Path, proofs: Path) -> None:
    verdict = shown(served(pack, proofs=proofs))
    file = kept(proofs)
    assert json.loads(file.read_text("utf-8")) == verdict
    # Another number shows that it is read.
    write(file, json.dumps({**verdict, "warnings": 7}))
    assert shown(served(pack, proofs=proofs))["warnings"] == 7


def test_of_another_pack_nothing_is_known(pack: Path, proofs: Path) -> None:
    served(pack, proofs=proofs)
    served(write(pack, SOUND.replace("It's dark.", "It is dark.")), proofs=proofs)
    assert len(list(proofs.iterdir())) == 2


def test_comments_and_places_make_no_difference(pack: Path, proofs: Path, tmp_path: Path) -> None:
    served(pack, proofs=proofs)
    served(write(tmp_path / "other.yaml", f"# The same.\n{SOUND}"), proofs=proofs)
    kept(proofs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        "null",
        '{"sound": true}',
        '{"sound": true, "checks": {}, "warnings": 0}',
        '{"sound": true, "checks": {"P01": "holds"}, "warnings": 0, "more": 1}',
        '{"sound": 1, "checks": null, "warnings": null}',
        "[" * 100_000,
    ],
)
def test_what_is_kept_broken_is_proved_anew(pack: Path, proofs: Path, text: str) -> None:
    verdict = shown(served(pack, proofs=proofs))
    write(kept(proofs), text)
    assert shown(served(pack, proofs=proofs)) == verdict
    assert json.loads(kept(proofs).read_text("utf-8")) == verdict


@pytest.mark.parametrize("change", [{"sound": False}, {"warnings": True}, {"warnings": -1}, {"warnings": 1.5}])
def test_what_is_kept_and_means_nothing_is_proved_anew(pack: Path, proofs: Path, change: dict[str, Any]) -> None:
    verdict = shown(served(pack, proofs=proofs))
    write(kept(proofs), json.dumps({**verdict, **change}))
    assert shown(served(pack, proofs=proofs)) == verdict
    write(kept(proofs), json.dumps({**verdict, "checks": {**verdict["checks"], "P05": "perhaps"}}))
    assert shown(served(pack, proofs=proofs)) == verdict


def test_where_nothing_can_be_kept(pack: Path, tmp_path: Path) -> None:
    """A folder can't be made where a file is."""
    write(tmp_path / "file", "")
    for proofs in (tmp_path / "file", tmp_path / "file" / "proofs", Path("/proc/none"), None):
        assert shown(served(pack, proofs=proofs))["sound"]


def test_nothing_is_kept_of_what_is_unsound(pack: Path, proofs: Path) -> None:
    """Its lines may be others next time."""
    write(pack, UNSOUND)
    assert f"{pack}:8:5: P04" in refusal(pack, proofs=proofs)
    write(pack, f"# A new first line.\n{UNSOUND}")
    assert f"{pack}:9:5: P04" in refusal(pack, proofs=proofs)
    assert not proofs.exists()


# -- Drafts


def test_an_unsound_pack_may_be_served_all_the_same(pack: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(pack, UNSOUND)
    with caplog.at_level(logging.WARNING, "server"):
        found = shown(served(pack, allow_unproved=True))
    assert (found["sound"], found["checks"]["P04"], found["checks"]["P01"]) == (False, "fails", "holds")
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{pack} is served though it isn't proved:\n{pack}:8:5: P04: ")


def test_a_draft_can_be_played_to_its_end(pack: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(pack, DRAFT)
    assert "PACK060: ticket 't-1' can't be resolved in 2 steps" in refusal(pack)
    with caplog.at_level(logging.WARNING, "server"):
        client = served(pack, allow_unproved=True)
    assert f"{pack} is served though it isn't proved" in caplog.text and "PACK060" in caplog.text
    assert shown(client) is None
    client.post("/reset", json={"episode_id": "e", "ticket_id": "t-1"})
    ask = {"episode_id": "e", "action": {"type": "ask_info", "field": "model"}}
    answers: list[Any] = [client.post("/step", json=ask).json for _ in range(2)]
    assert [answer["done"] for answer in answers] == [False, True]
    assert answers[-1]["metadata"]["optimal_steps"] is None
    assert answers[-1]["metadata"]["score"] == 1.0  # easy: the one field is known


def test_a_draft_with_a_poor_best_return(pack: Path) -> None:
    write(pack, POOR)
    assert "PACK061: ticket 't-1' has a best possible return of 1.5, not 2.0" in refusal(pack)
    assert shown(served(pack, allow_unproved=True)) is None


def test_what_is_wrong_otherwise_is_never_served(pack: Path) -> None:
    write(pack, NEVER)
    said = refusal(pack, allow_unproved=True)
    assert said == refusal(pack)
    assert "did you mean 'model'?" in said


def test_all_packs_are_looked_at(tmp_path: Path) -> None:
    """What is wrong with each is said at once."""
    paths = [write(tmp_path / f"{name}.yaml", text) for name, text in (("a", UNSOUND), ("b", NEVER))]
    with pytest.raises(Unfit) as raised:
        load_packs(paths)
    assert "P04: " in str(raised.value) and "PACK030: " in str(raised.value)


# -- While a reload is under way


def test_packs_that_cannot_be_handed_to_the_workers(
    root: Path, tmp_path: Path, contract: Contract, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "desk.yaml", (root / "tests" / "packs" / "desk.yaml").read_text("utf-8"))
    service = Service(load_packs([path]), MemoryStore(), contract)
    before = service.catalogue.default
    reloader = Reloader(service, [path], tmp_path / "gone")
    write(path, path.read_text("utf-8").replace(f"version: {before.version}", "version: 9.9.9"))
    assert not reloader.reload()
    assert service.catalogue.default is before
    assert f"{tmp_path}/gone/packs.json can't be written: No such file or directory" in caplog.text


# -- Real servers

slow = pytest.mark.slow
together = pytest.mark.xdist_group("server-process")


def packs_of(url: str) -> Any:
    return httpx.get(f"{url}/packs", trust_env=False).json()["packs"][0]


@slow
@together
def test_a_server_of_an_unsound_pack_does_not_start(root: Path, pack: Path) -> None:
    write(pack, UNSOUND)
    env = {**os.environ, "PYTHONPATH": str(root), "PACKS": str(pack), "STORE": "memory:"}
    done = subprocess.run((sys.executable, "-m", "server.app"), env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"{pack}:8:5: P04: ticket 't-1' pays 1.0" in done.stderr
    assert "Traceback" not in done.stderr


@slow
@together
@pytest.mark.parametrize("command", [("-m", "server.app"), ("-m", "engine.cli", "serve", "--allow-unproved")])
def test_a_server_of_drafts(root: Path, pack: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    """By the variable, and by the option."""
    write(pack, UNSOUND)
    env = {"PACKS": str(pack), "STORE": "memory:", "XDG_STATE_HOME": str(tmp_path)}
    allowed = "0" if "engine.cli" in command else "1"
    with running(root, command, port=0, files=0, ALLOW_UNPROVED=allowed, **env) as server:
        assert packs_of(server.http)["proved"]["sound"] is False
        assert "is served though it isn't proved" in server.printed()
        # So is one that it gets later, and worse.
        write(pack, DRAFT)
        assert reload(server.port, tmp_path).exit_code == 0
        eventually(lambda: packs_of(server.http)["proved"] is None)


@slow
@together
def test_a_reload_proves(root: Path, pack: Path, tmp_path: Path) -> None:
    """An unsound pack is refused with what is wrong, and the old one stays; a sound one is served with its verdict."""
    env = {"PACKS": str(pack), "STORE": f"sqlite:{tmp_path}/e.db", "WORKERS": "2", "XDG_STATE_HOME": str(tmp_path)}
    with running(root, port=0, files=0, **env) as server:
        assert packs_of(server.http)["proved"]["checks"]["P10"] == "ignored"
        write(pack, UNSOUND.replace("version: 1.0.0", "version: 2.0.0"))
        refused = reload(server.port, tmp_path)
        assert refused.exit_code == 1
        assert f"{pack}:8:5: P04: ticket 't-1' pays 1.0" in refused.output and "seed 0: " in refused.output
        assert {packs_of(server.http)["version"] for _ in range(8)} == {"1.0.0"}
        write(pack, SOUND.replace("version: 1.0.0", "version: 3.0.0").replace(", P10: {severity: ignore}", ""))
        assert reload(server.port, tmp_path).exit_code == 0
        eventually(lambda: {packs_of(server.http)["version"] for _ in range(8)} == {"3.0.0"})
        assert {packs_of(server.http)["proved"]["checks"]["P10"] for _ in range(8)} == {"holds"}


def reload(port: int, state: Path) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(state))
        return CliRunner().invoke(main, ["reload", "--port", str(port)])
