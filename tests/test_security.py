"""What docs/security.md says is tested, and what no module may do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.naming import stored, told

ROOT = Path(__file__).resolve().parent.parent
CODE = [ROOT / "graders.py", *sorted((ROOT / "engine").rglob("*.py")), *sorted((ROOT / "server").rglob("*.py"))]


def rows(markdown: str) -> Iterator[str]:
    """The rows of all tables, without their heads."""
    for before, line in pairwise(markdown.splitlines()):
        if line.startswith("| ") and before.startswith("|"):
            yield line


def names(row: str) -> list[str]:
    """The tests that a row's comment names."""
    return re.findall(r"\btest_\w+", "".join(re.findall(r"<!--(.*?)-->", row)))


def test_every_threat_has_tests_and_they_exist() -> None:
    written = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"def (test_\w+)\(", written))
    found = list(rows((ROOT / "docs" / "security.md").read_text("utf-8")))
    assert len(found) > 30
    for row in found:
        assert names(row), f"no test stands beside: {row[:80]}"
        assert not set(names(row)) - there, f"there is no such test: {set(names(row)) - there}"


def test_a_row_without_a_test_is_found() -> None:
    table = "| a | b |\n|---|---|\n| x | y <!-- test_a, test_b --> |\n| test_c | z |\n"
    assert [names(row) for row in rows(table)] == [["test_a", "test_b"], []]


# -- Nothing is unpickled, evaluated or fetched

# Modules that make objects or programs of data, run programs, or open connections.
FORBIDDEN = re.compile(
    r"(_?pickle|dill|cloudpickle|multiprocessing|marshal|shelve|code|codeop|runpy|ctypes|cffi|subprocess|pty|ftplib|smtplib|telnetlib|"
    r"xml|http\.client|urllib\.request|urllib3|requests|httpx|aiohttp|websockets)(\..*)?"
)
CALLED = ("eval", "exec", "compile", "__import__", "import_module", "unsafe_load", "full_load", "load_all", "system")
# The contract names its graders; the reader of regular expressions was renamed between versions of Python.
# Who evaluates an agent names it: a function, an address or a program. The processes of a run send each other objects.
ALLOWED = {
    ("engine/build.py", "import_module"),
    ("engine/patterns.py", "import_module"),
    ("engine/evaluation/agents.py", "import_module"),
    ("engine/evaluation/http_agent.py", "http.client"),
    ("engine/evaluation/keeper.py", "ctypes"),
    ("engine/evaluation/keeper.py", "subprocess"),
    ("engine/evaluation/processes.py", "multiprocessing"),
    ("engine/evaluation/processes.py", "multiprocessing.connection.Connection"),
    ("engine/evaluation/processes.py", "multiprocessing.connection.wait"),
    ("engine/evaluation/processes.py", "multiprocessing.process.BaseProcess"),
    ("engine/evaluation/program_agent.py", "subprocess"),
    ("server/pull.py", "subprocess"),
}


def done(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Modules that are imported, and functions that are called, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                yield node.lineno, called.id
            elif isinstance(called, ast.Attribute) and not (
                called.attr == "compile" and isinstance(called.value, ast.Name) and called.value.id == "re"
            ):
                yield node.lineno, called.attr


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_unpickled_evaluated_or_fetched(path: Path) -> None:
    here = path.relative_to(ROOT).as_posix()
    for line, what in done(ast.parse(path.read_text("utf-8"))):
        assert not FORBIDDEN.fullmatch(what) or (here, what) in ALLOWED, f"{here}:{line} imports {what}"
        assert what not in CALLED or (here, what) in ALLOWED, f"{here}:{line} calls {what}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pickle", "pickle"),
        ("from urllib import request", "urllib.request"),
        ("from urllib.request import urlopen", "urllib.request.urlopen"),
        ("import xml.etree.ElementTree", "xml.etree.ElementTree"),
    ],
)
def test_a_forbidden_import_is_found(text: str, found: str) -> None:
    assert [name for _, name in done(ast.parse(text))] == [found]
    assert FORBIDDEN.fullmatch(found)


def test_a_forbidden_call_is_found() -> None:
    text = "eval('1')\nbuiltins.exec('x')\nre.compile('x')\nyaml.unsafe_load('x')"
    assert [name for _, name in done(ast.parse(text))] == ["eval", "exec", "unsafe_load"]


# -- Whose an episode is

OWNERS = st.from_regex(r"([A-Za-z0-9._-]{1,64})?", fullmatch=True)


@given(OWNERS, st.text(), OWNERS, st.text())
def test_no_owner_can_name_anothers_episode(owner: str, episode_id: str, other: str, others_id: str) -> None:
    """A token's name has no slash, so two names in the store are one only where owner and id are."""
    assert told(stored(owner, episode_id)) == (owner, episode_id)
    assert (stored(owner, episode_id) == stored(other, others_id)) == ((owner, episode_id) == (other, others_id))
