"""The contract: what it says, what is wrong with it, and that the product follows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.contract import Contract, exact, load_contract
from engine.diagnostics import PackError
from engine.load import check_pack, load_pack

PACK = """\
pack: small
version: 1.0.0
fields: {os: {description: System}}
tickets: [{id: a, task: easy-info-collection, messages: [Hi], required: [os], answers: {os: Linux}}]
"""

Edited = Callable[..., Contract]


@pytest.fixture
def edited(root: Path, tmp_path: Path) -> Edited:
    """The repository's contract with one piece of its text replaced."""

    def edit(old: str, new: str) -> Contract:
        text = (root / "openenv.yaml").read_text(encoding="utf-8")
        assert text.count(old) >= 1
        path = tmp_path / f"{abs(hash((old, new)))}.yaml"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return load_contract(path)

    return edit


@pytest.fixture
def pack_path(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(PACK, encoding="utf-8")
    return path


def test_the_repositorys_contract_holds_what_was_promised() -> None:
    """Every value from the specification that the project was given."""
    contract = load_contract()
    assert contract.version == "1.0"
    assert (contract.entry_point, contract.port) == ("server.app:app", 7860)
    assert contract.routes == {"reset": "/reset", "step": "/step"}
    assert contract.max_steps == 10
    assert (contract.reward_minimum, contract.reward_maximum) == (-10_000, 20_000)
    assert [(task.id, task.difficulty, task.grader) for task in contract.tasks] == [
        ("easy-info-collection", "easy", "graders.grade_easy"),
        ("medium-complete-info", "medium", "graders.grade_medium"),
        ("hard-efficient-resolution", "hard", "graders.grade_hard"),
    ]
    assert [(action.name, action.parameters) for action in contract.actions] == [
        ("ask_info", {"field": {"type": "string", "enum": ["order_id", "account_email", "device_type", "browser"]}}),
        ("classify", {}),
        ("resolve", {}),
    ]
    assert {name: schema["type"] for name, schema in contract.observation_space["properties"].items()} == {
        "ticket_id": "string", "customer_message": "string", "history": "array", "known_info": "object",
        "required": "array", "missing_required": "array", "info_progress": "number", "status": "string",
        "step_count": "integer", "remaining_steps": "integer",
    }  # fmt: skip
    assert set(contract.termination) == {"success", "failure"}
    assert contract.tags == ("customer-support", "goal-oriented", "information-gathering")
    assert contract.raw["interfaces"][0]["type"] == "http"


@pytest.mark.parametrize(
    ("old", "new", "code", "gist"),
    [
        ('version: "1.0"', "version: 1.0", "PACK020", "YAML reads 1.0 as a number; quote it"),
        ("max_steps: 10", "max_steps: ten", "PACK021", "a whole number is meant here"),
        ("max_steps: 10", "max_steps: 0", "PACK024", "1 is the least"),
        ("max_steps: 10", "max_step: 10", "PACK023", "'max_steps' is missing"),
        ("  min: -1.0", "  min: -1.00001", "PACK049", "ten-thousandths"),
        ("  min: -1.0", "  least: -1.0", "PACK022", "unknown key 'least'"),
        ("  - name: classify", "  - name: ask_info", "PACK040", "name 'ask_info' is taken"),
        ("  - id: medium-complete-info", "  - id: easy-info-collection", "PACK040", "is taken"),
        ("observation_space:\n  type: object", "observation_space:\n  type: thing", "PACK024", "not a JSON Schema"),
        ("grader: graders.grade_easy", "grader: no", "PACK020", "YAML reads no as false"),
        ("tasks:", "tasks: !x", "PACK007", "tag"),
    ],
)
def test_what_is_wrong_with_a_contract_is_said(edited: Edited, old: str, new: str, code: str, gist: str) -> None:
    with pytest.raises(PackError) as caught:
        edited(old, new)
    assert [finding for finding in caught.value.findings if finding.code == code and gist in finding.message]


def test_a_contract_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="there is no such file"):
        load_contract(tmp_path / "none.yaml")


def test_the_limits_are_the_contracts(edited: Edited, pack_path: Path) -> None:
    pack = load_pack(pack_path, edited("max_steps: 10", "max_steps: 12"))
    assert pack.max_steps == 12
    # -1.0 / 12 = -0.08333..., rounded towards zero
    assert pack.rewards.waste == -833


def test_the_range_is_the_contracts(edited: Edited, pack_path: Path) -> None:
    pack = load_pack(pack_path, edited("  max: 2.0", "  max: 3.0"))
    assert pack.rewards.maximum == 30_000


def test_an_action_of_the_contract_needs_rules(edited: Edited, pack_path: Path) -> None:
    added = "  - name: escalate\n    description: Hand it on\n    parameters: {}\n  - name: classify"
    contract = edited("  - name: classify", added)
    pack, findings = check_pack(pack_path, contract)
    assert pack is None
    assert [(f.code, f.message) for f in findings] == [
        ("PACK048", "the contract's action 'escalate' has no rules, neither here nor among the default ones")
    ]
    pack_path.write_text(
        PACK + "rules: {escalate: [{outcome: done, then: {waste: true, say: 'No.'}}]}\n", encoding="utf-8"
    )
    assert [*load_pack(pack_path, contract).actions] == ["ask_info", "escalate", "classify", "resolve"]


def test_a_task_that_the_defaults_do_not_know(edited: Edited, pack_path: Path) -> None:
    pack_path.write_text(PACK.replace("easy-info-collection", "first-contact"), encoding="utf-8")
    pack = load_pack(pack_path, edited("id: easy-info-collection", "id: first-contact"))
    assert (pack.tasks["first-contact"].classifier, pack.tasks["first-contact"].required) == ("desk", "always")


@pytest.mark.parametrize("grader", ["graders.grade_none", "no_such_module.grade"])
def test_a_grader_that_cannot_be_loaded(edited: Edited, pack_path: Path, grader: str) -> None:
    pack, findings = check_pack(pack_path, edited("graders.grade_easy", grader))
    assert pack is None
    assert [(f.code, f.place.line) for f in findings] == [("PACK051", 46)]
    assert f"the grader '{grader}' can't be used" in findings[0].message


@pytest.mark.parametrize(
    ("number", "units"),
    [
        (1, 10_000),
        (0.1, 1_000),
        (-0.1, -1_000),
        (0.0001, 1),
        (2.0, 20_000),
        (0.3, 3_000),
        (0.00005, None),
        (1 / 3, None),
    ],
)
def test_rewards_are_whole_ten_thousandths(number: float, units: int | None) -> None:
    assert exact(number) == units


# The contract's observation space holds for every ticket's first observation.


@pytest.mark.parametrize(
    ("old", "new", "tickets"),
    [
        ("    info_progress:\n      type: number", "    info_progress:\n      type: string", ["t-1", "t-2"]),
        (
            "    customer_message:\n      type: string",
            "    customer_message:\n      type: string\n      maxLength: 12",
            ["t-2"],
        ),
        (
            "    known_info:\n      type: object",
            "    known_info:\n      type: object\n      maxProperties: 0",
            ["t-1", "t-2"],
        ),
        ("    ticket_id:\n      type: string", "    ticket_id:\n      type: string\n      pattern: '1$'", ["t-2"]),
    ],
)
def test_a_first_observation_that_breaks_the_contract(
    edited: Edited, root: Path, old: str, new: str, tickets: list[str]
) -> None:
    # t-2's longer opening message has 15 characters, t-1's has 12.
    pack, found = check_pack(root / "tests" / "packs" / "lamps.yaml", edited(old, new))
    assert pack is None
    assert [(one.code, one.message.split("'")[1]) for one in found] == [("PACK063", ticket) for ticket in tickets]
