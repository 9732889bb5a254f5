"""What docs/security.md says, on a server as it ships: who comes in, how often, from where, and what stays inside."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from ors.client import ORS, Task
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from server.gate import SECURITY_HEADERS
from server.mcp import MAX_BATCH as MAX_MESSAGES
from server.moments import MAX_ACTION
from server.tokens import digest
from tests.server.guarded import client, initialized, on_socket, token, write_tokens
from tests.server.live import SOON, Server, ask, eventually, running
from tests.server.rpc import message

PAGE, ELSEWHERE = "https://page.example", "https://evil.example"
BURST = 100
# Each has a bucket of its own.
NAMES = ("kim", "leaving", "sdk", "singles", "items", "messages", "batches", "frames", "calls", "pages")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server-process")]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokens(tmp_path_factory.mktemp("tokens") / "tokens", *NAMES)


@pytest.fixture(scope="module")
def guarded(root: Path, tokens: Path) -> Iterator[Server]:
    """Tokens, a request a second for each beyond a burst, one page that may call, and all that there is in the log."""
    limits = {"RATE": "1", "BURST": str(BURST), "CORS": PAGE}
    env = {"TOKENS": str(tokens), "STORE": f"sqlite:{tokens.with_name('episodes.db')}", "LOG_LEVEL": "debug", **limits}
    with running(root, LOG="json", **env) as server:  # type: ignore[arg-type]
        yield server


@pytest.fixture(scope="module")
def plain(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Everybody may play."""
    with running(root, STORE=f"sqlite:{tmp_path_factory.mktemp('plain') / 'episodes.db'}") as server:
        yield server


# -- Who may come in


@pytest.mark.parametrize("target", ["/reset", "/batch/step", "/mcp", "/create", "/nowhere"])
def test_a_body_without_a_token_is_not_even_uploaded(guarded: Server, target: str) -> None:
    """Megabytes are announced, and none is sent: the answer comes all the same, and no word to go on."""
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=SOON) as connection:
        lines = (f"POST {target} HTTP/1.1", "Host: localhost", "Expect: 100-continue", "Content-Length: 4000000")
        connection.sendall("\r\n".join((*lines, "", "")).encode())
        answer = b""
        while piece := connection.recv(65_536):  # to the end: the connection is closed
            answer += piece
    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 401 ")
    assert b"\r\nwww-authenticate: bearer\r\n" in head.lower() + b"\r\n"
    assert json.loads(content)["detail"].startswith("A token is needed")


def test_every_route_and_socket_needs_a_token(guarded: Server) -> None:
    with client(guarded, "pages") as known, client(guarded) as stranger:
        for path, methods in known.get("/openapi.json").json()["paths"].items():
            for method in methods:
                status = stranger.request(method, path.replace("{env}", "lamps")).status_code
                assert status == (200 if path in ("/health", "/ready") else 401), (method, path)
        assert stranger.options("/step").status_code == 401
        assert stranger.get("/health", headers={"X-API-Key": "none"}).status_code == 200
    for target in ("/ws", "/mcp"):
        with pytest.raises(InvalidStatus) as refused:
            on_socket(guarded, None, target)
        assert refused.value.response.status_code == 403


def test_a_token_whose_line_goes_stops_working(guarded: Server, tokens: Path) -> None:
    with client(guarded, "leaving") as leaving, client(guarded, "kim") as kim:
        assert leaving.get("/packs").status_code == 200
        write_tokens(tokens.with_name("new"), *(name for name in NAMES if name != "leaving")).replace(tokens)
        eventually(lambda: leaving.get("/packs").status_code == 401)  # by Flask
        assert leaving.get("/state").status_code == 401  # by the event loop
        assert kim.get("/packs").status_code == 200


def test_the_sdk_of_ors_brings_its_key(guarded: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ORS(base_url=guarded.http, api_key=token("sdk")) as ors:
        assert ors.environment("lamps").list_splits() == ["train", "validation", "test"]
        with ors.environment("lamps").session(Task(environment_name="lamps", task_spec={"id": "t-1"})) as session:
            assert session.call_tool("classify").reward == 0.5


# -- How often


def spend(http: httpx.Client, count: int) -> httpx.Response:
    return http.post("/batch/reset", json={"items": [{"episode_id": f"e{number}"} for number in range(count)]})


def is_refused(answer: httpx.Response) -> bool:
    if answer.status_code != 429:
        return False
    assert int(answer.headers["Retry-After"]) == answer.json()["retry_after"] >= 1
    assert "Too many requests: try again after" in answer.json()["detail"]
    return True


def test_single_requests_count(guarded: Server) -> None:
    with client(guarded, "singles") as http:
        assert spend(http, BURST - 3).status_code == 200
        eventually(lambda: is_refused(http.get("/state")))  # sooner than a second brings another
        eventually(lambda: is_refused(http.get("/packs")))
        assert [http.get(path).status_code for path in ("/health", "/ready")] == [200, 200]
    with client(guarded, "kim") as kim:
        assert kim.get("/packs").status_code == 200


def test_items_of_a_batch_count(guarded: Server) -> None:
    with client(guarded, "items") as http:
        assert spend(http, 60).status_code == 200
        assert is_refused(spend(http, 99))
        assert http.get("/state?episode_id=e98").status_code == 404
        never = spend(http, BURST + 1)
        assert (never.status_code, "Retry-After" in never.headers) == (429, False)
        assert never.json()["detail"] == f"{BURST + 1} at once are too many: send {BURST} at the most."


def test_messages_of_an_mcp_batch_count(guarded: Server) -> None:
    with client(guarded, "messages") as http:
        session = {"Mcp-Session-Id": initialized(http, "2025-03-26")}
        pings = [message("ping", request_id=number) for number in range(MAX_MESSAGES)]
        assert len(http.post("/mcp", json=pings, headers=session).json()) == MAX_MESSAGES
        assert is_refused(http.post("/mcp", json=pings, headers=session))


def test_messages_of_an_mcp_batch_in_a_frame_count(guarded: Server) -> None:
    """Two batches are more than a burst: of the second nothing is taken."""
    pings = [message("ping", request_id=number) for number in range(MAX_MESSAGES - 1)]
    with on_socket(guarded, "batches", "/mcp") as agent:
        ask(agent, message("initialize", {"protocolVersion": "2025-03-26"}))
        reset = message("tools/call", {"name": "reset", "arguments": {"ticket_id": "t-1"}})
        assert len(ask(agent, [reset, *pings])) == MAX_MESSAGES
        refused = ask(agent, [message("tools/call", {"name": "classify"}), *pings])["error"]
        assert refused["code"] == -32000
        assert refused["message"].startswith("Too many requests: try again after ")
        played = ask(agent, message("tools/call", {"name": "classify"}))["result"]  # there is room for single ones
        assert played["data"]["step_count"] == 1


@pytest.mark.parametrize(
    ("name", "target", "frame"),
    [("frames", "/ws", {"type": "state"}), ("calls", "/mcp", message("ping"))],
)
def test_frames_count(guarded: Server, name: str, target: str, frame: Any) -> None:
    with client(guarded, name) as http, on_socket(guarded, name, target) as player:
        assert spend(http, BURST - 5).status_code == 200
        assert "Too many requests" not in json.dumps(ask(player, frame))
        eventually(lambda: "Too many requests" in json.dumps(ask(player, frame)))


# -- From where


@pytest.mark.parametrize("target", ["/reset", "/create", "/mcp", "/health", "/nowhere"])
def test_a_page_from_elsewhere_may_not_call(plain: Server, guarded: Server, target: str) -> None:
    for server, name in ((plain, None), (guarded, "pages")):
        with client(server, name) as http:
            method = "GET" if target == "/health" else "POST"
            for origin in (ELSEWHERE, "null", f"{server.http}.evil.example"):
                refused = http.request(method, target, headers={"Origin": origin})
                assert refused.status_code == 403
                assert "Access-Control-Allow-Origin" not in refused.headers
            assert http.request(method, target, headers={"Origin": server.http}).status_code != 403


@pytest.mark.parametrize("target", ["/ws", "/mcp"])
def test_nor_may_it_open_a_socket(plain: Server, guarded: Server, target: str) -> None:
    for server, name in ((plain, None), (guarded, "pages")):
        for origin in (ELSEWHERE, "null"):
            with pytest.raises(InvalidStatus) as refused:
                on_socket(server, name, target, origin)
            assert refused.value.response.status_code == 403
        with on_socket(server, name, target, server.http) as own:
            own.ping().wait(SOON)
    with on_socket(guarded, "pages", target, PAGE) as listed:
        listed.ping().wait(SOON)


def test_a_page_that_may_call_is_told_so(guarded: Server) -> None:
    asks = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with client(guarded) as page:
        for target in ("/reset", "/create"):
            preflight = page.options(target, headers=asks)
            assert (preflight.status_code, preflight.headers["Access-Control-Allow-Origin"]) == (204, PAGE)
            assert preflight.headers["Access-Control-Allow-Headers"] == "authorization"
            refused = page.post(target, headers={"Origin": PAGE})  # it may read that it needs a token
            assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, PAGE)
        assert page.options("/reset", headers={**asks, "Origin": ELSEWHERE}).status_code == 403


def test_every_answer_says_what_a_browser_may_not_do(plain: Server, guarded: Server) -> None:
    with client(plain) as http, client(guarded) as stranger:
        asked = [(method, path) for path, item in http.get("/openapi.json").json()["paths"].items() for method in item]
        asked += [("get", "/nowhere"), ("put", "/step"), ("options", "/step"), ("head", "/packs"), ("post", "/%ff")]
        answers = [http.request(method, path.replace("{env}", "lamps")) for method, path in asked]
        answers += [stranger.get("/packs"), http.post("/step", content=b"{"), http.post("/step", content=b" " * 70_000)]
        answers.append(http.post("/step", headers={"Origin": ELSEWHERE}))
    assert {answer.status_code for answer in answers} >= {200, 204, 400, 401, 403, 404, 405, 413, 422}
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        path = answer.url.path
        for name, value in SECURITY_HEADERS[:-1]:
            assert answer.headers[name] == value or (name == "Cache-Control" and answer.headers[name] == "no-cache"), (
                path
            )
        assert policy.startswith("default-src 'none'")
        assert ("frame-ancestors 'none'" in policy) is (path not in ("/", "/docs")), path
        assert "script" not in policy


# -- What stays inside


def test_no_token_or_cookie_is_logged(guarded: Server) -> None:
    secret = "s3cr3t-0123456789"
    with client(guarded, "pages", Cookie=f"deskproof_episode={secret}; x={secret}") as known:
        assert known.get("/state").status_code == 404
    with client(guarded, Authorization=f"Bearer {secret}", Cookie=f"session={secret}") as stranger:
        assert [stranger.get(path).status_code for path in ("/state", "/packs")] == [401, 401]
    with client(guarded, Authorization=f"Basic {secret}", **{"X-API-Key": secret}) as stranger:
        assert stranger.post("/mcp", content=b"{").status_code == 401
    with pytest.raises(InvalidStatus):
        connect(guarded.ws, additional_headers={"Authorization": f"Bearer {secret}"}, proxy=None)
    printed = guarded.printed()
    assert '"DEBUG"' in printed
    assert [name for name in NAMES if token(name) in printed or digest(token(name)) in printed] == []
    assert secret not in printed


ODD = (
    b"{",
    b"[]",
    b"null",
    b'"\xff"',
    b"[" * 100,
    b'{"a":1,"a":2}',
    b'{"seed":1e400}',
    b'{"items":{}}',
    b'{"action":7}',
)


def test_no_answer_shows_the_servers_insides(plain: Server, root: Path) -> None:
    with client(plain) as http:
        paths = http.get("/openapi.json").json()["paths"]
        for path, item in paths.items():
            for method in item:
                for content in ODD:
                    answer = http.request(
                        method, path.replace("{env}", "../lamps"), content=content, headers={"X-Session-ID": "../e"}
                    )
                    assert answer.status_code < 500, (method, path, content)
                    found = re.search(rf"Traceback|File \"|\.py\b|{root}|site-packages", answer.text)
                    assert found is None or path in ("/docs", "/openapi.json"), (path, content, found)


# -- Batches and actions of any size


def test_an_mcp_batch_has_so_many_messages(plain: Server) -> None:
    asks = [message("tools/list", request_id=number) for number in range(MAX_MESSAGES + 1)]
    with client(plain) as http, on_socket(plain, None, "/mcp") as agent:
        for refused in (http.post("/mcp", json=asks).json(), ask(agent, json.dumps(asks))):
            assert refused["error"]["code"] == -32600
            assert refused["error"]["message"] == f"a batch has 1 to {MAX_MESSAGES} messages, not {len(asks)}"
        assert len(http.post("/mcp", json=asks[1:]).json()) == MAX_MESSAGES


def sized(size: int) -> dict[str, str]:
    """An action that is so many bytes as JSON."""
    empty = {"type": "say", "text": ""}
    return {**empty, "text": "x" * (size - len(json.dumps(empty, separators=(",", ":"))))}


def test_an_action_has_a_size(plain: Server) -> None:
    largest, larger = sized(MAX_ACTION), sized(MAX_ACTION + 1)
    said = f"The action is {MAX_ACTION + 1} bytes of JSON; {MAX_ACTION} are the most."
    with client(plain) as http, on_socket(plain, None, "/ws") as player:
        http.post("/reset", json={"episode_id": "sized", "ticket_id": "t-1"}).raise_for_status()

        def take(action: Any) -> dict[str, Any]:
            return {"episode_id": "sized", "action": action}

        refused = http.post("/step", json=take(larger))
        assert (refused.status_code, refused.json()["detail"]) == (422, said)
        # Blanks, and what the canonical form leaves out, don't count.
        assert http.post(
            "/step", content=json.dumps(take({**largest, "type": None, "name": "say"}), indent=9)
        ).is_success
        items = http.post("/batch/step", json={"items": [take(larger), take(largest)]}).json()["items"]
        assert (items[0]["status"], items[0]["detail"], items[1]["done"]) == (422, said, False)
        ask(player, {"type": "reset", "data": {"ticket_id": "t-1"}})
        error = ask(player, {"type": "step", "data": larger})["data"]
        assert (error["code"], error["message"]) == ("VALIDATION_ERROR", said)
        called = ask(player, {"type": "mcp", "data": message("tools/call", {"name": "say", "arguments": larger})})
        assert called["data"]["result"]["isError"] and "bytes of JSON" in json.dumps(called)
        assert ask(player, {"type": "state"})["data"]["step_count"] == 0
        assert http.get("/state?episode_id=sized").json()["step_count"] == 2
