"""What an agent that plays by calling tools is told at each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.answers import encode

# What the agent has read before: an observation repeats it at every step.
_TOLD = ("customer_message", "history")


def told(observation: Mapping[str, Any]) -> tuple[str, str]:
    """Two texts: what was said last (the opening message at the start), and the rest of the observation as JSON."""
    last = observation["history"][-1]
    rest = {name: value for name, value in observation.items() if name not in _TOLD}
    return f"{last['role']}: {last['text']}", encode(rest).decode()
