"""The contract, `openenv.yaml`, read and validated: nothing in the code repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from engine.diagnostics import PackError, Report
from engine.nodes import Map, Spot
from engine.schema import check, read_schema, validator_of
from engine.source import Budget, open_file, parse

# Rewards are integers in ten-thousandths.
REWARD_UNIT: Final = 10_000
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """`grader` is the dotted path of the grading function."""

    id: str
    description: str
    difficulty: str
    grader: str


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """`parameters` maps a name to `{type, enum, description, required}`, as far as they are given."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contract:
    """`reward_minimum` and `reward_maximum` are in ten-thousandths; `raw` is the whole file."""

    name: str
    description: str
    version: str
    port: int
    entry_point: str
    max_steps: int
    reward_minimum: int
    reward_maximum: int
    tasks: tuple[TaskSpec, ...]
    actions: tuple[ActionSpec, ...]
    observation_space: Mapping[str, Any]
    routes: Mapping[str, str]
    termination: Mapping[str, Any]
    tags: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False)


def exact(value: int | float) -> int | None:
    """A number in ten-thousandths, or None where it isn't a whole number of them."""
    scaled = Decimal(str(value)) * REWARD_UNIT
    return int(scaled) if scaled == scaled.to_integral_value() else None


def contract_path() -> Path:
    """The contract at the repository's root, else the one inside the package."""
    at_root = _HERE.parent / "openenv.yaml"
    return at_root if at_root.is_file() else _HERE / "openenv.yaml"


def load_contract(path: Path | str | None = None) -> Contract:
    """The contract at `path`, else the repository's, else the one inside the package. Read once per path and process.

    Raises:
        PackError: the file can't be read, or isn't a contract.
    """
    return _load(Path(path) if path is not None else contract_path())


@cache
def _load(path: Path) -> Contract:
    report, budget = Report(), Budget()
    file = open_file(path, budget, report)
    document = parse(file, budget, report) if file is not None else None
    if document is not None and not report:
        check(document, validator_of(read_schema(_HERE / "contract.schema.json")), report)
        if not report:
            _check_sense(document, report)
    if document is None or report:
        raise PackError(report.findings())
    return _contract(document)


def _check_sense(document: Map, report: Report) -> None:
    """What JSON Schema can't say."""
    for key, value in document["reward_range"].items():
        if exact(value) is None:
            spot = document["reward_range"].value_spot(key)
            report.add("PACK049", spot, f"{value} is not a whole number of ten-thousandths")
    for section, key in (("tasks", "id"), ("actions", "name")):
        first: dict[str, Spot] = {}
        for item in document[section]:
            spot = item.value_spot(key)
            if item[key] in first:
                line = first[item[key]].place.line
                report.add("PACK040", spot, f"{key} '{item[key]}' is taken (first at line {line})")
            first.setdefault(item[key], spot)
    try:
        Draft202012Validator.check_schema(document["observation_space"])
    except SchemaError as error:
        report.add("PACK024", document.value_spot("observation_space"), f"this is not a JSON Schema: {error.message}")


def _contract(document: Map) -> Contract:
    served = document["interfaces"][0]
    return Contract(
        name=document["name"],
        description=document["description"],
        version=document["version"],
        port=served["port"],
        entry_point=document["entry_point"],
        max_steps=document["max_steps"],
        reward_minimum=exact(document["reward_range"]["min"]) or 0,
        reward_maximum=exact(document["reward_range"]["max"]) or 0,
        tasks=tuple(TaskSpec(**task) for task in document["tasks"]),
        actions=tuple(ActionSpec(**action) for action in document["actions"]),
        observation_space=document["observation_space"],
        routes=served["routes"],
        termination=document["termination"],
        tags=tuple(document.get("tags", ())),
        raw=document,
    )
