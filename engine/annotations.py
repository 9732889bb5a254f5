"""Findings as GitHub's workflow commands, which Actions show beside the lines that they are about."""

from __future__ import annotations

from engine.diagnostics import Finding, hints

# A command is one line: what would end it, or one of its properties, is written with a percent sign, which comes first.
_IN_MESSAGE = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTY = (*_IN_MESSAGE, (":", "%3A"), (",", "%2C"))


def annotation(finding: Finding) -> str:
    """The command for a finding: `::error file=...,line=...,col=...,title=CODE::message`."""
    place = finding.place
    properties = {"file": place.file, "line": place.line, "col": place.column, "title": finding.code}
    written = ",".join(f"{name}={_escaped(str(value), _IN_PROPERTY)}" for name, value in properties.items())
    lines = [finding.message, *hints(finding)]
    return f"::{finding.severity} {written}::{_escaped(chr(10).join(lines), _IN_MESSAGE)}"


def _escaped(text: str, signs: tuple[tuple[str, str], ...]) -> str:
    for sign, instead in signs:
        text = text.replace(sign, instead)
    return text
