"""The Task API: packs as environments, tickets as tasks; and the split and index of a reset."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
from flask.testing import FlaskClient

from engine.contract import Contract
from engine.load import load_pack
from engine.pack import Pack
from server.app import create_app
from server.mcp import Mcp
from server.protocol import Conversation
from server.service import Service
from server.sessions import Sessions
from server.store.memory import MemoryStore
from tests.server.calls import NOBODY, problem
from tests.serving import free_port, serving

LAMPS = Path(__file__).with_name("lamps.yaml").read_text("utf-8")
EASY, MEDIUM, HARD = "easy-info-collection", "medium-complete-info", "hard-efficient-resolution"
SPLIT = {"t-1": "train", "t-2": "test", "t-3": "train", "t-4": "train"}


def split_pack(path: Path, text: str = LAMPS) -> Pack:
    """The lamps, three for training, one for testing, none for validation."""
    for ticket, split in SPLIT.items():
        assert text.count(f"- id: {ticket}\n") == 1
        text = text.replace(f"- id: {ticket}\n", f"- id: {ticket}\n    split: {split}\n")
    path.write_text(text, "utf-8")
    return load_pack(path)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return split_pack(tmp_path_factory.mktemp("split") / "lamps.yaml")


@pytest.fixture
def client(pack: Pack, desk: Pack) -> FlaskClient:
    return create_app([pack, desk]).test_client()


@pytest.fixture
def service(pack: Pack, desk: Pack, contract: Contract) -> Service:
    return Service([pack, desk], MemoryStore(), contract)


def task(pack: Pack, ticket: str, task_id: str, split: str, index: int) -> dict[str, Any]:
    spec = next(task for task in pack.tasks.values() if task.id == task_id)
    return {
        "id": ticket,
        "pack": "lamps",
        "ticket_id": ticket,
        "task_id": task_id,
        "split": split,
        "index": index,
        "description": spec.description,
        "difficulty": task_id.split("-")[0],
        "max_steps": 10,
        "instructions": pack.instructions,
    }


@pytest.fixture
def train(pack: Pack) -> list[dict[str, Any]]:
    return [
        task(pack, "t-1", EASY, "train", 0),
        task(pack, "t-3", HARD, "train", 1),
        task(pack, "t-4", HARD, "train", 2),
    ]


def post(client: FlaskClient, path: str, body: Any, status: int = 200) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    document = json.loads(response.data)
    specification = json.loads(client.get("/openapi.json").data)
    operation = specification["paths"]["/{env}" + path[path.rindex("/") :]]["post"]
    described = operation["responses"][str(status)]["content"]
    assert set(described) == {response.content_type}
    root = {**described[response.content_type]["schema"], "components": specification["components"]}
    jsonschema.Draft202012Validator(root).validate(document)
    return document


# -- The six routes


def test_environments_and_splits(client: FlaskClient) -> None:
    assert client.get("/list_environments").json == ["lamps", "desk"]
    splits = [{"name": name, "type": name} for name in ("train", "validation", "test")]
    assert client.get("/lamps/splits").json == splits
    assert client.get("/desk/splits").json == splits


def test_the_default_pack_comes_first(desk: Pack, pack: Pack) -> None:
    assert create_app([desk, pack]).test_client().get("/list_environments").json == ["desk", "lamps"]


def test_tasks(client: FlaskClient, pack: Pack, train: list[dict[str, Any]]) -> None:
    assert post(client, "/lamps/tasks", {"split": "train"}) == {"tasks": train, "env_name": "lamps"}
    assert post(client, "/lamps/tasks", {"split": "validation"}) == {"tasks": [], "env_name": "lamps"}
    tested = [task(pack, "t-2", MEDIUM, "test", 0)]
    assert post(client, "/lamps/tasks", {"split": "test"}) == {"tasks": tested, "env_name": "lamps"}
    for split, count in (("train", 3), ("validation", 0), ("test", 1)):
        assert post(client, "/lamps/num_tasks", {"split": split}) == {"num_tasks": count}


def test_one_task(client: FlaskClient, train: list[dict[str, Any]]) -> None:
    for index in (0, 1, 2, -1, -3):
        assert post(client, "/lamps/task", {"split": "train", "index": index}) == {"task": train[index]}


@pytest.mark.parametrize(
    ("part", "indices"),
    [
        ({}, [0, 1, 2]),
        ({"start": 1}, [1, 2]),
        ({"stop": 1}, [0]),
        ({"start": 0, "stop": 2}, [0, 1]),
        ({"start": -1}, [2]),
        ({"start": -9, "stop": -1}, [0, 1]),
        ({"start": 2, "stop": 1}, []),
        ({"start": 1, "stop": 99}, [1, 2]),
        ({"start": None, "stop": None}, [0, 1, 2]),
        ({"start": 7}, []),
    ],
)
def test_a_range_of_tasks(
    client: FlaskClient, train: list[dict[str, Any]], part: dict[str, Any], indices: list[int]
) -> None:
    asked = {"split": "train", **part}
    assert post(client, "/lamps/task_range", asked) == {"tasks": [train[index] for index in indices]}


@pytest.mark.parametrize("route", ["tasks", "num_tasks", "task", "task_range"])
def test_mistakes_on_every_route(client: FlaskClient, route: str) -> None:
    index = {"index": 0} if route == "task" else {}
    assert "'lamps'" in post(client, f"/lamp/{route}", {"split": "train", **index}, 404)["detail"]
    bad = post(client, f"/lamps/{route}", {"split": "tests", **index}, 400)
    assert "Did you mean 'test'? The splits are train, validation, test." in bad["detail"]
    assert [error["pointer"] for error in bad["errors"]] == ["/split"]
    extra = post(client, f"/lamps/{route}", {"split": "train", "splits": 1, **index}, 422)
    assert [error["pointer"] for error in extra["errors"]] == ["/splits"]
    assert "did you mean split?" in extra["detail"]
    bodies: list[Any] = [[], "train", {"split": None, **index}, {"split": 3, **index}]
    for body in bodies:
        post(client, f"/lamps/{route}", body, 422)
    nothing = client.post(f"/lamps/{route}", data=b"")
    assert (nothing.status_code, nothing.content_type) == (422, "application/problem+json")
    assert client.post(f"/lamps/{route}", data=b"{").status_code == 400
    assert client.get(f"/lamps/{route}").status_code == 405


def test_mistakes_of_an_index(client: FlaskClient) -> None:
    for index in (3, -4, 10**30):
        wrong = post(client, "/lamps/task", {"split": "train", "index": index}, 400)
        assert wrong["detail"] == "The split 'train' of pack 'lamps' has 3 tickets: index must be from 0 to 2."
        assert [error["pointer"] for error in wrong["errors"]] == ["/index"]
    assert "has no tickets" in post(client, "/lamps/task", {"split": "validation", "index": 0}, 400)["detail"]
    for bad in ("0", True, 0.5, [0], None):
        wrong = post(client, "/lamps/task", {"split": "train", "index": bad}, 422)
        assert [error["pointer"] for error in wrong["errors"]] == ["/index"]
        if bad is not None:
            post(client, "/lamps/task_range", {"split": "train", "start": bad}, 422)


def test_many_unknown_members_make_a_short_answer(client: FlaskClient) -> None:
    wrong = post(client, "/lamps/tasks", {f"member-{number}~/": 1 for number in range(2000)} | {"split": "train"}, 422)
    assert len(wrong["errors"]) == 8
    assert wrong["errors"][0]["pointer"] == "/member-0~0~1"


def test_a_name_is_found_in_any_case_unless_that_is_ambiguous(pack: Pack, tmp_path: Path) -> None:
    assert create_app([pack]).test_client().get("/LAMPS/splits").status_code == 200
    others = [split_pack(tmp_path / name, LAMPS.replace("pack: lamps", f"pack: {name}")) for name in ("Lamps", "LAMPs")]
    both = create_app([pack, *others]).test_client()
    assert post(both, "/Lamps/tasks", {"split": "test"})["env_name"] == "Lamps"
    assert post(both, "/lamps/tasks", {"split": "test"})["env_name"] == "lamps"
    assert both.get("/LAMPS/splits").status_code == 404


# -- Names and paths

NAMES = ("mcp", "ws", "batch", "reset", "tasks", "state", "docs", "a/b", "a/tasks", "task", "⚠️ 版本?", "%2F #", "..")


def test_any_name_can_be_reached_and_hides_no_route(tmp_path: Path) -> None:
    packs = []
    for number, name in enumerate(NAMES):
        text = LAMPS.replace("pack: lamps", f"pack: {json.dumps(name, ensure_ascii=False)}")
        packs.append(split_pack(tmp_path / f"{number}.yaml", text))
    client = create_app(packs).test_client()
    assert client.get("/list_environments").json == list(NAMES)
    for name in NAMES:
        path = "/" + quote(name, safe="")
        assert post(client, f"{path}/tasks", {"split": "test"})["env_name"] == name
        assert client.get(f"{path}/tools").status_code == 200
    assert client.get("/health").json == {"status": "healthy"}
    tasks: Any = client.get("/tasks").json
    assert tasks["pack"] == "mcp"
    assert client.post("/reset", json={"pack": "reset", "split": "test"}).status_code == 200


def test_no_other_path_ends_like_an_environments(pack: Pack) -> None:
    """What stands after the name tells where it ends: so nothing of two or more parts may end in the same word."""
    rules = {rule.rule for rule in create_app([pack]).url_map.iter_rules()}
    endings = {rule.rpartition("/")[2] for rule in rules if "<" in rule}
    assert endings >= {"splits", "tasks", "num_tasks", "task", "task_range", "tools", "task_tools", "prompt", "call"}
    fixed = {rule for rule in rules if "<" not in rule and rule.count("/") > 1}
    assert [rule for rule in fixed if rule.rpartition("/")[2] in endings] == []


# -- Nothing hidden


@pytest.mark.parametrize(
    ("hidden", "instead"),
    [
        ("category: exchange\n    messages: [This is not", "category: delivery\n    messages: [This is not"),
        ("order: C-3003", "order: [{say: Wait.}, {say: No., refuse: true}, Z-9]"),
        ("category: exchange\n    messages: [This", "required: [email]\n    category: exchange\n    messages: [This"),
        ("messages: [This is not what I wanted.]\n    answers: {order: C", "messages: [Hm.]\n    answers: {order: C"),
    ],
    ids=["category", "answers", "requirements", "message"],
)
def test_what_is_hidden_makes_no_difference(pack: Pack, tmp_path: Path, hidden: str, instead: str) -> None:
    def served(pack: Pack) -> list[bytes]:
        client = create_app([pack]).test_client()
        bodies = [client.post("/lamps/tasks", json={"split": split}).data for split in ("train", "validation", "test")]
        bodies.append(client.post("/lamps/task", json={"split": "train", "index": 1}).data)
        bodies.append(client.post("/lamps/task_range", json={"split": "train"}).data)
        return bodies + [client.get(path).data for path in ("/list_environments", "/lamps/splits", "/lamps/tools")]

    assert LAMPS.count(hidden) == 1
    other = split_pack(tmp_path / "lamps.yaml", LAMPS.replace(hidden, instead))
    assert other.digest != pack.digest
    assert served(other) == served(pack)


# -- The split and index of a reset


def ticket(service: Service, **asked: Any) -> str:
    found: str = service.reset({"pack": "lamps", **asked}, NOBODY)["observation"]["ticket_id"]
    return found


def test_a_task_is_a_body_for_a_reset(service: Service, client: FlaskClient) -> None:
    for split in ("train", "test"):
        for spec in post(client, "/lamps/tasks", {"split": split})["tasks"]:
            assert ticket(service, **spec) == spec["id"]


def test_the_seed_picks_within_the_split(service: Service) -> None:
    assert {ticket(service, split="train", seed=seed) for seed in range(30)} == {"t-1", "t-3", "t-4"}
    assert {ticket(service, split="train", task_id=HARD, seed=seed) for seed in range(30)} == {"t-3", "t-4"}
    assert {ticket(service, split="test", seed=seed) for seed in range(5)} == {"t-2"}
    assert ticket(service, split="train", seed=9) == ticket(service, split="train", seed=9)


def test_the_index_picks_by_the_packs_order(service: Service) -> None:
    assert [ticket(service, split="train", index=index) for index in range(3)] == ["t-1", "t-3", "t-4"]
    assert [ticket(service, index=index) for index in range(4)] == ["t-1", "t-2", "t-3", "t-4"]
    assert ticket(service, index=1.0) == "t-2"
    assert ticket(service, split=None, index=None, ticket_id="t-3") == "t-3"
    assert ticket(service, split="train", index=1, ticket_id="t-3", task_id=HARD, seed=1) == "t-3"
    seeds = [service.reset({"index": 1, "seed": 5}, NOBODY)["metadata"]["seed"] for _ in range(2)]
    assert seeds == [5, 5]


@pytest.mark.parametrize(
    ("asked", "pointer", "said"),
    [
        ({"split": "trian"}, "/split", "Did you mean 'train'? The splits are train, validation, test."),
        ({"split": ""}, "/split", "There is no split ''."),
        ({"split": "x" * 60_000}, "/split", "The splits are"),
        ({"split": 1}, "/split", "split must be a string, not a number"),
        ({"split": "validation"}, "/split", "The split 'validation' of pack 'lamps' has no tickets."),
        ({"split": "test", "task_id": HARD}, "/split", f"has no tickets of the task '{HARD}'"),
        ({"split": "train", "index": 3}, "/index", "of pack 'lamps' has 3 tickets: index must be from 0 to 2."),
        ({"split": "test", "index": 1}, "/index", "has 1 ticket: index must be from 0 to 0."),
        ({"split": "validation", "index": 0}, "/split", "has no tickets."),
        ({"index": 4}, "/index", "Pack 'lamps' has 4 tickets: index must be from 0 to 3."),
        ({"index": -1}, "/index", "index must be from 0 to 3"),
        ({"index": 10**40}, "/index", "index must be from 0 to 3"),
        ({"index": "0"}, "/index", "index must be an integer, not a string"),
        ({"index": True}, "/index", "index must be an integer, not a boolean"),
        ({"split": "test", "ticket_id": "t-1"}, "/split", "ticket 't-1' is in the split 'train'"),
        ({"index": 0, "ticket_id": "t-2"}, "/index", "index 0 is the ticket 't-1'"),
        (
            {"split": "train", "index": 1, "ticket_id": "t-1"},
            "/index",
            "1 of the split 'train' is the ticket 't-3'",
        ),
        ({"split": "train", "index": 1, "task_id": EASY}, "/task_id", f"ticket 't-3' belongs to the task '{HARD}'"),
    ],
)
def test_what_does_not_agree(service: Service, asked: dict[str, Any], pointer: str, said: str) -> None:
    wrong = problem(422, service.reset, {"pack": "lamps", **asked}, NOBODY)
    assert said in wrong.detail
    assert len(wrong.detail) < 300
    assert [error["pointer"] for error in wrong.errors] == [pointer]


def test_what_is_unknown_is_said_first(service: Service) -> None:
    assert "t-9" in problem(404, service.reset, {"pack": "lamps", "ticket_id": "t-9", "index": 0}, NOBODY).detail
    assert "hard" in problem(404, service.reset, {"pack": "lamps", "task_id": "hard", "split": "no"}, NOBODY).detail


def test_the_record_keeps_what_was_asked(service: Service) -> None:
    service.reset({"episode_id": "e", "pack": "lamps", "split": "train", "index": 2}, NOBODY)
    record = service.record("e", NOBODY)
    assert record is not None
    assert record.start.options == {"pack": "lamps", "split": "train", "index": 2}
    assert record.start.ticket_id == "t-4"


def test_a_socket_resets_in_the_same_way(service: Service) -> None:
    ids = iter("ab")
    sessions = Sessions(lambda: 0.0, lambda: next(ids), notes=MemoryStore())
    talk = Conversation(service, Mcp(service, sessions), sessions.open(socket=True))

    def said(data: dict[str, Any]) -> Any:
        frame = talk.receive(json.dumps({"type": "reset", "data": data})).frame
        assert frame is not None
        return json.loads(frame)["data"]

    assert said({"pack": "lamps", "split": "train", "index": 1})["observation"]["ticket_id"] == "t-3"
    refused = said({"pack": "lamps", "split": "trian"})
    assert (refused["code"], refused["errors"][0]["loc"]) == ("VALIDATION_ERROR", ["data", "split"])
    assert said({"pack": "lamps", "index": 4})["errors"][0]["loc"] == ["data", "index"]


def test_the_schema_of_a_reset_names_them(client: FlaskClient) -> None:
    schemas: Any = client.get("/schema?pack=lamps").json
    validator = jsonschema.Draft202012Validator(schemas["reset"])
    for good in ({"split": "train", "index": 0}, {"split": None, "index": None}, {"split": "validation"}):
        validator.validate(good)
    for bad in ({"split": "tests"}, {"index": -1}, {"index": "0"}):
        assert not validator.is_valid(bad)


# -- As it ships


@pytest.fixture(scope="module")
def address(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(root), "PORT": str(port), "PACKS": ""}
    folder = tmp_path_factory.mktemp("tasks")
    with serving((sys.executable, "-m", "server.app"), port, cwd=folder, env=environment) as url:
        yield url


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
def test_every_task_of_the_shipped_packs_over_http(address: str) -> None:
    with httpx.Client(base_url=address, trust_env=False, timeout=30) as http:
        names = http.get("/list_environments").json()
        assert names[0] == "customer-support"
        for name in names:
            seen = []
            for split in [split["name"] for split in http.get(f"/{name}/splits").json()]:
                tasks = http.post(f"/{name}/tasks", json={"split": split}).json()["tasks"]
                count = http.post(f"/{name}/num_tasks", json={"split": split}).json()["num_tasks"]
                assert len(tasks) == count > 0
                assert http.post(f"/{name}/task_range", json={"split": split}).json()["tasks"] == tasks
                for index in (0, count - 1):
                    one = http.post(f"/{name}/task", json={"split": split, "index": index}).json()["task"]
                    assert one == tasks[index]
                    begun = http.post("/reset", json=one).raise_for_status().json()
                    assert begun["observation"]["ticket_id"] == one["id"]
                seen += [task["id"] for task in tasks]
            listed = http.get("/tasks", params={"pack": name}).json()["tasks"]
            assert sorted(seen) == sorted(ticket for task in listed for ticket in task["tickets"])
        assert http.get("/nothing/splits").status_code == 404
        assert http.post(f"/{names[0]}/task", json={"split": "train", "index": 10**6}).status_code == 400
        assert http.post(f"/{names[0]}/task", json={"split": "dev", "index": 0}).status_code == 400
        assert http.post(f"/{names[0]}/task", json={"split": "train", "index": 0, "more": 1}).status_code == 422
