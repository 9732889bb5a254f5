"""Several services on one store, as workers would be: none needs to have seen the steps before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.contract import Contract
from engine.load import load_pack
from engine.pack import Pack
from server.service import Service
from server.store import EpisodeStore, Key, Record, Step
from server.store.memory import MemoryStore
from tests.server.calls import ASK_EMAIL, ASK_ORDER, CLASSIFY, HOME, NOBODY, RESOLVE, begin, problem, step
from tests.server.store_calls import Forgetful


def test_any_worker_serves_any_step(worker: Callable[[], Service]) -> None:
    one, two = worker(), worker()
    begin(one)
    assert step(one, CLASSIFY)["reward"] == 0.5
    assert step(two, ASK_ORDER)["reward"] == 0.25
    # What the first has at hand is a step behind now, and nobody is told so.
    assert step(one, ASK_EMAIL)["observation"]["step_count"] == 3
    assert step(two, RESOLVE)["metadata"]["score"] == 1.0
    problem(409, lambda: step(one, RESOLVE))
    begin(two)
    assert step(one, CLASSIFY)["observation"]["step_count"] == 1
    assert two.state("e", NOBODY)["step_count"] == 1


def test_a_repeat_at_another_worker(worker: Callable[[], Service]) -> None:
    one, two = worker(), worker()
    first = begin(one, request_id="r0")
    answer = step(one, ASK_ORDER, request_id="r1")
    step(one, ASK_EMAIL)
    assert step(two, ASK_ORDER, request_id="r1") == answer
    assert begin(two, request_id="r0") == first


def test_superseded_by_another_worker(worker: Callable[[], Service]) -> None:
    one, two = worker(), worker()
    one.reset({"ticket_id": "t-1"}, HOME)
    step(one, ASK_ORDER, None, HOME)
    two.reset({"ticket_id": "t-1"}, HOME)
    assert "superseded" in problem(409, lambda: step(one, ASK_EMAIL, "made-1")).detail


class Overtaken(MemoryStore):
    """Lets another writer's step in before the first append."""

    def __init__(self) -> None:
        super().__init__()
        self.other: Step | None = Step(ASK_EMAIL, "theirs", 5.0)

    def append(self, key: Key, index: int, step: Step, end_reason: str | None) -> None:
        if self.other is not None:
            other, self.other = self.other, None
            super().append(key, index, other, None)
        super().append(key, index, step, end_reason)


def test_of_two_writers_one_wins(lamps: Pack, contract: Contract) -> None:
    service = Service([lamps], Overtaken(), contract, clock=lambda: 5.0)
    begin(service)
    lost = problem(409, lambda: step(service, ASK_ORDER))
    assert lost.members == {"episode_id": "e", "step_count": 1}
    assert "step 1" in lost.detail
    # The loser looks, and steps again.
    answer = step(service, ASK_ORDER)
    assert answer["observation"]["known_info"] == {"order": "A-1001", "email": "sam@example.org"}
    assert answer["observation"]["step_count"] == 2


def test_what_the_store_dropped_is_unknown(lamps: Pack, contract: Contract) -> None:
    service = Service([lamps], MemoryStore(capacity=1), contract)
    begin(service, "e")
    begin(service, "f")
    problem(404, lambda: step(service, RESOLVE, "e"))
    problem(404, service.state, "e", NOBODY)
    assert step(service, ASK_ORDER, "f")["reward"] == 0.25


def test_an_episode_that_is_not_at_hand_is_replayed(lamps: Pack, contract: Contract, store: EpisodeStore) -> None:
    service = Service([lamps], store, contract, at_hand=1)
    names = ["e", "f", "g"]
    for name in names:
        begin(service, name)
    for action, reward in ((CLASSIFY, 0.5), (ASK_ORDER, 0.25), (ASK_EMAIL, 0.25), (RESOLVE, 1.0)):
        assert [step(service, action, name)["reward"] for name in names] == [reward] * 3


class Asked(MemoryStore):
    """Counts how often somebody looks an episode up."""

    looked_up = 0

    def get(self, episode_id: str) -> Record | None:
        self.looked_up += 1
        return super().get(episode_id)


def test_an_episode_whose_agent_says_much_is_not_kept_at_hand(lamps: Pack, contract: Contract) -> None:
    store = Asked()
    service = Service([lamps], store, contract)
    begin(service)
    step(service, {"type": "shout", "text": "x" * 15_000})
    assert store.looked_up == 0  # 15 kB may be kept for each of the thousands of episodes at hand, 30 not
    step(service, {"type": "shout", "text": "y" * 15_000})
    assert store.looked_up == 0
    assert step(service, CLASSIFY)["observation"]["step_count"] == 3
    assert step(service, ASK_ORDER)["reward"] == 0.25
    assert store.looked_up == 2


def test_a_pack_that_is_no_longer_served(
    worker: Callable[[], Service], store: EpisodeStore, contract: Contract, root: Path
) -> None:
    begin(worker())
    other = Service([load_pack(root / "tests" / "packs" / "desk.yaml")], store, contract)
    # It is kept, so the episode goes on; a new one can't be begun with it.
    assert step(other, CLASSIFY)["reward"] == 0.5
    problem(404, lambda: begin(other, "f", pack="lamps"))


def test_a_pack_that_is_neither_served_nor_kept(lamps: Pack, contract: Contract, root: Path) -> None:
    store = Forgetful()
    begin(Service([lamps], store, contract))
    other = Service([load_pack(root / "tests" / "packs" / "desk.yaml")], store, contract)
    assert "neither served nor kept" in problem(409, lambda: step(other, RESOLVE)).detail
