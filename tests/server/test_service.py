"""The service: resets, steps, addressing, exactly once. Values are worked out from the design."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from engine.contract import Contract
from engine.pack import Pack
from server import moments
from server.answers import encode
from server.service import Caller, Service
from server.store import EpisodeStore
from server.store.memory import MemoryStore
from tests.server.calls import ASK_EMAIL, ASK_ORDER, CLASSIFY, HOME, NOBODY, RESOLVE, begin, problem, step


def test_a_graded_episode(service: Service, lamps: Pack) -> None:
    first = begin(service)
    assert list(first) == ["observation", "reward", "done", "metadata"]
    assert (first["reward"], first["done"]) == (None, False)
    assert first["observation"] == {
        "ticket_id": "t-1",
        "customer_message": "Wo bleibt {meine} Lampe, «Ø» ⚠️ 版本?",
        "history": [{"role": "customer", "step": 0, "text": "Wo bleibt {meine} Lampe, «Ø» ⚠️ 版本?"}],
        "known_info": {},
        "required": ["order", "email"],
        "missing_required": ["order", "email"],
        "info_progress": 0.0,
        "status": "open",
        "step_count": 0,
        "remaining_steps": 10,
    }
    metadata = {
        "episode_id": "e",
        "addressed_by": "id",
        "pack": "lamps",
        "pack_version": "1.2.3",
        "pack_digest": lamps.digest,
        "task_id": "easy-info-collection",
        "seed": 7,
        "outcome": None,
        "terminated": False,
        "truncated": False,
        "end_reason": None,
        "error": None,
    }
    assert list(first["metadata"].items()) == list(metadata.items())
    # The category's 0.5, half of the fields' 0.5 for each of two, and the rest of 2.0 for the goal.
    answers = [step(service, action) for action in (CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE)]
    assert [answer["reward"] for answer in answers] == [0.5, 0.25, 0.25, 1.0]
    assert [answer["done"] for answer in answers] == [False, False, False, True]
    # Easy: 2 collected of half of 2 is 1.0 at most; nothing shorter than these four steps earns all of it.
    over = {"outcome": "resolve.done", "terminated": True, "end_reason": "resolved", "score": 1.0, "optimal_steps": 4}
    assert list(answers[-1]["metadata"].items()) == list({**metadata, **over}.items())
    assert all("score" not in answer["metadata"] for answer in answers[:-1])
    late = problem(409, lambda: step(service, RESOLVE))
    assert late.members == {"episode_id": "e", "step_count": 4}
    assert "resolved after 4 steps" in late.detail
    assert "POST /reset" in late.detail


def test_state(service: Service, lamps: Pack) -> None:
    begin(service)
    step(service, ASK_ORDER)
    expected = {
        "episode_id": "e",
        "step_count": 1,
        "pack": "lamps",
        "pack_version": "1.2.3",
        "pack_digest": lamps.digest,
        "task_id": "easy-info-collection",
        "ticket_id": "t-1",
        "seed": 7,
        "remaining_steps": 9,
        "status": "open",
        "done": False,
        "terminated": False,
        "truncated": False,
        "end_reason": None,
    }
    assert service.state("e", NOBODY) == expected
    for action in (CLASSIFY, ASK_EMAIL, RESOLVE):
        step(service, action)
    over = {"step_count": 4, "remaining_steps": 6, "status": "resolved", "done": True, "terminated": True}
    assert service.state("e", NOBODY) == {**expected, **over, "end_reason": "resolved"}
    problem(404, service.state, "another", NOBODY)


def test_steps_run_out(service: Service) -> None:
    begin(service)
    answers = [step(service, {}) for _ in range(10)]
    # -1.0 over ten steps: -0.1 for each that is wasted.
    assert [answer["reward"] for answer in answers] == [-0.1] * 10
    last = answers[-1]["metadata"]
    assert (last["outcome"], last["truncated"], last["end_reason"], last["score"]) == (
        "invalid",
        True,
        "max_steps",
        0.0,
    )
    assert last["error"] == answers[-1]["observation"]["history"][-1]["text"]
    assert "max_steps after 10 steps" in problem(409, lambda: step(service, {})).detail
    assert service.state("e", NOBODY)["truncated"] is True


def test_what_a_reset_chooses(service: Service, lamps: Pack) -> None:
    drawn = service.reset(None, NOBODY)
    assert (drawn["metadata"]["seed"], drawn["metadata"]["episode_id"]) == (7, "made-1")
    by_seed = [service.reset({"seed": 7}, NOBODY)["observation"]["ticket_id"] for _ in range(3)]
    assert by_seed == [drawn["observation"]["ticket_id"]] * 3
    picked = {service.reset({"seed": seed}, NOBODY)["observation"]["ticket_id"] for seed in range(60)}
    assert picked == set(lamps.tickets)
    hard = {"task_id": "hard-efficient-resolution"}
    of_task = {service.reset({"seed": seed, **hard}, NOBODY)["observation"]["ticket_id"] for seed in range(30)}
    assert of_task == {"t-3", "t-4"}
    assert service.reset({"ticket_id": "t-4", "pack": "lamps", **hard}, NOBODY)["observation"]["ticket_id"] == "t-4"


@pytest.mark.parametrize(
    ("asked", "pointer", "near"),
    [
        ({"pack": "lamp"}, "/pack", "'lamps'"),
        ({"ticket_id": "t-11"}, "/ticket_id", "'t-1'"),
        ({"task_id": "easy-info-colection"}, "/task_id", "'easy-info-collection'"),
        ({"pack": "x" * 60_000}, "/pack", "GET /packs"),
        ({"ticket_id": "", "pack": None}, "/ticket_id", "GET /tasks"),
    ],
)
def test_unknown_names(service: Service, asked: dict[str, Any], pointer: str, near: str) -> None:
    wrong = problem(404, service.reset, asked, NOBODY)
    assert near in wrong.detail
    assert len(wrong.detail) < 300
    assert [error["pointer"] for error in wrong.errors] == [pointer]


def test_a_ticket_of_another_pack(lamps: Pack, desk: Pack, contract: Contract, store: EpisodeStore) -> None:
    service = Service([lamps, desk], store, contract)
    ticket = next(iter(desk.tickets))
    assert f"Pack '{desk.name}' has" in problem(404, service.reset, {"ticket_id": ticket}, NOBODY).detail
    assert service.reset({"ticket_id": ticket, "pack": desk.name}, NOBODY)["metadata"]["pack"] == desk.name


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert encode({"⚠️": "\ud800"}) == b'{"\\u26a0\\ufe0f":"\\ud800"}'


def test_a_ticket_of_another_task(service: Service) -> None:
    asked = {"ticket_id": "t-1", "task_id": "medium-complete-info"}
    wrong = problem(422, service.reset, asked, NOBODY)
    assert "'easy-info-collection'" in wrong.detail
    assert [error["pointer"] for error in wrong.errors] == ["/task_id"]


def test_client_mistakes_change_nothing(service: Service) -> None:
    begin(service)
    before = service.state("e", NOBODY)
    problem(422, service.step, {"episode_id": "e"}, NOBODY)
    problem(422, service.step, {"episode_id": "e", "action": "resolve"}, NOBODY)
    problem(422, service.reset, {"episode_id": "e", "seed": -1}, NOBODY)
    problem(404, service.reset, {"episode_id": "e", "ticket_id": "none"}, NOBODY)
    assert service.state("e", NOBODY) == before


# -- Which episode is meant


def test_the_id_comes_first_then_the_cookie_then_the_address(service: Service) -> None:
    at_home = service.reset({"ticket_id": "t-1"}, HOME)["metadata"]
    assert (at_home["episode_id"], at_home["addressed_by"]) == ("made-1", "address")
    by_cookie = service.reset({"ticket_id": "t-1"}, Caller("made-0", HOME.address))["metadata"]
    assert (by_cookie["episode_id"], by_cookie["addressed_by"]) == ("made-2", "cookie")
    begin(service, "mine", Caller("made-2", HOME.address))
    for named, caller, meant, by in [
        ("mine", Caller("made-2", HOME.address), "mine", "id"),
        (None, Caller("made-2", HOME.address), "made-2", "cookie"),
        (None, HOME, "made-1", "address"),
    ]:
        metadata = step(service, ASK_ORDER, named, caller)["metadata"]
        assert (metadata["episode_id"], metadata["addressed_by"]) == (meant, by)
        assert service.state(named, caller)["episode_id"] == meant
    assert [service.state(name, NOBODY)["step_count"] for name in ("mine", "made-1", "made-2")] == [1, 1, 1]


def test_nothing_to_go_by(service: Service) -> None:
    for caller in (NOBODY, HOME):
        assert "POST /reset first" in problem(404, lambda c=caller: step(service, RESOLVE, None, c)).detail
        assert "POST /reset first" in problem(404, service.state, None, caller).detail
    assert "POST /reset" in problem(404, lambda: step(service, RESOLVE, None, Caller("stale", HOME.address))).detail
    # The detail of an unknown episode names no other episode.
    begin(service, "secret-1")
    assert "secret-1" not in problem(404, lambda: step(service, RESOLVE, "secret-2")).detail


def test_a_reset_at_an_address_supersedes_the_one_before(service: Service) -> None:
    service.reset({"ticket_id": "t-1"}, HOME)
    step(service, ASK_ORDER, None, HOME)
    service.reset({"ticket_id": "t-1"}, Caller(address="10.0.0.2"))
    begin(service, "named", HOME)
    assert service.state("made-1", NOBODY)["done"] is False
    service.reset({"ticket_id": "t-1"}, HOME)
    late = problem(409, lambda: step(service, ASK_EMAIL, "made-1"))
    assert "superseded" in late.detail
    assert "episode_id" in late.detail
    state = service.state("made-1", NOBODY)
    assert (state["end_reason"], state["done"], state["truncated"], state["status"]) == (
        "superseded",
        True,
        True,
        "open",
    )
    assert service.state("made-2", NOBODY)["done"] is False
    assert service.state(None, HOME)["episode_id"] == "made-3"


def test_what_is_over_is_not_superseded(service: Service) -> None:
    service.reset({"ticket_id": "t-1"}, HOME)
    for action in (CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE):
        step(service, action, None, HOME)
    service.reset({"ticket_id": "t-1"}, HOME)
    assert service.state("made-1", NOBODY)["end_reason"] == "resolved"


# -- Attempts, and exactly once


def test_a_reset_of_an_id_starts_a_new_attempt(service: Service, store: MemoryStore) -> None:
    begin(service)
    step(service, ASK_ORDER)
    again = begin(service, ticket_id="t-2")
    assert (again["observation"]["step_count"], again["observation"]["ticket_id"]) == (0, "t-2")
    assert step(service, CLASSIFY)["observation"]["step_count"] == 1
    record = store.get("/e")
    assert record is not None
    assert record.key.attempt == 2
    assert [taken.action for taken in record.steps] == [CLASSIFY]


def test_a_repeated_request_gets_the_first_answer(service: Service, store: MemoryStore) -> None:
    first = begin(service, request_id="r0")
    answers = [
        step(service, action, request_id=f"r{number}")
        for number, action in enumerate((CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE), 1)
    ]
    for _ in range(2):
        assert encode(begin(service, request_id="r0")) == encode(first)
        for number, answer in enumerate(answers, 1):
            # Another action changes nothing about it: the request id decides.
            assert encode(step(service, CLASSIFY, request_id=f"r{number}")) == encode(answer)
    assert service.state("e", NOBODY)["step_count"] == 4
    record = store.get("/e")
    assert record is not None and record.key.attempt == 1
    # A step's request id, used for a reset, gets the step's answer.
    assert begin(service, request_id="r2") == answers[1]


def test_a_late_repeat_after_a_new_attempt(service: Service) -> None:
    first = begin(service, request_id="r0")
    answer = step(service, ASK_ORDER, request_id="r1")
    begin(service, request_id="r2", ticket_id="t-2")
    step(service, ASK_ORDER, request_id="r3")
    assert step(service, ASK_ORDER, request_id="r1") == answer
    assert begin(service, request_id="r0") == first
    state = service.state("e", NOBODY)
    assert (state["step_count"], state["ticket_id"]) == (1, "t-2")


def test_a_repeat_after_the_episode_was_superseded(service: Service) -> None:
    service.reset({"ticket_id": "t-1"}, HOME)
    answer = step(service, ASK_ORDER, "made-1", request_id="r1")
    service.reset({"ticket_id": "t-1"}, HOME)
    assert step(service, ASK_ORDER, "made-1", request_id="r1") == answer
    assert answer["metadata"]["end_reason"] is None
    problem(409, lambda: step(service, ASK_ORDER, "made-1", request_id="r2"))


def test_the_same_request_id_in_two_episodes(service: Service) -> None:
    begin(service, "e", request_id="r")
    begin(service, "f", request_id="r", ticket_id="t-2")
    assert service.state("f", NOBODY)["ticket_id"] == "t-2"


def test_invalid_actions_replay_as_they_were(worker: Callable[[], Service]) -> None:
    one, two = worker(), worker()
    odd: list[dict[str, Any]] = [
        {},
        {"type": None},
        {"name": "ask_info", "arguments": {"field": "order"}},
        {"type": "ask_info", "field": ["order"], "parameters": "x", "extra": {"deep": [1, 2.5, "⚠️"]}},
        {"method": "tools/call", "params": {"name": "ask_info", "arguments": {"field": "email"}}},
        {"action_type": "fly", "parameters": {"type": "x", "name": 1}},
    ]
    begin(one)
    answers = [step(one, action, request_id=str(number)) for number, action in enumerate(odd)]
    assert [encode(step(two, {}, request_id=str(number))) for number in range(len(odd))] == [
        encode(one) for one in answers
    ]
    assert answers[-1]["observation"]["known_info"] == {"order": "A-1001", "email": "sam@example.org"}


def test_same_seed_and_actions_same_bytes(worker: Callable[[], Service]) -> None:
    def transcript(service: Service) -> list[bytes]:
        actions = (CLASSIFY, ASK_ORDER, {"type": "fly"}, ASK_ORDER, RESOLVE)
        return [encode(begin(service, ticket_id="t-2"))] + [encode(step(service, action)) for action in actions]

    first = transcript(worker())
    assert transcript(worker()) == first


def test_what_is_forgotten_is_worked_out_again(service: Service, lamps: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(moment: moments.Moment) -> int:
        return len(moment._next) + sum(map(kept, moment._next.values()))

    def transcripts() -> list[bytes]:
        made = []
        for number, action in enumerate((CLASSIFY, ASK_ORDER, ASK_EMAIL, RESOLVE)):
            begin(service, f"e{number}")
            made += [step(service, one, f"e{number}") for one in (ASK_ORDER, action, CLASSIFY, ASK_EMAIL)]
        return [encode({**one, "metadata": None}) for one in made]

    monkeypatch.setattr(moments, "MOMENTS", 2)
    monkeypatch.setattr(moments, "_kept", deque())
    moments.begin.cache_clear()
    first = transcripts()
    assert (len(moments._kept), kept(moments.begin(lamps, "t-1", 7)) <= 2) == (2, True)
    assert transcripts() == first


def test_packs_must_be_told_apart(lamps: Pack, contract: Contract, store: EpisodeStore) -> None:
    with pytest.raises(ValueError, match="two packs are called 'lamps'"):
        Service([lamps, lamps], store, contract)
    with pytest.raises(ValueError, match="no pack"):
        Service([], store, contract)
