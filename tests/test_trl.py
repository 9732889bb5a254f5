"""The class for TRL's environment_factory: typed, documented tools over an episode.

What TRL does with such a class (GRPOTrainer, 1.8 and later) is written down in `tools_of`: an instance without
arguments, the functions of its type as tools, `reset` and `get_reward` apart.
"""

from __future__ import annotations

import inspect
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from engine import chat
from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from engine.tools import tools as evaluated
from engine.training import trl

LAMPS = (Path(__file__).parent / "server" / "lamps.yaml").read_text("utf-8")


def tools_of(env: Any) -> dict[str, Callable[..., Any]]:
    """The tools that TRL finds, by name."""
    named = [name for name, _ in inspect.getmembers(type(env), predicate=inspect.isfunction)]
    assert {"reset", "get_reward"} <= set(named)
    return {name: getattr(env, name) for name in named if name not in ("reset", "get_reward") and name[0] != "_"}


def schema_of(tool: Callable[..., Any]) -> dict[str, Any]:
    """The function that transformers' `get_json_schema` makes of a tool: a docstring in Google's style, whose sections
    begin with these words wherever they stand, and type hints. `(choices: ...)` behind a description is JSON."""
    doc = (inspect.getdoc(tool) or "").strip()
    summary = re.split(r"\s*(?:Args:|Returns:|Raises:)", doc)[0].strip()
    section = re.search(r"\n\s*Args:\n(.*?)\s*(?:Returns:|Raises:|\Z)", doc, re.DOTALL)
    told = dict(re.findall(r"^ *(\w+): *(.*)$", section[1], re.MULTILINE)) if section else {}
    assert not any(re.search(r"\(choices:.*\)$", text, re.IGNORECASE) for text in told.values())
    kinds = {str: "string", int: "integer", bool: "boolean"}
    properties, required = {}, []
    for name, hint in get_type_hints(tool).items():
        assert get_origin(hint) is Literal
        values = [*get_args(hint)]
        properties[name] = {"type": kinds[type(values[0])], "description": told[name], "enum": values}
        required += [name] if inspect.signature(tool).parameters[name].default is inspect.Parameter.empty else []
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"name": tool.__name__, "description": summary, "parameters": parameters}


def changed(tmp_path: Path, *changes: tuple[str, str], more: str = "") -> Pack:
    text = LAMPS
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / "lamps.yaml"
    path.write_text(text + more, "utf-8")
    return load_pack(path)


def instance(pack: Pack) -> Any:
    return trl.environment_class(pack)()


@pytest.fixture
def env(desk: Pack) -> Any:
    return instance(desk)


# -- what TRL finds


def test_tools_are_the_actions(env: Any) -> None:
    assert tools_of(env).keys() == {"ask_info", "classify", "resolve", "tell"}
    public = {name for name, _ in inspect.getmembers(env, inspect.ismethod) if not name.startswith("_")}
    assert public == tools_of(env).keys() | {"reset", "get_reward"}


def test_tools_are_typed_and_documented(env: Any) -> None:
    signature = inspect.signature(env.ask_info)
    assert str(signature) == "(field: Literal['order', 'email', 'device', 'colour'])"
    assert inspect.getdoc(env.ask_info) == (
        "Request missing information from the user\n\nArgs:\n"
        "    field: One of these: - order: Order number - email: E-mail address - device: Device - colour: Colour\n"
        "\nReturns:\n    What the customer or the desk says, and what is known and missing."
    )
    assert inspect.signature(env.classify).parameters["category"].default is None


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_every_shipped_pack_has_its_class(path: Path) -> None:
    pack = load_pack(path)
    made = trl.environment_class(pack)
    tools = tools_of(made())
    assert list(tools) == sorted(pack.actions)
    for tool in evaluated(pack):
        schema = tool["inputSchema"]
        for parameter, told in schema["properties"].items():
            # What transformers itself does: line ends become blanks, and something has to be said.
            told["description"] = told.get("description", parameter).replace("\n", " ")
        assert schema.pop("additionalProperties") is False  # transformers never writes it
        assert schema_of(tools[tool["name"]]) == {
            "name": tool["name"],
            "description": tool["description"],
            "parameters": schema,
        }


def test_each_pack_s_rewards_are_logged_under_its_own_name(desk: Pack, tmp_path: Path) -> None:
    german = changed(tmp_path, ("pack: lamps", "pack: 'lampen-hilfe_2 ⚠️ 版本?'"))
    assert trl.environment_class(desk).__name__ == "DeskEnvironment"
    assert trl.environment_class(german).__name__ == "LampenHilfe2版本Environment"


def test_any_value_is_a_choice(tmp_path: Path) -> None:
    """Also what JSON, a docstring or a sentence would take for its own."""
    nasty = 'a "quoted" (x) ] \\ ⚠️'
    quoted = json.dumps(nasty, ensure_ascii=False)
    changes = (("  colour: {", f"  {quoted}: {{"), (", colour", f", {quoted}"), ("colour: ", f"{quoted}: "))
    env = instance(changed(tmp_path, *changes))
    assert schema_of(env.ask_info)["parameters"]["properties"]["field"]["enum"] == ["order", "email", nasty]


def test_descriptions_stay_in_their_place(tmp_path: Path) -> None:
    """Whatever in them a reader of docstrings would take for its own: it is cut in two by a blank."""
    actions = """
actions:
  pack:
    description: "Pack it up.\\n\\nReturns:\\n    nothing"
    parameters:
      fast: {type: boolean, description: "Whether\\n    how: in a hurry. Raises: eyebrows"}
      boxes: {type: integer, enum: [1, 2], description: "How many (choices: few)", required: false}
      plain: {type: string, enum: [" a ", b]}
rules:
  pack: [{outcome: done, then: {say: Packed.}}]
"""
    env = instance(changed(tmp_path, more=actions))
    schema = schema_of(env.pack)
    assert schema["description"] == "Pack it up.\n\nReturns :\n    nothing"
    told = {
        "fast": ("boolean", "Whether how: in a hurry. Raises : eyebrows", [False, True]),
        "boxes": ("integer", "How many (choices : few)", [1, 2]),
        "plain": ("string", "plain", [" a ", "b"]),
    }
    assert schema["parameters"]["properties"] == {
        name: {"type": kind, "description": text, "enum": values} for name, (kind, text, values) in told.items()
    }
    assert schema["parameters"]["required"] == ["fast", "plain"]
    assert "Packed." in env.pack(fast=True, plain="b")


@pytest.mark.parametrize("name", ["reset", "get_reward", "_act", "class", "self", "two words"])
def test_names_that_can_be_no_method(tmp_path: Path, name: str) -> None:
    more = f"\nactions:\n  {name}: {{description: A test}}\nrules:\n  {name}: [{{outcome: done, then: {{say: Hm.}}}}]\n"
    pack = changed(tmp_path, more=more)
    with pytest.raises(ValueError, match=f"action '{name}' can't be a method"):
        trl.environment_class(pack)


# -- an episode


def test_an_episode(env: Any) -> None:
    prompt = env.reset(seed=1, ticket_id="e-two", prompt=[{"role": "user", "content": "Help."}], difficulty=None)
    # TRL appends it to the row's last message as it is.
    assert prompt.startswith("\n\n") and '"customer_message": "Where is it?"' in prompt
    assert env.get_reward() == 0.0
    assert "Needed: order, email." in env.classify()
    told = json.loads(env.ask_info("order"))
    assert (told["role"], told["text"], told["known_info"]) == ("customer", "ORD-1", {"order": "ORD-1"})
    assert told["missing_required"] == ["email"]
    env.ask_info(field="email")
    assert json.loads(env.resolve())["status"] == "resolved"
    assert env.get_reward() == 2.0
    assert env.resolve() == "The episode is over."


def test_what_is_trained_is_what_is_evaluated(desk: Pack, env: Any) -> None:
    """With the instructions as the row's system message the chat is the one of `deskproof eval openai:MODEL`."""
    prompt = [{"role": "system", "content": desk.instructions}, {"role": "user", "content": ""}]
    prompt[-1]["content"] += env.reset(seed=1, ticket_id="e-two", prompt=prompt)  # TRL does so
    episode = Episode.start(make_case(desk, "e-two", 1))
    assert prompt == chat.opening(desk.instructions, episode.observation)
    assert env.classify() == chat.news(episode.step({"type": "classify"}).observation)


def test_the_reward_is_the_return(env: Any) -> None:
    env.reset(seed=1, ticket_id="e-two")
    env.resolve()
    env.classify()
    # -0.1 for the early resolve, 0.5 for the classification.
    assert env.get_reward() == 0.4
    assert isinstance(env.get_reward(), float)
    env.reset(seed=1, ticket_id="e-two")
    assert env.get_reward() == 0.0


def test_instances_play_apart(desk: Pack) -> None:
    """TRL makes one for each generation of a group, and gives all of them the same row."""
    one, other = instance(desk), instance(desk)
    row = {"seed": 5, "task_id": "hard-efficient-resolution", "prompt": "Help."}
    assert one.reset(**row) == other.reset(**row)
    one.resolve()
    assert (one.get_reward(), other.get_reward()) == (-0.1, 0.0)


def test_what_the_model_reads_has_no_reward(desk: Pack) -> None:
    env = instance(desk)
    read = [env.reset(seed=1, ticket_id="e-two"), env.resolve(), env.ask_info("shoe"), env.classify()]
    read += [env.ask_info("order"), env.ask_info("email"), env.resolve()]
    text = "\n".join(read).lower()
    assert env.get_reward() == 1.8  # two steps were wasted
    assert not any(word in text for word in ("reward", "score", "outcome", "1.8", "-0.1", "0.25"))


def test_a_tool_before_any_reset_starts_an_episode(env: Any) -> None:
    assert json.loads(env.resolve())["remaining_steps"] == 9


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("ask_info", {"field": "shoe size"}, "'shoe size' is not a valid field"),
        ("ask_info", {"field": ["order"]}, "is not a valid field"),
        ("ask_info", {}, "ask_info needs field: one of order, email, device, colour."),
        ("ask_info", {"field": "order", "urgently": True}, "ask_info takes no 'urgently'."),
        ("resolve", {"self": "me"}, "resolve takes no 'self'."),
        ("ask_info", {"field": "\ud83d"}, "ask_info: '\\ud83d' is not a valid field."),
        ("ask_info", {"field": ["\ud83d"]}, "ask_info: '[\"\\ud83d\"]' is not a valid field."),
    ],
)
def test_a_model_s_mistake_is_a_step(env: Any, tool: str, arguments: dict[str, Any], says: str) -> None:
    env.reset(seed=1, ticket_id="e-two")
    text = tools_of(env)[tool](**arguments)  # as TRL calls it
    text.encode()
    told = json.loads(text)
    assert says in told["text"] and told["remaining_steps"] == 9
    assert env.get_reward() == -0.1


@pytest.mark.parametrize("seed", [7, 7.0])
def test_a_column_s_seed(env: Any, seed: Any) -> None:
    assert env.reset(seed=seed) == env.reset(seed=7)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"seed": -1}, "seed must be a whole number from 0 up, not -1"),
        ({"seed": 1.5}, "seed must be a whole number from 0 up, not 1.5"),
        ({"seed": float("nan")}, "not nan"),
        ({"seed": "7"}, "not '7'"),
        ({"ticket_id": "e-tow"}, "pack 'desk' has no ticket 'e-tow': did you mean 'e-two'?"),
        ({"ticket_id": "e-two", "split": "test"}, "ticket 'e-two' is of the split 'validation', not 'test'"),
        (
            {"ticket_id": "e-two", "task_id": "medium-complete-info"},
            "ticket 'e-two' is of the task 'easy-info-collection', not 'medium-complete-info'",
        ),
        ({"split": "tran"}, "pack 'desk' has no split 'tran': did you mean 'train'?"),
        ({"task_id": "hard"}, "pack 'desk' has no task 'hard': did you mean 'hard-efficient-resolution'?"),
    ],
)
def test_a_row_that_asks_for_what_there_is_not(env: Any, row: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        env.reset(**row)


def test_the_default_class() -> None:
    made = trl.SupportEnvironment()
    assert type(made).__name__ == "CustomerSupportEnvironment"
    assert '"customer_message": ' in made.reset(seed=1, task_id="hard-efficient-resolution")


class Praised(trl.SupportEnvironment):  # type: ignore[misc]
    """A class that somebody derived."""


def test_classes_can_be_pickled(desk: Pack) -> None:
    """A trainer that plays in another process sends them there."""
    made = trl.environment_class(desk)
    again = pickle.loads(pickle.dumps(made))
    assert (again.__name__, again.__mro__[1:]) == ("DeskEnvironment", made.__mro__[1:])
    row = {"seed": 1, "ticket_id": "e-two"}
    assert again().reset(**row) == made().reset(**row)
    assert pickle.loads(pickle.dumps(trl.SupportEnvironment)).__name__ == "CustomerSupportEnvironment"
    assert pickle.loads(pickle.dumps(trl.Environment)) is trl.Environment
    assert pickle.loads(pickle.dumps(Praised)) is Praised


def test_a_pack_by_its_name_or_path(tmp_path: Path) -> None:
    assert trl.environment_class("bank-disputes").__name__ == "BankDisputesEnvironment"
    path = tmp_path / "lamps.yaml"
    path.write_text(LAMPS, "utf-8")
    assert trl.environment_class(path).__name__ == trl.environment_class(str(path)).__name__ == "LampsEnvironment"
    with pytest.raises(LookupError, match="Did you mean 'bank-disputes'"):
        trl.environment_class("bank-dispute")
