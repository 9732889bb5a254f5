"""The proof of a pack as JSON, for programs; a certificate (`engine.proof.certificate`) is the exact form."""

from __future__ import annotations

from typing import Any

from engine.proof.certificate import manner_of, numbers_of
from engine.proof.result import Check, PackProof, severity


def as_json(proof: PackProof) -> dict[str, Any]:
    """The proof as JSON. Returns and grades are floats, in reward units; rounded, where the proof itself is exact.
    So that every reader reads the same, a whole number beyond 2^53 is text."""
    return {
        "pack": proof.pack,
        "version": proof.version,
        "digest": proof.digest,
        "sound": proof.sound,
        "blind": {task: float(bound) for task, bound in proof.blind.items()},
        "tickets": [
            {
                "ticket": ticket.ticket,
                "variants": [
                    {
                        "known": sorted(variant.known),
                        **manner_of(variant.manner),
                        "seed": variant.seed,
                        "numbers": numbers_of(variant.numbers, float) if variant.numbers is not None else None,
                    }
                    for variant in ticket.variants
                ],
            }
            for ticket in proof.tickets
        ],
        "checks": [_check(check, proof) for check in proof.checks],
    }


def _check(check: Check, proof: PackProof) -> dict[str, Any]:
    place, shown = check.place, check.counterexample
    found: dict[str, Any] = {
        "code": check.code,
        "ticket": check.ticket,
        "status": check.status,
        "severity": severity(proof.demands, check.code),
    }
    if check.message:
        found["message"] = check.message
    if place is not None:
        found |= {"file": place.file, "line": place.line, "column": place.column}
    if shown is not None:
        rule = shown.rule
        found["counterexample"] = {
            "ticket": shown.ticket,
            "seed": shown.seed,
            "actions": list(shown.actions),
            "paid": shown.paid,
            "rule": rule.outcome if rule is not None else None,
            "rule_place": str(rule.place) if rule is not None else None,
        }
    return found
