"""ORS sessions in process: across workers, over time, repeated, mistaken."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.contract import Contract
from engine.load import load_pack
from engine.pack import Pack
from server import http, ors
from server.service import Caller, Service
from server.store import EpisodeStore
from tests.server.calls import NOBODY
from tests.server.ors_packs import GOOD, HARD, write_many


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def workers(
    lamps: Pack, contract: Contract, store: EpisodeStore, now: list[float], tmp_path: Path
) -> Callable[[], Service]:
    """Makes services that share a store and a clock, as workers would."""
    served = [lamps, load_pack(write_many(tmp_path / "many.yaml"))]
    ids = (f"made-{number}" for number in itertools.count(1))
    return lambda: Service(served, store, contract, clock=lambda: now[0], draw_seed=lambda: 7, new_id=lambda: next(ids))


@pytest.fixture
def service(workers: Callable[[], Service]) -> Service:
    return workers()


def ask(service: Service, route: str, body: Any = None, session: str | None = "s", env: str | None = None) -> Any:
    """What a route answers: JSON, or the events of a stream as (name, data) pairs."""
    path = f"/{route}" if env is None else f"/<path:env>/{route}"
    (found,) = [handler for (_, known), handler in ors.ROUTES.items() if known == path]
    if env is not None:
        found = partial(found, env=env)
    headers = {"x-session-id": session} if session is not None else {}
    content = b"" if body is None else json.dumps(body).encode()
    answer = http.respond(service, found, http.Request(content, {}, headers, None, None))
    if answer.media_type == "text/event-stream":
        events = answer.body.decode().removesuffix("\r\n\r\n").split("\r\n\r\n")
        return [tuple(re.fullmatch("event: (.*)\r\ndata: (.*)", event, re.DOTALL).groups()) for event in events]  # type: ignore[union-attr]
    return json.loads(answer.body)


def begin(service: Service, ticket: str = "t-1", session: str = "s") -> None:
    created = ask(service, "create", {"env_name": "lamps", "task_spec": {"ticket_id": ticket}}, session)
    assert created == {"sid": session}


def call(service: Service, name: str, env: str = "lamps", session: str = "s", **more: Any) -> Any:
    """The result of a call, and the id that its first event gives."""
    given = more.pop("input", {})
    first, *events = ask(service, "call", {"name": name, "input": given, **more}, session, env)
    assert first[0] == "task_id"
    assert [event for event, _ in events] == ["chunk"] * (len(events) - 1) + ["end"]
    return json.loads("".join(data for _, data in events)), first[1]


def test_any_worker_goes_on_with_a_session(workers: Callable[[], Service]) -> None:
    begin(workers())
    results = [call(workers(), name, input=given)[0] for name, given in GOOD]
    assert [result["output"]["reward"] for result in results] == [0.5, 0.25, 0.25, 1.0]
    assert ask(workers(), "delete") == {"sid": "s"}


def test_a_call_that_is_repeated_gets_its_first_answer(workers: Callable[[], Service]) -> None:
    begin(workers())
    first, task_id = call(workers(), "classify")
    call(workers(), "ask_info", input={"field": "order"})
    again, same = call(workers(), "resolve", task_id=task_id)
    assert (again, same) == (first, task_id)
    record = workers().record("s", NOBODY)
    assert record is not None and len(record.steps) == 2
    unknown = ask(workers(), "call", {"name": "resolve", "input": {}, "task_id": "x"}, env="lamps")
    assert unknown == [("error", "unknown task_id")]


def test_a_session_expires_after_fifteen_minutes_of_silence(workers: Callable[[], Service], now: list[float]) -> None:
    begin(workers())
    for _ in range(100):  # a ping every ten seconds, for longer than that
        now[0] += 10
        assert ask(workers(), "ping") == {"status": "ok"}
    now[0] += 839  # the last ping that was noted may be a minute older
    assert call(workers(), "classify")[0]["ok"] is True
    now[0] += 900
    assert ask(workers(), "prompt", env="lamps")[0]["type"] == "text"
    now[0] += 901
    for route, env in (("ping", None), ("prompt", "lamps"), ("task_tools", "lamps")):
        gone = ask(workers(), route, env=env)
        assert (gone["status"], gone["detail"]) == (404, "The session 's' expired after 15 minutes of silence.")
    assert ask(workers(), "call", {"name": "resolve", "input": {}}, env="lamps")["status"] == 404
    begin(workers())
    assert ask(workers(), "ping") == {"status": "ok"}


def test_a_finished_session_lives_on_while_it_is_pinged(service: Service, now: list[float]) -> None:
    begin(service)
    for name, given in GOOD:
        call(service, name, input=given)
    for _ in range(100):
        now[0] += 10
        assert ask(service, "ping") == {"status": "ok"}
    late, _ = call(service, "resolve")
    assert late["ok"] is False and "is over (resolved after 4 steps)" in late["error"]


def test_delete_ends_the_episode(service: Service) -> None:
    begin(service)
    call(service, "classify")
    for _ in range(2):
        assert ask(service, "delete") == {"sid": "s"}
    assert ask(service, "delete_session") == {"sid": "s"}
    for gone in (ask(service, "ping"), ask(service, "prompt", env="lamps")):
        assert (gone["status"], gone["detail"]) == (404, "There is no session 's': POST /create starts one.")
    record = service.record("s", NOBODY)
    assert record is not None and (record.end_reason, len(record.steps)) == ("closed", 1)
    begin(service)
    assert call(service, "classify")[0]["output"]["reward"] == 0.5


def test_an_episode_that_is_no_session_stays_out_of_it(service: Service) -> None:
    service.reset({"episode_id": "s", "ticket_id": "t-1"}, Caller())
    for gone in (ask(service, "ping"), ask(service, "prompt", env="lamps"), ask(service, "task_tools", env="lamps")):
        assert gone["status"] == 404
    assert ask(service, "create", {"split": "train", "index": 0})["status"] == 400
    assert ask(service, "delete") == {"sid": "s"}
    record = service.record("s", NOBODY)
    assert record is not None and record.end_reason is None


def test_the_first_path_settles_the_environment(service: Service) -> None:
    assert ask(service, "create", {"split": "train", "index": 4}) == {"sid": "s"}
    assert ask(service, "ping") == {"status": "ok"}
    wrong = ask(service, "prompt", env="lamps")
    assert (wrong["status"], wrong["errors"][0]["pointer"]) == (400, "/index")
    assert ask(service, "prompt", env="many")[1]["text"] == "customer: Message 4."
    call(service, "classify", "many")
    wrong = ask(service, "task_tools", env="lamps")
    assert (wrong["status"], wrong["detail"]) == (400, "The session 's' plays in 'many', not in 'lamps'.")
    assert ask(service, "task_tools", env="lamp")["status"] == 404


def test_a_named_environment_stays(service: Service) -> None:
    for number, body in enumerate(
        (
            {"env_name": "many", "split": "train", "index": 0},
            {"env_name": "MANY", "task_spec": {"id": "m-0"}},
            {"task_spec": {"id": "m-0", "pack": "many"}},
        )
    ):
        session = f"s-{number}"
        assert ask(service, "create", body, session) == {"sid": session}
        assert ask(service, "prompt", session=session, env="lamps")["status"] == 400
        assert ask(service, "prompt", session=session, env="many")[1]["text"] == "customer: Message 0."


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (None, 422, "/task_spec"),
        ([], 422, ""),
        ({"env_name": 1, "split": "train", "index": 0}, 422, "/env_name"),
        ({"task_spec": "t-1"}, 422, "/task_spec"),
        ({"task_spec": {}}, 422, "/task_spec/ticket_id"),
        ({"task_spec": {"id": 1}}, 422, "/task_spec/id"),
        ({"task_spec": {"id": "t-1", "seed": -1}}, 422, "/task_spec/seed"),
        ({"task_spec": {"id": "t-1", "task_id": HARD}}, 422, "/task_spec/task_id"),
        ({"task_spec": {"id": "t-11"}}, 404, "/task_spec/ticket_id"),
        ({"task_spec": {"id": "t-1"}, "split": "train"}, 422, "/task_spec"),
        ({"split": "train", "index": "0"}, 422, "/index"),
        ({"split": None, "index": 0}, 422, "/split"),
        ({"env_name": "lamps", "split": "tran", "index": 0}, 400, "/split"),
        ({"env_name": "lamps", "split": "train", "index": 4}, 400, "/index"),
        ({"split": "train", "index": 5}, 400, "/index"),
    ],
)
def test_what_cannot_be_created(service: Service, body: Any, status: int, pointer: str) -> None:
    wrong = ask(service, "create", body)
    assert wrong["status"] == status, wrong
    assert pointer in [error["pointer"] for error in wrong["errors"]]
    assert service.record("s", NOBODY) is None


@pytest.mark.parametrize("session", [None, "", "   ", "x" * 256])
def test_a_session_has_a_name(service: Service, session: str | None) -> None:
    routes = (("create", None), ("ping", None), ("delete", None), ("prompt", "lamps"), ("task_tools", "lamps"))
    for route, env in routes:
        assert ask(service, route, {"split": "train", "index": 0}, session, env)["status"] == 400


def test_what_the_agent_is_told_hides_what_is_hidden(service: Service) -> None:
    """Blocks are for the agent: before a classification nothing in them tells t-3 from t-4, but the id."""
    told = []
    for ticket in ("t-3", "t-4"):
        begin(service, ticket, ticket)
        blocks = ask(service, "prompt", session=ticket, env="lamps")
        for action in ({"name": "fly"}, {"name": "resolve"}, {"name": "ask_info", "input": {"field": "shoe"}}):
            blocks += call(service, session=ticket, **action)[0]["output"]["blocks"]
        told.append(json.dumps(blocks).replace(ticket, "t"))
    assert told[0] == told[1]
    assert "C-3003" not in told[0] and "outcome" not in told[0] and "reward" not in told[0]
