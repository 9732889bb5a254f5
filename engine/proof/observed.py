"""P08: every reachable state's observation, and every history item, is valid under the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.dynamics.graph import Graph
from engine.proof.tickets import Fault


def observation_fault(graph: Graph, space: Mapping[str, Any]) -> Fault | None:
    """The first observation, on a shortest way, that isn't valid under `space`, a JSON Schema."""
    raise NotImplementedError
