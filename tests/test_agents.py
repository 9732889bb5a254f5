"""Agents: functions and addresses that are asked what to do next, and what is said of those that don't answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.agents import AgentError, FunctionAgent, named_agent
from engine.evaluation.http_agent import MAX_ANSWER, HttpAgent
from engine.evaluation.spent import AgentStopped

TOOLS = [
    {"name": "ask", "description": "", "inputSchema": {}},
    {"name": "⚠️ stop", "description": "", "inputSchema": {}},
]
SEEN = {"step_count": 0}
ACTION = {"type": "ask", "field": "order"}


# -- Functions


class Callable_:
    def __call__(self, observation: Any, tools: Any) -> dict[str, Any]:
        return {"type": "ask"}

    def method(self, observation: Any, tools: Any, *, episode_id: str) -> dict[str, Any]:
        return {"type": "ask", "id": episode_id}


FUNCTIONS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (lambda observation, tools: ACTION, ACTION),
    (lambda observation: {"type": "ask", "seen": observation}, {"type": "ask", "seen": SEEN}),
    (lambda observation, tools: {"type": tools[0]["name"]}, {"type": "ask"}),
    (lambda observation, tools, instructions: {"type": instructions}, {"type": "Be quick."}),
    (lambda observation, *, episode_id: {"type": episode_id}, {"type": "e1"}),
    (
        lambda *given, **more: {"type": "ask", "given": len(given), **more},
        {"type": "ask", "given": 2, **{"instructions": "Be quick.", "episode_id": "e1"}},
    ),
    (Callable_(), {"type": "ask"}),
    (Callable_().method, {"type": "ask", "id": "e1"}),
    (lambda observation, tools=(): {"action": ACTION}, ACTION),
    (lambda observation: {"action": ACTION, "thought": "well"}, ACTION),
    (lambda observation: {"type": "ask", "action": {"type": "stop"}}, {"type": "ask", "action": {"type": "stop"}}),
    (
        lambda observation: {"name": "ask", "arguments": {"field": "order"}},
        {"name": "ask", "arguments": {"field": "order"}},
    ),
    (lambda observation: {"type": "ask", "fields": ("a", "b")}, {"type": "ask", "fields": ["a", "b"]}),
    (lambda observation: {}, {}),
]


@pytest.mark.parametrize(("function", "action"), FUNCTIONS)
def test_a_function_gives_an_action(function: Callable[..., Any], action: Mapping[str, Any]) -> None:
    agent = FunctionAgent(function)
    assert agent(SEEN, TOOLS, instructions="Be quick.", episode_id="e1") == action


def is_no_action(observation: Any) -> Any:
    return "resolve"


async def awaited(observation: Any) -> Any:
    return ACTION


def raising(observation: Any) -> Any:
    raise ValueError("no\nidea")


def deep(observation: Any) -> Any:
    return raising(observation)


BAD: list[tuple[Callable[..., Any], str]] = [
    (is_no_action, 'gave "resolve", which is no action: an object whose "type" is one of "ask", "⚠️ stop".'),
    (lambda observation: None, "gave null, which is no action: "),
    (lambda observation: [ACTION], 'gave [{"type": "ask", "field": "order"}], which is no action: '),
    (lambda observation: {"type": {1, 2}}, "which is no JSON (Object of type set is not JSON serializable)."),
    (lambda observation: {"type": float("nan")}, "which is no JSON ("),
    (lambda observation: "x" * 10_000, 'gave "' + "x" * 299 + "…, which is no action"),
    (awaited, "is a coroutine: give a function that runs it (asyncio.run)."),
    (raising, "raised ValueError: no idea"),
]


@pytest.mark.parametrize(("function", "said"), BAD)
def test_a_function_that_gives_none_is_said(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(AgentError) as failed:
        FunctionAgent(function)(SEEN, TOOLS)
    assert str(failed.value).startswith(f"The agent {__name__}:")
    assert said in str(failed.value)


def test_a_function_may_give_up() -> None:
    def gives_up(observation: Any) -> Any:
        raise AgentStopped

    with pytest.raises(AgentStopped):
        FunctionAgent(gives_up)(SEEN, TOOLS)


def test_its_own_code_is_shown_where_it_went_wrong_and_no_other() -> None:
    with pytest.raises(AgentError) as failed:
        FunctionAgent(deep)(SEEN, TOOLS)
    trace = failed.value.trace
    assert trace is not None
    assert trace.count("  File ") == 2
    assert trace.count(__file__) == 2
    assert trace.endswith("ValueError: no\nidea")
    assert failed.value.whole == f"{failed.value}\n\n{trace}"


@pytest.mark.parametrize(
    "function", [lambda: ACTION, lambda observation, tools, more: ACTION, lambda observation, *, seed: ACTION]
)
def test_a_function_that_takes_something_else_is_refused_at_once(function: Callable[..., Any]) -> None:
    with pytest.raises(AgentError, match=r"takes \(.*\): an agent takes \(observation, tools\)"):
        FunctionAgent(function)


def test_what_a_function_does_to_what_it_gave_changes_nothing() -> None:
    given: dict[str, Any] = {"type": "ask", "list": [1]}
    answer = FunctionAgent(lambda observation: given)(SEEN, TOOLS)
    given["list"].append(2)
    assert answer == {"type": "ask", "list": [1]}


# -- Functions by name


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module, and gives its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> str:
        name = f"agent_{len([*tmp_path.glob('*.py')])}_of_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        return name

    return write


def test_a_function_goes_by_its_name(module: Callable[[str], str]) -> None:
    name = module("def act(observation): return {'type': 'ask'}\nclass Shop:\n    act = staticmethod(act)\n")
    assert named_agent(f"{name}:act")(SEEN, TOOLS) == {"type": "ask"}
    agent = named_agent(f"{name}:Shop.act")
    assert agent(SEEN, TOOLS) == {"type": "ask"}
    assert agent.name == f"{name}:Shop.act"


@pytest.mark.parametrize("path", ["", ":", "act", "my_agent:", ":act", "my_agent"])
def test_what_names_no_function_is_said(path: str) -> None:
    with pytest.raises(AgentError, match=r"An agent is named as module:function, not '.*'\."):
        named_agent(path)


def test_a_name_that_leads_nowhere_is_said(module: Callable[[str], str]) -> None:
    with pytest.raises(AgentError, match=r"There is no module 'no_such_agent' .* has to be on sys\.path"):
        named_agent("no_such_agent:act")
    name = module("def act(observation): ...\nclass Shop: ...\nNUMBER = 7\n")
    with pytest.raises(AgentError, match=f"The module '{name}' has no 'atc'. Did you mean 'act'?"):
        named_agent(f"{name}:atc")
    with pytest.raises(AgentError, match=f"'{name}:Shop' is no function, but <class "):
        named_agent(f"{name}:Shop")
    with pytest.raises(AgentError, match=f"'{name}:NUMBER' is no function, but 7"):
        named_agent(f"{name}:NUMBER")


def test_a_module_that_fails_shows_where(module: Callable[[str], str]) -> None:
    name = module("import no_such_library\n")
    with pytest.raises(AgentError) as failed:
        named_agent(f"{name}:act")
    assert str(failed.value).startswith(f"The agent's module '{name}' can't be imported: ModuleNotFoundError:")
    assert failed.value.trace is not None
    assert failed.value.trace.count("  File ") == 1
    name = module("def act(:\n")
    with pytest.raises(AgentError, match="can't be imported: SyntaxError") as failed:
        named_agent(f"{name}:act")
    assert "def act(:" in str(failed.value.trace)


# -- Addresses


Respond = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    respond: Respond
    asked: list[tuple[str, Any, int]]  # of each request its path, its body, and the port that it came from

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body, self.client_address[1]))
        type(self).respond(self)

    def say(self, content: bytes | Any, status: int = 200, **headers: str) -> None:
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...


@contextmanager
def answering(respond: Respond) -> Iterator[tuple[str, list[tuple[str, Any, int]]]]:
    """A server of an agent: its address, and what it is asked."""
    asked: list[tuple[str, Any, int]] = []
    handler = type("AgentHandler", (Handler,), {"respond": staticmethod(respond), "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_an_address_is_asked_all_there_is_to_know() -> None:
    with answering(lambda handler: handler.say(ACTION)) as (url, asked):
        agent = HttpAgent(f"{url}/agent?key=1")
        assert agent({"text": "⚠️"}, TOOLS, instructions="Be quick.", episode_id="e1") == ACTION
        agent.close()
    ((path, body, _),) = asked
    assert path == "/agent?key=1"
    assert body == {"observation": {"text": "⚠️"}, "tools": TOOLS, "instructions": "Be quick.", "episode_id": "e1"}


def test_an_action_may_stand_inside() -> None:
    with answering(lambda handler: handler.say({"action": ACTION, "thought": "well"})) as (url, _):
        agent = HttpAgent(url)
        assert agent(SEEN, TOOLS) == ACTION
        agent.close()


def test_a_connection_is_kept_and_one_that_has_gone_is_opened_again() -> None:
    with answering(lambda handler: handler.say(ACTION)) as (url, asked):
        agent = HttpAgent(url)
        for _ in range(3):
            agent(SEEN, TOOLS)
        agent.close()
    assert len({port for _, _, port in asked}) == 1

    def hang_up(handler: Handler) -> None:
        handler.say(ACTION)
        handler.close_connection = True  # without a word

    with answering(hang_up) as (url, asked):
        agent = HttpAgent(url)
        for _ in range(3):
            assert agent(SEEN, TOOLS) == ACTION
            time.sleep(0.05)
        agent.close()
    assert len({port for _, _, port in asked}) == 3


def slowly(handler: Handler) -> None:
    time.sleep(1)


def drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):  # nobody listens to the end
        for _ in range(20):
            handler.wfile.write(b" ")
            time.sleep(0.05)


def nothing(handler: Handler) -> None:
    handler.close_connection = True


ANSWERS: list[tuple[Respond, str]] = [
    (lambda handler: handler.say(b"out of order", 500), "answered 500 Internal Server Error: out of order"),
    (lambda handler: handler.say(b"", 404), "answered 404 Not Found."),
    (lambda handler: handler.say(ACTION, 201), "answered 201 Created: "),
    (lambda handler: handler.say(b"", 307, Location="http://127.0.0.1:1"), "answered 307 Temporary Redirect."),
    (lambda handler: handler.say(b"resolve"), "answered what isn't JSON: resolve"),
    (lambda handler: handler.say(b"\xff\x1b[2J"), "answered what isn't JSON: �\\x1b[2J"),
    (lambda handler: handler.say(b"[" * 200_000), "answered what isn't JSON: [[["),
    (
        lambda handler: handler.say(["resolve"]),
        'answered ["resolve"], which is no action: an object whose "type" is one of "ask"',
    ),
    (lambda handler: handler.say(b" " * (MAX_ANSWER + 1)), "answered with more than 1,048,576 bytes."),
    (slowly, "gave no answer within 0.3 s."),
    (drip, "gave no answer within 0.3 s."),
    (nothing, "can't be asked: Remote end closed connection without response"),
]


@pytest.mark.parametrize(("respond", "said"), ANSWERS)
def test_what_is_no_answer_is_said(respond: Respond, said: str) -> None:
    with answering(respond) as (url, _):
        agent = HttpAgent(url, 0.3)
        with pytest.raises(AgentError) as failed:
            agent(SEEN, TOOLS)
        agent.close()
    assert str(failed.value).startswith(f"The agent {url} {said}")
    assert len(str(failed.value)) < 500
    assert failed.value.trace is None


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        with pytest.raises(AgentError, match=f"The agent {url} can't be asked: Connection refused"):
            HttpAgent(url)(SEEN, TOOLS)


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host/", "http://", "http://host:port/", "http://a b/", "http://h\n/"]
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(AgentError, match="is no address of an agent"):
        HttpAgent(url)
