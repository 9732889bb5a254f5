"""An episode's name in the store: whose it is, and the id that its owner knows it by.

Two owners may use one id: each has an episode of its own, and neither can tell that the other's is there.
"""

from __future__ import annotations


def stored(owner: str, episode_id: str) -> str:
    """The name in the store; `owner` has no slash, and is empty where everybody may play."""
    return f"{owner}/{episode_id}"


def told(name: str) -> tuple[str, str]:
    """The owner, and the id."""
    owner, _, episode_id = name.partition("/")
    return owner, episode_id
