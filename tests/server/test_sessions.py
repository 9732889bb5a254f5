"""Sessions: how many there may be, who holds them, and that any worker goes on with one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.mcp import Mcp
from server.protocol import Conversation
from server.service import Service
from server.sessions import PREFIX, SPARED, Full, Session, Sessions, Unknown
from server.store.memory import MemoryStore
from tests.server.rpc import LATEST, message, result

IDLE = 3_600.0


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def workers(now: list[float]) -> Callable[..., Sessions]:
    """Makes registries that share their notes and a clock, as workers would."""
    notes, ids = MemoryStore(), (f"s{number}" for number in itertools.count(1))
    return lambda capacity=8: Sessions(lambda: now[0], lambda: next(ids), capacity, IDLE, notes=notes)


@pytest.fixture
def here(now: list[float]) -> Sessions:
    """One that is alone in the world."""
    ids = (f"s{number}" for number in itertools.count(1))
    return Sessions(lambda: now[0], lambda: next(ids), 2, IDLE, notes=MemoryStore())


def unknown(call: Callable[..., Any], *given: Any) -> str:
    with pytest.raises(Unknown) as caught:
        call(*given)
    return str(caught.value)


# -- one process


def test_there_is_room_for_so_many(here: Sessions) -> None:
    own, made = here.open(socket=True), here.open()
    for socket in (True, False):
        with pytest.raises(Full, match="all 2 sessions are taken") as full:
            here.open(socket=socket)
        assert (full.value.active, full.value.capacity) == (2, 2)
    here.detach(own)
    assert here.close(made.id) is True
    assert here.open(socket=True).id != own.id and here.open().id != made.id


def test_silent_sessions_make_room(here: Sessions, now: list[float]) -> None:
    silent, there = here.open(), here.open()
    now[0] += IDLE
    here.find(there.id)
    assert here.find(silent.id).id == silent.id  # only where there is no room, and longer than that
    now[0] += IDLE
    here.find(there.id)
    now[0] += 1
    here.open()
    assert "no session 's1'" in unknown(here.find, silent.id)
    assert here.find(there.id).id == there.id


def test_whoever_takes_all_the_room_does_not_keep_it(workers: Callable[..., Sessions], now: list[float]) -> None:
    """Whoever spoke within the last minute stays, and newcomers wait no longer than two."""
    room = workers(100)
    talking, thinking = room.open().id, room.open().id
    now[0] += 300
    taken = [room.open().id for _ in range(98)]
    for _ in range(2):  # a minute each, in which two speak
        now[0] += SPARED / 2
        for name in (talking, taken[0]):
            room.find(name)
    newcomers = [room.open().id]  # in the place of the one that was silent for longest
    unknown(room.find, thinking)
    with pytest.raises(Full):
        room.open()
    now[0] += 1
    newcomers += [room.open().id for _ in range(97)]
    with pytest.raises(Full):
        room.open()
    for name in (talking, taken[0], *newcomers):
        assert room.find(name).id == name
    unknown(room.find, taken[1])


def test_those_silent_for_longest_go_first(workers: Callable[..., Sessions], now: list[float]) -> None:
    room = workers(4)
    names = []
    for wait in (IDLE / 2, IDLE / 8, IDLE / 8):
        names.append(room.open().id)
        now[0] += wait
    names.append(room.open().id)
    now[0] += IDLE / 8  # they were silent for 7/8, 3/8, 2/8 and 1/8 of it
    room.open()
    unknown(room.find, names[0])
    unknown(room.find, names[1])
    for name in names[2:]:
        assert room.find(name).id == name


def test_what_a_socket_holds_is_in_nobodys_way(workers: Callable[..., Sessions], now: list[float]) -> None:
    here, there = workers(2), workers(2)
    held, left = there.attach(there.open().id), there.open()
    there.detach(there.attach(left.id))
    now[0] += IDLE - 1
    newcomer = here.open()
    unknown(here.find, left.id)
    assert there.find(held.id).id == held.id
    now[0] += SPARED + 1
    here.open()
    unknown(here.find, newcomer.id)
    assert there.find(held.id).id == held.id


def test_looking_for_room_is_not_free(now: list[float]) -> None:
    class Counting(MemoryStore):
        looks = 0

        def forget(self, prefix: str, before: float) -> int:
            self.looks += 1
            return super().forget(prefix, before)

    notes = Counting()
    ids = (f"s{number}" for number in itertools.count(1))
    room = Sessions(lambda: now[0], lambda: next(ids), 1, IDLE, notes=notes)
    room.open()
    for _ in range(1_000):
        with pytest.raises(Full):
            room.open()
    assert notes.looks == 4  # once, in steps
    now[0] += SPARED + 1
    room.open()


def test_a_sockets_own_session(here: Sessions) -> None:
    own = here.open(socket=True)
    assert here.find(own.id) is own
    assert "another socket's own" in unknown(here.attach, own.id)
    assert here.close(own.id) is False
    unknown(here.find, own.id)
    here.detach(own)
    unknown(here.close, own.id)


@pytest.mark.parametrize("name", ["", "s0", "\ud800", "⚠️" * 5_000])
def test_a_session_that_there_is_not(here: Sessions, name: str) -> None:
    for call in (here.find, here.attach, here.close):
        assert len(unknown(call, name)) < 150


# -- several that share their notes


def test_any_worker_goes_on_with_a_session(workers: Callable[..., Sessions]) -> None:
    one, other = workers(), workers()
    made = one.open()
    made.episode_id, made.protocol = "e-1", LATEST
    one.keep(made)
    found = other.find(made.id)
    assert (found.episode_id, found.protocol, found.trained) == ("e-1", LATEST, False)
    found.episode_id, found.trained = "e-2", True
    other.keep(found)
    # The first looks again before it goes on; what it didn't change it doesn't take back.
    made.protocol = "2025-03-26"
    one.refresh(made)
    assert (made.episode_id, made.trained, made.protocol) == ("e-2", True, "2025-03-26")
    assert other.find(made.id).protocol == "2025-03-26"
    assert other.close(made.id) is True
    one.keep(made)
    one.refresh(made)
    one.detach(made)
    unknown(one.find, made.id)


def test_one_socket_holds_it_wherever_that_is(workers: Callable[..., Sessions]) -> None:
    one, other = workers(), workers()
    name = one.open().id
    held = one.attach(name)
    for worker in (one, other):
        assert "held by another socket" in unknown(worker.attach, name)
    one.detach(held)
    held = other.attach(name)
    for _ in range(2):
        assert one.close(name) is False
    unknown(one.find, name)
    unknown(one.attach, name)
    other.detach(held)
    unknown(one.close, name)


def test_what_a_worker_held_that_was_killed_can_be_had_again(
    workers: Callable[..., Sessions], now: list[float]
) -> None:
    killed, other = workers(), workers()
    name, gone = killed.open().id, killed.open().id
    for held in (name, gone):
        killed.attach(held)
    now[0] += IDLE - 1
    for worker in (killed, other):
        unknown(worker.attach, name)  # neither this nor a tool's call is a sign of life of the socket
        worker.find(name)
    now[0] += 1
    assert other.attach(name).id == name
    assert other.close(gone) is True


def test_a_socket_that_talks_holds_on(workers: Callable[..., Sessions], now: list[float]) -> None:
    one, other = workers(), workers()
    held = one.attach(one.open().id)
    for _ in range(100):
        now[0] += IDLE - 1
        one.refresh(held)
        unknown(other.attach, held.id)


def test_they_share_the_room_too(workers: Callable[..., Sessions]) -> None:
    one, other = workers(3), workers(3)
    made = [one.open(), other.open(), one.open()]
    for worker in (one, other):
        with pytest.raises(Full):
            worker.open()
    assert one.close(made[1].id) is True
    other.open()


def test_signs_of_life_are_stored_now_and_then(now: list[float]) -> None:
    class Counting(MemoryStore):
        swaps = 0

        def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
            assert name.startswith(PREFIX)
            self.swaps += 1
            return super().swap(name, old, new, at)

    notes = Counting()
    registry = Sessions(lambda: now[0], lambda: "s", notes=notes)
    registry.open()
    for _ in range(59):
        now[0] += 1
        registry.find("s")
    assert notes.swaps == 1
    now[0] += 1
    registry.find("s")
    assert notes.swaps == 2


def test_of_two_that_change_it_neither_loses(now: list[float]) -> None:
    class Contended(MemoryStore):
        """Lets somebody else in before a swap."""

        before: Callable[[], None] | None = None

        def swap(self, name: str, old: str | None, new: str | None, at: float) -> bool:
            meanwhile, self.before = self.before, None
            if meanwhile is not None:
                meanwhile()
            return super().swap(name, old, new, at)

    notes = Contended()
    one, other = (Sessions(lambda: now[0], lambda: "s", notes=notes) for _ in range(2))
    mine, theirs = one.open(), other.find("s")
    mine.episode_id, theirs.protocol = "e", LATEST
    notes.before = lambda: other.keep(theirs)
    one.keep(mine)
    kept = other.find("s")
    assert (kept.episode_id, kept.protocol) == ("e", LATEST)
    notes.before = lambda: other.detach(other.attach("s"))
    assert one.attach("s").episode_id == "e"


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_kept(episode_id: str, protocol: str) -> None:
    registry = Sessions(lambda: 0.0, lambda: "s", notes=MemoryStore())
    session = registry.open()
    session.episode_id, session.protocol = episode_id, protocol
    registry.keep(session)
    found = registry.find("s")
    assert (found.episode_id, found.protocol) == (episode_id, protocol)


# -- over MCP and on sockets


def test_an_agent_whose_messages_go_to_any_worker(
    worker: Callable[[], Service], workers: Callable[..., Sessions]
) -> None:
    mcps = itertools.cycle([Mcp(worker(), workers()) for _ in range(3)])

    def say(asked: Any, session: str | None) -> Any:
        mcp = next(mcps)
        held = mcp.sessions.find(session) if session is not None else mcp.sessions.open()
        reply = result(mcp.handle(asked, held))
        return held.id, reply

    name, _ = say(message("initialize", {"protocolVersion": LATEST}), None)
    say(message("tools/call", {"name": "reset", "arguments": {"ticket_id": "t-1"}}), name)
    for count in range(1, 7):
        _, called = say(message("tools/call", {"name": "classify"}), name)
        assert called["data"]["step_count"] == count


def test_a_socket_at_one_worker_and_its_tools_at_another(
    worker: Callable[[], Service], workers: Callable[..., Sessions]
) -> None:
    there, here = workers(), workers()
    mcp = Mcp(worker(), here)
    name = mcp.sessions.open().id
    conversation = Conversation(service := worker(), Mcp(service, there), there.attach(name))

    def talk(kind: str, **data: Any) -> Any:
        frame = conversation.receive(json.dumps({"type": kind} | ({"data": data} if data else {}))).frame
        assert frame is not None
        return json.loads(frame)["data"]

    def call(tool: str) -> Any:
        return result(mcp.handle(message("tools/call", {"name": tool, "session_id": name}), Session("other")))["data"]

    assert call("classify")["step_count"] == 1  # before any reset an episode begins
    assert talk("state")["step_count"] == 1
    talk("reset", ticket_id="t-1", episode_id="e")
    assert call("classify")["step_count"] == 1
    assert (talk("state")["episode_id"], talk("state")["step_count"]) == ("e", 1)
    assert call("reset")["history"][-1]["text"].startswith("There is no action 'reset'.")  # its trainer resets
