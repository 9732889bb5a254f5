"""What becomes of episodes that nobody goes on with, and of those that are over, as time goes by."""

from __future__ import annotations

from collections.abc import Callable

from server.settings import settings
from server.store import EpisodeStore, Key, Unavailable
from server.store.memory import MemoryStore
from server.upkeep import Upkeep
from tests.server.store_calls import start, step

DAY = 86_400.0


def look(store: EpisodeStore, **environment: str) -> Callable[[float], list[tuple[str, str | None]]]:
    """Lets the upkeep of a server with this environment take its turn at a time: what is left, and how it ended."""
    now = [0.0]
    configured = settings({"STORE": "memory:", **environment})
    upkeep = Upkeep(store, lambda: now[0], configured.idle, configured.keep, lambda: None)

    def at(time: float) -> list[tuple[str, str | None]]:
        now[0] = time
        upkeep.turn()
        return [(record.key.episode_id, record.end_reason) for record in store.records()]

    return at


def played(store: EpisodeStore) -> None:
    """Two episodes: one that is over after 11 seconds, and one that was stepped then and is open."""
    for name, reason in (("over", "resolved"), ("open", None)):
        store.create(name, start())
        store.append(Key(name, 1), 0, step(1), reason)


def test_what_is_over_is_kept_for_thirty_days(any_store: EpisodeStore) -> None:
    played(any_store)
    at = look(any_store)
    both = [("over", "resolved"), ("open", None)]
    assert at(DAY) == both
    assert at(DAY + 20) == [("over", "resolved"), ("open", "expired")]
    assert at(30 * DAY) == [("over", "resolved"), ("open", "expired")]
    assert at(30 * DAY + 20) == [("open", "expired")]
    # The other one has been over since it expired, a day and 20 seconds after the start.
    assert at(31 * DAY) == [("open", "expired")]
    assert at(31 * DAY + 40) == []


def test_nothing_is_forgotten_where_that_is_asked_for() -> None:
    store = MemoryStore()
    played(store)
    at = look(store, KEEP="0", IDLE="0")
    assert at(100_000 * DAY) == [("over", "resolved"), ("open", None)]


def test_it_looks_every_ten_seconds() -> None:
    store = MemoryStore()
    played(store)
    at = look(store, KEEP="1", IDLE="0")
    assert at(9.0) == at(9.9) == [("over", "resolved"), ("open", None)]
    assert at(12.5) == [("open", None)]


def test_a_store_that_does_not_answer_is_asked_again_later() -> None:
    class Away(MemoryStore):
        away = True

        def prune(self, before: float) -> int:
            if self.away:
                raise Unavailable("It is away.")
            return super().prune(before)

    store = Away()
    played(store)
    at = look(store, KEEP="1", IDLE="0")
    assert len(at(100.0)) == 2
    store.away = False
    assert len(at(105.0)) == 2
    assert len(at(111.0)) == 1
