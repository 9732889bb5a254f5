"""Playing over MCP without a network: the tools, their results, and OpenEnv's tool actions on /ws."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from server.store.memory import MemoryStore
from tests.server.rpc import Agent, fault, message, result, sessions
from tests.server.store_calls import Forgetful

LAMPS = Path(__file__).with_name("lamps.yaml")
OPENING = "Wo bleibt {meine} Lampe, «Ø» ⚠️ 版本?"  # of ticket t-1

# Actions that are called like words of ours.
NAMESAKES = """
actions:
  reset: {description: Set the lamp back to how it left the shop}
  call_tool: {description: Call somebody with a tool}
rules:
  reset: [{outcome: done, then: {say: It is set back.}}]
  call_tool: [{outcome: done, then: {say: Somebody comes.}}]
"""


@pytest.fixture
def agent(naive: FlaskClient) -> Agent:
    return Agent(naive)


@pytest.fixture
def namesakes(tmp_path: Path) -> Pack:
    """The small pack under another name, with those actions."""
    path = tmp_path / "namesakes.yaml"
    path.write_text(LAMPS.read_text("utf-8").replace("pack: lamps\n", "pack: namesakes\n") + NAMESAKES, "utf-8")
    return load_pack(path)


# -- tools


def test_tools_are_the_actions_and_reset(agent: Agent, contract: Contract) -> None:
    tools = agent.tools()
    assert list(tools) == ["ask_info", "classify", "resolve", "reset"]
    field = tools["ask_info"]["inputSchema"]["properties"]["field"]
    assert (field["type"], field["enum"]) == ("string", ["order", "email", "colour"])
    assert tools["ask_info"]["inputSchema"]["required"] == ["field"]
    for meaning in ("order: The number on the order", "email: The address the account is under"):
        assert f"\n- {meaning}" in field["description"]
    category = tools["classify"]["inputSchema"]["properties"]["category"]
    assert category["enum"] == ["delivery", "exchange"] and tools["classify"]["inputSchema"]["required"] == []
    assert "\n- exchange: A lamp of another colour" in category["description"]
    descriptions = {action.name: action.description for action in contract.actions}
    assert {name: tools[name]["description"] for name in descriptions} == descriptions
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["properties"].keys() == contract.observation_space["properties"].keys()
        assert tool["description"]


def test_reset_has_described_and_enumerated_parameters(agent: Agent) -> None:
    taken = agent.tools()["reset"]["inputSchema"]["properties"]
    assert taken.keys() == {"seed", "task_id", "ticket_id", "pack", "split", "index"}
    assert all(schema["description"] and isinstance(schema["type"], str) for schema in taken.values())
    assert taken["pack"]["enum"] == ["lamps"] and "What a lamp shop asks" in taken["pack"]["description"]
    assert taken["task_id"]["enum"] == ["easy-info-collection", "medium-complete-info", "hard-efficient-resolution"]
    assert "Fully resolve ticket with optimal steps" in taken["task_id"]["description"]
    assert taken["ticket_id"]["enum"] == ["t-1", "t-2", "t-3", "t-4"]
    assert taken["split"]["enum"] == ["train", "validation", "test"]
    assert (taken["seed"]["minimum"], taken["seed"]["maximum"]) == (0, 2**63 - 1)


def test_the_tools_are_those_of_the_episodes_pack(lamps: Pack, namesakes: Pack) -> None:
    agent = Agent(create_app([lamps, namesakes]).test_client())
    assert list(agent.tools()) == ["ask_info", "classify", "resolve", "reset"]
    began = agent.call("reset", pack="namesakes", ticket_id="t-1")
    # `initialize` has told the default pack's instructions only.
    assert began["content"][0]["text"].startswith(namesakes.instructions.strip())
    assert list(agent.tools()) == ["ask_info", "classify", "resolve", "reset", "call_tool", "reset_episode"]
    # In this pack `reset` is an action; what begins episodes has another name now.
    acted = agent.call("reset")
    assert acted["content"][0]["text"].startswith("desk: It is set back.")
    assert acted["structuredContent"]["step_count"] == 1
    back = agent.call("reset_episode", pack="lamps", ticket_id="t-1")
    assert back["content"][0]["text"].startswith(f"customer: {OPENING}")
    assert list(agent.tools()) == ["ask_info", "classify", "resolve", "reset"]


# -- playing


def test_a_ticket_from_start_to_end(agent: Agent) -> None:
    began = agent.call("reset", ticket_id="t-1", seed=7)
    assert began["content"][0]["text"].startswith(f"customer: {OPENING}\n\n")
    agent.call("classify")
    agent.call("ask_info", field="order")
    asked = agent.call("ask_info", field="email")
    said, rest = asked["content"][0]["text"].split("\n\n")
    assert said == "customer: sam@example.org"
    assert json.loads(rest) == {
        "ticket_id": "t-1",
        "known_info": {"order": "A-1001", "email": "sam@example.org"},
        "required": ["order", "email"],
        "missing_required": [],
        "info_progress": 1.0,
        "status": "open",
        "step_count": 3,
        "remaining_steps": 7,
    }
    done = agent.call("resolve")
    assert done["structuredContent"]["status"] == "resolved" and done["isError"] is False
    assert done["content"][0]["text"].endswith(
        "The ticket is resolved. The episode is over: call reset to begin another one."
    )
    over = agent.call("resolve")
    assert over["isError"] is over["is_error"] is True and "structuredContent" not in over
    assert over["content"] == [{"type": "text", "text": "The episode is over: call reset to begin another one."}]
    assert over["data"] == over["content"][0]["text"]
    assert agent.call("reset", ticket_id="t-1")["structuredContent"]["step_count"] == 0


def test_a_result_is_what_both_kinds_of_client_read(agent: Agent, contract: Contract) -> None:
    called = agent.call("reset", ticket_id="t-2")
    assert called["structuredContent"] == called["structured_content"] == called["data"]
    assert called["structuredContent"].keys() == contract.observation_space["properties"].keys()
    assert called["isError"] is called["is_error"] is False
    assert [block["type"] for block in called["content"]] == ["text"]


def test_a_call_before_any_reset_begins_an_episode(agent: Agent) -> None:
    called = agent.call("classify")
    seen = called["structuredContent"]
    assert seen["step_count"] == 1
    assert called["content"][0]["text"].startswith(f"customer: {seen['customer_message']}\n\ndesk: ")


def test_steps_run_out(agent: Agent) -> None:
    agent.call("reset", ticket_id="t-1")
    for _ in range(10):
        last = agent.call("resolve")
    assert last["structuredContent"]["remaining_steps"] == 0
    assert (
        "No steps are left, and the ticket is not resolved. The episode is over: call reset"
        in last["content"][0]["text"]
    )
    assert agent.call("resolve")["isError"] is True


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("fly", {}, "There is no action 'fly'. Valid actions: ask_info, classify, resolve."),
        ("ask_info", {"field": "shoe"}, "ask_info: 'shoe' is not a valid field. Valid: order, email, colour."),
        ("ask_info", {"field": 7}, "ask_info: '7' is not a valid field. Valid: order, email, colour."),
        ("ask_info", {"field": ["order"]}, "is not a valid field. Valid: order, email, colour."),
        ("ask_info", {}, "field"),
        ("classify", {"colour": "red"}, "colour"),
        ("step", {}, "There is no action 'step'."),
    ],
)
def test_an_agents_mistake_is_a_step(agent: Agent, name: str, arguments: dict[str, Any], says: str) -> None:
    agent.call("reset", ticket_id="t-1")
    called = agent.call(name, **arguments)
    assert called["isError"] is called["is_error"] is True
    assert says in called["content"][0]["text"].split("\n\n")[0]
    assert called["structuredContent"]["step_count"] == 1


def test_a_wasted_step_is_no_error(agent: Agent) -> None:
    """That it was wasted is for the trainer to know."""
    agent.call("reset", ticket_id="t-1")
    for name, arguments in (("ask_info", {"field": "colour"}), ("resolve", {}), ("classify", {"category": "exchange"})):
        assert agent.call(name, **arguments)["isError"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"ticket": "t-1"}, "reset has no parameter 'ticket': did you mean 'ticket_id'?"),
        ({"episode_id": "e"}, "reset has no parameter 'episode_id'"),
        ({"ticket_id": "t-9"}, "Pack 'lamps' has no ticket 't-9'."),
        ({"pack": "lamp"}, "There is no pack 'lamp'. Did you mean 'lamps'?"),
        ({"seed": -1}, "seed must be from 0"),
        ({"seed": "7"}, "seed must be an integer, not a string"),
    ],
)
def test_a_reset_that_asks_for_what_there_is_not_changes_nothing(
    agent: Agent, arguments: dict[str, Any], says: str
) -> None:
    agent.call("reset", ticket_id="t-1")
    agent.call("classify")
    refused = agent.call("reset", **arguments)
    assert refused["isError"] is True and says in refused["content"][0]["text"]
    assert agent.call("classify")["structuredContent"]["step_count"] == 2


def test_without_a_session_the_address_says_who_plays(naive: FlaskClient) -> None:
    def call(name: str, address: str, **arguments: Any) -> Any:
        asked = message("tools/call", {"name": name, "arguments": arguments})
        response = naive.post("/mcp", json=asked, environ_base={"REMOTE_ADDR": address})
        assert "Mcp-Session-Id" not in response.headers
        return result(response.json)["structuredContent"]

    call("reset", "10.0.0.1", ticket_id="t-1")
    call("reset", "10.0.0.2", ticket_id="t-2")
    for number, ticket in ((1, "t-1"), (2, "t-2")):
        seen = call("classify", f"10.0.0.{number}")
        assert (seen["ticket_id"], seen["step_count"]) == (ticket, 1)
    # It is the episode that plain HTTP goes on with.
    stepped: Any = naive.post("/step", json={"type": "classify"}, environ_base={"REMOTE_ADDR": "10.0.0.1"}).json
    assert stepped["observation"]["step_count"] == 2
    assert call("resolve", "10.0.0.3")["step_count"] == 1  # before any reset: an episode begins


def test_an_episode_that_is_no_longer_kept(service: Service) -> None:
    session = sessions(1).open(socket=True)
    session.episode_id = "went"
    called = result(Mcp(service, sessions(1)).handle(message("tools/call", {"name": "classify"}), session))
    assert called["isError"] is True
    assert called["content"][0]["text"].startswith("The episode is no longer kept.")


def test_an_episode_whose_pack_is_neither_served_nor_kept(lamps: Pack, namesakes: Pack, contract: Contract) -> None:
    store, session = Forgetful(), sessions(1).open(socket=True)
    before, after = (Mcp(Service([pack], store, contract), sessions(1)) for pack in (lamps, namesakes))
    before.handle(message("tools/call", {"name": "classify"}), session)
    called = result(after.handle(message("tools/call", {"name": "classify"}), session))
    assert called["isError"] is True and "neither served nor kept" in called["content"][0]["text"]


# -- OpenEnv's actions on /ws

Say = Callable[..., Any]


@pytest.fixture
def talk(service: Service) -> Say:
    """Says a message on /ws, and gives the reply."""
    registry = sessions(1)
    conversation = Conversation(service, Mcp(service, registry), registry.open(socket=True))

    def say(kind: str, data: Any = None) -> Any:
        frame = conversation.receive(json.dumps({"type": kind} | ({} if data is None else {"data": data}))).frame
        assert frame is not None
        return json.loads(frame)

    return say


def test_tools_are_listed_before_a_reset(talk: Say) -> None:
    listed = talk("step", {"type": "list_tools"})
    assert listed["type"] == "observation" and (listed["data"]["reward"], listed["data"]["done"]) == (None, False)
    tools = listed["data"]["observation"]["tools"]
    assert [set(tool) for tool in tools] == [{"name", "description", "input_schema"}] * 3
    assert [tool["name"] for tool in tools] == ["ask_info", "classify", "resolve"]
    assert talk("state")["data"]["code"] == "EXECUTION_ERROR"  # listing begins nothing


def test_a_tool_is_called_as_a_step(talk: Say) -> None:
    talk("reset", {"ticket_id": "t-1"})
    called = talk("step", {"type": "call_tool", "tool_name": "classify", "arguments": {}})["data"]
    assert (called["reward"], called["done"], called["metadata"]["outcome"]) == (0.5, False, "classify.right")
    seen = called["observation"]
    assert (seen["tool_name"], seen["error"]) == ("classify", None) and seen["result"]["data"]["step_count"] == 1
    called = talk("step", {"type": "call_tool", "tool_name": "ask_info", "arguments": {"field": "order"}})["data"]
    assert called["observation"]["result"]["structured_content"]["known_info"] == {"order": "A-1001"}
    assert called["reward"] == 0.25
    assert talk("state")["data"]["step_count"] == 2


def test_a_call_before_any_reset_begins_one_on_ws_too(talk: Say) -> None:
    called = talk("step", {"type": "call_tool", "tool_name": "classify"})["data"]
    assert called["observation"]["result"]["data"]["step_count"] == 1
    assert talk("state")["data"]["episode_id"] == called["metadata"]["episode_id"]


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("fly", {}, "tool_not_found"),
        ("reset", {}, "tool_not_found"),
        ("ask_info", {"field": "shoe"}, "invalid_args"),
        ("ask_info", None, "invalid_args"),
    ],
)
def test_a_wrong_call_is_a_step_with_an_error(talk: Say, name: str, arguments: Any, kind: str) -> None:
    talk("reset", {"ticket_id": "t-1"})
    called = talk("step", {"type": "call_tool", "tool_name": name, "arguments": arguments})["data"]
    assert called["reward"] == -0.1 and called["metadata"]["outcome"] == "invalid"
    error = called["observation"]["error"]
    assert error["error_type"] == kind and error["message"] == called["metadata"]["error"]
    assert called["observation"]["result"]["data"]["step_count"] == 1


def test_what_is_no_call_is_a_clients_mistake(talk: Say) -> None:
    talk("reset", {"ticket_id": "t-1"})
    refused = talk("step", {"type": "call_tool", "arguments": []})["data"]
    assert refused["code"] == "VALIDATION_ERROR"
    assert [error["loc"] for error in refused["errors"]] == [["data", "tool_name"], ["data", "arguments"]]
    assert talk("state")["data"]["step_count"] == 0


def test_a_repeated_call_is_answered_once(talk: Say) -> None:
    talk("reset", {"episode_id": "e", "ticket_id": "t-1"})
    asked = {"type": "call_tool", "tool_name": "classify", "arguments": {}, "request_id": "r1", "episode_id": "e"}
    assert talk("step", asked) == talk("step", asked)
    assert talk("state")["data"]["step_count"] == 1


def test_a_packs_own_action_of_that_name_is_meant(namesakes: Pack, contract: Contract) -> None:
    service = Service([namesakes], MemoryStore(), contract)
    session = sessions(1).open(socket=True)
    mcp = Mcp(service, sessions(1))
    assert mcp.as_action({"type": "call_tool", "tool_name": "classify"}, session) is None
    assert mcp.as_action({"type": "list_tools"}, session) is not None
    assert mcp.as_action({"type": "classify"}, session) is None


def test_json_rpc_in_a_message_of_ws(talk: Say) -> None:
    talk("reset", {"ticket_id": "t-1"})
    listed = talk("mcp", message("tools/list"))
    names = [tool["name"] for tool in result(listed["data"])["tools"]]
    assert listed["type"] == "mcp" and names == ["ask_info", "classify", "resolve"]
    assert result(talk("mcp", message("tools/call", {"name": "classify"}))["data"])["data"]["step_count"] == 1
    assert talk("state")["data"]["step_count"] == 1  # the socket's own episode
    fault(talk("mcp", {"jsonrpc": "2.0", "id": 1, "method": "nothing"})["data"], -32601)
    fault(talk("mcp", {})["data"], -32600, None)
