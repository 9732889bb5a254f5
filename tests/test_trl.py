"""The class for TRL's environment_factory: typed, documented tools over an episode.

What TRL does with such a class (GRPOTrainer, 1.8 and later) is written down in `tools_of`: an instance without
arguments, the functions of its type as tools, `reset` and `get_reward` apart.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from engine.training import trl

LAMPS = (Path(__file__).parent / "server" / "lamps.yaml").read_text("utf-8")


def tools_of(env: Any) -> dict[str, Callable[..., Any]]:
    """The tools that TRL finds, by name."""
    named = [name for name, _ in inspect.getmembers(type(env), predicate=inspect.isfunction)]
    assert {"reset", "get_reward"} <= set(named)
    return {name: getattr(env, name) for name in named if name not in ("reset", "get_reward") and name[0] != "_"}


def described(tool: Callable[..., Any]) -> dict[str, tuple[str, list[Any]]]:
    """What a docstring in Google's style says of each parameter: a description, and choices in JSON behind it."""
    doc = inspect.getdoc(tool)
    assert doc is not None
    summary, _, rest = doc.partition("\n\nArgs:\n")
    assert summary.split("\n")[0].strip()
    lines = re.findall(r"^    (\w+): (.*) \(choices: (\[.*\])\)$", rest.partition("\n\nReturns:\n")[0], re.MULTILINE)
    assert "\n\nReturns:\n    " in doc
    return {name: (description, json.loads(choices)) for name, description, choices in lines}


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
    assert str(signature) == "(field: str) -> str"
    doc = inspect.getdoc(env.ask_info)
    assert doc is not None
    assert 'field: field (choices: ["order", "email", "device", "colour"])' in doc
    assert inspect.signature(env.classify).parameters["category"].default is None


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_every_shipped_pack_has_its_class(path: Path) -> None:
    pack = load_pack(path)
    made = trl.environment_class(pack)
    tools = tools_of(made())
    assert list(tools) == sorted(pack.actions)
    for name, action in pack.actions.items():
        hints = get_type_hints(tools[name])
        assert hints.pop("return") is str and hints.keys() == {parameter.name for parameter in action.parameters}
        assert set(hints.values()) <= {str, int, bool}
        choices = {parameter: values for parameter, (_, values) in described(tools[name]).items()}
        assert choices == {parameter.name: list(parameter.enum) for parameter in action.parameters}


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
    assert described(env.ask_info)["field"][1] == ["order", "email", nasty]


def test_descriptions_stay_in_their_line(tmp_path: Path) -> None:
    actions = """
actions:
  pack:
    description: "Pack it up.\\n\\nReturns:\\n    nothing"
    parameters: {fast: {type: boolean, description: "Whether\\n    how: in a hurry"}}
rules:
  pack: [{outcome: done, then: {say: Packed.}}]
"""
    env = instance(changed(tmp_path, more=actions))
    assert described(env.pack) == {"fast": ("Whether how: in a hurry", [False, True])}
    assert "Packed." in env.pack(fast=True)


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
    assert prompt.startswith("\n\n") and "Customer: Where is it?" in prompt
    assert env.get_reward() == 0.0
    assert "Needed: order, email." in env.classify()
    assert env.ask_info("order").startswith("Customer: ORD-1\nKnown: order = ORD-1. Missing: email.")
    env.ask_info(field="email")
    assert "Status: resolved" in env.resolve()
    assert env.get_reward() == 2.0
    assert env.resolve() == "The episode is over."


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
    assert "Steps left: 9." in env.resolve()


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("ask_info", {"field": "shoe size"}, "'shoe size' is not a valid field"),
        ("ask_info", {"field": ["order"]}, "is not a valid field"),
        ("ask_info", {}, "ask_info needs field: one of order, email, device, colour."),
        ("ask_info", {"field": "order", "urgently": True}, "ask_info takes no 'urgently'."),
        ("resolve", {"self": "me"}, "resolve takes no 'self'."),
    ],
)
def test_a_model_s_mistake_is_a_step(env: Any, tool: str, arguments: dict[str, Any], says: str) -> None:
    env.reset(seed=1, ticket_id="e-two")
    said = tools_of(env)[tool](**arguments)  # as TRL calls it
    assert says in said and "Steps left: 9." in said
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
        ({"split": "tran"}, "pack 'desk' has no split 'tran': did you mean 'train'?"),
        ({"task_id": "hard"}, "pack 'desk' has no ticket for the task 'hard'"),
    ],
)
def test_a_row_that_asks_for_what_there_is_not(env: Any, row: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        env.reset(**row)


def test_the_default_class() -> None:
    made = trl.SupportEnvironment()
    assert type(made).__name__ == "CustomerSupportEnvironment"
    assert "Customer:" in made.reset(seed=1, task_id="hard-efficient-resolution")
