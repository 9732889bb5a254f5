"""What every test module may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from engine.load import load_pack
from engine.pack import Pack

# `make soak` asks for this one: new random examples each time, and many of them.
settings.register_profile("soak", max_examples=1_000, deadline=None, derandomize=False, print_blob=True)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def desk(root: Path) -> Pack:
    """A small pack with one ticket for each thing that an engine can get wrong."""
    return load_pack(root / "tests" / "packs" / "desk.yaml")
