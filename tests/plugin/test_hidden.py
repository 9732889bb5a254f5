"""Beside a user's modules of the same names: one sentence with the remedy and no traceback, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import lamps, outside

MINE = "def test_mine():\n    import engine\n    assert engine.MINE\n"
PLAYED = """
import pytest

@pytest.mark.scenario(pack="../scenarios/lamps")
def test_it(scenario): pass
"""
INSERTING = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n"


def project(folder: Path, test: str, module: str = "engine/__init__.py") -> Path:
    """A project with a module of its own; its tests are in a folder beside it."""
    lamps(folder)
    for name, text in ((module, "MINE = True\n"), ("tests/test_it.py", test)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def sentence(folder: Path, module: str, name: str) -> str:
    return (
        f"ERROR: Deskproof's own module '{name}' is hidden by {folder / module}: rename that, or keep {folder} off "
        "Python's path (pytest's `pythonpath`, PYTHONPATH, a conftest.py beside it, `python -m pytest`)."
    )


PACKAGE = "engine/__init__.py"
WAYS = [
    ("python -m pytest", "a marker", PACKAGE, "engine"),
    ("python -m pytest", "a folder", PACKAGE, "engine"),
    ("python -m pytest", "the ini", "engine.py", "engine"),
    ("pythonpath", "a marker", "graders.py", "graders"),
    ("pythonpath", "an id", PACKAGE, "engine"),
    ("conftest", "a marker", PACKAGE, "engine"),
    ("conftest", "a folder", "engine.py", "engine"),
    ("PYTHONPATH", "a marker", PACKAGE, "engine"),
    ("PYTHONPATH", "an id", "graders.py", "graders"),
]


@pytest.mark.parametrize(("way", "used", "module", "name"), WAYS)
def test_what_hides_ours_is_said_in_a_sentence(tmp_path: Path, way: str, used: str, module: str, name: str) -> None:
    folder = project(tmp_path, PLAYED, module)
    if way == "conftest":
        (folder / "conftest.py").write_text(INSERTING, "utf-8")
    arguments = {
        "a folder": ["--scenarios", "scenarios"],
        "the ini": ["-o", "deskproof_packs=scenarios"],
        "a marker": ["tests"],
        "an id": ["scenarios/lamps/tests.yaml::any order does[0, order 1-2]"],
    }[used]
    if way == "pythonpath":
        arguments += ["-o", "pythonpath=."]
    env = {"PYTHONPATH": str(folder)} if way == "PYTHONPATH" else {}
    code, said = outside(folder, *arguments, module=way == "python -m pytest", **env)
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert said.count("ERROR") == 1
    assert sentence(folder, module, name) in said.splitlines()
    assert "Traceback" not in said


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_plugin_that_nobody_uses_hides_nothing(tmp_path: Path, workers: tuple[str, ...]) -> None:
    folder = project(tmp_path, MINE)
    code, said = outside(folder, *workers, module=True)
    assert code == 0, said
    assert "1 passed" in said


def test_what_collecting_puts_on_the_path_is_said_at_its_end(tmp_path: Path) -> None:
    """The packs come first, so ours is imported; then the tests' own package puts its folder on the path."""
    folder = project(tmp_path, MINE)
    (folder / "tests" / "__init__.py").write_text("", "utf-8")
    code, said = outside(folder, "scenarios/lamps/pack.yaml", "tests")
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert sentence(folder, "engine/__init__.py", "engine") in said.splitlines()
    assert "Traceback" not in said


def test_workers_say_it_of_each_test(tmp_path: Path) -> None:
    folder = project(tmp_path, PLAYED)
    code, said = outside(folder, "tests", "-n", "2", module=True)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "Deskproof's own module 'engine' is hidden by" in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said


@pytest.mark.parametrize("name", ["engine", "server", "tests", "scenarios"])
def test_a_folder_that_is_no_module_hides_nothing(tmp_path: Path, name: str) -> None:
    folder = project(tmp_path, PLAYED, f"{name}/notes.txt")
    code, said = outside(folder, "--scenarios", "scenarios", module=True)
    assert code == 0, said
    assert "6 passed" in said


def test_a_server_of_ones_own_hides_nothing(tmp_path: Path) -> None:
    folder = project(
        tmp_path, PLAYED + "\ndef test_mine():\n    import server\n    assert server.MINE\n", "server/__init__.py"
    )
    code, said = outside(folder, "--scenarios", "scenarios", module=True)
    assert code == 0, said
    assert "7 passed" in said


@pytest.mark.slow
def test_a_support_server_alone_needs_nothing_of_ours_on_the_path(tmp_path: Path) -> None:
    test = "import engine\ndef test_it(support_server):\n    assert engine.MINE and support_server.get('/health')\n"
    (project(tmp_path, test) / "graders.py").write_text("MINE = True\n", "utf-8")
    code, said = outside(tmp_path, module=True)
    assert code == 0, said


def test_a_folder_that_ours_is_taken_for_is_told_what_it_lacks(tmp_path: Path) -> None:
    """Python prefers a module with __init__.py, wherever it is on the path, to a folder without."""
    folder = project(tmp_path, "import server.desk\n\ndef test_mine(): pass\n", "server/desk.py")
    code, said = outside(folder, module=True)
    assert code == pytest.ExitCode.INTERRUPTED
    assert "No module named 'server.desk'" in said
    assert f"Write an empty {folder / 'server' / '__init__.py'}." in said
    (folder / "server" / "__init__.py").write_text("", "utf-8")
    code, said = outside(folder, module=True)
    assert code == 0, said
