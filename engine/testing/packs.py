"""Packs of a test run, each loaded once; and what is wrong with one, as `deskproof check` says it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.diagnostics import Finding, PackError, render
from engine.load import check_pack
from engine.manual import says_more
from engine.pack import Pack

Loaded = tuple[Pack | None, tuple[Finding, ...]]
_loaded: pytest.StashKey[dict[Path, Loaded]] = pytest.StashKey()


def load(config: pytest.Config, path: Path) -> Loaded:
    """The pack, or None where it has errors, and all findings."""
    known = config.stash.setdefault(_loaded, {})
    if path not in known:
        try:
            known[path] = check_pack(path)
        except PackError as error:  # the contract's own mistakes
            known[path] = None, error.findings
    return known[path]


def findings_told(config: pytest.Config, findings: tuple[Finding, ...]) -> str:
    """The findings as lines of text, and the command that says more about them."""
    return from_here(config, "\n".join([*map(render, findings), says_more(findings)]))


def from_here(config: pytest.Config, text: str) -> str:
    """The text with its paths as from where pytest was started."""
    return text.replace(f"{config.invocation_params.dir}{os.sep}", "")
