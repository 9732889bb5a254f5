"""P11: no hidden value stands in a message, id, description or state; ids do not predict the category."""

from __future__ import annotations

from engine.pack import Pack
from engine.proof.result import Check


def leaks(pack: Pack) -> tuple[Check, ...]:
    """The check of the whole pack: one that holds, else one for each leak."""
    raise NotImplementedError
