"""All lints, by code: what they find in a pack without errors, and how grave that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from engine.diagnostics import Finding, Report
from engine.lints.declared import unbalanced, unused_fields, unused_people
from engine.lints.meant import forgotten_templates, never_fire, never_said, said_twice, stated_unknown
from engine.lints.messages import given_away, near_duplicates
from engine.lints.note import Note
from engine.lints.texts import cut_at_commas, typographic, unseen, wordless
from engine.lints.written import untested, unwritten
from engine.nodes import Map, entries
from engine.pack import Pack, Severity

LINTS: Final[Mapping[str, Callable[[Pack, Map], Iterator[Note]]]] = {
    "PACK080": forgotten_templates,
    "PACK081": stated_unknown,
    "PACK082": never_fire,
    "PACK083": typographic,
    "PACK084": said_twice,
    "PACK085": never_said,
    "PACK087": near_duplicates,
    "PACK088": unused_fields,
    "PACK089": unused_people,
    "PACK090": unbalanced,
    "PACK091": given_away,
    "PACK092": untested,
    "PACK093": unwritten,
    "PACK094": cut_at_commas,
    "PACK095": wordless,
    "PACK096": unseen,
}
# All of which a pack, or whoever checks it, says how grave it is. PACK086 is about files: the loader sees these.
GRADED: Final = tuple(sorted((*LINTS, "PACK086")))


def lint(
    pack: Pack, document: Map, severities: Mapping[str, Severity], loaded: Iterable[Finding] = ()
) -> tuple[Finding, ...]:
    """What the loader found, and the findings of all lints, as grave as `severities` say, or else the pack under
    `lints`; a warning is the default.

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
    own = (
        replace(finding, severity=grave.get(finding.code, finding.severity)) if finding.code in GRADED else finding
        for finding in loaded
        if finding.code not in GRADED or grave.get(finding.code) != "ignore"
    )
    return (*own, *report.findings())
