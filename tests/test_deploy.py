"""The compose file: it can't be run where there is no Docker, so what it says is held against what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.contract import load_contract
from server.settings import settings
from server.store import Unusable
from server.store.opening import open_store


@pytest.fixture(scope="module")
def compose(root: Path) -> Any:
    return yaml.safe_load((root / "deploy" / "compose.yaml").read_text("utf-8"))


def test_two_servers_and_a_redis_that_forgets_nothing(compose: Any, root: Path) -> None:
    services = compose["services"]
    assert services.keys() == {"redis", "desk"}
    desk, redis = services["desk"], services["redis"]
    assert desk["deploy"]["replicas"] == 2
    assert desk["ports"] == [f"{load_contract().port}-{load_contract().port + 1}:{load_contract().port}"]
    assert (root / "deploy" / desk["build"]["context"] / desk["build"]["dockerfile"]).is_file()
    options = redis["command"]
    assert options[options.index("--appendonly") + 1] == "yes" and "noeviction" in options
    # Docker waits for as long as the server takes to say goodbye: 10 seconds, in server/gunicorn.conf.py.
    assert desk["stop_grace_period"] == "15s"


def test_the_environment_makes_sense(compose: Any) -> None:
    made = settings(compose["services"]["desk"]["environment"])
    assert (made.workers, made.log) == (2, "json")
    # There is no machine called redis here, but the address is understood.
    with pytest.raises(Unusable, match="redis"):
        open_store(made.store)
