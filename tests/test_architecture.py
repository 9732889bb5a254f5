"""The shape of the code: which module may import which, how long one may be, what its code may not know.

The arrows themselves are import-linter's contracts in pyproject.toml.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.serving import fresh_environment

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 400
PACKAGES = ("engine", "server", "deskproof_pytest")
# The modules that face the world; everything else in engine/ is the pure core.
SHELL = (
    "check_command",
    "cli",
    "entry",
    "explain_command",
    "output",
    "play",
    "evaluation",
    "training",
    "pytest_plugin",
    "schema_command",
    "testing",
    "watch",
)
COMMANDS = (
    *(f"engine/proof/{name}.py" for name in ("commands", "diff_command", "report")),
    *(f"engine/importing/{name}.py" for name in ("csv_command", "form_command", "placing")),
    "engine/preview/command.py",
)
# The loader: what reads packs, the contract, and the data that come with the engine.
READERS = ("build", "contract", "load", "manual", "schema", "source")


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def core() -> list[Path]:
    return [
        path
        for path in modules("engine")
        if path.relative_to(ROOT / "engine").parts[0].removesuffix(".py") not in SHELL and named(path) not in COMMANDS
    ]


@pytest.mark.parametrize("target", ["lint-style", "lint-types", "lint-arrows"])
def test_lint(target: str) -> None:
    """`make lint`, in the environment that runs the tests: -o says that it is set up."""
    venv = sys.prefix
    command = ["make", "--no-print-directory", "-o", f"{venv}/test.stamp", f"VENV={venv}", target]
    env = fresh_environment()
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        pytest.fail(done.stdout, pytrace=False)


@pytest.mark.parametrize("path", [ROOT / "graders.py", *modules(*PACKAGES, "tests", "benchmarks")], ids=named)
def test_a_module_is_short_and_its_name_says_something(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= LONGEST
    assert not re.search(r"utils?|helpers?|misc|common|manager", path.stem)


@pytest.mark.parametrize("path", core(), ids=named)
def test_only_the_readers_touch_files(path: Path) -> None:
    if path.stem in READERS:
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        assert name not in {"open", "read_text", "read_bytes", "write_text", "write_bytes", "Path", "print", "input"}, (
            f"{named(path)}:{node.lineno}"  # type: ignore[attr-defined]
        )


# -- Nothing about the seeded fields and actions stands in code


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a module's code, with their lines; docstrings aside."""
    tree = ast.parse(path.read_text("utf-8"))
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def seeded() -> set[str]:
    """The names that the contract gives to actions, fields, tasks and graders.

    An effect and a rule's property may be called like an action (`resolve`, `classify`): a word alone that is also a
    key of the pack format says nothing about the action, so those two are looked for with their outcome's dot only.
    """
    contract = yaml.safe_load((ROOT / "openenv.yaml").read_text("utf-8"))
    fields = {name for action in contract["actions"] for name in action["parameters"].get("field", {}).get("enum", ())}
    actions = {action["name"] for action in contract["actions"]}
    assert len(fields) == 4
    assert actions == {"ask_info", "classify", "resolve"}
    tasks = {task["id"] for task in contract["tasks"]} | {task["grader"] for task in contract["tasks"]}
    return fields | tasks | {"ask_info"} | {f"{action}." for action in actions}


@pytest.mark.parametrize("path", [path for path in modules(*PACKAGES) if path.stem != "new"], ids=named)
def test_no_seeded_name_stands_in_code(path: Path) -> None:
    """engine/new.py holds the text of an example pack and is the one exception."""
    names = seeded()
    for line, text in literals(path):
        known = {name for name in names if name in text}
        assert not known, f"{named(path)}:{line} knows {known}"
