"""All lints, by code: what they find in a pack without errors, and how grave that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from engine.diagnostics import Finding, Report
from engine.lints.declared import unbalanced, unused_fields, unused_people
from engine.lints.messages import given_away, near_duplicates
from engine.lints.note import Note
from engine.lints.written import untested, unwritten
from engine.nodes import Map, entries
from engine.pack import Pack, Severity

LINTS: Final[Mapping[str, Callable[[Pack, Map], Iterator[Note]]]] = {
    "PACK087": near_duplicates,
    "PACK088": unused_fields,
    "PACK089": unused_people,
    "PACK090": unbalanced,
    "PACK091": given_away,
    "PACK092": untested,
    "PACK093": unwritten,
}


def lint(pack: Pack, document: Map, severities: Mapping[str, Severity]) -> tuple[Finding, ...]:
    """The findings of all lints. `severities` come before what the pack says under `lints`; a warning is the default.

    `document` is what the pack was built of.
    """
    grave = {**entries(document, "lints"), **severities}
    report = Report()
    for code, look in LINTS.items():
        severity = grave.get(code, "warning")
        if severity != "ignore":
            tell = report.add if severity == "error" else report.warn
            for note in look(pack, document):
                tell(code, note.where, note.message, expected=note.expected)
    return report.findings()
