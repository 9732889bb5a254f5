"""What a test needs and this machine hasn't got."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def cannot_run(why: str) -> NoReturn:
    """Skips the test that asks; in CI it fails, as everything has to run there."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
