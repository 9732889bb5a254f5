"""Packs for the tests of lints: a text with a '▲' before each place at which something must be found."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine.contract import load_contract
from engine.diagnostics import Finding
from engine.lints.lint import lint
from engine.load import read_draft
from engine.pack import Severity

HEAD = """\
pack: lamps
version: 1.0.0
fields:
  order: {description: The number on the order confirmation}
  colour: {description: The colour that was ordered}
categories:
  late: {description: What doesn't come, requires: [order]}
  exchange: {description: Another colour, requires: [colour]}
tickets:
"""
TESTS = """\
tests:
  - {name: it is classified, ticket: a, steps: [{do: {type: classify}, expect: {outcome: classify.right}}]}
"""
EASY, HARD = "easy-info-collection", "hard-efficient-resolution"


def ticket(name: str, category: str, *messages: str, task: str = EASY, more: str = "") -> str:
    """A ticket in YAML; each message as it is written there."""
    lines = "".join(f"      - {message}\n" for message in messages)
    return (
        f"  - id: {name}\n    task: {task}\n    category: {category}\n    messages:\n{lines}"
        f"    answers: {{order: L-4821, colour: dark green}}\n{more}"
    )


def linted(text: str, severities: Mapping[str, Severity] | None = None) -> list[Finding]:
    """What the lints find in a pack, which has no other findings."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.yaml"
        path.write_text(text.replace("▲", ""), encoding="utf-8")
        pack, document, findings = read_draft(path, load_contract())
        assert pack is not None and document is not None, [finding.message for finding in findings]
        assert findings == ()
        return [*lint(pack, document, severities or {})]


def found(text: str, code: str) -> list[str]:
    """The messages of a lint's findings, which stand where the text has its marks, and nowhere else."""
    of_code = [finding for finding in linted(text) if finding.code == code]
    assert [(finding.place.line, finding.place.column) for finding in of_code] == places(text)
    assert all(finding.severity == "warning" and finding.source for finding in of_code)
    return [finding.message for finding in of_code]


def places(text: str) -> list[tuple[int, int]]:
    """The line and column of each mark."""
    marks = []
    for number, line in enumerate(text.split("\n"), 1):
        parts = line.split("▲")
        marks += [(number, 1 + sum(map(len, parts[:index]))) for index in range(1, len(parts))]
    return marks
