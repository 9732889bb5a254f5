"""What can be read of a file that isn't YAML to its end yet: section by section, each as far as it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from engine.diagnostics import Report
from engine.nodes import File, Map
from engine.source import Budget, parse

# Where a key of the file's outermost mapping may begin: at the margin, and no comment, item or closing bracket.
_SECTION = re.compile(r"^(?=[^\s#\-\]}])", re.MULTILINE)
_NAME = re.compile(r"""["']?([^\s:"']+)["']?[ \t]*:""")
# How often lines at the end of a section are left out, in order to read what stands before them.
_CUTS = 20


def sections(file: File, budget: Budget) -> Iterator[tuple[str, Map | None, bool]]:
    """Each section of a file: its name, a mapping with what is in it, and whether that is all of it.

    A file that can be read to its end is one section.
    """
    document = parse(file, budget, Report())
    if document is not None:
        yield "", document, True
        return
    starts = [found.start() for found in _SECTION.finditer(file.text)]
    for start, end in pairwise([*starts, len(file.text)]):
        text = file.text[start:end]
        name = _NAME.match(text)
        yield name[1] if name is not None else "", *_as_far_as_it_goes(File(file.name, text), budget)


def _as_far_as_it_goes(file: File, budget: Budget) -> tuple[Map | None, bool]:
    """The mapping that a text holds up to the first line that can't be read, and whether there is no such line."""
    lines = file.text.splitlines(keepends=True)
    for cut in range(_CUTS):
        report = Report()
        document = parse(File(file.name, "".join(lines)), budget, report)
        if document is not None:
            return document, not cut
        # What stopped the reading is among the findings: at the latest it was the last of them.
        last = max((found.place.line for found in report.findings()), default=1)
        lines = lines[: min(last, len(lines)) - 1]
        if not lines:
            break
    return None, False
