"""The command `deskproof check`. Exit codes: 0 fine, 1 errors, 2 usage."""

from __future__ import annotations

import gc
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import strftime
from typing import Any, NamedTuple

import click

from engine.annotations import annotation
from engine.contract import load_contract
from engine.diagnostics import Finding, PackError, as_json, render
from engine.lints.lint import GRADED, lint
from engine.load import playable, read_draft, with_lines
from engine.manual import says_more
from engine.misread import not_a_lint
from engine.nodes import Map, items
from engine.output import PackName, existing
from engine.pack import Pack, Severity
from engine.pack_tests import run_tests
from engine.proof.commands import Severe
from engine.proof.digests import pack_digest
from engine.proof.told import count
from engine.solve import Verdicts
from engine.terminal import printable
from engine.watch import Watch

FINDINGS = 1
# What a test of a ticket doesn't depend on, but for that ticket and that test.
_OF_ONE = frozenset({"tickets", "tests", "lints", "proof"})


class Checked(NamedTuple):
    """What came of a pack: what is in it, None where it can't be loaded, and all findings."""

    path: Path
    holds: str | None
    findings: tuple[Finding, ...]


class Kept:
    """What is known of a pack's tickets, as long as what decides all of them stays as it is, and which tests passed."""

    def __init__(self) -> None:
        self._decided, self._verdicts = "", Verdicts()
        self._passed = set[str]()

    def verdicts(self, pack: Pack) -> Verdicts:
        digest = pack_digest(pack)
        if digest != self._decided:
            self._decided, self._verdicts = digest, Verdicts()
        return self._verdicts

    def run_tests(self, pack: Pack, document: Map) -> tuple[Finding, ...]:
        """The findings of all tests. A test that passed is not played again where it, its ticket, and all that tickets
        share are the same."""
        shared = _digest({key: value for key, value in document.items() if key not in _OF_ONE})
        tickets = {ticket["id"]: _digest([shared, ticket]) for ticket in items(document, "tickets")}
        findings: list[Finding] = []
        passed = set[str]()
        for node, test in zip(items(document, "tests"), pack.tests, strict=True):
            key = _digest([tickets[test.ticket], node])
            found = [] if key in self._passed else [*run_tests(pack, [test])]
            findings += found
            if not found:
                passed.add(key)
        self._passed = passed
        return with_lines(findings)


class Checker:
    """Checks packs, and keeps what it found: what hasn't changed isn't solved or played again."""

    def __init__(self, severities: Mapping[str, Severity]) -> None:
        self._severities = severities
        self._kept: defaultdict[Path, Kept] = defaultdict(Kept)

    def check(self, path: Path) -> Checked:
        try:
            contract = load_contract()
        except PackError as error:  # the contract's own mistakes
            return Checked(path, None, error.findings)
        pack, document, findings = read_draft(path, contract)
        if pack is None or document is None:
            return Checked(path, None, findings)
        kept, holds = self._kept[path], None
        findings += playable(pack, contract, kept.verdicts(pack))
        if all(finding.severity != "error" for finding in findings):
            findings += kept.run_tests(pack, document)
            holds = f"{count(len(pack.tickets), 'ticket')}, {count(len(pack.tests), 'test')}"
        return Checked(path, holds, lint(pack, document, self._severities, findings))


def as_text(checked: Sequence[Checked]) -> None:
    for one in checked:
        if one.holds is not None:
            click.echo(f"{one.path}: {one.holds}")
    for finding in _findings(checked):
        click.echo(render(finding), err=True)
    click.echo(_summary(checked))


def as_document(checked: Sequence[Checked]) -> None:
    found = _findings(checked)
    document = {
        "checked": [str(one.path) for one in checked],
        "errors": _errors(found),
        "findings": [as_json(one) for one in found],
    }
    click.echo(json.dumps(document, ensure_ascii=False))


def as_annotations(checked: Sequence[Checked]) -> None:
    for finding in _findings(checked):
        click.echo(annotation(finding))
    click.echo(_summary(checked))


FORMATS: Mapping[str, Callable[[Sequence[Checked]], None]] = {
    "text": as_text,
    "json": as_document,
    "github": as_annotations,
}


@click.command()
@click.argument("packs", nargs=-1, required=True, type=PackName(path_type=Path), metavar="PACK...")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    default="text",
    show_default=True,
    help="text is for people, json for programs, github annotates the lines of a pull request.",
)
@click.option(
    "--severity",
    "severities",
    multiple=True,
    type=Severe("severity", GRADED, not_a_lint),
    metavar="CODE=SEVERITY",
    help="Make a lint an error, a warning, or ignore it; repeatable. Such as PACK090=ignore.",
)
@click.option("--watch", is_flag=True, help="Check again whenever a file of the packs is written, until Ctrl-C.")
def check(packs: tuple[Path, ...], form: str, severities: tuple[tuple[str, Any], ...], watch: bool) -> None:
    """Check PACKS: structure, names, solvability, their own tests, and what is hardly meant.

    Exits 1 where there are errors; warnings are no errors.
    """
    paths, checker = [existing(path) for path in packs], Checker(dict(severities))
    if watch:
        _watch(paths, checker, form)
        return
    checked = [checker.check(path) for path in paths]
    FORMATS[form](checked)
    found = _findings(checked)
    if found and form == "text":
        click.echo(says_more(found), err=True)
    raise SystemExit(FINDINGS if _errors(found) else 0)


def _watch(paths: Sequence[Path], checker: Checker, form: str) -> None:
    """Shows what is found now, and again after each change. Only packs that changed are looked at again."""
    aside = form != "text"  # what is for people doesn't stand among what programs read
    gc.disable()  # a collection takes as long as a check, so it is done while nobody waits,
    gc.freeze()  # and leaves alone what is here to stay
    try:
        seen = Watch(paths)
        names = ", ".join(printable(str(path)) for path in paths)
        click.echo(f"{strftime('%H:%M:%S')} Watching {names}; Ctrl-C ends it.", err=aside)
        checked = [checker.check(path) for path in paths]
        while True:
            FORMATS[form](checked)
            gc.collect()
            change = seen.wait()
            click.echo(f"{strftime('%H:%M:%S')} {printable(change.told)}", err=aside)
            for number in change.packs:
                checked[number] = checker.check(paths[number])
    except KeyboardInterrupt:
        click.echo("\nStopped.", err=aside)
    finally:
        gc.unfreeze()
        gc.enable()


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()


def _findings(checked: Sequence[Checked]) -> list[Finding]:
    return [finding for one in checked for finding in one.findings]


def _errors(findings: Sequence[Finding]) -> int:
    return sum(finding.severity == "error" for finding in findings)


def _summary(checked: Sequence[Checked]) -> str:
    found = _findings(checked)
    errors = _errors(found)
    return f"{count(errors, 'error')}, {count(len(found) - errors, 'warning')}" if found else "No findings."
