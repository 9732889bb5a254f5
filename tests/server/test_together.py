"""Steps that are taken together are answered as if each had come alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.contract import Contract
from engine.pack import Pack
from server import http
from server.service import Service
from server.store import Append, Unavailable
from server.store.memory import MemoryStore
from server.store.sqlite import SqliteStore
from server.together import Together, answers
from tests.server.calls import ASK_EMAIL, ASK_ORDER, CLASSIFY, RESOLVE, begin


def request(body: Any, owner: str = "") -> http.Request:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http.Request(raw, {}, {}, None, None, owner)


def act(name: str, action: Any = CLASSIFY, **more: Any) -> http.Request:
    return request({"episode_id": name, "action": action, **more})


def alone(service: Service, requests: Sequence[http.Request]) -> list[http.Answer]:
    return [http.respond(service, http.HOT[http.STEP], one) for one in requests]


MIXED = (
    [act("a"), act("b"), act("c")],
    [act("a", ASK_ORDER, request_id="r"), act("b", {"type": "no-such"}), act("c", {})],
    [act("a", ASK_ORDER, request_id="r"), act("b", ASK_EMAIL)],  # one is repeated
    [act("a"), request(b"{"), act("b"), request({"seed": 1}), act("nobody")],  # some are wrong
    [act("a", ASK_EMAIL), act("a", RESOLVE), act("b", ASK_ORDER)],  # two of one episode
    [act("a"), act("b", RESOLVE), act("c")],  # one is over
    [request({"action": CLASSIFY}), act("c")],  # one names no episode
)


def test_the_answers_are_the_same(worker: Callable[[], Service], lamps: Pack, contract: Contract) -> None:
    one = worker()
    other = Service([lamps], MemoryStore(), contract)
    for service in (one, other):
        for name in "abc":
            begin(service, name)
    for requests in MIXED:
        assert answers(one, requests) == alone(other, requests)


class Counting(SqliteStore):
    """Notes how many steps come at once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.together: list[int] = []

    def append_all(self, appends: Sequence[Append]) -> bool:
        self.together.append(len(appends))
        return super().append_all(appends)


def test_what_comes_in_one_turn_is_one_write(tmp_path: Path, lamps: Pack, contract: Contract) -> None:
    store = Counting(tmp_path / "episodes.db")
    service = Service([lamps], store, contract)
    names = [f"e{number}" for number in range(8)]
    for name in names:
        begin(service, name)

    async def ask() -> list[http.Answer]:
        together = Together(service)
        first = await asyncio.gather(*(together.step(act(name)) for name in names))
        return [*first, await together.step(act("e0", ASK_ORDER))]

    told = asyncio.run(ask())
    assert [answer.status for answer in told] == [200] * 9
    assert [json.loads(answer.body)["metadata"]["episode_id"] for answer in told] == [*names, "e0"]
    assert store.together == [8]
    store.close()


def test_a_store_that_fails_is_not_tried_again(lamps: Pack, contract: Contract) -> None:
    class Failing(MemoryStore):
        def append_all(self, appends: Sequence[Append]) -> bool:
            super().append_all(appends)
            raise Unavailable("The disk is full.")

    store = Failing()
    service = Service([lamps], store, contract)
    for name in "ab":
        begin(service, name)
    told = answers(service, [act("a", request_id="r"), act("b", request_id="r")])
    assert [(answer.status, dict(answer.headers)["Retry-After"]) for answer in told] == [(503, "1")] * 2
    # They were taken after all: asked again, they are answered, and nothing is doubled.
    assert [answer.status for answer in answers(service, [act("a", request_id="r")])] == [200]
    assert [len(record.steps) for record in map(store.get, ("/a", "/b")) if record] == [1, 1]
