"""What every test module may use."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from engine.load import load_pack
from engine.pack import Pack

# `make soak` asks for this one: many examples, new ones each time; for CI the same each time, so that what it says is
# about the change.
settings.register_profile(
    "soak", max_examples=400, deadline=None, derandomize=os.environ.get("CI") == "true", print_blob=True
)

# OpenEnv does without it but for its web pages, which nothing here asks for; loading it takes seconds.
sys.modules["gradio"] = None  # type: ignore[assignment]


def pytest_collection() -> None:
    """What is collected stays to the end, so looking for garbage among it is in vain, then and afterwards."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def desk(root: Path) -> Pack:
    """A small pack with one ticket for each thing that an engine can get wrong."""
    return load_pack(root / "tests" / "packs" / "desk.yaml")
