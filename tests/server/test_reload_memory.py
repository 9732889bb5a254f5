"""After a reload nothing is left of what was worked out about the packs before, and running episodes don't mind."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.automaton import Automaton
from engine.contract import Contract
from engine.pack import Pack
from engine.solve import solve, variants
from server.loading import load_packs
from server.proved import verdict
from server.reload import Reloader, take_over
from server.service import Service
from server.store.memory import MemoryStore
from tests.server.calls import ASK_ORDER, CLASSIFY, begin, step

LAMPS = Path(__file__).with_name("lamps.yaml")
Reload = Callable[[Service, Path], None]


def in_the_first_process(service: Service, folder: Path) -> None:
    assert Reloader(service, [folder / "lamps.yaml"], folder).reload()


def in_a_worker(service: Service, folder: Path) -> None:
    loaded = [[pack.source, verdict(pack)] for pack in load_packs([folder / "lamps.yaml"])]
    (folder / "packs.json").write_text(json.dumps(loaded), "utf-8")
    take_over(service, folder)


def machines(pack: Pack) -> list[weakref.ref[Automaton]]:
    """Of every ticket, solved."""
    found = [machine for ticket in pack.tickets.values() for machine in variants(pack, ticket)]
    assert all(map(solve, found))
    return [weakref.ref(machine) for machine in found]


@pytest.mark.parametrize("reload", [in_the_first_process, in_a_worker])
def test_what_was_worked_out_about_the_packs_before_is_gone(reload: Reload, tmp_path: Path, contract: Contract) -> None:
    text = LAMPS.read_text("utf-8")
    (tmp_path / "lamps.yaml").write_text(text, "utf-8")
    service = Service(load_packs([tmp_path / "lamps.yaml"]), MemoryStore(), contract)
    known = machines(service.catalogue.default)
    begin(service, "running", ticket_id="t-1", seed=7)
    (tmp_path / "lamps.yaml").write_text(text.replace("version: 1.2.3", "version: 2.0.0"), "utf-8")
    reload(service, tmp_path)
    assert service.catalogue.default.version == "2.0.0"
    gc.collect()
    # That of the running episode alone is still there.
    assert len([machine for machine in known if machine() is not None]) == 1
    answer = step(service, CLASSIFY, "running")
    assert (answer["reward"], answer["metadata"]["pack_version"]) == (0.5, "1.2.3")


def test_a_pack_that_stays_the_same_keeps_what_is_worked_out(tmp_path: Path, contract: Contract) -> None:
    (tmp_path / "lamps.yaml").write_text(LAMPS.read_text("utf-8"), "utf-8")
    service = Service(load_packs([tmp_path / "lamps.yaml"]), MemoryStore(), contract)
    known = machines(service.catalogue.default)
    in_a_worker(service, tmp_path)
    gc.collect()
    assert None not in [machine() for machine in known]


def test_an_episode_that_began_before_can_be_played_to_its_end(tmp_path: Path, contract: Contract) -> None:
    """Also where nothing of it is at hand any more: it is worked out again."""
    text = LAMPS.read_text("utf-8")
    (tmp_path / "lamps.yaml").write_text(text, "utf-8")
    service = Service(load_packs([tmp_path / "lamps.yaml"]), MemoryStore(), contract, at_hand=1)
    for name in ("first", "second"):
        begin(service, name, ticket_id="t-1", seed=8)
    (tmp_path / "lamps.yaml").write_text(text.replace("version: 1.2.3", "version: 2.0.0"), "utf-8")
    in_a_worker(service, tmp_path)
    for name in ("first", "second", "first"):
        answer = step(service, CLASSIFY if name == "second" else ASK_ORDER, name)
        assert answer["metadata"]["pack_version"] == "1.2.3"
