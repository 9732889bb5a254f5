"""The HTTP routes as OpenEnv's models write requests and read answers; and what its users complain about, done well.

What stands elsewhere: test_http.py (each route and mistake in process, beside /openapi.json), test_process.py (cookies,
addresses, many clients and writers at once, repeated requests), test_tasks.py (the Task API, every task of the shipped
packs), test_ors.py and test_ors_sessions.py (ORS, played by ors-sdk and beside its own server), test_hidden.py (no
ground truth, whichever way), test_wire_graders.py (`openenv validate`), test_trl.py (TRL's environment_factory).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from openenv.core.env_server import types as wire
from ors.client import ORS, Task, TextBlock, ToolOutput

from tests.server.wire import ACTIONS, RESET, TASKS, run, shipped

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with shipped(root, tmp_path_factory.mktemp("http")) as url:
        yield url


@pytest.fixture
def http(address: str) -> Iterator[httpx.Client]:
    # Nothing is to be verified: to load certificates takes longer than to ask.
    with httpx.Client(base_url=address, trust_env=False, verify=False, timeout=30) as client:
        yield client


def read(answer: httpx.Response) -> Any:
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json"), answer.text
    return answer.json()


# -- The routes


def test_reset_and_step(http: httpx.Client) -> None:
    """Bodies and answers by OpenEnv's models, which refuse members that they don't know in an answer."""
    more = {"render": True, "options": {"a": [1]}}
    asked = wire.ResetRequest(seed=RESET["seed"], episode_id="⚠️" * 127, task_id=RESET["task_id"], **more)
    begun = read(http.post("/reset", json=asked.model_dump()))
    first = wire.ResetResponse(**begun)
    assert begun.keys() == {"observation", "reward", "done", "metadata"}
    assert (first.reward, first.done, first.metadata["episode_id"]) == (None, False, "⚠️" * 127)
    for number, action in enumerate(ACTIONS, 1):
        taken = wire.StepRequest(action=action, timeout_s=0.5, request_id=f"r{number}", **more)
        answered = read(http.post("/step", json=taken.model_dump()))
        step = wire.StepResponse(**answered)
        assert type(answered["reward"]) is float and not {"reward", "done", "metadata"} & step.observation.keys()
        state = wire.State(**read(http.get("/state")))
        assert (state.episode_id, state.step_count) == ("⚠️" * 127, number)
    assert (step.reward, step.done, step.metadata["score"]) == (1.0, True, 1.0)


def test_a_reset_needs_no_body(http: httpx.Client) -> None:
    bodies: tuple[dict[str, Any], ...] = (
        {},
        {"content": b""},
        {"json": {}},
        {"json": None},
        {"json": wire.ResetRequest().model_dump()},
    )
    for body in bodies:
        assert wire.ResetResponse(**read(http.post("/reset", **body))).reward is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/reset", {"seed": -1}),
        ("/reset", {"seed": "seven"}),
        ("/reset", {"episode_id": "x" * 256}),
        ("/reset", {"episode_id": 7}),
        ("/reset", []),
        ("/step", {}),
        ("/step", {"action": "classify"}),
        ("/step", {"action": None}),
        ("/step", {"action": {}, "request_id": "x" * 256}),
        ("/step", {"action": {}, "request_id": 7}),
        ("/step", []),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_what_openenv_refuses_is_refused(http: httpx.Client, path: str, body: Any) -> None:
    model = wire.ResetRequest if path == "/reset" else wire.StepRequest
    with pytest.raises(ValueError, match="validation error"):
        model.model_validate(body)
    refused = http.post(path, json=body)
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    document = refused.json()
    assert document["detail"] and document["errors"]
    pointers = {error["pointer"] for error in document["errors"]}
    assert pointers <= {"", "/seed", "/episode_id", "/action", "/request_id"}


def test_what_describes_the_environment(http: httpx.Client) -> None:
    assert wire.HealthResponse(**read(http.get("/health"))).status is wire.HealthStatus.HEALTHY
    metadata = read(http.get("/metadata"))
    known = {name: metadata[name] for name in wire.EnvironmentMetadata.model_fields if name in metadata}
    assert wire.EnvironmentMetadata(**known).name == "customer-support"
    schemas = read(http.get("/schema"))
    known = {name: schemas[name] for name in wire.SchemaResponse.model_fields}
    assert wire.SchemaResponse(**known).reset_observation is not None
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert all(place.startswith("#") for place in references(schema))
    specification = read(http.get("/openapi.json"))
    assert type(specification["info"]["version"]) is str
    assert {"/reset", "/step", "/state"} <= specification["paths"].keys()


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [place for part in schema for place in references(part)]
    if not isinstance(schema, dict):
        return []
    own = [value for name, value in schema.items() if name in ("$ref", "$dynamicRef") and isinstance(value, str)]
    return own + references(list(schema.values()))


def test_the_schema_comes_as_it_is(http: httpx.Client) -> None:
    """Not compressed whatever is accepted, no redirect, and no longer than a megabyte."""
    for coding in ("identity", "gzip, br, deflate, zstd", "*"):
        answer = http.get("/schema", headers={"Accept-Encoding": coding}, follow_redirects=False)
        assert answer.status_code == 200 and "content-encoding" not in answer.headers
        assert len(answer.content) == int(answer.headers["content-length"]) < 1 << 20


def test_the_task_api_takes_openenv_s_requests(http: httpx.Client) -> None:
    name = read(http.get("/list_environments"))[0]
    splits = read(http.get(f"/{name}/splits"))
    assert splits == [{"name": split, "type": split} for split in ("train", "validation", "test")]
    for split in (one["name"] for one in splits):
        listed = read(http.post(f"/{name}/tasks", json=wire.ListTasksRequest(split=split).model_dump()))
        assert listed.keys() == {"tasks", "env_name"} and listed["env_name"] == name
        counted = read(http.post(f"/{name}/num_tasks", json=wire.NumTasksRequest(split=split).model_dump()))
        assert counted == {"num_tasks": len(listed["tasks"])}
        one = read(http.post(f"/{name}/task", json=wire.GetTaskRequest(split=split, index=0).model_dump()))
        assert one == {"task": listed["tasks"][0]}
        asked = wire.GetTaskRangeRequest(split=split, start=1)  # with a stop of null
        assert read(http.post(f"/{name}/task_range", json=asked.model_dump())) == {"tasks": listed["tasks"][1:]}
    for path, body, status in (
        ("/nothing/tasks", {"split": "train"}, 404),
        (f"/{name}/tasks", {"split": "dev"}, 400),
        (f"/{name}/task", {"split": "train", "index": 10_000}, 400),
        (f"/{name}/num_tasks", {"split": "train", "index": 0}, 422),
    ):
        assert http.post(path, json=body).status_code == status


# -- ORS: its client from the task list to the last reward


def known(output: ToolOutput) -> Any:
    """What an output's second block says: the observation."""
    block = output.blocks[1]
    assert isinstance(block, TextBlock)
    return json.loads(block.text)


@pytest.mark.parametrize("task_id", TASKS)
def test_the_ors_client_plays_each_task(address: str, monkeypatch: pytest.MonkeyPatch, task_id: str) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ORS(base_url=address) as client:
        desk = client.environment("customer-support")
        specs = [task.task_spec for split in desk.list_splits() for task in desk.list_tasks(str(split))]
        spec = next(dict(spec) for spec in specs if spec["task_id"] == task_id)
        with desk.session(task=Task("customer-support", {**spec, "seed": 7})) as session:
            assert len(session.get_prompt()) == 3
            outputs = [session.call_tool("classify")]
            while missing := known(outputs[-1])["missing_required"]:
                outputs.append(session.call_tool("ask_info", {"field": missing[0]}))
            outputs.append(session.call_tool("resolve"))
    last = outputs[-1]
    assert last.finished and last.metadata is not None and last.metadata["end_reason"] == "resolved"
    # Where the agent has to find the category itself, being shown it earns nothing: the return is 0.5 less.
    expected = 1.5 if task_id == TASKS[2] else 2.0
    assert sum(output.reward or 0.0 for output in outputs) == pytest.approx(expected)


# -- What OpenEnv's users complain about


def test_the_state_outlives_the_request(address: str) -> None:
    """From /reset to /step, on any connection; and many episodes at once, none mixed up with another."""

    async def play() -> None:
        limits = httpx.Limits(max_connections=32, max_keepalive_connections=0)  # a new connection for each request
        async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=60, limits=limits) as http:

            async def one(number: int) -> list[float]:
                name = {"episode_id": f"many-{number}"}
                await http.post("/reset", json={**RESET, **name})
                answers = [await http.post("/step", json={**name, "action": action}) for action in ACTIONS]
                assert all(answer.json()["metadata"]["episode_id"] == name["episode_id"] for answer in answers)
                return [answer.json()["reward"] for answer in answers]

            rewards = await asyncio.gather(*(one(number) for number in range(24)))
            assert rewards == [rewards[0]] * 24 and sum(rewards[0]) == 2.0

    run(play())


def test_what_a_reset_takes_can_be_found_out(http: httpx.Client) -> None:
    schema = read(http.get("/schema"))["reset"]
    taken = schema["properties"]
    assert {"seed", "episode_id", "task_id", "ticket_id", "pack", "split", "index"} <= taken.keys()
    assert set(TASKS) <= set(taken["task_id"]["enum"]) and "customer-support" in taken["pack"]["enum"]
    assert all(described["type"] and described["description"] for described in taken.values())
    validator = jsonschema.Draft202012Validator(schema)
    for asked in (RESET, {"split": "test", "index": 0}, {"pack": "bank-disputes", "seed": 0}):
        validator.validate(asked)
        read(http.post("/reset", json=asked))
    for asked in ({"task_id": "hard"}, {"seed": -1}, {"split": "dev"}):
        assert not validator.is_valid(asked)
        assert http.post("/reset", json=asked).status_code in (404, 422)


def test_metadata_come_with_every_answer_and_the_state_loses_nothing(http: httpx.Client) -> None:
    begun = read(http.post("/reset", json={**RESET, "episode_id": "kept"}))
    steps = [
        read(http.post("/step", json={"episode_id": "kept", "action": action, "request_id": str(number)}))
        for number, action in enumerate(ACTIONS)
    ]
    case = ("pack", "pack_version", "pack_digest", "task_id", "seed", "episode_id")
    assert len({json.dumps([one["metadata"][name] for name in case]) for one in (begun, *steps)}) == 1
    state = read(http.get("/state", params={"episode_id": "kept"}))
    shared = steps[-1]["metadata"].keys() & state.keys()
    assert shared >= {*case, "terminated", "truncated", "end_reason"}
    assert {name: state[name] for name in shared} == {name: steps[-1]["metadata"][name] for name in shared}
    # Each request again, later ones first: the first answers.
    for number, action in reversed(list(enumerate(ACTIONS))):
        asked = {"episode_id": "kept", "action": action, "request_id": str(number)}
        assert read(http.post("/step", json=asked)) == steps[number]
    assert read(http.get("/state", params={"episode_id": "kept"})) == state


def test_a_seed_is_kept_to(http: httpx.Client) -> None:
    def openings(seeds: range) -> list[bytes]:
        return [http.post("/reset", json={"seed": seed, "episode_id": "seeded"}).content for seed in seeds]

    assert openings(range(20)) == openings(range(20))
    shown = [json.loads(body)["observation"] for body in openings(range(20))]
    assert len({one["ticket_id"] for one in shown}) > 5
    drawn = [read(http.post("/reset"))["metadata"]["seed"] for _ in range(5)]
    assert len(set(drawn)) == 5  # drawn anew each time, and told
    again = [read(http.post("/reset", json={"seed": drawn[0]}))["observation"] for _ in range(2)]
    assert again[0] == again[1]


def test_an_end_has_its_reason(http: httpx.Client) -> None:
    def played(name: str, actions: list[dict[str, Any]]) -> Any:
        read(http.post("/reset", json={**RESET, "episode_id": name}))
        return [read(http.post("/step", json={"episode_id": name, "action": action})) for action in actions]

    resolved = played("resolved", ACTIONS)[-1]
    assert (resolved["metadata"]["terminated"], resolved["metadata"]["end_reason"]) == (True, "resolved")
    wasted = played("wasted", [{"type": "fly"}] * 10)
    assert [one["done"] for one in wasted] == [False] * 9 + [True]
    assert (wasted[-1]["metadata"]["truncated"], wasted[-1]["metadata"]["end_reason"]) == (True, "max_steps")
    assert [one["reward"] for one in wasted] == [-0.1] * 10
    # What goes wrong outside of an episode is an error, and no reward.
    for path, body in (
        ("/step", {"episode_id": "nobody", "action": {}}),
        ("/step", {"episode_id": "wasted", "action": {}}),
    ):
        answer = http.post(path, json=body)
        assert answer.status_code in (404, 409) and "reward" not in answer.json()


def test_no_route_lets_out_what_is_hidden(http: httpx.Client) -> None:
    """The state and the task list say the same of two tickets, but for their names."""
    tickets = next(task for task in read(http.get("/tasks"))["tasks"] if task["id"] == TASKS[2])["tickets"]
    states = []
    for ticket in tickets:
        read(http.post("/reset", json={"ticket_id": ticket, "seed": 1, "episode_id": "hidden"}))
        states.append(read(http.get("/state", params={"episode_id": "hidden"})) | {"ticket_id": ""})
    assert all(one == other for one, other in pairwise(states))
    environment = "/customer-support/tasks"
    listed = [
        task for split in ("train", "test") for task in read(http.post(environment, json={"split": split}))["tasks"]
    ]
    names = {"id", "ticket_id", "split", "index"}
    public = {
        json.dumps({k: v for k, v in task.items() if k not in names}) for task in listed if task["task_id"] == TASKS[2]
    }
    assert len(public) == 1
