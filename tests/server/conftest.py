"""What the server's tests share: a small pack of their own, a service and a client on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from engine.contract import Contract, load_contract
from engine.pack import Pack
from server.app import create_app
from server.loading import load_packs
from server.service import Service
from server.store import EpisodeStore
from server.store.memory import MemoryStore
from server.store.opening import open_store
from tests.server.redis_server import redis_server

LAMPS = Path(__file__).with_name("lamps.yaml")


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract()


@pytest.fixture(scope="session")
def lamps() -> Pack:
    """As a server loads it: proved."""
    return load_packs([LAMPS])[0]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def clock() -> Callable[[], float]:
    """A second later at every look."""
    seconds = itertools.count(1_000.0)
    return lambda: next(seconds)


@pytest.fixture
def worker(lamps: Pack, contract: Contract, store: EpisodeStore, clock: Callable[[], float]) -> Callable[[], Service]:
    """Makes services that share a store and a clock, as workers would."""
    ids = (f"made-{number}" for number in itertools.count(1))
    return lambda: Service([lamps], store, contract, clock=clock, draw_seed=lambda: 7, new_id=lambda: next(ids))


@pytest.fixture
def service(worker: Callable[[], Service]) -> Service:
    return worker()


@pytest.fixture
def client(lamps: Pack) -> FlaskClient:
    """A client that keeps its cookies."""
    return create_app([lamps]).test_client()


@pytest.fixture
def naive(lamps: Pack) -> FlaskClient:
    """A client that knows no cookies."""
    return create_app([lamps]).test_client(use_cookies=False)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with redis_server() as server:
        yield server.url


@pytest.fixture(params=["memory", "sqlite", "redis"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EpisodeStore]:
    """Each of the three stores, empty."""
    match request.param:
        case "memory":
            url = "memory:"
        case "sqlite":
            url = f"sqlite:{tmp_path}/episodes.db"
        case _:
            # Each test has keys of its own.
            url = f"{request.getfixturevalue('redis_url')}?prefix={quote(request.node.name)}"
    store = open_store(url)
    yield store
    store.close()
