"""The pages that say more about a finding: one for each code of `deskproof check`, and of the checks of the proof."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.diagnostics import CODES, Finding
from engine.proof.result import KINDS

# Each code with the title of its page.
TITLES: Mapping[str, str] = {**CODES, **{code: kind.name for code, kind in KINDS.items()}}

_PAGES = Path(__file__).parent / "findings"
# What somebody may type for a code: PACK012, pack12, 12; P04, p4.
_CODE = re.compile(r"(?P<kind>PACK|P|)(?P<number>[0-9]{1,4})", re.IGNORECASE)
# How many codes a line names.
_FEW = 5


def page(code: str) -> str:
    """The page about a code, as Markdown. Its first line is `# PACK030: unknown field`."""
    return (_PAGES / f"{code}.md").read_text(encoding="utf-8")


def code_of(word: str) -> str:
    """The code that a word means, written as codes are; whether there is such a code isn't said."""
    found = _CODE.fullmatch(word)
    if found is None:
        return word.upper()
    number = int(found["number"])
    return f"P{number:02}" if found["kind"].upper() == "P" else f"PACK{number:03}"


def says_more(findings: Iterable[Finding]) -> str:
    """A line that names the command for the pages about these findings."""
    codes = dict.fromkeys(finding.code for finding in findings)
    return f"deskproof explain {' '.join([*codes][:_FEW])} says more."
