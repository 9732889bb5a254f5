"""Whose an episode is: to any other token it isn't there, on whichever way it is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.guarded import CLASSIFY, client, initialized, on_socket, rpc, write_tokens
from tests.server.live import SOON, Server, ask, running
from tests.server.rpc import message

CALL = {"name": "classify", "input": {}}  # ORS's word for it

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def guarded(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("owners")
    tokens = write_tokens(folder / "tokens", "kim", "sam")
    with running(root, TOKENS=str(tokens), STORE=f"sqlite:{folder / 'episodes.db'}") as server:
        yield server


def step(http: httpx.Client, episode_id: str, **more: Any) -> httpx.Response:
    return http.post("/step", json={"episode_id": episode_id, "action": CLASSIFY, **more})


class Kims:
    """What kim has on the server, and `sam`, who is somebody else."""

    def __init__(self, server: Server) -> None:
        self.server, self.kim, self.sam = server, client(server, "kim"), client(server, "sam")
        asked = {"episode_id": "kims", "ticket_id": "t-1", "seed": 7, "request_id": "r0"}
        self.kim.post("/reset", json=asked).raise_for_status()
        step(self.kim, "kims", request_id="r1").raise_for_status()
        ors = {"X-Session-ID": "kims-ors"}
        self.kim.post("/create", json={"task_spec": {"ticket_id": "t-1"}}, headers=ors).raise_for_status()
        self.call = re.findall("data: (.*)", self.kim.post("/lamps/call", json=CALL, headers=ors).text)[0].strip()
        self.session = initialized(self.kim)
        self.kim.cookies.clear()

    def state(self) -> Any:
        ors = self.kim.get("/state", params={"episode_id": "kims-ors"}).json()
        return self.kim.get("/state", params={"episode_id": "kims"}).json(), ors


@pytest.fixture(scope="module")
def kims(guarded: Server) -> Iterator[Kims]:
    made = Kims(guarded)
    yield made
    made.kim.close()
    made.sam.close()


def over_socket(target: str, *frames: Any) -> Callable[[Kims, str], str]:
    """What sam gets on a socket: the first frame, or the replies to these."""

    def talk(kims: Kims, name: str) -> str:
        with on_socket(kims.server, "sam", target.replace("NAME", name)) as sam:
            if not frames:
                return str(sam.recv(timeout=SOON))
            return json.dumps([ask(sam, json.loads(json.dumps(frame).replace("NAME", name))) for frame in frames])

    return talk


def over_http(method: str, path: str, body: Any = None, **headers: str) -> Callable[[Kims, str], str]:
    def request(kims: Kims, name: str) -> str:
        sent = {key.replace("_", "-"): value.replace("NAME", name) for key, value in headers.items()}
        content = None if body is None else json.dumps(body).replace("NAME", name).replace("CALL", kims.call)
        answer = kims.sam.request(method, path.replace("NAME", name), content=content, headers=sent)
        assert answer.status_code != 403
        return f"{answer.status_code} {answer.text}"

    return request


STEP = {"episode_id": "NAME", "action": CLASSIFY}
# With the name that kim's thing has, and with one that there is not.
EPISODE, SESSION, ORS_SESSION = ("kims", "none"), ("session", "none"), ("kims-ors", "none")
WAYS: dict[str, tuple[tuple[str, str], Callable[[Kims, str], str]]] = {
    "step": (EPISODE, over_http("POST", "/step", STEP)),
    "repeated step": (EPISODE, over_http("POST", "/step", {**STEP, "request_id": "r1"})),
    "step of an owner": (("kim/kims", "kim/none"), over_http("POST", "/step", STEP)),
    "state": (EPISODE, over_http("GET", "/state?episode_id=NAME")),
    "batch": (EPISODE, over_http("POST", "/batch/step", {"items": [STEP, {**STEP, "request_id": "r1"}]})),
    "cookie": (EPISODE, over_http("POST", "/step", CLASSIFY, cookie="deskproof_episode=NAME")),
    "owner's cookie": (("kim%2Fkims", "kim%2Fnone"), over_http("GET", "/state", cookie="deskproof_episode=NAME")),
    "socket": (EPISODE, over_socket("/ws?episode_id=NAME")),
    "step on a socket": (EPISODE, over_socket("/ws", {"type": "step", "data": {**CLASSIFY, "episode_id": "NAME"}})),
    "socket of a session": (SESSION, over_socket("/ws?session_id=NAME")),
    "MCP socket of a session": (SESSION, over_socket("/mcp?session_id=NAME")),
    "MCP session": (
        SESSION,
        over_http("POST", "/mcp", message("tools/call", {"name": "classify"}), mcp_session_id="NAME"),
    ),
    "MCP parameter": (
        SESSION,
        over_http("POST", "/mcp", message("tools/call", {"name": "classify", "session_id": "NAME"})),
    ),
    "MCP close": (SESSION, over_http("POST", "/mcp", message("openenv/session/close", {"session_id": "NAME"}))),
    "MCP end": (SESSION, over_http("DELETE", "/mcp", mcp_session_id="NAME")),
    "ORS ping": (ORS_SESSION, over_http("POST", "/ping", x_session_id="NAME")),
    "ORS prompt": (ORS_SESSION, over_http("GET", "/lamps/prompt", x_session_id="NAME")),
    "ORS tools": (ORS_SESSION, over_http("GET", "/lamps/task_tools", x_session_id="NAME")),
    "ORS call": (ORS_SESSION, over_http("POST", "/lamps/call", CALL, x_session_id="NAME")),
    "ORS call again": (ORS_SESSION, over_http("POST", "/lamps/call", {**CALL, "task_id": "CALL"}, x_session_id="NAME")),
    "ORS delete": (ORS_SESSION, over_http("POST", "/delete", x_session_id="NAME")),
    "ORS end": (ORS_SESSION, over_http("POST", "/delete_session", x_session_id="NAME")),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_somebody_elses_is_as_if_it_were_not_there(kims: Kims, way: str) -> None:
    (theirs, nobodys), ask_for = WAYS[way]
    before = kims.state()
    theirs = kims.session if theirs == "session" else theirs
    told = ask_for(kims, theirs).replace(theirs.replace("%2F", "/"), nobodys.replace("%2F", "/"))
    assert told == ask_for(kims, nobodys)
    assert kims.state() == before
    assert rpc(kims.kim, "tools/list", Mcp_Session_Id=kims.session).status_code == 200


def test_one_id_is_another_episode_for_each(kims: Kims) -> None:
    for http, ticket in ((kims.kim, "t-1"), (kims.sam, "t-2")):
        asked = {"episode_id": "both", "ticket_id": ticket, "request_id": "r"}
        assert http.post("/reset", json=asked).json()["observation"]["ticket_id"] == ticket
    for http, count in ((kims.kim, 1), (kims.kim, 2), (kims.sam, 1)):
        assert step(http, "both").json()["observation"]["step_count"] == count


def test_where_there_are_tokens_an_address_is_nobodys(kims: Kims) -> None:
    """All of these come from one address."""
    for http in (kims.kim, kims.sam):
        http.post("/reset", json={"ticket_id": "t-1"}).raise_for_status()
        http.cookies.clear()
        for answer in (http.post("/step", json=CLASSIFY), http.get("/state"), http.post("/batch/step", json=CLASSIFY)):
            assert answer.status_code in (404, 422)
    for name, arguments in (("reset", {"ticket_id": "t-1"}), ("classify", {})):
        for http in (kims.kim, kims.sam):  # over MCP, without a session
            refused = rpc(http, "tools/call", {"name": name, "arguments": arguments}).json()["error"]
            assert refused["code"] == -32600 and "Mcp-Session-Id" in refused["message"]
