"""ORS, played by the real ors-sdk client, and compared with its own server."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from ors.client import ORS, Task, TextBlock, ToolCallError, ToolOutput, ToolSpec

from engine.pack import Pack
from engine.split import splits
from tests.server.ors_packs import EASY, GOOD, LAMPS, LONG, write_many
from tests.serving import free_port, serving

processes = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ours")
    packs = f"{LAMPS} {write_many(folder / 'many.yaml')}"
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(root), "PORT": str(port), "PACKS": packs}
    with serving((sys.executable, "-m", "server.app"), port, cwd=folder, env=environment) as url:
        yield url


@pytest.fixture(scope="module")
def reference(root: Path) -> Iterator[str]:
    port = free_port()
    command = (sys.executable, "-m", "tests.server.ors_reference", str(port))
    with serving(command, port, cwd=root) as url:
        yield url


@pytest.fixture
def client(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ORS]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ORS(base_url=address) as made:
        yield made


def texts(blocks: Any) -> list[str]:
    assert all(isinstance(block, TextBlock) for block in blocks)
    return [block.text for block in blocks]


# -- The real client


class TestClient:
    pytestmark = processes

    def test_it_lists_tasks(self, client: ORS, lamps: Pack) -> None:
        environment = client.environment("lamps")
        assert environment.list_splits() == ["train", "validation", "test"]
        found = {split: environment.list_tasks(split) for split in environment.list_splits()}
        held = {split: [str(task.task_spec["id"]) for task in tasks] for split, tasks in found.items()}
        assert held == {split: list(ids) for split, ids in splits(lamps).items()}
        assert {task.environment_name for tasks in found.values() for task in tasks} == {"lamps"}
        split = next(split for split, ids in held.items() if len(ids) > 1)
        assert environment.num_tasks(split) == len(held[split])
        assert environment.get_task(split, 1) == found[split][1]
        assert environment.get_task(split, -1) == found[split][-1]
        assert environment.get_task_range(split, 1) == found[split][1:]
        assert environment.get_task_range(split, stop=-1) == found[split][:-1]

    def test_it_lists_tools(self, client: ORS) -> None:
        environment = client.environment("lamps")
        tools = {tool.name: tool for tool in environment.list_tools() if isinstance(tool, ToolSpec)}
        assert list(tools) == ["ask_info", "classify", "resolve"]
        asks = tools["ask_info"].input_schema
        assert asks is not None and tools["ask_info"].description
        assert asks["properties"]["field"]["enum"] == ["order", "email", "colour"]  # type: ignore[index,call-overload]
        assert asks["required"] == ["field"]
        for name in ("openai", "anthropic", "google", "openrouter"):
            assert len(environment.list_tools(format=name)) == 3

    def test_it_plays_a_task_and_gets_its_reward(self, client: ORS) -> None:
        task = Task(environment_name="lamps", task_spec={"id": "t-1", "seed": 7})
        with client.environment("lamps").session(task=task) as session:
            instructions, opening, rest = texts(session.get_prompt())
            assert "Categories, and the fields that each needs:" in instructions
            assert opening == "customer: Wo bleibt {meine} Lampe, «Ø» ⚠️ 版本?"
            assert json.loads(rest)["missing_required"] == ["order", "email"]
            assert session.list_tools() == client.environment("lamps").list_tools()
            outputs = [session.call_tool(name, given) for name, given in GOOD]
            with pytest.raises(ToolCallError, match="is over \\(resolved after 4 steps\\)"):
                session.call_tool("resolve")
        assert [output.reward for output in outputs] == [0.5, 0.25, 0.25, 1.0]
        assert [output.finished for output in outputs] == [False, False, False, True]
        assert texts(outputs[1].blocks)[0] == "customer: A-1001"
        known = json.loads(texts(outputs[2].blocks)[1])["known_info"]
        assert known == {"order": "A-1001", "email": "sam@example.org"}
        last = outputs[-1].metadata
        assert last is not None
        assert (last["outcome"], last["score"], last["seed"], last["task_id"]) == ("resolve.done", 1.0, 7, EASY)

    def test_every_listed_task_can_be_played(self, client: ORS, lamps: Pack) -> None:
        environment = client.environment("lamps")
        for split in ("train", "validation", "test"):
            for task in environment.list_tasks(split):
                with environment.session(task=task) as session:
                    assert json.loads(texts(session.get_prompt())[2])["ticket_id"] == task.task_spec["id"]

    def test_an_agents_mistake_is_a_step(self, client: ORS) -> None:
        task = Task(environment_name="lamps", task_spec={"id": "t-1"})
        with client.environment("lamps").session(task=task) as session:
            outputs: list[ToolOutput] = [session.call_tool("fly"), session.call_tool("ask_info", {"field": "shoe"})]
        assert [output.reward for output in outputs] == [-0.1, -0.1]
        assert "There is no action 'fly'" in texts(outputs[0].blocks)[0]
        assert "order, email, colour" in texts(outputs[1].blocks)[0]

    def test_split_and_index_are_of_the_environment_that_was_asked_for(self, client: ORS) -> None:
        """The sdk sends them without a name: the paths of what follows tell which environment is meant."""
        with client.environment("many").session(split="train", index=4) as session:
            assert texts(session.get_prompt())[1] == "customer: Message 4."
            session.call_tool("classify")
            assert texts(session.get_prompt())[1] == "customer: Message 4."
        with client.environment("many").session(split="train", index=0) as session:
            output = session.call_tool("classify")
        assert output.metadata is not None
        assert (output.reward, output.metadata["pack"]) == (0.5, "many")

    def test_a_long_text_arrives_as_it_was_written(self, client: ORS) -> None:
        with client.environment("many").session(split="train", index=0) as session:
            output = session.call_tool("ask_info", {"field": "order"})
        assert texts(output.blocks)[0] == f"customer: {LONG}"

    def test_many_sessions_at_once(self, client: ORS) -> None:
        environment = client.environment("lamps")
        tasks = [Task("lamps", {"id": "t-1"}), Task("lamps", {"id": "t-4"})]
        with environment.session(tasks[0]) as first, environment.session(tasks[1]) as second:
            assert first.sid != second.sid
            for name, given in GOOD:
                one, other = first.call_tool(name, given), second.call_tool(name, given)
        assert (one.finished, other.finished) == (True, True)


# -- The sdk's own server, beside ours

SID = {"X-Session-ID": "the-session"}
FIRST = {"split": "train", "index": 0}
TASK = {"ticket_id": "t-1", "task_id": EASY, "seed": 7}
EXCHANGE: tuple[tuple[str, str, Any, dict[str, str]], ...] = (
    ("GET", "/list_environments", None, {}),
    ("GET", "/lamps/splits", None, {}),
    ("GET", "/Lamps/splits", None, {}),
    *(("POST", f"/lamps/{route}", {"split": "train"}, {}) for route in ("tasks", "num_tasks", "task_range")),
    *(("POST", "/lamps/task", {"split": "train", "index": index}, {}) for index in (0, -1, 99, -99)),
    ("POST", "/lamps/task_range", {"split": "train", "start": -1, "stop": None}, {}),
    *(("POST", f"/lamps/{route}", {"split": "dev"}, {}) for route in ("tasks", "num_tasks", "task_range")),
    ("POST", "/lamps/task", {"split": "dev", "index": 0}, {}),
    *(("POST", f"/lamps/{route}", {"split": "train", "x": 1}, {}) for route in ("tasks", "num_tasks", "task_range")),
    ("POST", "/lamps/tasks", {}, {}),
    ("GET", "/lamps/tools", None, {}),
    ("POST", "/create_session", {}, {}),
    *(("POST", path, None, {}) for path in ("/ping", "/delete", "/delete_session")),
    *(("GET", f"/lamps/{route}", None, headers) for route in ("prompt", "task_tools") for headers in ({}, SID)),
    ("POST", "/ping", None, SID),
    ("POST", "/lamps/call", {"name": "classify", "input": {}}, SID),
    ("POST", "/create", {"split": "train", "index": 0}, {}),
    ("POST", "/create", {"split": "dev", "index": 0}, SID),
    ("POST", "/create", {"split": "train", "index": 99}, SID),
    ("POST", "/create", {"split": "train"}, SID),
    ("POST", "/create", {"index": 0}, SID),
    ("POST", "/create", {}, SID),
    ("POST", "/create", {"task_spec": TASK, **FIRST}, SID),
    ("POST", "/create", {"task_spec": TASK, "env_name": "lamp"}, SID),
    ("POST", "/create", {"task_spec": TASK, "more": 1}, SID),
    ("POST", "/create", {"task_spec": TASK, "env_name": "lamps", "secrets": {"key": "value"}}, SID),
    ("POST", "/create", {"task_spec": TASK, "env_name": "lamps"}, SID),
    ("POST", "/ping", None, SID),
    ("GET", "/lamps/prompt", None, SID),
    ("GET", "/lamps/task_tools", None, SID),
    ("POST", "/lamps/call", {"name": "classify"}, SID),
    ("POST", "/lamps/call", {"name": "classify", "input": []}, SID),
    ("POST", "/lamps/call", {"name": "classify", "input": {}, "more": 1}, SID),
    ("POST", "/lamps/call", {"name": "classify", "input": {}, "task_id": "unknown"}, SID),
    ("POST", "/lamps/call", {"name": "fly", "input": {"to": ["the", {"moon": 1.5}]}}, SID),
    *(("POST", "/lamps/call", {"name": name, "input": given}, SID) for name, given in GOOD),
    ("GET", "/lamps/prompt", None, SID),
    ("POST", "/ping", None, SID),
    ("POST", "/delete", None, SID),
    ("POST", "/delete", None, SID),
    ("POST", "/delete_session", None, SID),
)


def exchange(url: str) -> list[tuple[int, str, bytes]]:
    """Status, content type and bytes of every answer; of a refusal its status alone, as the words are each server's."""
    found: list[tuple[int, str, bytes]] = []
    with httpx.Client(base_url=url, trust_env=False, timeout=30) as http:
        for method, path, body, headers in EXCHANGE:
            answer = http.request(method, path, json=body, headers=headers) if body is not None else None
            answer = answer or http.request(method, path, headers=headers)
            if answer.status_code == 200:
                made = re.sub(rb"(event: task_id\r\ndata: )[0-9a-f-]+", rb"\1made", answer.content)
                found.append((200, answer.headers["content-type"], made))
            else:
                assert isinstance(answer.json()["detail"], str | list)
                found.append((answer.status_code, "", b""))
    return found


def check(specification: Any, method: str, path: str, status: int, kind: str, content: bytes) -> None:
    """The answer is one that the specification has."""
    path = re.sub("^/[Ll]amps/", "/{env}/", path)
    answers = specification["paths"][path][method.lower()]["responses"]
    assert str(status) in answers, (method, path)
    if status == 200:
        ((media, described),) = answers["200"]["content"].items()
        assert kind.partition(";")[0] == media
        if media == "application/json":
            root = {**described["schema"], "components": specification["components"]}
            jsonschema.Draft202012Validator(root).validate(json.loads(content))


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
def test_the_same_bytes_as_the_sdks_own_server(root: Path, reference: str, tmp_path: Path) -> None:
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(root), "PORT": str(port), "PACKS": str(LAMPS)}
    with serving((sys.executable, "-m", "server.app"), port, cwd=tmp_path, env=environment) as url:
        ours = exchange(url)
        specification = httpx.get(f"{url}/openapi.json", trust_env=False).json()
    for asked, our, their in zip(EXCHANGE, ours, exchange(reference), strict=True):
        assert our == their, asked
        check(specification, asked[0], asked[1], *our)
    assert {status for status, _, _ in ours} == {200, 400, 404, 422}
    assert b'"finished":true' in ours[-6][2]
