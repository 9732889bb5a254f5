"""The server of a run that an agent plays by itself: every reset begins the next episode, whatever it asks for.

python -m server.pull_server RUN PLACES HOST PORT
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from engine.contract import Contract
from engine.evaluation.folder import read
from engine.evaluation.plan import Plan
from engine.pack import Pack
from server.app import Deskproof, create_app, serve
from server.body import ResetBody
from server.moments import Moment, begin
from server.problems import Problem
from server.pull import PLACE
from server.service import Service
from server.settings import Settings
from server.store import EpisodeStore, Start


class RunService(Service):
    """Serves what is planned. A reset takes the next of `places`; once there is none, the run is over for agents."""

    def __init__(
        self,
        plan: Plan,
        places: Sequence[int],
        packs: Sequence[Pack],
        store: EpisodeStore,
        contract: Contract,
        **more: Any,
    ) -> None:
        super().__init__(packs, store, contract, **more)
        self._plan = plan
        begun = {record.start.options[PLACE] for record in store.records()}  # before a worker that is lost
        self._left = (place for place in places if place not in begun)
        self._taking = threading.Lock()

    def _start(self, asked: ResetBody, noted: dict[str, Any]) -> tuple[Start, Moment]:
        with self._taking:
            place = next(self._left, None)
        if place is None:
            raise Problem(409, "The run is over: all its episodes have begun.")
        key = self._plan.key(place)
        pack = self._plan.packs[key.pack]
        start = Start(pack.digest, key.ticket, key.seed, {**noted, PLACE: place}, asked.request_id, self.clock())
        return start, begin(pack, key.ticket, key.seed)


def places_in(path: Path) -> array[int]:
    """The places that a file holds, eight bytes each."""
    places = array("q")
    places.frombytes(path.read_bytes())
    return places


def main(run: str, places: str, host: str, port: str) -> None:
    plan = read(Path(run)).plan
    make = partial(RunService, plan, places_in(Path(places)))

    def load(configured: Settings) -> Deskproof:
        return create_app([*plan.packs.values()], configured=configured, make=make)

    serve(host=host, port=int(port), load=load)


if __name__ == "__main__":
    main(*sys.argv[1:])
